"""Compare windows of generated motion with windows of a reference, such as mocap.

Clips are cut into windows of equal length, so that long and short clips are comparable. Their kinetic and geometric features
are those of the Fréchet distances FID_k and FID_g; :mod:`posegen.evaluation.distances` compares sets of features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posegen.dataset.storage.address import AnyPath
from posegen.evaluation.body import centre_of_mass, joint_angles, point, unit
from posegen.evaluation.distances import band, frechet_distance, npss, share_inside
from posegen.evaluation.plausibility import (
    LOWER_IS_WORSE,
    MEASURES,
    log_dimensionless_jerk,
    low_pass,
    measure_clip,
    power_spectrum,
    sparc,
)
from posegen.evaluation.recording import Recording
from posegen.evaluation.spread import Spread, SpreadTally
from posegen.evaluation.variety import MotionTally, Variety, compare_variety, describe_motion
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, normal
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.yaml_files import read_yaml

SECONDS = 1.6
"""Length of a window."""

STATISTICS = (
    "pelvis speed", "wrist speed", "ankle speed", "acceleration", "jerk", "SPARC wrists", "SPARC ankles", "log jerk wrists",
    "log jerk ankles", "knee range", "hip range", "elbow range", "trunk lean", "rise of mass",
)  # fmt: skip
"""Speeds in m/s, acceleration and jerk in m/s^2 and m/s^3 (root mean square, 5 Hz low pass), ranges and lean in
degrees, rise in metres."""

MIN_DEVIATION = 0.01
"""Least standard deviation by which a feature is scaled: a relation that hardly ever holds must not dominate."""
MAX_REFERENCE_WINDOWS = 20_000
"""Most windows of a reference that are kept."""
JITTER = 0.005
"""Standard deviation in metres of the noise that is added to the joints of the spoiled control."""


@dataclass(frozen=True)
class Windows:
    """Descriptions of n windows.

    Attributes
    ----------
    person : str [n]
    kinetic : float [n, 66]
    geometric : float [n, 32]
    statistics : float [n, statistic]
    power : float [n, frequency, coordinate]
        Power spectra of joints relative to the pelvis and the first heading.
    """

    person: Array
    kinetic: Array
    geometric: Array
    statistics: Array
    power: Array

    def __len__(self) -> int:
        return len(self.person)

    def __getitem__(self, chosen: Array) -> Windows:
        return Windows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def describe_windows(recording: Recording) -> Iterator[Windows]:
    """Yield the description of each full window of a clip; nothing for a clip that is too short."""
    length = round(SECONDS * recording.fps)
    for start in range(0, len(recording.joints) - length + 1, length):
        joints, fps = recording.joints[start : start + length], recording.fps
        described = (kinetic_features(joints, fps), geometric_features(joints, fps), _statistics(joints, fps), _power(joints))
        yield Windows(np.array([recording.person]), *(values[None].astype(np.float32) for values in described))


def concatenate_windows(parts: Sequence[Windows]) -> Windows:
    """Concatenate windows, at least one."""
    return Windows(*(np.concatenate([getattr(part, name) for part in parts]) for name in Windows.__dataclass_fields__))


def _power(joints: Array) -> Array:
    across = unit((point(joints, "left_hip") - point(joints, "right_hip"))[0, [0, 2]])
    turn = np.array([[across[0], -across[1]], [across[1], across[0]]])  # left in the first frame becomes x
    positions = joints - point(joints, "pelvis")[:, None]
    positions[..., [0, 2]] = positions[..., [0, 2]] @ turn
    return power_spectrum((positions - positions.mean(0)).reshape(len(positions), -1))


def _statistics(joints: Array, fps: float) -> Array:
    filtered = low_pass(joints, fps)
    motion = [np.diff(filtered, order, axis=0) * fps**order for order in (1, 2, 3)]
    speed, acceleration, jerk = (np.sqrt((m * m).sum(-1)) for m in motion)
    pairs = {name: speed[:, [joint, joint + 1]] for name, joint in (("ankle", 7), ("wrist", 20))}
    angles = joint_angles(joints)
    trunk = point(joints, "neck") - point(joints, "pelvis")

    def mean_smoothness(measure: Callable[[Array, float], Array], name: str) -> float:
        return float(measure(pairs[name].T, fps).mean())

    def mean_range(name: str) -> float:
        return float(np.mean([np.ptp(angles[f"{side}_{name}_flexion"]) for side in ("left", "right")]))

    return np.array([
        speed[:, 0].mean(), pairs["wrist"].mean(), pairs["ankle"].mean(),
        np.sqrt((acceleration**2).mean()), np.sqrt((jerk**2).mean()),
        mean_smoothness(sparc, "wrist"), mean_smoothness(sparc, "ankle"),
        mean_smoothness(log_dimensionless_jerk, "wrist"), mean_smoothness(log_dimensionless_jerk, "ankle"),
        mean_range("knee"), mean_range("hip"), mean_range("elbow"),
        np.degrees(np.arccos(np.clip(unit(trunk)[:, 1], -1, 1))).mean(),
        np.ptp(centre_of_mass(joints)[:, 1]),
    ])  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Distance of a set of windows from a reference set.

    Attributes
    ----------
    windows, others : int
        Number of windows of the reference and of the compared set. Fréchet distances decrease with both.
    fid_kinetic, fid_geometric : float
        Fréchet distances of scaled features; 0 for equal sets.
    npss : float
        NPSS of mean power spectra; 0 for equal sets.
    inside : dict of str to float
        For each statistic the share of windows inside the 5 to 95 % band of the reference; .9 for equal sets.
    """

    windows: int
    others: int
    fid_kinetic: float
    fid_geometric: float
    npss: float
    inside: dict[str, float]


