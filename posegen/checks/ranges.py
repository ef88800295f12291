"""Whether joints stay in their ranges: the usual ones, wider where an action that is shown has them wider.

A range is held against the directions of :mod:`posegen.checks.angles` as three numbers: cosine and sine of its
middle, cosine of half its width. Whether an angle leaves its usual range is asked of all frames at once, what excuses it only
where it does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.checks.angles import ANGLES, DIRECTION, REST
from posegen.checks.columns import BLOCK, X, Y, Z
from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.library.ranges import widest
from posegen.skeleton import JOINT_LIMITS, PARTS

__all__ = ["PASSING_SECONDS", "TOLERANCE", "Ranges", "angles_of", "leaves_ranges", "ranges_of"]

Array = NDArray[Any]

TOLERANCE = 5.0
"""Degrees by which a range may be left: joints are centres of flesh and bone, from which angles come back as well as that."""
STRICTER = 0.2
"""Degrees less that are allowed here, so that no rounding matters to who measures again."""
PASSING_SECONDS = 0.5
"""Before its label begins and after it ends, an action passes from and into its neighbours."""

HALF_TURN = 180.0
BEHIND_HEAD = 270.0
"""Degrees of shoulder flexion: an arm further back than 90 degrees is one that is far flexed, which no range forbids."""
NO_LIMIT = -2.0
SMALL = np.float32(1e-6)
_PARTS = {"hip": "legs", "knee": "legs", "ankle": "legs", "trunk": "trunk", "neck": "head"}
_TERMS = 14


class Ranges(NamedTuple):
    """Ranges of joints; for each, cosine and sine of the middle and cosine of half the width.

    Attributes
    ----------
    usual : float32 [angles, 3]
    wider : float32 [actions, angles, 3]
    widens : bool [actions, angles]
        Whether the action widens the range at all.
    part : int64 [angles]
        The part of the body whose label says which action moves the joint.
    """

    usual: Array
    wider: Array
    widens: Array
    part: Array


@kernel
def outside(x: Scalar, y: Scalar, r: Scalar, range_: Array) -> bool:
    """Whether a direction lies outside a range [3]."""
    return bool(x * range_[0] + y * range_[1] < r * range_[2] + SMALL)


@kernel
def leaves_range(direction: Array, range_: Array) -> bool:
    """Whether an angle, float32 [DIRECTION], leaves a range in any frame of a block."""
    count = np.int32(0)
    middle_x, middle_y, half = range_[0], range_[1], range_[2]
    for f in range(BLOCK):
        beyond = direction[X + f] * middle_x + direction[Y + f] * middle_y < direction[Z + f] * half + SMALL
        count = np.int32(count + beyond)
    return bool(count > 0)


@kernel
def excuse(direction: Array, labels: Array, first: int, reach: int, wider: Array, widens: Array, left: Array) -> None:
    """Take back that a range is left in frames within `reach` of an action in whose wider range the angle is.

    Parameters
    ----------
    direction : float32 [DIRECTION]
        Of a block.
    labels : uint16 [frames]
        Number of the action in each frame of the clip.
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
    """Whether any joint leaves its range in any frame of a block.

    Parameters
    ----------
    directions : float32 [DIRECTIONS]
        See :func:`posegen.checks.angles.fill_angles`.
    labels : uint16 [frames, parts]
        Of the whole clip.
    first : int
        First frame of the block.
    reach : int
        How many frames an action's ranges hold before and behind its label.
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
        excuse(
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
    """Angles that go by the name of a channel, each with the part of the body that its action is the label of."""
    joint = channel.partition("_")[0]
    if joint in ("trunk", "neck"):
        return [(channel, PARTS.index(_PARTS[joint]))]
    return [(f"{side}_{channel}", PARTS.index(_PARTS.get(joint, f"{side}_arm"))) for side in ("left", "right")]


@lru_cache(maxsize=8)
def ranges_of(library: Library) -> Ranges:
    """Give the ranges of all angles, and those that the actions of a library widen."""
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
                    place = number, ANGLES.index(angle)
                    wider[place], widens[place] = _as_cosines(channel, *widest(channel, range_.min, range_.max)), True
    return Ranges(usual, wider, widens, part)


def _as_cosines(channel: str, low: float, high: float) -> tuple[float, float, float]:
    """Cosine and sine of the middle of a range, and cosine of half its width, with tolerance; given in degrees."""
    rest, slack = REST.get(channel, 0.0), TOLERANCE - STRICTER
    least, most = -HALF_TURN - rest, HALF_TURN - rest
    if channel == "shoulder_flexion":
        least, most, high = BEHIND_HEAD - 2 * HALF_TURN + STRICTER, BEHIND_HEAD - STRICTER, BEHIND_HEAD
    low, high = max(low - slack, least), min(high + slack, most)
    half = (high - low) / 2
    middle = (low + high) / 2 + rest
    return _cosine(middle), _cosine(90.0 - middle), _cosine(half) if half < HALF_TURN - STRICTER else NO_LIMIT


def _cosine(degrees: float) -> float:
    # Its series, since NumPy's last bit is another on other machines.
    turned = abs(degrees) % (2 * HALF_TURN)
    angle = min(turned, 2 * HALF_TURN - turned) / HALF_TURN * 3.141592653589793
    square, term, total = angle * angle, 1.0, 1.0
    for k in range(1, _TERMS):
        term *= -square / ((2 * k - 1) * (2 * k))
        total += term
    return total
