"""Joint ranges: whether joints stay in their usual range, or in the wider range of an action that is shown.

Anatomical angles are computed from joint positions, each as a direction, so that no arc tangent is needed: an angle of a
degrees is x = r cos a, y = r sin a, r. It differs from the middle of a range by less than half the width of the range where
x cos(middle) + y sin(middle) > r cos(half the width). A range is three numbers: cosine and sine of its middle, cosine of half
its width. Usual ranges are checked for all frames at once, wider ones only for frames outside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posegen.checks.columns import BLOCK, X, Y, Z, joint_column
from posegen.foundations.arrays import Array
from posegen.foundations.kernels import Scalar, kernel
from posegen.foundations.skeleton import (
    BALL_BEFORE_ANKLE,
    BALL_JOINT_HEIGHT,
    DEFAULT_SKELETON,
    JOINT_LIMITS,
    JOINTS,
    LIBRARY_SKELETON,
    PARTS,
    PROPORTIONS,
)
from posegen.library.channels import widest
from posegen.library.load import Library

_LEG = ("hip_flexion", "hip_abduction", "knee_flexion", "ankle_dorsiflexion")
_ARM = ("shoulder_flexion", "elbow_flexion")
ANGLES = (
    *("trunk_flexion", "trunk_rotation", "trunk_lateral", "neck_flexion", "neck_lateral"),
    *(f"{side}_{angle}" for side in ("left", "right") for angle in _LEG),
    *(f"{side}_{angle}" for side in ("left", "right") for angle in _ARM),
)
"""Angles that positions determine. They do not determine the rotation of a limb about its own length, or of the head."""

REST = {
    "anatomical": {"neck_flexion": 20.2, "hip_flexion": -4.05, "shoulder_flexion": -4.57},
    "smpl": {"trunk_flexion": -5.32, "neck_flexion": 49.62, "hip_flexion": -6.02, "shoulder_flexion": -11.34},
    "cmu": {"trunk_flexion": 21.48, "neck_flexion": -4.12, "hip_flexion": -17.35, "shoulder_flexion": 4.12},
    "h36m": {"neck_flexion": 0.0, "hip_flexion": 0.0, "shoulder_flexion": 0.0},
}
"""Degrees in the rest pose of each skeleton, where they are not 0: the line from neck to head leans further forward than that
from chest to neck; those from hips to spine1 and from spine3 to neck lean back."""


def rest_angles(rest: Array) -> dict[str, float]:
    """Return the degrees in a rest pose, as in :data:`REST`; `rest` is float64 [22, 3]."""
    hip, spine1, neck, head = (rest[JOINTS.index(name)] for name in ("left_hip", "spine1", "neck", "head"))
    pelvis, chest, above = (_leans(float(z), float(y)) for _, y, z in (spine1 + hip * (0, -1, -1), neck, head))
    found = {"trunk_flexion": chest - pelvis, "neck_flexion": above - chest, "hip_flexion": pelvis, "shoulder_flexion": chest}
    return {name: round(degrees, 2) for name, degrees in found.items()}


def _leans(ahead: float, up: float) -> float:
    """Return the degrees by which a direction leans ahead, by a series: the last bit of NumPy depends on the machine."""
    tangent = ahead / (float(np.sqrt(ahead * ahead + up * up)) + up)  # of half the angle
    for _ in range(3):
        tangent /= 1.0 + float(np.sqrt(1.0 + tangent * tangent))
    square, power, total = tangent * tangent, tangent, 0.0
    for k in range(_TERMS):
        total += power / (2 * k + 1)
        power *= -square
    return 16 * total * HALF_TURN / np.pi


def rests_of(library: Library, skeleton: str) -> tuple[Mapping[str, float], ...]:
    """Return the degrees in the rest poses of a skeleton: of each one of a library if the skeleton is that of its clips."""
    if skeleton != LIBRARY_SKELETON:
        return (REST[skeleton],)
    return tuple(rest_angles(rest) for rest in library.skeletons.offsets())


BENT = 0.02
"""Distance of the hip from the line of the shank, in thigh lengths, from which the side to which the knee bends is known."""

AXES = 9 * BLOCK
"""Size of three unit vectors: left, up, forward."""
LEFT, UP, FORWARD = 0, 3 * BLOCK, 6 * BLOCK
DIRECTION = 3 * BLOCK
DIRECTIONS = len(ANGLES) * DIRECTION
FIRST_LEG, FIRST_ARM = 5, 5 + 2 * len(_LEG)

SPINE1, SPINE3, NECK, HEAD = (JOINTS.index(name) for name in ("spine1", "spine3", "neck", "head"))
LEGS = np.array([[JOINTS.index(f"{side}_{name}") for name in ("hip", "knee", "ankle", "foot")] for side in ("left", "right")])
ARMS = np.array([[JOINTS.index(f"{side}_{name}") for name in ("shoulder", "elbow", "wrist")] for side in ("left", "right")])
COLLARS = JOINTS.index("left_collar"), JOINTS.index("right_collar")

ONE, NONE = np.float32(1.0), np.float32(0.0)
BENT_BACK = np.float32(-0.95 * BENT)
"""A little less than the threshold, so that rounding does not matter."""
ASIDE = np.float32(0.753)
"""Square of the sine of 60.2 degrees: an upper arm lifted further to the side has no flexion."""
_DROP = PROPORTIONS["ankle_height"] - BALL_JOINT_HEIGHT
_FOOT = float(np.sqrt(BALL_BEFORE_ANKLE * BALL_BEFORE_ANKLE + _DROP * _DROP))
SOLE_COSINE, SOLE_SINE = np.float32(BALL_BEFORE_ANKLE / _FOOT), np.float32(_DROP / _FOOT)
"""Cosine and sine of the angle between the sole and the line from ankle to ball; see `skeleton.sole_points`."""


@kernel
def put(out: Array, angle: int, f: int, x: Scalar, y: Scalar, r: Scalar) -> None:
    """Write one direction."""
    out[angle * DIRECTION + X + f] = x
    out[angle * DIRECTION + Y + f] = y
    out[angle * DIRECTION + Z + f] = r


@kernel
def along(x: Scalar, y: Scalar, z: Scalar, axes: Array, axis: int, f: int) -> Scalar:
    """Return the component of a vector along an axis."""
    return x * axes[axis + X + f] + y * axes[axis + Y + f] + z * axes[axis + Z + f]


@kernel
def fill_axes(left: Array, right: Array, low: Array, high: Array, out: Array) -> None:
    """Compute the axes of pelvis or chest from left and right joints and a lower and a higher one; `out` is float32 [AXES]."""
    for f in range(BLOCK):
        x, y, z = left[X + f] - right[X + f], left[Y + f] - right[Y + f], left[Z + f] - right[Z + f]
        over = ONE / np.sqrt(x * x + y * y + z * z)
        x, y, z = x * over, y * over, z * over
        up_x, up_y, up_z = high[X + f] - low[X + f], high[Y + f] - low[Y + f], high[Z + f] - low[Z + f]
        aside = up_x * x + up_y * y + up_z * z
        up_x, up_y, up_z = up_x - aside * x, up_y - aside * y, up_z - aside * z
        over = ONE / np.sqrt(up_x * up_x + up_y * up_y + up_z * up_z)
        up_x, up_y, up_z = up_x * over, up_y * over, up_z * over
        out[LEFT + X + f], out[LEFT + Y + f], out[LEFT + Z + f] = x, y, z
        out[UP + X + f], out[UP + Y + f], out[UP + Z + f] = up_x, up_y, up_z
        out[FORWARD + X + f], out[FORWARD + Y + f] = y * up_z - z * up_y, z * up_x - x * up_z
        out[FORWARD + Z + f] = x * up_y - y * up_x


@kernel
def fill_trunk(pelvis: Array, chest: Array, out: Array) -> None:
    """Compute flexion, rotation, lateral flexion of the trunk: rotation . flexion . lateral flexion turn the pelvis' axes."""
    for f in range(BLOCK):
        x, y, z = chest[FORWARD + X + f], chest[FORWARD + Y + f], chest[FORWARD + Z + f]
        left, up, forward = along(x, y, z, pelvis, LEFT, f), along(x, y, z, pelvis, UP, f), along(x, y, z, pelvis, FORWARD, f)
        level = np.sqrt(left * left + forward * forward)
        put(out, 0, f, level, -up, ONE)
        put(out, 1, f, forward, left, level)
        x, y, z = pelvis[UP + X + f], pelvis[UP + Y + f], pelvis[UP + Z + f]
        left, up = along(x, y, z, chest, LEFT, f), along(x, y, z, chest, UP, f)
        put(out, 2, f, up, -left, np.sqrt(left * left + up * up))


