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

from posegen.checks.capsules import BLOCK, VECTOR, difference_in, put_in, vector_in
from posegen.foundations.arrays import Array
from posegen.foundations.kernels import kernel
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
from posegen.foundations.vectors import Vector, cross, dot, length, minus, scaled
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
    """Return the forward lean of a direction in degrees, by a series: the last bit of NumPy depends on the machine."""
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

LEFT, UP, FORWARD = range(3)
"""Axes of a pelvis or a chest: unit vectors, float32 [3 * VECTOR]."""
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
def along_axes(vector: Vector, axes: Array, f: int) -> Vector:
    """Return the components of a vector to the left, up and forward along axes."""
    left, up, forward = vector_in(axes, LEFT, f), vector_in(axes, UP, f), vector_in(axes, FORWARD, f)
    return dot(vector, left), dot(vector, up), dot(vector, forward)


@kernel
def fill_axes(left: Array, right: Array, low: Array, high: Array, out: Array) -> None:
    """Compute the axes of pelvis or chest from left and right joints and a lower and a higher one."""
    for f in range(BLOCK):
        aside, upward = difference_in(left, right, f), difference_in(high, low, f)
        aside = scaled(aside, ONE / length(aside))
        upward = minus(upward, scaled(aside, dot(upward, aside)))
        upward = scaled(upward, ONE / length(upward))
        put_in(out, LEFT, f, aside)
        put_in(out, UP, f, upward)
        put_in(out, FORWARD, f, cross(aside, upward))


@kernel
def fill_trunk(pelvis: Array, chest: Array, out: Array) -> None:
    """Compute flexion, rotation, lateral flexion of the trunk: rotation . flexion . lateral flexion turn the pelvis' axes."""
    for f in range(BLOCK):
        left, up, forward = along_axes(vector_in(chest, FORWARD, f), pelvis, f)
        level = np.sqrt(left * left + forward * forward)
        put_in(out, 0, f, (level, -up, ONE))
        put_in(out, 1, f, (forward, left, level))
        left, up, _ = along_axes(vector_in(pelvis, UP, f), chest, f)
        put_in(out, 2, f, (up, -left, np.sqrt(left * left + up * up)))


@kernel
def fill_neck(chest: Array, neck: Array, head: Array, out: Array) -> None:
    """Compute flexion and lateral flexion of the neck."""
    for f in range(BLOCK):
        left, up, forward = along_axes(difference_in(head, neck, f), chest, f)
        level = np.sqrt(up * up + forward * forward)
        put_in(out, 0, f, (up, forward, level))
        put_in(out, 1, f, (level, left, np.sqrt(left * left + level * level)))


@kernel
def fill_leg(pelvis: Array, side: int, columns: Array, out: Array) -> None:
    """Compute hip flexion and abduction, knee flexion and ankle dorsiflexion of the left leg (`side` 0) or the right one (1).

    Along the shank, a bent knee is on the same side of the hip as the toes; otherwise it is bent backwards. Where a foot points
    at the knee, which is more dorsiflexion than any ankle has, the result is larger still.
    """
    hip, knee, ankle, foot = columns[LEGS[side, 0]], columns[LEGS[side, 1]], columns[LEGS[side, 2]], columns[LEGS[side, 3]]
    outward = np.float32(1 - 2 * side)
    for f in range(BLOCK):
        upper, lower, sole = difference_in(knee, hip, f), difference_in(ankle, knee, f), difference_in(foot, ankle, f)
        left, up, forward = along_axes(upper, pelvis, f)
        level, thigh = np.sqrt(up * up + forward * forward), dot(upper, upper)
        put_in(out, 0, f, (-up, forward, level))
        put_in(out, 1, f, (level, outward * left, np.sqrt(thigh)))
        shank, toes, straight, down = dot(lower, lower), dot(sole, sole), dot(upper, lower), dot(sole, lower)
        ahead = dot(upper, sole) * shank - straight * down
        off = np.sqrt(max(toes * shank - down * down, NONE))
        both = np.sqrt(thigh * shank)
        bend = np.sqrt(max(thigh * shank - straight * straight, NONE))
        bend -= np.float32(ahead < BENT_BACK * both * off) * (bend + bend)
        put_in(out, 2, f, (straight, bend, both))
        dorsal = off * SOLE_SINE - down * SOLE_COSINE
        put_in(out, 3, f, (off * SOLE_COSINE + down * SOLE_SINE, dorsal, np.sqrt(toes * shank)))


