"""Reading .bvh files of other people, which are not to be trusted: every number is checked before memory is taken by it.

A file is a tree of joints with offsets and channels, then a line of numbers for each frame. What is wrong is told with file and
line.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.wording import shown

__all__ = ["BvhJoint", "BvhMotion", "joint_places", "read_bvh"]

Array = NDArray[Any]

MOST_BYTES = 128 * 2**20
MOST_JOINTS, DEEPEST, MOST_FRAMES = 500, 100, 500_000
LONGEST_LINE = 100_000
FARTHEST = 1e6
"""Bounds of any number in a file, in its own units or degrees."""
SHORTEST_STEP, LONGEST_STEP = 0.001, 1.0
END_SITE = "End Site"
_AXES = "XYZ"
_CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in _AXES)


@dataclass(frozen=True)
class BvhJoint:
    """One joint, or the end of a last bone: name, parent (-1 for the root), offset from it, and channels in their order."""

    name: str
    parent: int
    offset: tuple[float, float, float]
    channels: tuple[str, ...]


@dataclass(frozen=True)
class BvhMotion:
    """What a file holds: its joints, a parent before its children; float64 [frame, channel]; frames a second."""

    joints: tuple[BvhJoint, ...]
    values: Array
    fps: float


@dataclass
class _Lines:
    """A file line by line, of bounded length, with the number of the last line read."""

    path: Path
    file: BufferedReader
    number: int = 0

    def fault(self, what: str) -> UsageError:
        return UsageError(f"{self.path}, line {self.number}: {what}")

    def words(self) -> list[str]:
        """Give the words of the next line that has any; none at the end of the file."""
        while line := self.file.readline(LONGEST_LINE + 1):
            self.number += 1
            if len(line) > LONGEST_LINE:
                raise self.fault(f"is longer than {LONGEST_LINE:,} characters")
            try:
                words = line.decode("utf-8").split()
            except UnicodeDecodeError:
                raise self.fault("is no text in UTF-8") from None
            if words:
                return words
        return []

    def wanted(self, *start: str) -> list[str]:
        """Give what follows the words that the next line must begin with."""
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
            raise self.fault("holds what is no number") from None
        if not all(abs(value) <= FARTHEST for value in values):  # so is NaN
            raise self.fault(f"holds a number beyond {FARTHEST:,.0f}, or none at all")
        return values


def read_bvh(path: Path) -> BvhMotion:
    """Read a file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    BvhMotion

    Raises
    ------
    UsageError
        If it is no sound .bvh file, or larger than 128 MB; told with its line.
    """
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MOST_BYTES:
            msg = f"{path}: is no file of at most {MOST_BYTES // 2**20} MB"
            raise UsageError(msg)
        with path.open("rb") as file:
            return _motion(_Lines(path, file), size)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error})"
        raise UsageError(msg) from error


def _motion(lines: _Lines, size: int) -> BvhMotion:
    joints = _hierarchy(lines)
    lines.wanted("MOTION")
    frames = _frames(lines)
    (step,) = lines.numbers(lines.wanted("Frame", "Time:"), 1)
    if not SHORTEST_STEP <= step <= LONGEST_STEP:
        raise lines.fault(f"a frame takes {SHORTEST_STEP:g} to {LONGEST_STEP:g} seconds (got {step:g})")
    channels = sum(len(joint.channels) for joint in joints)
    # A number and what parts it from the next take two bytes at least.
    if frames * channels * 2 > size + 2:
        raise lines.fault(f"{frames:,} frames of {channels} numbers are more than a file of {size:,} bytes can hold")
    values = np.empty((frames, channels))
    for frame in range(frames):
        words = lines.words()
        if not words:
            raise lines.fault(f"the file ends after {frame:,} of {frames:,} frames")
        values[frame] = lines.numbers(words, channels)
    if lines.words():
        raise lines.fault(f"goes on after the last of {frames:,} frames")
    return BvhMotion(joints, values, 1 / step)


def _frames(lines: _Lines) -> int:
    words = lines.wanted("Frames:")
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit()) or len(words[0]) > len(str(MOST_FRAMES)):
        raise lines.fault(f"the number of frames must be a whole number up to {MOST_FRAMES:,} (got {shown(' '.join(words))})")
    if not 1 <= int(words[0]) <= MOST_FRAMES:
        raise lines.fault(f"there must be 1 to {MOST_FRAMES:,} frames (got {words[0]})")
    return int(words[0])


def _hierarchy(lines: _Lines) -> tuple[BvhJoint, ...]:
    lines.wanted("HIERARCHY")
    name = " ".join(lines.wanted("ROOT"))
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
    lines.wanted("{")
    x, y, z = lines.numbers(lines.wanted("OFFSET"), 3)
    channels = () if name == END_SITE else _channels(lines)
    return BvhJoint(name, parent, (x, y, z), channels)


def _channels(lines: _Lines) -> tuple[str, ...]:
    words = lines.wanted("CHANNELS")
    known = {channel.lower(): channel for channel in _CHANNELS}
    named = [known.get(word.lower()) for word in words[1:]]
    if None in named or len(set(named)) != len(named) or not words or words[0] != str(len(named)):
        raise lines.fault(f"CHANNELS takes how many, and as many of {', '.join(_CHANNELS)} (got {shown(' '.join(words))})")
    return tuple(name for name in named if name)


def joint_places(motion: BvhMotion) -> Array:
    """Where all joints are, by forward kinematics.

    Parameters
    ----------
    motion : BvhMotion

    Returns
    -------
    float64 [frame, joint, 3]
        In the file's own units.
    """
    frames = len(motion.values)
    places = np.zeros((frames, len(motion.joints), 3))
    turns: list[Array] = []
    first = 0
    for number, joint in enumerate(motion.joints):
        own = dict(zip(joint.channels, motion.values[:, first : first + len(joint.channels)].T, strict=True))
        first += len(joint.channels)
        offset = np.tile(np.array(joint.offset), (frames, 1))
        for axis in range(3):
            if f"{_AXES[axis]}position" in own:
                # Where a joint has positions, they take the place of its offset.
                offset[:, axis] = own[f"{_AXES[axis]}position"]
        turn = np.broadcast_to(np.eye(3), (frames, 3, 3))
        for channel in joint.channels:
            if channel.endswith("rotation"):
                turn = turn @ _about(_AXES.index(channel[0]), own[channel])
        if joint.parent < 0:
            places[:, number] = offset
        else:
            places[:, number] = places[:, joint.parent] + (turns[joint.parent] @ offset[..., None])[..., 0]
            turn = turns[joint.parent] @ turn
        turns.append(turn)
    return places


def _about(axis: int, degrees: Array) -> Array:
    """Rotations about an axis: float64 [frame, 3, 3]."""
    radians = np.radians(degrees)
    matrix = np.zeros((len(degrees), 3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix[:, axis, axis] = 1
    matrix[:, i, i] = matrix[:, j, j] = np.cos(radians)
    matrix[:, j, i] = np.sin(radians)
    matrix[:, i, j] = -matrix[:, j, i]
    return matrix