@kernel
def fill_neck(chest: Array, neck: Array, head: Array, out: Array) -> None:
    """Compute flexion and lateral flexion of the neck."""
    for f in range(BLOCK):
        x, y, z = head[X + f] - neck[X + f], head[Y + f] - neck[Y + f], head[Z + f] - neck[Z + f]
        left, up, forward = along(x, y, z, chest, LEFT, f), along(x, y, z, chest, UP, f), along(x, y, z, chest, FORWARD, f)
        level = np.sqrt(up * up + forward * forward)
        put(out, 0, f, up, forward, level)
        put(out, 1, f, level, left, np.sqrt(left * left + level * level))


@kernel
def fill_leg(pelvis: Array, side: int, columns: Array, out: Array) -> None:
    """Compute hip flexion and abduction, knee flexion and ankle dorsiflexion of the left leg (`side` 0) or the right one (1).

    Along the shank, a bent knee is on the same side of the hip as the toes; otherwise it is bent backwards. Where a foot points
    at the knee, which is more dorsiflexion than any ankle has, the result is larger still.
    """
    hip, knee = joint_column(columns, LEGS[side, 0]), joint_column(columns, LEGS[side, 1])
    ankle, foot = joint_column(columns, LEGS[side, 2]), joint_column(columns, LEGS[side, 3])
    outward = np.float32(1 - 2 * side)
    for f in range(BLOCK):
        x, y, z = knee[X + f] - hip[X + f], knee[Y + f] - hip[Y + f], knee[Z + f] - hip[Z + f]
        left, up, forward = along(x, y, z, pelvis, LEFT, f), along(x, y, z, pelvis, UP, f), along(x, y, z, pelvis, FORWARD, f)
        level, thigh = np.sqrt(up * up + forward * forward), x * x + y * y + z * z
        put(out, 0, f, -up, forward, level)
        put(out, 1, f, level, outward * left, np.sqrt(thigh))
        to_x, to_y, to_z = ankle[X + f] - knee[X + f], ankle[Y + f] - knee[Y + f], ankle[Z + f] - knee[Z + f]
        toe_x, toe_y, toe_z = foot[X + f] - ankle[X + f], foot[Y + f] - ankle[Y + f], foot[Z + f] - ankle[Z + f]
        shank, toes = to_x * to_x + to_y * to_y + to_z * to_z, toe_x * toe_x + toe_y * toe_y + toe_z * toe_z
        straight, down = x * to_x + y * to_y + z * to_z, toe_x * to_x + toe_y * to_y + toe_z * to_z
        ahead = (x * toe_x + y * toe_y + z * toe_z) * shank - straight * down
        off = np.sqrt(max(toes * shank - down * down, NONE))
        both = np.sqrt(thigh * shank)
        bend = np.sqrt(max(thigh * shank - straight * straight, NONE))
        put(out, 2, f, straight, bend - np.float32(ahead < BENT_BACK * both * off) * (bend + bend), both)
        put(out, 3, f, off * SOLE_COSINE + down * SOLE_SINE, off * SOLE_SINE - down * SOLE_COSINE, np.sqrt(toes * shank))


