"""Channels: the angles and positions that an action moves, with their units, bounds and joint ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, get_args

from posegen.foundations.skeleton import JOINT_LIMITS
from posegen.foundations.wording import did_you_mean, shown

_LEG = "hip_flexion hip_abduction hip_rotation knee_flexion ankle_dorsiflexion"
_ARM = "collar_elevation collar_protraction shoulder_flexion shoulder_abduction shoulder_rotation elbow_flexion"
FOOT_PLACE = ("foot_forward", "foot_aside", "foot_up")
SIDED_CHANNELS = (*_LEG.split(), *_ARM.split(), *FOOT_PLACE, "foot_pitch")
"""Channels of each side, in degrees. Hip rotation turns the knee out from the direction of the foot; pitch is positive toes up.
A foot's position is in leg lengths from its last stance.
"""

_ROOT = "root_height root_forward root_lateral pelvis_tilt pelvis_obliquity pelvis_rotation"
_SPINE = "trunk_flexion trunk_lateral trunk_rotation neck_flexion neck_lateral neck_rotation"
CENTRAL_CHANNELS = (*_ROOT.split(), *_SPINE.split())
"""Channels of the root (leg lengths, relative to standing), pelvis, trunk and neck (degrees). Lateral and rotation are
positive to the left, or to the near side where the action has a side."""

HAND_CHANNELS = ("hand_aside", "hand_up", "hand_forward", "hand_reach")
"""Position of a wrist relative to its anchor in arm lengths (aside is positive outward), and its weight, 0 to 1; per side."""

CHANNELS = (
    *CENTRAL_CHANNELS,
    *(f"{side}_{c}" for side in ("left", "right") for c in SIDED_CHANNELS),
    *(f"{side}_{c}" for side in ("left", "right") for c in HAND_CHANNELS),
)
"""All channels, in the order in which kernels hold them."""

Anchor = Literal["chest", "head", "floor", "meeting", "partner"]
ANCHORS: tuple[str, ...] = get_args(Anchor)
"""Reference points of a hand: the uppermost joint of the spine or the head's joint, each rotating with it; the floor below the
body's path, rotating with the heading; or the fixed point between two partners at the mean height of their shoulders, in units
of the mean length of their arms."""

_SIDES = ("near", "far", "both")
_BELOW, _BEYOND = 20.0, 5.0
"""Degrees that a pose may lie below and beyond a range: it is relative to standing, in which limbs are bent a little."""
_MOVED_BELOW = 45.0
"""Degrees that a movement may lie below a range: its terms are added as if all were lowest at once."""
_WRITTEN = {*CENTRAL_CHANNELS, *(f"{side}_{c}" for side in _SIDES for c in (*SIDED_CHANNELS, *HAND_CHANNELS))}


_NUMBERS = {name: number for number, name in enumerate(CHANNELS)}


def channels_named(name: str) -> list[int]:
    """Return the indices of the channels `name`, or of those of both sides."""
    return [_NUMBERS[one] for one in (name, f"left_{name}", f"right_{name}") if one in _NUMBERS]


def sides_of(near: str) -> dict[str, tuple[str, ...]]:
    """Return the sides that the words of action files name in an action performed with the side `near`."""
    far = "right" if near == "left" else "left"
    return {"near": (near,), "far": (far,), "both": ("left", "right"), "left": ("left",), "right": ("right",)}


def sided_names(name: str, near: str) -> list[str]:
    """Return the names of a channel, part or point of the left and the right side that a name in an action file stands for.

    Examples
    --------
    >>> sided_names("near_arm", "right"), sided_names("both_hand", "left"), sided_names("head", "left")
    (['right_arm'], ['left_hand', 'right_hand'], ['head'])
    """
    word, _, rest = name.partition("_")
    return [f"{side}_{rest}" for side in sides_of(near).get(word, ())] or [name]


def check_channels(names: list[str]) -> None:
    """Check names of channels as action files write them.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    for name in names:
        if name not in _WRITTEN:
            raise ValueError(f"unknown channel {shown(name)}{did_you_mean(name, _WRITTEN)}")