def compare(reference: Windows, windows: Windows, scale: Windows) -> Comparison:
    """Compare windows with those of a reference; at least two each.

    Parameters
    ----------
    reference, windows : Windows
    scale : Windows
        The windows whose means and standard deviations scale the features: the same for a comparison and its controls.
    """
    kinetic = _scaled(reference.kinetic, windows.kinetic, scale.kinetic)
    geometric = _scaled(reference.geometric, windows.geometric, scale.geometric)
    return Comparison(
        windows=len(reference),
        others=len(windows),
        fid_kinetic=frechet_distance(*kinetic),
        fid_geometric=frechet_distance(*geometric),
        npss=npss(reference.power.mean(0), windows.power.mean(0)),
        inside=dict(zip(STATISTICS, share_inside(windows.statistics, band(reference.statistics)).tolist(), strict=True)),
    )


def split_by_person(persons: Array) -> Array:
    """Split windows into two halves of similar size that share no person.

    Parameters
    ----------
    persons : str [n]
        The person in each window.

    Returns
    -------
    bool [n]
        True for windows of the first half. Persons are assigned by descending number of windows to the smaller half.
    """
    names, counts = np.unique(persons, return_counts=True)
    first: list[Any] = []
    sizes = [0, 0]
    for position in np.argsort(-counts, kind="stable"):
        half = int(sizes[1] < sizes[0])
        sizes[half] += int(counts[position])
        if half == 0:
            first.append(names[position])
    return np.isin(persons, first)


def _scaled(reference: Array, others: Array, scale: Array) -> tuple[Array, Array]:
    mean, spread = scale.mean(0, dtype=np.float64), np.maximum(scale.std(0, dtype=np.float64), MIN_DEVIATION)
    return (reference - mean) / spread, (others - mean) / spread


@dataclass(frozen=True)
class Reference:
    """Mocap to compare with: its name for messages, and its clips, which are read once."""

    name: str
    recordings: Iterable[Recording]


@dataclass(frozen=True)
class Realism:
    """Comparison with a reference, and the two controls that give it a scale.

    Attributes
    ----------
    dataset : Comparison
        Base variants against the whole reference.
    split, spoiled : Comparison or None
        Half of the reference's persons against the other half, unchanged and with joints displaced by 5 mm in every frame;
        None for a reference of one person.
    variety : Variety
        Of performances, poses and transitions, beside those of the reference.
    """

    dataset: Comparison
    split: Comparison | None
    spoiled: Comparison | None
    variety: Variety


class MeasuredReference(NamedTuple):
    """Windows of a reference, the same with displaced joints, the distribution of its measures over clips, its performances."""

    windows: Windows
    spoiled: Windows
    spread: dict[str, Spread]
    motions: MotionTally


def measure_reference(reference: Reference, fps: float) -> MeasuredReference:
    """Read and measure a reference; UsageError if it has not `fps` frames per second, or is too short."""
    tally, motions = SpreadTally(tuple(MEASURES), LOWER_IS_WORSE), MotionTally()
    windows: list[Windows] = []
    spoiled: list[Windows] = []
    step = 1
    for number, recording in enumerate(reference.recordings):
        if abs(recording.fps - fps) > 1e-3 * fps:
            rates = f"{recording.fps:g} frames a second, the dataset {fps:g}"
            raise UsageError(f"{reference.name}: has {rates}; give a reference of that rate, or a folder of .bvh files")
        tally.add(recording.name, measure_clip(recording))
        motions.add(describe_motion(recording))
        if number % step == 0:
            windows += describe_windows(recording)
            draws = normal(0, np.array([number]), Stream.AUGMENT, recording.joints.size).reshape(recording.joints.shape)
            spoiled += describe_windows(replace(recording, joints=recording.joints + JITTER * draws))
        if len(windows) >= MAX_REFERENCE_WINDOWS:
            # Keep every second window, and every second of the clips that follow.
            windows, spoiled, step = windows[::2], spoiled[::2], 2 * step
    if len(windows) < 2:
        raise UsageError(f"{reference.name}: holds too little to compare with: fewer than two windows of 1.6 s")
    return MeasuredReference(concatenate_windows(windows), concatenate_windows(spoiled), tally.spreads(), motions)