@kernel
def fill_arm(chest: Array, side: int, columns: Array, out: Array) -> None:
    """Compute flexion of the shoulder, none where the arm is lifted to the side, and of the elbow."""
    shoulder, elbow = joint_column(columns, ARMS[side, 0]), joint_column(columns, ARMS[side, 1])
    wrist = joint_column(columns, ARMS[side, 2])
    for f in range(BLOCK):
        x, y, z = elbow[X + f] - shoulder[X + f], elbow[Y + f] - shoulder[Y + f], elbow[Z + f] - shoulder[Z + f]
        left, up, forward = along(x, y, z, chest, LEFT, f), along(x, y, z, chest, UP, f), along(x, y, z, chest, FORWARD, f)
        upper = x * x + y * y + z * z
        hangs = np.float32(left * left < ASIDE * upper)
        aside = ONE - hangs
        put(out, 0, f, aside - hangs * up, hangs * forward, aside + hangs * np.sqrt(up * up + forward * forward))
        to_x, to_y, to_z = wrist[X + f] - elbow[X + f], wrist[Y + f] - elbow[Y + f], wrist[Z + f] - elbow[Z + f]
        straight = x * to_x + y * to_y + z * to_z
        both = upper * (to_x * to_x + to_y * to_y + to_z * to_z)
        put(out, 1, f, straight, np.sqrt(max(both - straight * straight, NONE)), np.sqrt(both))