@kernel
def fill_arm(chest: Array, side: int, columns: Array, out: Array) -> None:
    """Compute flexion of the shoulder, none where the arm is lifted to the side, and of the elbow."""
    shoulder, elbow, wrist = columns[ARMS[side, 0]], columns[ARMS[side, 1]], columns[ARMS[side, 2]]
    for f in range(BLOCK):
        upper, fore = difference_in(elbow, shoulder, f), difference_in(wrist, elbow, f)
        left, up, forward = along_axes(upper, chest, f)
        square = dot(upper, upper)
        hangs = np.float32(left * left < ASIDE * square)
        aside = ONE - hangs
        put_in(out, 0, f, (aside - hangs * up, hangs * forward, aside + hangs * np.sqrt(up * up + forward * forward)))
        straight, both = dot(upper, fore), square * dot(fore, fore)
        put_in(out, 1, f, (straight, np.sqrt(max(both - straight * straight, NONE)), np.sqrt(both)))


@kernel
def fill_angles(columns: Array, pelvis: Array, chest: Array, out: Array) -> None:
    """Compute the directions of all angles.

    Parameters
    ----------
    columns : float32 [22, VECTOR]
        Joints.
    pelvis, chest : float32 [3 * VECTOR]
        Filled with their axes.
    out : float32 [angles * VECTOR]
        x, y and r of each of :data:`ANGLES`, from which :data:`REST` is not yet subtracted; r is positive.
    """
    left_hip, right_hip = columns[LEGS[0, 0]], columns[LEGS[1, 0]]
    fill_axes(left_hip, right_hip, right_hip, columns[SPINE1], pelvis)
    fill_axes(columns[COLLARS[0]], columns[COLLARS[1]], columns[SPINE3], columns[NECK], chest)
    fill_trunk(pelvis, chest, out)
    fill_neck(chest, columns[NECK], columns[HEAD], out[3 * VECTOR :])
    for side in range(2):
        fill_leg(pelvis, side, columns, out[(FIRST_LEG + len(_LEG) * side) * VECTOR :])
        fill_arm(chest, side, columns, out[(FIRST_ARM + len(_ARM) * side) * VECTOR :])


TOLERANCE = 5.0
"""Degrees that a joint may be beyond its range: the accuracy of angles that are computed from joint centres."""
STRICTER = 0.2
"""Degrees subtracted from this limit, so that rounding does not matter to another measurement."""
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
    flawed : bool [actions]
        Whether limbs cross in the clip that the action was made of.
    """

    usual: Array
    wider: Array
    widens: Array
    part: Array
    flawed: Array


@kernel
def outside(direction: Vector, range_: Array) -> bool:
    """Return whether a direction is outside a range [3]."""
    return bool(direction[0] * range_[0] + direction[1] * range_[1] < direction[2] * range_[2] + SMALL)


@kernel
def leaves_range(direction: Array, range_: Array) -> bool:
    """Return whether an angle, float32 [VECTOR], leaves a range in any frame of a block."""
    count = np.int32(0)
    middle_x, middle_y, half = range_[0], range_[1], range_[2]
    for f in range(BLOCK):
        beyond = direction[f] * middle_x + direction[BLOCK + f] * middle_y < direction[2 * BLOCK + f] * half + SMALL
        count = np.int32(count + beyond)
    return bool(count > 0)


@kernel
def apply_wider_ranges(
    direction: Array, labels: Array, first: int, reach: int, wider: Array, widens: Array, left: Array
) -> None:
    """Clear `left` in frames within `reach` of an action whose wider range contains the angle.

    Parameters
    ----------
    direction : float32 [VECTOR]
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
                left[g] = left[g] and outside(vector_in(direction, 0, g), wider[action])


@kernel
def leaves_ranges(directions: Array, labels: Array, first: int, reach: int, ranges: Ranges, skeleton: int, left: Array) -> bool:
    """Return whether any joint leaves its range in any frame of a block.

    Parameters
    ----------
    directions : float32 [angles * VECTOR]
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
        direction = directions[angle * VECTOR : (angle + 1) * VECTOR]
        usual, wider = ranges.usual[skeleton, angle], ranges.wider[skeleton, :, angle]
        if not leaves_range(direction, usual):
            continue
        for f in range(BLOCK):
            left[f] = outside(vector_in(direction, 0, f), usual)
        shown = labels[:, ranges.part[angle]]
        apply_wider_ranges(direction, shown, first, reach, wider, ranges.widens[:, angle], left)
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
    flawed = np.array([library.action(name).limbs_cross for name in library.actions], np.bool_)
    return Ranges(np.stack(usual), np.stack(wider), widens[0], parts[0], flawed)


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
