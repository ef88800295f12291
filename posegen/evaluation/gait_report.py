"""Steady straight walking and running against what is published of them.

Where toes leave the floor as found from positions comes late by some 4 % of the cycle, of real walkers as well, so the law of
stance is held against the contact labels, and the stance from positions serves comparisons only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.evaluation.body import point
from posegen.evaluation.cycles import excursions, labelled_steps, peaks, straight_way, touch_downs
from posegen.evaluation.normative import stance_share, walk_ratio
from posegen.evaluation.recording import Recording
from posegen.skeleton import PROPORTIONS, sole_points

__all__ = ["RUNNING", "WALKING", "Run", "Walk", "run_of", "stance_of_labels", "steady", "walk_of", "walks_of_frames"]

Array = NDArray[Any]

EDGE = 0.6
"""Seconds left out at the ends of a segment, where it starts, stops and blends."""
STRAIGHT = 5.0
WALKING = ("walk",)
RUNNING = ("run", "sprint")


@dataclass(frozen=True)
class Walk:
    """A stretch of steady straight walking.

    Attributes
    ----------
    speed : float
        m/s.
    cadence : float
        Steps a minute.
    step : float
        Metres.
    stance : float
        % of the cycle from touch-down to toe-off as found from positions; some 4 points too long.
    leg : float
        Height of the hip of a straight leg, metres.
    labelled_stance, double_support : float or None
        % of the cycle that a foot, or both at once, are labelled as touching; None without labels or a whole cycle of them.
    rise, sway : float
        Metres that the centre of mass rises and falls, and sways from side to side, in a stride; NaN where there is no
        whole one.
    """

    speed: float
    cadence: float
    step: float
    stance: float
    leg: float
    labelled_stance: float | None = None
    double_support: float | None = None
    rise: float = np.nan
    sway: float = np.nan

    @property
    def ratio_error(self) -> float:
        """Step length by cadence, relative to the walk ratio of this leg, less 1."""
        return self.step / self.cadence / walk_ratio(self.leg) - 1

    @property
    def stance_error(self) -> float | None:
        """Points by which labelled stance exceeds 64.2 - 3.5 v (Kirtley et al. 1985)."""
        return None if self.labelled_stance is None else self.labelled_stance - stance_share(self.speed)


@dataclass(frozen=True)
class Run:
    """A stretch of steady straight running, by its contact labels.

    Attributes
    ----------
    speed : float
        m/s.
    cadence : float
        Steps a minute.
    contact, flight : float
        Seconds that a foot touches in a step, and that none does between two.
    rise : float
        Metres that the centre of mass rises and falls.
    """

    speed: float
    cadence: float
    contact: float
    flight: float
    rise: float


def steady(recording: Recording, actions: tuple[str, ...]) -> Iterator[Recording]:
    """Cut out the steady straight stretches of some gaits that a clip's labels tell of."""
    edge = round(EDGE * recording.fps)
    for segment in recording.segments:
        if segment["action"] in actions and "legs" in segment["parts"] and abs(segment["turn"]) < STRAIGHT:
            inner = slice(segment["start"] + edge, max(segment["end"] - edge, 0))
            contact = None if recording.contact is None else recording.contact[inner]
            yield replace(recording, joints=recording.joints[inner], contact=contact, segments=())


def walk_of(stretch: Recording) -> Walk | None:
    """Measure a stretch of walking straight on; None where it has no two strides of a side."""
    walk = walks_of_frames(stretch.joints, stretch.fps)
    way = straight_way(stretch.joints, stretch.fps)
    if walk is None or way is None:
        return None
    downs = touch_downs(stretch.joints, stretch.contact, way)
    rise, sway = excursions(stretch.joints, downs, way)
    walk = replace(walk, rise=rise, sway=sway)
    if stretch.contact is None:
        return walk
    return replace(
        walk, labelled_stance=stance_of_labels(stretch.contact), double_support=_share_of_cycles(stretch.contact, both=True)
    )


def stance_of_labels(contact: Array) -> float | None:
    """Share of whole cycles in which a foot touches, in %: uint8 [frame, point]; None where there is no whole cycle."""
    return _share_of_cycles(contact, both=False)


def _share_of_cycles(contact: Array, *, both: bool) -> float | None:
    shares = []
    down = labelled_steps(contact)
    for side in (0, 1):
        starts = np.flatnonzero(down[1:, side] & ~down[:-1, side]) + 1
        touching = np.asarray(down.all(-1) if both else down[:, side])
        if len(starts) > 1:
            shares.append(100 * float(touching[starts[0] : starts[-1]].mean()))
    return float(np.mean(shares)) if shares else None


def walks_of_frames(joints: Array, fps: float) -> Walk | None:
    """Measure a stretch of walking from positions alone: float [frame, 22, 3]. None where it has no two strides of a side."""
    way = straight_way(joints, fps)
    if way is None:
        return None
    pelvis = point(joints, "pelvis")[:, [0, 2]]
    before = ((sole_points(joints)[..., [0, 2]] - pelvis[:, None]) * way.ahead).sum(-1)
    strides, stances = [], []
    for side in (0, 1):
        contacts, leaves = peaks(before[:, 2 * side]), peaks(-before[:, 2 * side + 1])
        for start, stop in pairwise(contacts):
            between = leaves[(leaves > start) & (leaves < stop)]
            if len(between) == 1:
                strides.append((stop - start) / fps)
                stances.append(100 * (between[0] - start) / (stop - start))
    if len(strides) < 2:
        return None
    stride = float(np.mean(strides))
    return Walk(way.speed, 120 / stride, way.speed * stride / 2, float(np.mean(stances)), _leg(joints))


def run_of(stretch: Recording) -> Run | None:
    """Measure a stretch of running straight on; None where it has no labels, no whole cycle, or no flight."""
    way = straight_way(stretch.joints, stretch.fps)
    if way is None or stretch.contact is None:
        return None
    downs = touch_downs(stretch.joints, stretch.contact, way)
    stance = stance_of_labels(stretch.contact)
    touching = np.asarray(labelled_steps(stretch.contact).any(-1))
    if min(map(len, downs)) < 2 or stance is None or touching.all():
        return None
    stride = float(np.concatenate([np.diff(times) for times in downs]).mean()) / stretch.fps
    contact = stance / 100 * stride
    every = np.concatenate(downs)
    in_air = 1 - float(touching[round(every.min()) : round(every.max())].mean())
    return Run(way.speed, 120 / stride, contact, in_air * stride / 2, excursions(stretch.joints, downs, way)[0])


def _leg(joints: Array) -> float:
    hip, knee, ankle = (point(joints, f"left_{name}") for name in ("hip", "knee", "ankle"))
    limb = sum(float(np.sqrt(((a - b) ** 2).sum(-1)).mean()) for a, b in ((hip, knee), (knee, ankle)))
    return limb * (1 + PROPORTIONS["ankle_height"] / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))
