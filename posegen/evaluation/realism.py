"""Compare windows of generated motion with windows of a reference, such as mocap.

Clips are cut into windows of equal length, so that long and short clips are comparable. Their kinetic and geometric features
are those of the Fréchet distances FID_k and FID_g; :mod:`posegen.evaluation.distances` compares sets of features.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posegen.dataset.storage.address import AnyPath
from posegen.evaluation.body import centre_of_mass, joint_angles, point, unit
from posegen.evaluation.distances import band, frechet_distance, npss, share_inside
from posegen.evaluation.plausibility import MEASURES, low_pass, measure_clip, power_spectrum
from posegen.evaluation.recording import Recording
from posegen.evaluation.spread import Evenly, Spread, SpreadTally
from posegen.evaluation.variety import Motion, MotionTally, Variety, compare_variety, describe_motion
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.yaml_files import read_yaml

SECONDS = 1.6
"""Length of a window."""

STATISTICS = (
    "pelvis speed", "wrist speed", "ankle speed", "acceleration", "jerk", "knee range", "hip range", "elbow range",
    "trunk lean", "rise of mass",
)  # fmt: skip
"""Speeds in m/s, acceleration and jerk in m/s^2 and m/s^3 (root mean square, 5 Hz low pass), ranges and lean in
degrees, rise in metres."""

MIN_DEVIATION = 0.01
"""Least standard deviation by which a feature is scaled: a relation that holds in very few frames must not dominate."""
MAX_WINDOWS = 20_000
"""Most windows of a set that are kept; of more, every second one."""
_WRISTS, _ANKLES = ([JOINTS.index(f"{side}_{name}") for side in ("left", "right")] for name in ("wrist", "ankle"))


class Windows(NamedTuple):
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

    def at(self, chosen: Array) -> Windows:
        """Return the windows at some indices, or where a mask is true."""
        return Windows(*(values[chosen] for values in self))


def describe_windows(recording: Recording) -> Iterator[Windows]:
    """Yield the description of each full window of a clip; nothing for a clip that is too short."""
    length = round(SECONDS * recording.fps)
    for start in range(0, len(recording.joints) - length + 1, length):
        joints, fps = recording.joints[start : start + length], recording.fps
        described = (kinetic_features(joints, fps), geometric_features(joints, fps), _statistics(joints, fps), _power(joints))
        yield Windows(np.array([recording.person]), *(values[None].astype(np.float32) for values in described))


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
    angles, trunk = joint_angles(joints), point(joints, "neck") - point(joints, "pelvis")
    ranges = [[np.ptp(angles[f"{side}_{name}_flexion"]) for side in ("left", "right")] for name in ("knee", "hip", "elbow")]
    return np.array([
        speed[:, 0].mean(), speed[:, _WRISTS].mean(), speed[:, _ANKLES].mean(),
        np.sqrt((acceleration**2).mean()), np.sqrt((jerk**2).mean()),
        *np.mean(ranges, axis=1),
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
        windows=len(reference.person),
        others=len(windows.person),
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
    """Comparison with a reference, and the control that gives it a scale.

    Attributes
    ----------
    dataset : Comparison
        Base variants against the whole reference.
    split : Comparison or None
        Half of the reference's persons against the other half; None for a reference of one person.
    variety : Variety
        Variety of performances, poses and transitions of both sets.
    """

    dataset: Comparison
    split: Comparison | None
    variety: Variety


Described = tuple[list[Windows], Motion]
"""The compared parts of a clip: windows, and performances, poses and transitions."""


def describe_clip(recording: Recording) -> Described:
    """Describe a clip for a :class:`RealismTally`."""
    return list(describe_windows(recording)), describe_motion(recording)


class RealismTally:
    """Collect the descriptions of a set of clips, in memory that does not grow with its size.

    Parameters
    ----------
    families : collection of str, optional
        Families whose performances are kept; all by default.
    """

    def __init__(self, families: Collection[str] | None = None) -> None:
        self.motions = MotionTally(families)
        self._windows = Evenly[Windows](MAX_WINDOWS)

    def add(self, described: Described) -> None:
        """Add the result of :func:`describe_clip`."""
        windows, motion = described
        self.motions.add(motion)
        for window in windows:
            self._windows.add(window)

    def windows(self, too_few: str) -> Windows:
        """Return all windows; UsageError with `too_few` as its message if they are fewer than two."""
        if len(self._windows.items) < 2:
            raise UsageError(f"{too_few}: fewer than two windows of 1.6 s")
        return Windows(*map(np.concatenate, zip(*self._windows.items, strict=True)))


class MeasuredReference(NamedTuple):
    """Windows of a reference, the distribution of its measures over clips, its performances, and its frame rate."""

    windows: Windows
    spread: dict[str, Spread]
    motions: MotionTally
    fps: float


def measure_reference(reference: Reference, fps: float = 0.0) -> MeasuredReference:
    """Read and measure a reference; UsageError if not all of it has `fps` frames per second, if given, or it is too short."""
    tally, compared = SpreadTally(tuple(MEASURES)), RealismTally()
    for recording in reference.recordings:
        fps = fps or recording.fps
        if abs(recording.fps - fps) > 1e-3 * fps:
            rates = f"{recording.fps:g} frames a second, the dataset {fps:g}"
            raise UsageError(f"{reference.name}: has {rates}; give a reference of that rate, or a folder of .bvh files")
        tally.add(recording.name, measure_clip(recording))
        compared.add(describe_clip(recording))
    windows = compared.windows(f"{reference.name}: holds too little to compare with")
    return MeasuredReference(windows, tally.spreads(), compared.motions, fps)


def compare_with_reference(mocap: MeasuredReference, found: RealismTally, path: AnyPath) -> Realism:
    """Compare the motion at `path` with a reference; UsageError for fewer than two windows."""
    ours, first = found.windows(f"{path}: is too short to compare"), split_by_person(mocap.windows.person)
    is_split = 1 < first.sum() < len(first) - 1
    split = compare(mocap.windows.at(first), mocap.windows.at(~first), mocap.windows) if is_split else None
    dataset = compare(mocap.windows, ours, mocap.windows)
    return Realism(dataset, split, compare_variety(mocap.motions, found.motions))


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
    where |= {"floor": np.zeros_like(where["pelvis"]), "up": np.zeros_like(where["pelvis"]) + np.array([0.0, 1.0, 0.0])}
    speeds = {name: np.diff(point(positions, name), axis=0) * fps for name in JOINTS}
    height = {name: where[name][:, 1] - positions[1:, :, 1].min(-1) for name in JOINTS}
    holds = []
    sizes = {name: np.linalg.norm(where[one] - where[other], axis=-1).mean() for name, (one, other) in _UNITS.items()}
    for relation in _RELATIONS:
        kind, names = relation["kind"], relation["joints"]
        low, high = (*relation["bounds"], np.inf)[:2]
        size = 1.0 if kind == "angle" else sizes[relation["unit"]]
        if kind == "fast":
            value = np.linalg.norm(speeds[names[0]], axis=-1)
        elif kind in ("higher", "lower"):
            value = height[names[0]]
        else:
            value = _four_points(kind, names, where, speeds)
        holds.append(value < low * size if kind == "lower" else (value > low * size) & (value <= high))
    return np.asarray(np.stack(holds).mean(-1))


def _four_points(relation: str, names: list[str], where: dict[str, Array], speeds: dict[str, Array]) -> Array:
    a, b, c, d = (where[name] for name in names)
    if relation == "angle":
        return np.asarray(np.degrees(np.arccos(np.clip((unit(b - a) * unit(d - c)).sum(-1), -1, 1))))
    normal = np.cross(b - a, c - a) if "off" in relation else b - a
    start = names[0] if "off" in relation else names[2]
    apart = speeds[names[3]] - speeds[start] if "moves" in relation else d - where[start]
    return np.asarray((apart * unit(normal)).sum(-1))
