"""Measure how varied motion is, and compare it with a reference: performances, windows, poses and transitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from posegen.dataset.clip_files import resample
from posegen.evaluation.common_body import JOINTS, STANDING, asymmetry, common_body, distance
from posegen.evaluation.coverage import Coverage, compare_coverage, gather_windows
from posegen.evaluation.families import PERIODIC
from posegen.evaluation.performances import (
    MAX_SECONDS,
    RATE,
    Performance,
    PersonDistances,
    mean,
    performances,
    person_distances,
)
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array

Item = TypeVar("Item")

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
"""Most poses of a set among which the commonest are found, and most of a family of which components are taken."""
MIN_COMPONENT_POSES = 100


class Evenly(Generic[Item]):
    """A list that drops every second item when it is full, and from then on keeps every second new one."""

    def __init__(self, most: int) -> None:
        self.items: list[Item] = []
        self._most, self._step, self._seen = most, 1, 0

    def add(self, item: Item) -> None:
        """Add an item, or skip it."""
        if self._seen % self._step == 0:
            self.items.append(item)
        self._seen += 1
        if len(self.items) >= self._most:
            self.items, self._step = self.items[::2], 2 * self._step


class Motion(NamedTuple):
    """What the variety of a set is measured by, of one clip: its performances, its poses, and those around its transitions."""

    performances: list[Performance]
    poses: Array
    transitions: Array


def describe_motion(recording: Recording) -> Motion:
    """Return what a clip adds to a :class:`MotionTally`."""
    body = common_body(recording.joints)
    poses = resample(body, recording.fps, RATE).astype(np.float32)
    return Motion(list(performances(recording, body)), poses[: MAX_SECONDS * RATE : 2], _transitions(recording, poses))


class MotionTally:
    """Collect what the variety of a set is measured by, in memory that does not grow with its size.

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
        """Add what :func:`describe_motion` returns of a clip."""
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
    return Variety(*(_set_variety(*side, counts) for side in zip((generated, reference), sets, covered, strict=True)))


def _set_variety(
    tally: MotionTally, sets: Mapping[str, Sequence[Performance]], coverage: Mapping[str, Coverage], counts: Mapping[str, int]
) -> SetVariety:
    families = {}
    for family, found in sets.items():
        poses = np.concatenate([performance.poses for performance in found])
        families[family] = FamilyVariety(
            person_distances(found, periodic=family in PERIODIC),
            coverage.get(family),
            100 * float(asymmetry(poses).mean()),
            _components([_evenly(poses, counts[family])]) if family in counts else None,
            _median([performance.jerk for performance in found]),
        )
    pooled = [
        _evenly(np.concatenate([performance.poses for performance in sets[family]]), min(counts.values())) for family in counts
    ]
    poses, transitions = (np.concatenate(parts) for parts in zip(*tally.clips.items, strict=True))
    neutral = _neutral_pose(poses)
    return SetVariety(
        families,
        coverage.get(""),
        _components(pooled) if pooled else None,
        neutral=float(_near(poses, neutral).mean()),
        commonest=_commonest_share(_evenly(poses, MAX_POSES)),
        transitions=len(transitions),
        through_neutral=mean(np.asarray(_near(transitions, neutral).any(1))),
    )


def _median(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.median(finite)) if finite else float("nan")


def _evenly(values: Array, count: int) -> Array:
    return values[np.linspace(0, len(values) - 1, min(count, len(values))).astype(np.int64)]


def _near(poses: Array, pose: Array) -> Array:
    return np.asarray(distance(poses, pose) < NEAR)


def _neutral_pose(poses: Array) -> Array:
    """Return the mean of the poses near it, from the pose nearest to upright standing with hanging arms."""
    pose = poses[distance(poses, STANDING).argmin()]
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
