"""Read BVH files: parse the hierarchy and the frames, and map their joints to the 22 joints in metres.

Files are untrusted: every number is checked before memory is allocated for it. Errors name file and line.

``bvh_names.yaml`` lists the names of joints by convention. The first convention that names all joints is used.

Spines have any number of joints: spine1 to spine3 are interpolated along the chain from pelvis to neck, at the shares of its
length at which posegen's skeleton has them. A foot without a toe joint ends at the End Site of the ankle. A collar at the neck,
as in ASF files, is moved a third of the way to the shoulder.

The unit is detected by the length of the legs, .45 to 1.3 m in people: metres, centimetres, or the unit of CMU's ASF files
(5.644 cm).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np

from posegen.arrays import Array
from posegen.errors import UsageError
from posegen.skeleton import JOINTS
from posegen.wording import shown
from posegen.yaml_files import read_yaml

MOST_BYTES = 128 * 2**20
MOST_JOINTS, DEEPEST, MOST_FRAMES = 500, 100, 500_000
LONGEST_LINE = 100_000
FARTHEST = 1e6
"""Maximum absolute value of a number, in the units of the file or degrees."""
SHORTEST_STEP, LONGEST_STEP = 0.001, 1.0
END_SITE = "End Site"
_AXES = "XYZ"
_CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in _AXES)


@dataclass(frozen=True)
class BvhJoint:
    """One joint or End Site: name, parent (-1 for the root), offset from the parent, and channels in file order."""

    name: str
    parent: int
    offset: tuple[float, float, float]
    channels: tuple[str, ...]


@dataclass(frozen=True)
class BvhMotion:
    """The content of a file: joints (parents first), float64 values [frame, channel], and frames per second."""

    joints: tuple[BvhJoint, ...]
    values: Array
    fps: float


@dataclass
class _Lines:
    """A reader of lines of bounded length that counts them."""

    path: Path
    file: BufferedReader
    number: int = 0

    def fault(self, what: str) -> UsageError:
        return UsageError(f"{self.path}, line {self.number}: {what}")

    def words(self) -> list[str]:
        """Return the words of the next non-empty line; an empty list at the end of the file."""
        while line := self.file.readline(LONGEST_LINE + 1):
            self.number += 1
            if len(line) > LONGEST_LINE:
                raise self.fault(f"is longer than {LONGEST_LINE:,} characters")
            try:
                # Windows programs write a byte order mark.
                words = line.decode("utf-8-sig" if self.number == 1 else "utf-8").split()
            except UnicodeDecodeError:
                raise self.fault("is not UTF-8 text") from None
            if words:
                return words
        return []

    def expect(self, *start: str) -> list[str]:
        """Return the words after `start`, with which the next line must begin."""
        words = self.words()
        if not words:
            raise self.fault(f"the file ends where `{' '.join(start)}` should be")
        if [word.upper() for word in words[: len(start)]] != [word.upper() for word in start]:
            raise self.fault(f"should be `{' '.join(start)}` (got {shown(' '.join(words))})")
        return words[len(start) :]

    def numbers(self, words: list[str], count: int) -> list[float]:
        if len(words) != count:
            raise self.fault(f"has {len(words)} numbers, not {count}")
        try:
            values = [float(word) for word in words]
        except ValueError:
            raise self.fault("contains something that is not a number") from None
        if not all(abs(value) <= FARTHEST for value in values):  # so is NaN
            raise self.fault(f"contains NaN or a number beyond {FARTHEST:,.0f}")
        return values


def read_bvh(path: Path) -> BvhMotion:
    """Read a BVH file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    BvhMotion

    Raises
    ------
    UsageError
        If it is not a valid BVH file, or larger than 128 MB; the message names the line.
    """
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MOST_BYTES:
            raise UsageError(f"{path}: is not a file of at most {MOST_BYTES // 2**20} MB")
        with path.open("rb") as file:
            return _motion(_Lines(path, file), size)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error


def _motion(lines: _Lines, size: int) -> BvhMotion:
    joints = _hierarchy(lines)
    lines.expect("MOTION")
    frames = _frames(lines)
    (step,) = lines.numbers(lines.expect("Frame", "Time:"), 1)
    if not SHORTEST_STEP <= step <= LONGEST_STEP:
        raise lines.fault(f"a frame takes {SHORTEST_STEP:g} to {LONGEST_STEP:g} seconds (got {step:g})")
    channels = sum(len(joint.channels) for joint in joints)
    # A number and its separator take at least two bytes.
    if frames * channels * 2 > size + 2:
        raise lines.fault(f"{frames:,} frames of {channels} numbers are more than a file of {size:,} bytes can hold")
    values = np.empty((frames, channels))
    for frame in range(frames):
        words = lines.words()
        if not words:
            raise lines.fault(f"the file ends after {frame:,} of {frames:,} frames")
        values[frame] = lines.numbers(words, channels)
    if lines.words():
        raise lines.fault(f"there is more data after the last of {frames:,} frames")
    return BvhMotion(joints, values, 1 / step)


def _frames(lines: _Lines) -> int:
    text = " ".join(lines.expect("Frames:"))
    short = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_FRAMES))
    if not short or not 1 <= int(text) <= MOST_FRAMES:
        raise lines.fault(f"the number of frames must be above 0, a whole number up to {MOST_FRAMES:,} (got {shown(text)})")
    return int(text)


def _hierarchy(lines: _Lines) -> tuple[BvhJoint, ...]:
    lines.expect("HIERARCHY")
    name = " ".join(lines.expect("ROOT"))
    joints = [_joint(lines, name, -1)]
    above = [0]
    while above:
        words = lines.words()
        kind = words[0].upper() if words else ""
        if kind == "}":
            above.pop()
        elif kind in ("JOINT", "END"):
            if len(joints) >= MOST_JOINTS or len(above) >= DEEPEST:
                raise lines.fault(f"more than {MOST_JOINTS} joints, or more than {DEEPEST} below one another")
            name = END_SITE if kind == "END" else " ".join(words[1:])
            joints.append(_joint(lines, name, above[-1]))
            above.append(len(joints) - 1)
        elif words:
            raise lines.fault(f"should be JOINT, End Site or }} (got {shown(' '.join(words))})")
        else:
            raise lines.fault("the file ends within the tree of joints")
    return tuple(joints)


def _joint(lines: _Lines, name: str, parent: int) -> BvhJoint:
    if not name or len(name) > 200:
        raise lines.fault("a joint needs a name of at most 200 characters")
    lines.expect("{")
    x, y, z = lines.numbers(lines.expect("OFFSET"), 3)
    channels = () if name == END_SITE else _channels(lines)
    return BvhJoint(name, parent, (x, y, z), channels)


def _channels(lines: _Lines) -> tuple[str, ...]:
    words = lines.expect("CHANNELS")
    known = {channel.lower(): channel for channel in _CHANNELS}
    named = [known.get(word.lower()) for word in words[1:]]
    if None in named or len(set(named)) != len(named) or not words or words[0] != str(len(named)):
        raise lines.fault(f"CHANNELS must be a count and as many of {', '.join(_CHANNELS)} (got {shown(' '.join(words))})")
    return tuple(name for name in named if name)


def joint_positions(joints: Sequence[BvhJoint], values: Array) -> Array:
    """Return the positions of all joints by forward kinematics.

    Parameters
    ----------
    joints : sequence of BvhJoint
    values : float64 [frame, channel]

    Returns
    -------
    float64 [frame, joint, 3]
        In the units of the file.
    """
    positions = np.zeros((len(values), len(joints), 3))
    turns: list[Array] = []
    columns = iter(values.T)
    for number, joint in enumerate(joints):
        offset = np.tile(np.array(joint.offset), (len(values), 1))
        turn = np.broadcast_to(np.eye(3), (len(values), 3, 3))
        for channel in joint.channels:
            axis = _AXES.index(channel[0])
            if channel.endswith("rotation"):
                turn = turn @ _about(axis, next(columns))
            else:
                # Position channels replace the offset.
                offset[:, axis] = next(columns)
        if joint.parent < 0:
            positions[:, number] = offset
        else:
            positions[:, number] = positions[:, joint.parent] + (turns[joint.parent] @ offset[..., None])[..., 0]
            turn = turns[joint.parent] @ turn
        turns.append(turn)
    return positions


def _about(axis: int, degrees: Array) -> Array:
    """Return rotations about an axis: float64 [frame, 3, 3]."""
    cosine, sine = (function(np.radians(degrees))[:, None, None] for function in (np.cos, np.sin))
    unit = np.eye(3)[axis]
    # Rodrigues' formula; the rows of the cross products with the axis are those of its transpose.
    return np.asarray(cosine * np.eye(3) + (1 - cosine) * np.outer(unit, unit) + sine * np.cross(unit, np.eye(3)).T)


UNITS: Mapping[str, float] = {"metres": 1.0, "centimetres": 0.01, "CMU's units": 0.0564444}
SHORTEST_LEG, LONGEST_LEG = 0.45, 1.3
FRAMES_AT_ONCE = 1000
AT_NECK = 0.02
"""Metres."""

_SPINE = {"spine1": 0.214, "spine2": 0.472, "spine3": 0.584}
"""Shares of the chain from pelvis to neck."""

_CONVENTIONS: Mapping[str, Mapping[str, list[str]]] = read_yaml(Path(__file__).with_name("bvh_names.yaml"))
_CENTRE = ("pelvis", "neck", "head")
"""The other joints have two sides."""


@dataclass(frozen=True)
class BvhFigure:
    """The figure of a file: float64 joints [frame, 22, 3], metres, axes of the file, and the detected convention and unit."""

    joints: Array
    fps: float
    convention: str
    unit: str


def read_bvh_figure(path: Path, names: Path | None = None) -> BvhFigure:
    """Read a BVH file and map its joints to the 22 joints.

    Parameters
    ----------
    path : Path
    names : Path, optional
        YAML file with the names of joints, by our names: the other names are those of the conventions.

    Returns
    -------
    BvhFigure

    Raises
    ------
    UsageError
        If the file is invalid, its joint names match no convention, or its size is not that of a person.
    """
    motion = read_bvh(path)
    convention, numbers = _numbers(path, motion.joints, _CONVENTIONS if names is None else read_joint_names(names))
    spine = _spine(motion.joints, numbers["pelvis"], numbers["neck"])
    unit = _unit(path, motion, numbers)
    parts = []
    for first in range(0, len(motion.values), FRAMES_AT_ONCE):
        values = motion.values[first : first + FRAMES_AT_ONCE]
        parts.append(_figure(UNITS[unit] * joint_positions(motion.joints, values), numbers, spine))
    return BvhFigure(np.concatenate(parts), motion.fps, convention, unit)


def map_points(path: Path, names: Sequence[str], positions: Array, joint_names: Path | None = None) -> Array:
    """Map named points of a body without a hierarchy to the 22 joints; the spine leads straight from pelvis to neck.

    Parameters
    ----------
    path : Path
        For messages.
    names : sequence of str
    positions : float64 [frame, point, 3]
    joint_names : Path, optional
        See :func:`read_bvh_figure`.

    Returns
    -------
    float64 [frame, 22, 3]
        In the units and axes of the points.

    Raises
    ------
    UsageError
        If the names match no convention.
    """
    points = [BvhJoint(name, -1, (0.0, 0.0, 0.0), ()) for name in names]
    _, numbers = _numbers(path, points, _CONVENTIONS if joint_names is None else read_joint_names(joint_names))
    return _figure(positions, numbers, [numbers["pelvis"], numbers["neck"]])


def _plain(name: str) -> str:
    return "".join(char for char in name.rpartition(":")[2].lower() if char not in " _-.")


def read_joint_names(path: Path) -> Mapping[str, Mapping[str, list[str]]]:
    """Read a file with the names of a skeleton's joints: our name, without a side, and theirs on the left side.

    Raises
    ------
    UsageError
        If it does not name each of the joints that are needed.
    """
    data, parts = read_yaml(path), next(iter(_CONVENTIONS.values())).keys()
    if not isinstance(data, dict) or set(data) != set(parts) or not all(isinstance(name, str) for name in data.values()):
        raise UsageError(
            f"{path}: must name the joints {', '.join(parts)}, such as `hip: LeftUpLeg`, with the names of the left side"
        )
    return {path.name: {part: [_plain(name)] for part, name in data.items()}}


def _numbers(
    path: Path, joints: Sequence[BvhJoint], conventions: Mapping[str, Mapping[str, list[str]]]
) -> tuple[str, dict[str, int]]:
    """Return the convention, and the index of each joint except those of the spine."""
    named = {_plain(joint.name): number for number, joint in reversed(list(enumerate(joints))) if joint.name != END_SITE}
    closest: list[str] | None = None
    for convention, parts in conventions.items():
        asked = {part: names for part, names in parts.items() if part in _CENTRE}
        for part, names in parts.items():
            if part not in _CENTRE:
                asked |= {f"left_{part}": names, f"right_{part}": [_right(name) for name in names]}
        found = {ours: next((named[name] for name in names if name in named), None) for ours, names in asked.items()}
        for side in ("left", "right"):
            ankle = found[f"{side}_ankle"]
            if found[f"{side}_foot"] is None and ankle is not None:
                found[f"{side}_foot"] = _end(joints, ankle)
        missing = [asked[ours][0] for ours, number in found.items() if number is None]
        if not missing:
            return convention, {ours: number for ours, number in found.items() if number is not None}
        if closest is None or len(missing) < len(closest):
            closest = missing
    raise UsageError(f"{path}: its joint names match no known convention; the closest one lacks {', '.join(closest or [])}")


def _right(left: str) -> str:
    return "right" + left.removeprefix("left") if left.startswith("left") else "r" + left.removeprefix("l")


def _end(joints: Sequence[BvhJoint], parent: int) -> int | None:
    return next((n for n, joint in enumerate(joints) if joint.parent == parent and joint.name == END_SITE), None)


def _spine(joints: Sequence[BvhJoint], pelvis: int, neck: int) -> list[int]:
    """Return the joints from the pelvis to the neck."""
    chain = [neck]
    while chain[-1] != pelvis and joints[chain[-1]].parent >= 0:
        chain.append(joints[chain[-1]].parent)
    return chain[::-1]


def _unit(path: Path, motion: BvhMotion, numbers: Mapping[str, int]) -> str:
    positions = joint_positions(motion.joints, motion.values[:1])[0]
    hip, knee, ankle = (positions[numbers[f"left_{part}"]] for part in ("hip", "knee", "ankle"))
    leg = sum(float(np.sqrt(((a - b) ** 2).sum())) for a, b in ((hip, knee), (knee, ankle)))
    for name, metres in UNITS.items():
        if SHORTEST_LEG <= leg * metres <= LONGEST_LEG:
            return name
    msg = f"{path}: the legs are {leg:.3g} units long, which fits a person neither in metres nor in centimetres; scale the file"
    raise UsageError(msg)


def _figure(positions: Array, numbers: Mapping[str, int], spine: Sequence[int]) -> Array:
    joints = np.full((len(positions), len(JOINTS), 3), np.nan)
    for name, number in numbers.items():
        joints[:, JOINTS.index(name)] = positions[:, number]
    line = positions[:, spine]
    lengths = np.sqrt((np.diff(line, axis=1) ** 2).sum(-1))
    ends = np.concatenate([np.zeros((len(line), 1)), np.cumsum(lengths, axis=1)], axis=1)
    for name, share in _SPINE.items():
        joints[:, JOINTS.index(name)] = _along(line, ends, share * ends[:, -1])
    neck = joints[:, JOINTS.index("neck")]
    for side in ("left", "right"):
        collar, shoulder = JOINTS.index(f"{side}_collar"), JOINTS.index(f"{side}_shoulder")
        at_neck = np.sqrt(((joints[:, collar] - neck) ** 2).sum(-1)) < AT_NECK
        joints[at_neck, collar] = neck[at_neck] + (joints[at_neck, shoulder] - neck[at_neck]) / 3
    return joints


def _along(line: Array, ends: Array, target: Array) -> Array:
    """Return points on polylines [frame, point, 3] at arc lengths `target` [frame] from their start."""
    rows = np.arange(len(line))
    after = np.clip((ends <= target[:, None]).sum(-1), 1, line.shape[1] - 1)
    span = ends[rows, after] - ends[rows, after - 1]
    share = (target - ends[rows, after - 1]) / np.where(span > 0, span, 1)
    return np.asarray(line[rows, after - 1] + share[:, None] * (line[rows, after] - line[rows, after - 1]))
