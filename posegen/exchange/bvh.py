"""Read BVH files: parse the hierarchy and the frames, and map their joints to the 22 joints; see :mod:`posegen.exchange.rig`.

Files are untrusted: every number is checked before memory is allocated for it. Errors name file and line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np

from posegen.exchange.joint_rotations import about_axis
from posegen.exchange.rig import Body, Tree, figure, find_rig
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.wording import shown

MOST_BYTES = 128 * 2**20
MOST_JOINTS, DEEPEST, MOST_FRAMES = 500, 100, 500_000
LONGEST_LINE = 100_000
FARTHEST = 1e6
"""Maximum absolute value of a number, in the units of the file or degrees."""
SHORTEST_STEP, LONGEST_STEP = 0.001, 1.0
END_SITE = "End Site"
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"H\0": "utf-16-le", b"\0H": "utf-16-be"}
"""Encodings of two bytes for each character, by the first two bytes of a file."""
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
    """The content of a file: joints (parents first), float64 values [frame, channel], frames per second, and notes."""

    joints: tuple[BvhJoint, ...]
    values: Array
    fps: float
    notes: tuple[str, ...] = ()


@dataclass
class _Lines:
    """A reader of lines of bounded length that counts them."""

    path: Path
    file: TextIO
    number: int = 0
    has_brace: bool = False

    def fault(self, what: str) -> UsageError:
        return UsageError(f"{self.path}, line {self.number}: {what}")

    def words(self) -> list[str]:
        """Return the words of the next non-empty line; an empty list at the end of the file.

        A brace that begins a joint is a line of its own, also after the name.
        """
        if self.has_brace:
            self.has_brace = False
            return ["{"]
        while line := self.file.readline(LONGEST_LINE + 1):
            self.number += 1
            if len(line) > LONGEST_LINE:
                raise self.fault(f"is longer than {LONGEST_LINE:,} characters")
            if words := line.split():
                self.has_brace = len(words) > 1 and words[-1] == "{"
                return words[:-1] if self.has_brace else words
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
            # Some programs write the decimal comma of their user.
            values = [float(word.replace(",", ".")) for word in words]
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
            coding = _WIDE.get(file.peek(2)[:2], "utf-8-sig")  # Windows programs write a byte order mark
            # Numbers are the same in other encodings of one byte for each character.
            with TextIOWrapper(file, coding, "replace") as text:
                return _motion(_Lines(path, text))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error


def _motion(lines: _Lines) -> BvhMotion:
    joints = _hierarchy(lines)
    frames = _frames(lines)
    (step,) = lines.numbers(lines.expect("Frame", "Time:"), 1)
    if not SHORTEST_STEP <= step <= LONGEST_STEP:
        raise lines.fault(f"a frame takes {SHORTEST_STEP:g} to {LONGEST_STEP:g} seconds (got {step:g})")
    channels = sum(len(joint.channels) for joint in joints)
    values = list[Array]()
    # Programs that cut or join files leave the old number of frames.
    while len(values) < MOST_FRAMES and (words := lines.words()):
        number = lines.number
        if len(words) < channels and not lines.words():  # the last line of a file that was cut off
            break
        lines.number = number
        values.append(np.array(lines.numbers(words, channels)))
    if not values:
        raise lines.fault("the file has no complete frame")
    notes = [] if len(values) == frames else [f"the file states {frames:,} frames and has {len(values):,}"]
    if (roots := sum(joint.parent < 0 for joint in joints)) > 1:
        notes.append(f"the file has {roots} ROOTs: the first person is used")
    if not any(channel.endswith("position") for channel in joints[0].channels):
        notes.append("the root has no positions: the person stays in one place")
    return BvhMotion(joints, np.stack(values), 1 / step, tuple(notes))


def _frames(lines: _Lines) -> int:
    text = " ".join(lines.expect("Frames:"))
    short = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_FRAMES))
    if not short or not 1 <= int(text) <= MOST_FRAMES:
        raise lines.fault(f"the number of frames must be above 0, a whole number up to {MOST_FRAMES:,} (got {shown(text)})")
    return int(text)


def _hierarchy(lines: _Lines) -> tuple[BvhJoint, ...]:
    """Read the trees of joints, and the line that ends them."""
    lines.expect("HIERARCHY")
    name, joints = " ".join(lines.expect("ROOT")), list[BvhJoint]()
    words = ["ROOT"]
    while words and words[0].upper() == "ROOT":
        joints.append(_joint(lines, name, -1))
        _below(lines, joints)
        words = lines.words()
        name = " ".join(words[1:])
    if not words or words[0].upper() != "MOTION":
        raise lines.fault(f"should be `MOTION` (got {shown(' '.join(words))})")
    return tuple(joints)


def _below(lines: _Lines, joints: list[BvhJoint]) -> None:
    """Add the joints below the last one."""
    above = [len(joints) - 1]
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
        elif kind == "ROOT":
            raise lines.fault("a second ROOT begins inside the first. Close the braces of the first")
        elif words:
            raise lines.fault(f"should be JOINT, End Site or }} (got {shown(' '.join(words))})")
        else:
            raise lines.fault("the file ends within the tree of joints")


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
                turn = turn @ about_axis(axis, np.radians(next(columns)))
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


FRAMES_AT_ONCE = 1000


def read_bvh_body(path: Path, names: Mapping[str, str] | None = None) -> Body:
    """Read a BVH file and map its joints to the 22 joints.

    Parameters
    ----------
    path : Path
    names : mapping of str to str, optional
        Names of joints by ours; see :func:`posegen.exchange.rig.read_names`.

    Returns
    -------
    Body

    Raises
    ------
    UsageError
        If the file is invalid, or its joints are not recognised.
    """
    motion = read_bvh(path)
    joints = motion.joints
    ends = frozenset(number for number, joint in enumerate(joints) if joint.name == END_SITE)
    tree = Tree(tuple(joint.name for joint in joints), tuple(joint.parent for joint in joints), ends)
    first = joint_positions(joints, motion.values[:1])[0]
    rig = find_rig(tree, first, names, str(path))
    blocks = (motion.values[begin : begin + FRAMES_AT_ONCE] for begin in range(0, len(motion.values), FRAMES_AT_ONCE))
    parts = [figure(rig, joint_positions(joints, block)) for block in blocks]
    # Programs differ most in the names of these two.
    shown_names = ", ".join(f"{part} {shown(tree.names[rig.joints[part]])}" for part in ("left_hip", "left_shoulder"))
    return Body(np.concatenate(parts), f"BVH, {shown_names}", motion.fps, (*motion.notes, *rig.notes))
