"""Measure how varied motion is, and compare it with a reference: performances, windows, poses and transitions.

Precision and recall, how well windows of motion cover those of other people, are those of Kynkäänniemi et al. (2019).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.evaluation.performances import (
    JOINTS,
    MAX_SECONDS,
    PERIODIC,
    RATE,
    STANDING_POSE,
    Performance,
    PersonDistances,
    asymmetry,
    common_body,
    distance,
    mean,
    mirrored,
    performances,
    person_distances,
)
from posegen.evaluation.recording import Recording
from posegen.evaluation.spread import Evenly, evenly
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform

NEAR = 0.06
"""Mean joint distance in metres within which a frame shows a pose."""
COMMONEST = 5
VARIANCE = 0.95
"""Share of the variance of poses that components explain."""
MAX_PERFORMANCES = 400
"""Most performances of a family that are kept."""
MAX_CLIPS = 2000
"""Most clips whose poses and transitions are kept."""
MAX_POSES = 3000
"""Most poses of a set in the search for the commonest ones, and most poses of a family for principal components."""
MIN_COMPONENT_POSES = 100
NEAREST = 5
SPLITS = 6
MAX_WINDOWS = 200
"""Most windows of a family on each side, so that families of long clips do not dominate."""
MAX_JUDGED = 1000
"""Most windows of a family whose nearness to the reference is judged. More windows reduce the error of precision and do not
bias it: with as many as the reference has, 10 to 20 in some families, it changed by .1 from seed to seed."""
_ROUNDING = 1e-6
"""Relative difference of distances that count as equal: that of two windows and that of their mirror images, for example, are
rounded differently on some processors."""


class Motion(NamedTuple):
    """Parts of one clip for measures of variety: performances, poses, and poses around transitions."""

    performances: list[Performance]
    poses: Array
    transitions: Array


def describe_motion(recording: Recording) -> Motion:
    """Describe a clip for a :class:`MotionTally`."""
    body = common_body(recording.joints)
    poses = resample(body, recording.fps, RATE).astype(np.float32)
    return Motion(list(performances(recording, body)), poses[: MAX_SECONDS * RATE : 2], _transitions(recording, poses))


class MotionTally:
    """Collect performances, poses and transitions of a set, in memory that does not grow with its size.

    Parameters
    ----------
    families : collection of str, optional
        Families whose performances are kept; all by default.
    """

    def __init__(self, families: Collection[str] | None = None) -> None:
        self._families = families
        self.performances: dict[str, Evenly[Performance]] = {}
        self.clips = Evenly[tuple[Array, Array]](MAX_CLIPS)

    def add(self, motion: Motion) -> None:
        """Add the result of :func:`describe_motion`."""
        for performance in motion.performances:
            if self._families is None or performance.family in self._families:
                self.performances.setdefault(performance.family, Evenly(MAX_PERFORMANCES)).add(performance)
        self.clips.add((motion.poses, motion.transitions))


def _transitions(recording: Recording, poses: Array) -> Array:
    """Return the poses within half a second of each boundary between actions of the legs, or of the ends of a mocap clip.

    float32 [boundary, pose, 13, 3]; poses beyond the clip repeat its first or last one.
    """
    base = [segment for segment in recording.segments if "legs" in segment["parts"]]
    starts = [after["start"] for before, after in pairwise(base) if before["action"] != after["action"]]
    at = np.rint(np.array(starts) / recording.fps * RATE) if recording.segments else np.array([0, len(poses) - 1])
    around = at.astype(np.int64)[:, None] + np.arange(-RATE // 2, RATE // 2 + 1)
    return np.asarray(poses[np.clip(around, 0, len(poses) - 1)].reshape(-1, RATE + 1, len(JOINTS), 3))


@dataclass(frozen=True)
class Coverage:
    """How windows cover as many reference windows of half of the people; means of six splits.

    Attributes
    ----------
    windows : int
        Windows on each side.
    precision : float
        Share of the windows near a reference window. Of a family, up to :data:`MAX_JUDGED` windows are judged.
    recall : float
        Share of the reference windows near a window.
    """

    windows: int
    precision: float
    recall: float


class Windows(NamedTuple):
    """Windows, float32 [n, pose, 13, 3], with the person and the clip of each, str [n]."""

    poses: Array
    person: Array
    clip: Array

    def at(self, chosen: Array) -> Windows:
        """Return the windows at some indices."""
        return Windows(*(values[chosen] for values in self))


def gather_windows(found: Sequence[Performance]) -> Windows:
    """Return all windows of some performances."""
    each = [performance.windows() for performance in found]
    counts = list(map(len, each))
    names = (np.repeat([getattr(p, key) for p in found], counts) for key in ("person", "clip"))
    return Windows(np.concatenate(each), *names)


def compare_coverage(reference: Mapping[str, Windows], ours: Mapping[str, Windows]) -> dict[str, tuple[Coverage, Coverage]]:
    """Compare windows, and those of half of a reference's people, with those of the other half.

    Parameters
    ----------
    reference, ours : mapping of str to Windows
        By family; both have the same families.

    Returns
    -------
    dict of str to (Coverage, Coverage)
        Of `ours` and of the reference's other people, by family; pooled under ``""``. Families with fewer windows of half of
        the people than needed, or of a single person, are absent.
    """
    found: dict[str, list[tuple[Coverage, Coverage]]] = {}
    for split in range(SPLITS):
        pooled = []
        for family, theirs in reference.items():
            names = np.unique(theirs.person)
            mixed = uniform(0, np.arange(len(names)), Stream.AUGMENT, 1)[:, 0].argsort()
            people = np.roll(names[mixed], split // 2)
            half = np.isin(theirs.person, people[: (len(people) + 1) // 2]) == (split % 2 == 0)
            sides, own = (np.flatnonzero(half), np.flatnonzero(~half)), len(ours[family].person)
            count = min(MAX_WINDOWS, own, *map(len, sides))
            if count <= NEAREST:
                continue
            half_of_people, others = (theirs.at(evenly(side, count)) for side in sides)
            # Other windows in each split, so that the mean of the splits depends less on which they are.
            equally_many = ours[family].at(((np.arange(count) + (split + 0.5) / SPLITS) * own / count).astype(np.int64))
            every = ours[family].at(evenly(np.arange(own), MAX_JUDGED))
            pooled.append((half_of_people, others, equally_many))
            found.setdefault(family, []).append(_both(half_of_people, others, equally_many, every))
        if pooled:
            sets = (Windows(*map(np.concatenate, zip(*side, strict=True))) for side in zip(*pooled, strict=True))
            found.setdefault("", []).append(_both(*sets))
    return {family: (_mean([a for a, _ in pairs]), _mean([b for _, b in pairs])) for family, pairs in found.items()}


def _mean(splits: Sequence[Coverage]) -> Coverage:
    count, *shares = np.array([astuple(split) for split in splits]).T
    return Coverage(round(count.mean()), *map(mean, shares))


def _both(reference: Windows, other: Windows, ours: Windows, every: Windows | None = None) -> tuple[Coverage, Coverage]:
    return measure_coverage(reference, ours, every), measure_coverage(reference, other)


def measure_coverage(reference: Windows, windows: Windows, every: Windows | None = None) -> Coverage:
    """Measure the coverage of reference windows by as many windows.

    The distance of two windows is that of the nearer of one and its mirror image: the preferred side does not count. A ball
    around a window reaches its fifth nearest neighbour of another clip of the set. Precision is that of `every` window, if it
    is given.
    """
    apart = _distances(windows, reference)
    near = (apart if every is None else _distances(every, reference)) <= _radii(reference)
    recall = float((apart <= _radii(windows)[:, None]).any(0).mean())
    return Coverage(len(windows.poses), float(near.any(1).mean()), recall)


def _radii(windows: Windows) -> Array:
    """Return the distance of each window to its fifth nearest of other clips, which is within it; -1 if there are fewer."""
    apart = np.where(windows.clip[:, None] == windows.clip, np.inf, _distances(windows, windows))
    radii = np.sort(apart, axis=1)[:, NEAREST - 1] if len(apart) >= NEAREST else np.full(len(apart), np.inf)
    return np.where(np.isfinite(radii), radii * (1.0 + _ROUNDING), -1.0)


def _distances(ones: Windows, others: Windows) -> Array:
    first = ones.poses.reshape(len(ones.poses), -1).astype(np.float64)
    squares = []
    for poses in (others.poses, mirrored(others.poses)):
        second = poses.reshape(len(poses), -1).astype(np.float64)
        squares.append((first**2).sum(1)[:, None] + (second**2).sum(1) - 2 * first @ second.T)
    return np.asarray(np.sqrt(np.maximum(np.minimum(*squares), 0.0)))


@dataclass(frozen=True)
class FamilyVariety:
    """Variety of one family.

    Attributes
    ----------
    apart : PersonDistances
    coverage : Coverage or None
        Of the windows of other people in the reference; None for too few windows or people.
    asymmetry : float
        Mean distance of knees and ankles from those of the mirrored pose, cm.
    components : int or None
        Principal components for 95 % of the variance of equally many poses of both sets; None for under 100 poses.
    jerk : float
        Root mean square of the wrists' jerk after a 5 Hz low pass, median of the performances, m/s^3.
    """

    apart: PersonDistances
    coverage: Coverage | None
    asymmetry: float
    components: int | None
    jerk: float


@dataclass(frozen=True)
class SetVariety:
    """Variety of a set of clips.

    Attributes
    ----------
    families : dict of str to FamilyVariety
    coverage : Coverage or None
        Of the windows of all families.
    components : int or None
        Of equally many poses of each family.
    neutral, commonest : float
        Share of the frames near one standing pose, and near any of the set's five commonest poses.
    transitions : int
        Boundaries between actions; both ends of each mocap clip.
    through_neutral : float
        Share of them with a frame near the standing pose within half a second.
    """

    families: dict[str, FamilyVariety]
    coverage: Coverage | None
    components: int | None
    neutral: float
    commonest: float
    transitions: int
    through_neutral: float


@dataclass(frozen=True)
class Variety:
    """Variety of the generated clips, and of the reference."""

    generated: SetVariety
    reference: SetVariety


def compare_variety(reference: MotionTally, generated: MotionTally) -> Variety:
    """Measure the variety of two sets in the families that both contain, with equally many windows and poses."""
    shared = sorted(set(reference.performances) & set(generated.performances))
    sets = [{family: tally.performances[family].items for family in shared} for tally in (generated, reference)]
    windows = [{family: gather_windows(found) for family, found in each.items()} for each in sets]
    coverage = compare_coverage(windows[1], windows[0])
    covered = [{family: pair[side] for family, pair in coverage.items()} for side in (0, 1)]
    poses = [{family: np.concatenate([p.poses for p in found]) for family, found in each.items()} for each in sets]
    counts = {family: min(MAX_POSES, *(len(each[family]) for each in poses)) for family in shared}
    counts = {family: count for family, count in counts.items() if count >= MIN_COMPONENT_POSES}
    return Variety(*(_set_variety(*side, counts) for side in zip((generated, reference), sets, poses, covered, strict=True)))


def _set_variety(
    tally: MotionTally,
    sets: Mapping[str, Sequence[Performance]],
    poses_of: Mapping[str, Array],
    coverage: Mapping[str, Coverage],
    counts: Mapping[str, int],
) -> SetVariety:
    families = {
        family: FamilyVariety(
            person_distances(found, periodic=family in PERIODIC),
            coverage.get(family),
            100 * float(asymmetry(poses_of[family]).mean()),
            _components([evenly(poses_of[family], counts[family])]) if family in counts else None,
            _median([performance.jerk for performance in found]),
        )
        for family, found in sets.items()
    }
    pooled = [evenly(poses_of[family], min(counts.values())) for family in counts]
    poses, transitions = (np.concatenate(parts) for parts in zip(*tally.clips.items, strict=True))
    neutral = _neutral_pose(poses)
    return SetVariety(
        families,
        coverage.get(""),
        _components(pooled) if pooled else None,
        neutral=float(_near(poses, neutral).mean()),
        commonest=_commonest_share(evenly(poses, MAX_POSES)),
        transitions=len(transitions),
        through_neutral=mean(np.asarray(_near(transitions, neutral).any(1))),
    )


def _median(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.median(finite)) if finite else float("nan")


def _near(poses: Array, pose: Array) -> Array:
    return np.asarray(distance(poses, pose) < NEAR)


def _neutral_pose(poses: Array) -> Array:
    """Return the mean of the poses near it, from the pose nearest to upright standing with hanging arms."""
    pose = poses[distance(poses, STANDING_POSE).argmin()]
    for _ in range(10):
        pose = poses[_near(poses, pose)].mean(0)
    return np.asarray(pose)


def _commonest_share(poses: Array) -> float:
    near = np.array([_near(poses, pose) for pose in poses])
    left = np.ones(len(poses), bool)
    for _ in range(COMMONEST):
        left &= ~near[(near & left).sum(1).argmax()]
    return 1 - float(left.mean())


def _components(poses: Sequence[Array]) -> int:
    """Return the number of principal components for :data:`VARIANCE` of the variance of poses."""
    flat = np.concatenate(poses).reshape(-1, 3 * len(JOINTS)).astype(np.float64)
    powers = np.linalg.svd(flat - flat.mean(0), compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(powers), VARIANCE * powers.sum() - 1e-12) + 1)
