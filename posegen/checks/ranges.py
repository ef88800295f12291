"""Joint ranges: whether joints stay in their usual range, or in the wider range of an action that is shown.

A range is three numbers: cosine and sine of its middle, cosine of half its width. They are compared with the directions of
:mod:`posegen.checks.angles`. Usual ranges are checked for all frames at once, wider ones only for frames outside them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posegen.arrays import Array
from posegen.checks.angles import ANGLES, DIRECTION, REST
from posegen.checks.columns import BLOCK, X, Y, Z
from posegen.kernels import Scalar, kernel
from posegen.library.channels import widest
from posegen.library.load import Library
from posegen.skeleton import JOINT_LIMITS, PARTS

TOLERANCE = 5.0
"""Degrees by which a range may be exceeded: the accuracy of angles that are computed from joint centres."""
STRICTER = 0.2
"""Degrees by which this limit is stricter, so that rounding does not matter to another measurement."""
PASSING_SECONDS = 0.5
"""Duration of the transitions before the label of an action begins and after it ends, in which its ranges hold, too."""

HALF_TURN = 180.0
BEHIND_HEAD = 270.0
"""Degrees of shoulder flexion: an arm more than 90 degrees behind is one that is flexed far, which no range forbids."""
NO_LIMIT = -2.0
SMALL = np.float32(1e-6)
_PARTS = {"hip": "legs", "knee": "legs", "ankle": "legs", "trunk": "trunk", "neck": "head"}
_TERMS = 14


class Ranges(NamedTuple):
    """Joint ranges; for each, cosine and sine of the middle and cosine of half the width.

    Attributes
    ----------
    usual : float32 [angles, 3]
    wider : float32 [actions, angles, 3]
    widens : bool [actions, angles]
        Whether the action widens the range.
    part : int64 [angles]
        Body part whose label is the action that moves the joint.
    """

    usual: Array
    wider: Array
    widens: Array
    part: Array


@kernel
def outside(x: Scalar, y: Scalar, r: Scalar, range_: Array) -> bool:
    """Return whether a direction is outside a range [3]."""
    return bool(x * range_[0] + y * range_[1] < r * range_[2] + SMALL)


@kernel
def leaves_range(direction: Array, range_: Array) -> bool:
    """Return whether an angle, float32 [DIRECTION], leaves a range in any frame of a block."""
    count = np.int32(0)
    middle_x, middle_y, half = range_[0], range_[1], range_[2]
    for f in range(BLOCK):
        beyond = direction[X + f] * middle_x + direction[Y + f] * middle_y < direction[Z + f] * half + SMALL
        count = np.int32(count + beyond)
    return bool(count > 0)


@kernel
def apply_wider_ranges(
    direction: Array, labels: Array, first: int, reach: int, wider: Array, widens: Array, left: Array
) -> None:
    """Clear `left` in frames within `reach` of an action whose wider range contains the angle.

    Parameters
    ----------
    direction : float32 [DIRECTION]
        Of a block.
    labels : uint16 [frames]
        Index of the action in each frame of the clip.
    first : int
        First frame of the block.
    reach : int
        Frames.
    wider, widens : float32 [actions, 3], bool [actions]
        Of this angle.
    left : bool [BLOCK], changed
    """
    f, end = max(0, first - reach), min(len(labels), first + BLOCK + reach)
    while f < end:
        action, begin = labels[f], f
        while f < end and labels[f] == action:
            f += 1
        if action < len(widens) and widens[action]:
            for g in range(max(0, begin - reach - first), min(BLOCK, f + reach - first)):
                if left[g]:
                    left[g] = outside(direction[X + g], direction[Y + g], direction[Z + g], wider[action])


@kernel
def leaves_ranges(directions: Array, labels: Array, first: int, reach: int, ranges: Ranges, left: Array) -> bool:
    """Return whether any joint leaves its range in any frame of a block.

    Parameters
    ----------
    directions : float32 [DIRECTIONS]
        See :func:`posegen.checks.angles.fill_angles`.
    labels : uint16 [frames, parts]
        Of the whole clip.
    first : int
        First frame of the block.
    reach : int
        Frames before and after its label in which an action's ranges hold.
    ranges : Ranges
    left : bool [BLOCK]
        Scratch.
    """
    for angle in range(len(ranges.usual)):
        direction, usual = directions[angle * DIRECTION : (angle + 1) * DIRECTION], ranges.usual[angle]
        if not leaves_range(direction, usual):
            continue
        for f in range(BLOCK):
            left[f] = outside(direction[X + f], direction[Y + f], direction[Z + f], usual)
        apply_wider_ranges(
            direction,
            labels[:, ranges.part[angle]],
            first,
            reach,
            ranges.wider[:, angle],
            ranges.widens[:, angle],
            left,
        )
        for f in range(min(BLOCK, len(labels) - first)):
            if left[f]:
                return True
    return False


def angles_of(channel: str) -> list[tuple[str, int]]:
    """Return the angles of a channel, each with the index of the body part whose label is their action."""
    joint = channel.partition("_")[0]
    if joint in ("trunk", "neck"):
        return [(channel, PARTS.index(_PARTS[joint]))]
    return [(f"{side}_{channel}", PARTS.index(_PARTS.get(joint, f"{side}_arm"))) for side in ("left", "right")]


@lru_cache(maxsize=8)
def ranges_of(library: Library) -> Ranges:
    """Return the usual ranges of all angles, and those that the actions of a library widen."""
    usual, part = np.empty((len(ANGLES), 3), np.float32), np.empty(len(ANGLES), np.int64)
    for channel, (low, high) in JOINT_LIMITS.items():
        for angle, of_part in angles_of(channel):
            if angle in ANGLES:
                usual[ANGLES.index(angle)], part[ANGLES.index(angle)] = _as_cosines(channel, low, high), of_part
    wider = np.repeat(usual[None], len(library.actions), axis=0)
    widens = np.zeros(wider.shape[:2], np.bool_)
    for number, name in enumerate(library.actions):
        for channel, range_ in library.action(name).ranges.items():
            for angle, _ in angles_of(channel):
                if angle in ANGLES:
                    index = number, ANGLES.index(angle)
                    wider[index], widens[index] = _as_cosines(channel, *widest(channel, range_.min, range_.max)), True
    return Ranges(usual, wider, widens, part)


def _as_cosines(channel: str, low: float, high: float) -> tuple[float, float, float]:
    """Return cosine and sine of the middle of a range in degrees, and cosine of half its width, with tolerance."""
    rest, slack = REST.get(channel, 0.0), TOLERANCE - STRICTER
    least, most = -HALF_TURN - rest, HALF_TURN - rest
    if channel == "shoulder_flexion":
        least, most, high = BEHIND_HEAD - 2 * HALF_TURN + STRICTER, BEHIND_HEAD - STRICTER, BEHIND_HEAD
    low, high = max(low - slack, least), min(high + slack, most)
    half = (high - low) / 2
    middle = (low + high) / 2 + rest
    return _cosine(middle), _cosine(90.0 - middle), _cosine(half) if half < HALF_TURN - STRICTER else NO_LIMIT


def _cosine(degrees: float) -> float:
    # By its series, since the last bit of NumPy's depends on the machine.
    turned = abs(degrees) % (2 * HALF_TURN)
    angle = min(turned, 2 * HALF_TURN - turned) / HALF_TURN * 3.141592653589793
    square, term, total = angle * angle, 1.0, 1.0
    for k in range(1, _TERMS):
        term *= -square / ((2 * k - 1) * (2 * k))
        total += term
    return total