def check_pose(pose: dict[str, float]) -> None:
    """Check the channels of a pose and the bounds of their values.

    Raises
    ------
    ValueError
        If a channel is unknown or out of bounds.
    """
    check_channels(list(pose))
    for name, value in pose.items():
        least, most, unit = _bounds(name)
        if not least <= value <= most:
            raise ValueError(f"{name} is {unit}, from {least} to {most} (got {value:.15g})")


def _bounds(name: str) -> tuple[int, int, str]:
    """Return the smallest and the largest value of a channel, and its unit."""
    if name.startswith("root_") or name.endswith(FOOT_PLACE):
        return -2, 2, "in leg lengths"
    if name.endswith("_hand_reach"):
        return 0, 1, "a share"
    if "_hand_" in name:
        return -3, 3, "in arm lengths"
    return -360, 360, "in degrees"


def check_hand(hand: str, pose: set[str], moved: set[str], parts: set[str] | None) -> None:
    """Check that the position of a hand is complete: `pose` has all of its coordinates, and some stage gives its weight.

    A layer, which has `parts`, must have the arm among them; otherwise the position would have no effect.
    """
    own = {c: {f"{hand}_{c}", f"both_{c}"} for c in HAND_CHANNELS}
    named, posed = ({c for c, names in own.items() if channels & names} for channels in (moved, pose))
    lacking = [f"{hand}_{c}" for c in HAND_CHANNELS[:3] if named and c not in posed]
    if lacking:
        raise ValueError(f"`pose` lacks {', '.join(lacking)}: add the position of the hand outside of key poses")
    if named and "hand_reach" not in named:
        raise ValueError(f"{hand}_hand_reach is missing: add the weight of the hand's position, from 0 to 1")
    if named and parts is not None and f"{hand}_arm" not in parts and not {"left_arm", "right_arm"} <= parts:
        first = min(moved & set().union(*own.values()))
        raise ValueError(f"{first} moves the {hand} arm, which is not among `parts`: add {hand}_arm")


def check_range(channel: str, least: float | None, most: float | None) -> None:
    """Check that a range widens the usual range of a joint.

    Parameters
    ----------
    channel : str
        An angle of :data:`posegen.foundations.skeleton.JOINT_LIMITS`, without a side.
    least, most : float, optional
        Degrees; None keeps that end.

    Raises
    ------
    ValueError
        If the angle has no range or the range is not wider.
    """
    if channel not in JOINT_LIMITS:
        raise ValueError(f"{shown(channel)} is not an angle with a range{did_you_mean(channel, JOINT_LIMITS)}; name no side")
    if least is None and most is None:
        raise ValueError(f"{channel} needs `min` or `max`: give the end that is wider than usual")
    low, high = JOINT_LIMITS[channel]
    if (least is not None and least >= low) or (most is not None and most <= high):
        raise ValueError(f"{channel} is not widened: its usual range is {low:g} to {high:g} degrees")


def check_angles(pose: Mapping[str, float], ranges: Mapping[str, tuple[float, float]], *, moves: bool = False) -> None:
    """Check that no angle of a pose is far outside the range of its joint.

    Parameters
    ----------
    pose : mapping of str to float
        Values of channels as action files write them.
    ranges : mapping of str to (float, float)
        Degrees of the angles, without a side, whose range is not that of :data:`posegen.foundations.skeleton.JOINT_LIMITS`.
    moves : bool
        Whether it is the lowest or highest one of a movement.

    Raises
    ------
    ValueError
        With the angle, its value and range, and how to state a wider one.
    """
    for name, value in pose.items():
        angle = name.partition("_")[2] if name.startswith(_SIDES) else name
        low, high = ranges.get(angle) or JOINT_LIMITS.get(angle, (-math.inf, math.inf))
        if not low - (_MOVED_BELOW if moves else _BELOW) <= value <= high + _BEYOND:
            end = f"min: {math.floor(value)}" if value < low else f"max: {math.ceil(value)}"
            outside = f"{name} is {value:g} degrees, outside its range {low:g} to {high:g}: correct it, or state"
            raise ValueError(f"{outside} `ranges: {{{angle}: {{{end}, source: ...}}}}` with a publication that measured it")


def widest(channel: str, least: float | None, most: float | None) -> tuple[float, float]:
    """Return the range of a joint in degrees, widened by an action to `least` or `most`."""
    low, high = JOINT_LIMITS[channel]
    return low if least is None else least, high if most is None else most