def compare_with_reference(
    mocap: MeasuredReference, windows: Sequence[Windows], motions: MotionTally, path: AnyPath
) -> Realism:
    """Compare windows and motions of the dataset at `path` with a reference; UsageError for fewer than two windows."""
    if len(windows) < 2:
        raise UsageError(f"{path}: is too short to compare: its base variants have fewer than two windows of 1.6 s")
    ours, first = concatenate_windows(windows), split_by_person(mocap.windows.person)
    split = spoiled = None
    if 1 < first.sum() < len(first) - 1:
        split = compare(mocap.windows[first], mocap.windows[~first], mocap.windows)
        spoiled = compare(mocap.windows[first], mocap.spoiled[~first], mocap.windows)
    dataset = compare(mocap.windows, ours, mocap.windows)
    return Realism(dataset, split, spoiled, compare_variety(mocap.motions, motions))


_KINETIC_WINDOW = 5
"""Frames over which velocities and accelerations are averaged, as in AIST++."""


def kinetic_features(joints: ArrayLike, fps: float) -> Array:
    """Return mean horizontal and vertical kinetic energy and mean acceleration of each joint (Onuma et al. 2008).

    Parameters
    ----------
    joints : float [frame, joint, axis]
        Metres, without gaps; at least 8 frames.
    fps : float
        Frames per second: the actual rate, where AIST++ (Li et al. 2021) always takes 60.

    Returns
    -------
    float64 [3 * joints]
        For each joint m^2/s^2, m^2/s^2, m/s^2: 66 for 22 joints where AIST++ has 72 for the 24 of SMPL. Unlike there,
        only frames whose window is inside the clip count.
    """
    positions = np.asarray(joints, np.float64)
    velocity = (positions[_KINETIC_WINDOW:] - positions[:-_KINETIC_WINDOW]) * (fps / _KINETIC_WINDOW)
    steps = np.diff(positions, axis=0) * fps
    acceleration = (steps[_KINETIC_WINDOW:] - steps[:-_KINETIC_WINDOW]) * (fps / _KINETIC_WINDOW)
    across = (velocity[..., [0, 2]] ** 2).sum(-1).mean(0)
    upward = (velocity[..., 1] ** 2).mean(0)
    effort = np.sqrt((acceleration**2).sum(-1)).mean(0)
    return np.stack([across, upward, effort], axis=-1).reshape(-1)


_RELATIONS: Sequence[Mapping[str, Any]] = read_yaml(Path(__file__).with_name("relations.yaml"))
_UNITS = {
    "upper arm": ("left_shoulder", "left_elbow"),
    "shoulders": ("left_shoulder", "right_shoulder"),
    "hips": ("left_hip", "right_hip"),
}
UP, FLOOR = "up", "floor"


def geometric_features(joints: ArrayLike, fps: float) -> Array:
    """Return the share of a clip's frames in which each of 32 geometric relations holds.

    The relations are those of Müller, Röder and Clausen (2005) as chosen by fairmotion and AIST++: whether a hand moves
    forward or is raised, a knee is bent, a foot is in front of the other. Lengths are relative to the clip's own upper arm,
    shoulder width or hip width.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, without gaps; at least 2 frames.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [32]
        In the order of AIST++.
    """
    positions = np.asarray(joints, np.float64)
    where = {name: point(positions, name)[1:] for name in JOINTS}
    where |= {FLOOR: np.zeros_like(where["pelvis"]), UP: np.zeros_like(where["pelvis"]) + np.array([0.0, 1.0, 0.0])}
    speeds = {name: np.diff(point(positions, name), axis=0) * fps for name in JOINTS}
    height = {name: where[name][:, 1] - positions[1:, :, 1].min(-1) for name in JOINTS}
    holds = []
    sizes = {name: np.linalg.norm(where[one] - where[other], axis=-1).mean() for name, (one, other) in _UNITS.items()}
    for relation in _RELATIONS:
        kind, names, bounds, sign = relation["kind"], relation["joints"], relation["bounds"], 1.0
        if kind == "fast":
            value = np.linalg.norm(speeds[names[0]], axis=-1)
        elif kind in ("higher", "lower"):
            sign = 1.0 if kind == "higher" else -1.0
            value = sign * height[names[0]]
        else:
            value = _four_points(kind, names, where, speeds)
        if kind == "angle":
            holds.append((value >= bounds[0]) & (value <= bounds[1]))
        else:
            holds.append(value > sign * bounds[0] * sizes[relation["unit"]])
    return np.asarray(np.stack(holds).mean(-1))


def _four_points(relation: str, names: list[str], where: dict[str, Array], speeds: dict[str, Array]) -> Array:
    a, b, c, d = (where[name] for name in names)
    if relation == "angle":
        return np.asarray(np.degrees(np.arccos(np.clip((unit(b - a) * unit(d - c)).sum(-1), -1, 1))))
    if relation == "before":
        return _along(d - c, b - a)
    if relation == "off":
        return _along(d - a, np.cross(b - a, c - a))
    if relation == "moves":
        return _along(speeds[names[3]] - speeds[names[2]], b - a)
    return _along(speeds[names[3]] - speeds[names[0]], np.cross(b - a, c - a))


def _along(vectors: Array, way: Array) -> Array:
    return np.asarray((vectors * unit(way)).sum(-1))
