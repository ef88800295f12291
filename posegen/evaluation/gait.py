"""Measure steady straight walking and running, and compare mean angle curves with published ones.

Where there are contact labels they decide when a foot is in contact; on average the foot came down half a frame before the
first labelled frame. Without labels, touch-down is where the heel is farthest in front of the pelvis (Zeni et al. 2008),
interpolated between frames by a parabola through three. Toe-off found from positions is late by some 4 % of the cycle, for real
walkers too, so stance is measured by labels only. The generator has tables of its own: a table that both used could not reveal
an error in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.evaluation.body import centre_of_mass, joint_angles, point
from posegen.evaluation.recording import Recording
from posegen.fields.keypoints import stature
from posegen.foundations.arrays import Array
from posegen.foundations.constants import AVERAGE_LEG, GRAVITY
from posegen.foundations.skeleton import PROPORTIONS, sole_points
from posegen.foundations.yaml_files import read_yaml

_LEG: Mapping[str, Any] = read_yaml(Path(__file__).with_name("published_gait.yaml"))
SPREAD: Mapping[str, float] = {angle: published["spread"] for angle, published in _LEG.items()}
"""Degrees: standard deviation between people at free speed (Schwartz et al. 2008)."""
ANGLES = tuple(SPREAD)

BINS = (("very slow", 0.227), ("slow", 0.363), ("free", 0.5), ("fast", 0.636), ("very fast", np.inf))
"""Bins of speed with their upper bounds of v / sqrt(g L)."""

_WALK_RATIO = 0.0065
"""Step length divided by cadence, metres per (step per minute), of an average leg; it grows with the leg."""


def speed_bin(speed: float, leg: float) -> str:
    """Return the name of the speed bin of a walk at `speed` m/s with legs of `leg` metres."""
    relative = speed / np.sqrt(GRAVITY * leg)
    return next(name for name, high in BINS if relative <= high)


def published_curve(angle: str, speed: str, phases: ArrayLike) -> Array | None:
    """Return a published angle curve.

    Parameters
    ----------
    angle : str
        One of :data:`ANGLES`.
    speed : str
        A name that :func:`speed_bin` returns.
    phases : float [n]
        Shares of the cycle, 0 at touch-down of the same foot.

    Returns
    -------
    float64 [n] or None
        Degrees; None where none is published.
    """
    curve = _LEG[angle]["curves"].get(speed)
    if curve is None:
        return None
    cosines, sines = curve["cosines"], curve["sines"]
    turns = 2 * np.pi * np.outer(np.arange(len(cosines)), np.asarray(phases, np.float64))
    return np.asarray(cosines @ np.cos(turns) + sines @ np.sin(turns[1:]))


WALKING = ("walk",)
RUNNING = ("run", "sprint")
EDGE = 0.6
"""Seconds omitted at each end of a segment, where it starts, stops and blends."""
STRAIGHT = 5.0
"""Degrees of turn below which a segment is straight."""
DIRECT = 0.98
"""Least distance between the ends of a straight stretch, as a share of its length."""
PHASES = np.arange(50) / 50
"""Shares of the cycle at which curves are sampled."""
MAX_STRETCHES = 10_000
"""Most walks, and runs, that a tally keeps: enough for a chart, and memory does not grow with the dataset."""


@dataclass(frozen=True)
class Walk:
    """A stretch of steady straight walking.

    Attributes
    ----------
    speed : float
        m/s.
    cadence : float
        Steps per minute.
    step : float
        Metres.
    leg : float
        Height of the hip of a straight leg, metres.
    labelled_stance, double_support : float or None
        % of the cycle in which a foot, or both feet, are labelled as in contact; None without labels or a whole cycle.
    rise, sway : float
        Vertical and lateral excursion of the centre of mass in a stride, metres; NaN without a whole stride.
    """

    speed: float
    cadence: float
    step: float
    leg: float
    labelled_stance: float | None = None
    double_support: float | None = None
    rise: float = np.nan
    sway: float = np.nan

    @property
    def ratio_error(self) -> float:
        """Step length divided by cadence, relative to the walk ratio of this leg, minus 1."""
        return self.step / self.cadence / (_WALK_RATIO * self.leg / AVERAGE_LEG) - 1

    @property
    def stance_error(self) -> float | None:
        """Labelled stance minus 64.2 - 3.5 v, in points of % (Kirtley et al. 1985)."""
        return None if self.labelled_stance is None else self.labelled_stance - (64.2 - 3.5 * self.speed)


@dataclass(frozen=True)
class Run:
    """A stretch of steady straight running, measured by its contact labels.

    Attributes
    ----------
    speed : float
        m/s.
    cadence : float
        Steps per minute.
    contact, flight : float
        Seconds of contact of a foot in a step, and seconds without contact between two steps.
    rise : float
        Vertical excursion of the centre of mass, metres.
    """

    speed: float
    cadence: float
    contact: float
    flight: float
    rise: float


@dataclass(frozen=True)
class Heading:
    """Speed in m/s and direction of a stretch: unit vectors forward and to the left, in x and z."""

    speed: float
    ahead: Array
    left: Array


def steady_stretches(recording: Recording, actions: tuple[str, ...]) -> Iterator[Recording]:
    """Yield the steady straight stretches of a clip whose segments show one of the actions."""
    edge = round(EDGE * recording.fps)
    for segment in recording.segments:
        if segment["action"] in actions and "legs" in segment["parts"] and abs(segment["turn"]) < STRAIGHT:
            inner = slice(segment["start"] + edge, max(segment["end"] - edge, 0))
            contact = None if recording.contact is None else recording.contact[inner]
            if _is_straight(recording.joints[inner], edge):
                yield replace(recording, joints=recording.joints[inner], contact=contact, segments=())


def _is_straight(joints: Array, step: int) -> bool:
    """Return whether the pelvis moves straight: a figure of eight, and a way back and forth, have no turn in all."""
    ways = np.diff(point(joints, "pelvis")[:: max(step, 1), [0, 2]], axis=0)
    return bool(np.hypot(*ways.sum(0)) >= DIRECT * np.hypot(ways[:, 0], ways[:, 1]).sum())


def straight_heading(joints: Array, fps: float) -> Heading | None:
    """Return the heading from the first to the last pelvis position of [frame, 22, 3]; None if the pelvis does not move."""
    pelvis = point(joints, "pelvis")[:, [0, 2]]
    way = pelvis[-1:] - pelvis[:1]
    distance = float(np.sqrt((way * way).sum()))
    if len(pelvis) < 3 or distance == 0:
        return None
    ahead = way[0] / distance
    # Seen from above with z forward, x points to the left.
    return Heading(distance / (len(pelvis) - 1) * fps, ahead, np.array([ahead[1], -ahead[0]]))


def touch_downs(joints: Array, contact: Array | None, heading: Heading) -> tuple[Array, Array]:
    """Return the touch-down times of the left and of the right foot in fractional frames, by labels where there are any."""
    if contact is not None:
        left, right = map(_first_frames, foot_contacts(contact).T)
        return left - 0.5, right - 0.5
    heels = sole_points(joints)[:, ::2, ::2] - point(joints, "pelvis")[:, None, ::2]
    before = (heels * heading.ahead).sum(-1)
    return local_maxima(before[:, 0]), local_maxima(before[:, 1])


def foot_contacts(contact: Array) -> Array:
    """Return whether heel or toe of each foot is in contact: bool [frame, 2] of uint8 [frame, point]."""
    return np.stack([(contact[:, heel : heel + 2] == 1).any(-1) for heel in (0, 2)], axis=-1)


def _first_frames(down: Array) -> Array:
    """Return the first frame of each contact of one foot, bool [frame], that begins within the clip."""
    return np.flatnonzero(down[1:] & ~down[:-1]) + 1


def local_maxima(series: Array) -> Array:
    """Return the times, in fractional frames, of the local maxima in the upper half of a series."""
    middle = series[1:-1]
    high = (middle > series[:-2]) & (middle >= series[2:]) & (middle > (series.max() + series.min()) / 2)
    at = np.flatnonzero(high) + 1
    before, here, after = series[at - 1], series[at], series[at + 1]
    return np.asarray(at + 0.5 * (before - after) / (before - 2 * here + after))


def angle_cycles(joints: Array, downs: tuple[Array, Array]) -> Array:
    """Return the angles of each leg over each of its gait cycles.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres.
    downs : see :func:`touch_downs`

    Returns
    -------
    float64 [cycle, angle, phase]
        Degrees, in the order of :data:`posegen.evaluation.gait.ANGLES` and :data:`PHASES`; cycles of both legs.
    """
    angles = joint_angles(joints)
    frames = np.arange(len(joints))
    found = []
    for side, times in zip(("left", "right"), downs, strict=True):
        for start, stop in pairwise(times):
            at = start + PHASES * (stop - start)
            found.append([np.interp(at, frames, angles[f"{side}_{name}"]) for name in ANGLES])
    return np.array(found).reshape(-1, len(ANGLES), len(PHASES))


def mass_excursions(joints: Array, downs: tuple[Array, Array], heading: Heading) -> tuple[float, float]:
    """Return the mean vertical and lateral excursion of the centre of mass per stride, in metres; NaN without a stride."""
    centre = centre_of_mass(joints)
    sideways = (centre[:, [0, 2]] * heading.left).sum(-1)
    rises, sways = [], []
    for times in downs:
        for start, stop in pairwise(np.rint(times).astype(int)):
            along = np.linspace(0, 1, stop - start + 1)
            # Nobody walks exactly straight: the drift over the stride is not part of the sway.
            drift = sideways[start] + along * (sideways[stop] - sideways[start])
            rises.append(np.ptp(centre[start : stop + 1, 1]))
            sways.append(np.ptp(sideways[start : stop + 1] - drift))
    return (float(np.mean(rises)), float(np.mean(sways))) if rises else (np.nan, np.nan)


def measure_walk(stretch: Recording) -> Walk | None:
    """Measure a stretch of straight walking; None if it has no two strides of one side."""
    joints, fps = stretch.joints, stretch.fps
    heading = straight_heading(joints, fps)
    if heading is None:
        return None
    strides = np.concatenate([np.diff(times) for times in touch_downs(joints, None, heading)]) / fps
    if len(strides) < 2:
        return None
    stride = float(strides.mean())
    rise, sway = mass_excursions(joints, touch_downs(joints, stretch.contact, heading), heading)
    return Walk(
        speed=heading.speed,
        cadence=120 / stride,
        step=heading.speed * stride / 2,
        leg=float(stature(joints).mean()) * (PROPORTIONS["thigh"] + PROPORTIONS["shank"] + PROPORTIONS["ankle_height"]),
        labelled_stance=labelled_stance(stretch.contact),
        double_support=labelled_stance(stretch.contact, both=True),
        rise=rise,
        sway=sway,
    )


def labelled_stance(contact: Array | None, *, both: bool = False) -> float | None:
    """Return the share of whole cycles, in %, in which a foot, or both feet, are in contact.

    Parameters
    ----------
    contact : uint8 [frame, point], or None
    both : bool, optional

    Returns
    -------
    float or None
        None without labels or without a cycle.
    """
    if contact is None:
        return None
    shares = []
    down = foot_contacts(contact)
    for side in (0, 1):
        starts = _first_frames(down[:, side])
        touching = np.asarray(down.all(-1) if both else down[:, side])
        if len(starts) > 1:
            shares.append(100 * float(touching[starts[0] : starts[-1]].mean()))
    return float(np.mean(shares)) if shares else None


def measure_run(stretch: Recording) -> Run | None:
    """Measure a stretch of straight running; None if it has no labels, no whole cycle, or no flight."""
    heading = straight_heading(stretch.joints, stretch.fps)
    if heading is None or stretch.contact is None:
        return None
    downs = touch_downs(stretch.joints, stretch.contact, heading)
    stance = labelled_stance(stretch.contact)
    touching = np.asarray(foot_contacts(stretch.contact).any(-1))
    if min(map(len, downs)) < 2 or stance is None or touching.all():
        return None
    stride = float(np.concatenate([np.diff(times) for times in downs]).mean()) / stretch.fps
    contact = stance / 100 * stride
    every = np.concatenate(downs)
    in_air = 1 - float(touching[round(every.min()) : round(every.max())].mean())
    return Run(heading.speed, 120 / stride, contact, in_air * stride / 2, mass_excursions(stretch.joints, downs, heading)[0])


@dataclass(frozen=True)
class Curve:
    """The mean of an angle over the gait cycle in one speed bin, compared with the published curve.

    Attributes
    ----------
    angle, speed : str
        As :mod:`posegen.evaluation.gait` names them.
    cycles : int
        Number of cycles averaged.
    mean : list of float
        Degrees at 50 phases from touch-down.
    farthest, at : float or None
        Largest distance from the published curve, in standard deviations between people, and its phase; None where no curve
        is published.
    """

    angle: str
    speed: str
    cycles: int
    mean: list[float]
    farthest: float | None
    at: float | None


@dataclass
class GaitTally:
    """The gait of many clips, in memory that does not grow with their number."""

    walks: list[Walk] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    sums: dict[str, tuple[int, Array]] = field(default_factory=dict)
    most: int = MAX_STRETCHES

    def add(self, recording: Recording) -> None:
        """Add the gait of a clip."""
        for stretch in steady_stretches(recording, WALKING):
            walk = measure_walk(stretch)
            if walk is not None:
                self.walks.append(walk)
                self.add_cycles(stretch, walk)
        self.runs += [run for run in map(measure_run, steady_stretches(recording, RUNNING)) if run is not None]
        del self.walks[self.most :], self.runs[self.most :]

    def add_cycles(self, stretch: Recording, walk: Walk) -> None:
        """Add the angles of a walk to the sums of its speed."""
        heading = straight_heading(stretch.joints, stretch.fps)
        if heading is not None:
            cycles = angle_cycles(stretch.joints, touch_downs(stretch.joints, stretch.contact, heading))
            self._add_sums({speed_bin(walk.speed, walk.leg): (len(cycles), cycles.sum(0))})

    def _add_sums(self, later: Mapping[str, tuple[int, Array]]) -> None:
        for speed, (cycles, sums) in later.items():
            count, total = self.sums.get(speed, (0, 0.0))
            self.sums[speed] = count + cycles, total + sums

    def add_tally(self, later: GaitTally) -> None:
        """Add the gait of later clips."""
        self.walks += later.walks
        self.runs += later.runs
        del self.walks[self.most :], self.runs[self.most :]
        self._add_sums(later.sums)

    def curves(self) -> list[Curve]:
        """Return the mean curves, compared with the published ones."""
        curves = []
        for speed, (count, total) in self.sums.items():
            for k, angle in enumerate(ANGLES if count else ()):
                mean, published = total[k] / count, published_curve(angle, speed, PHASES)
                farthest = at = None
                if published is not None:
                    distance = np.abs(mean - published) / SPREAD[angle]
                    farthest, at = float(distance.max()), float(PHASES[distance.argmax()])
                curves.append(Curve(angle, speed, count, mean.round(2).tolist(), farthest, at))
        return curves