@kernel
def fill_angles(columns: Array, pelvis: Array, chest: Array, out: Array) -> None:
    """Compute the directions of all angles.

    Parameters
    ----------
    columns : float32 [COLUMNS]
        Joints.
    pelvis, chest : float32 [AXES]
        Filled with their axes.
    out : float32 [DIRECTIONS]
        x, y and r of each of :data:`ANGLES`, from which :data:`REST` is not yet subtracted; r is positive.
    """
    neck, right_hip = joint_column(columns, NECK), joint_column(columns, LEGS[1, 0])
    fill_axes(joint_column(columns, LEGS[0, 0]), right_hip, right_hip, joint_column(columns, SPINE1), pelvis)
    fill_axes(joint_column(columns, COLLARS[0]), joint_column(columns, COLLARS[1]), joint_column(columns, SPINE3), neck, chest)
    fill_trunk(pelvis, chest, out)
    fill_neck(chest, neck, joint_column(columns, HEAD), out[3 * DIRECTION :])
    for side in range(2):
        fill_leg(pelvis, side, columns, out[(FIRST_LEG + 4 * side) * DIRECTION :])
        fill_arm(chest, side, columns, out[(FIRST_ARM + 2 * side) * DIRECTION :])


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
    usual : float32 [skeletons, angles, 3]
    wider : float32 [skeletons, actions, angles, 3]
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
def leaves_ranges(directions: Array, labels: Array, first: int, reach: int, ranges: Ranges, skeleton: int, left: Array) -> bool:
    """Return whether any joint leaves its range in any frame of a block.

    Parameters
    ----------
    directions : float32 [DIRECTIONS]
        See :func:`posegen.checks.ranges.fill_angles`.
    labels : uint16 [frames, parts]
        Of the whole clip.
    first : int
        First frame of the block.
    reach : int
        Frames before and after its label in which an action's ranges hold.
    ranges : Ranges
    skeleton : int
        Index of that of the person.
    left : bool [BLOCK]
        Scratch.
    """
    for angle in range(ranges.usual.shape[1]):
        direction, usual = directions[angle * DIRECTION : (angle + 1) * DIRECTION], ranges.usual[skeleton, angle]
        if not leaves_range(direction, usual):
            continue
        for f in range(BLOCK):
            left[f] = outside(direction[X + f], direction[Y + f], direction[Z + f], usual)
        apply_wider_ranges(
            direction,
            labels[:, ranges.part[angle]],
            first,
            reach,
            ranges.wider[skeleton, :, angle],
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
def ranges_of(library: Library, skeleton: str = DEFAULT_SKELETON) -> Ranges:
    """Return the usual ranges of all angles on each skeleton, and those that the actions of a library widen."""
    usual, wider, widens, parts = zip(*(_ranges(library, rest) for rest in rests_of(library, skeleton)), strict=True)
    return Ranges(np.stack(usual), np.stack(wider), widens[0], parts[0])


def _ranges(library: Library, rest: Mapping[str, float]) -> tuple[Array, Array, Array, Array]:
    """Return the ranges on a skeleton whose rest pose has these degrees, as the attributes of :class:`Ranges`."""
    usual, part = np.empty((len(ANGLES), 3), np.float32), np.empty(len(ANGLES), np.int64)
    for channel, (low, high) in JOINT_LIMITS.items():
        for angle, of_part in angles_of(channel):
            if angle in ANGLES:
                index = ANGLES.index(angle)
                usual[index], part[index] = _as_cosines(channel, low, high, rest.get(channel, 0.0)), of_part
    wider = np.repeat(usual[None], len(library.actions), axis=0)
    widens = np.zeros(wider.shape[:2], np.bool_)
    for number, name in enumerate(library.actions):
        for channel, range_ in library.action(name).ranges.items():
            cosines = _as_cosines(channel, *widest(channel, range_.min, range_.max), rest.get(channel, 0.0))
            for angle, _ in angles_of(channel):
                if angle in ANGLES:
                    at = number, ANGLES.index(angle)
                    wider[at], widens[at] = cosines, True
    return usual, wider, widens, part


def _as_cosines(channel: str, low: float, high: float, rest: float) -> tuple[float, float, float]:
    """Return cosine and sine of the middle of a range in degrees, and cosine of half its width, with tolerance."""
    slack = TOLERANCE - STRICTER
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
