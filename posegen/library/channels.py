"""The channels: what an action file may move, in which units and within which bounds."""

from __future__ import annotations

from posegen.wording import did_you_mean, shown

__all__ = [
    "ANCHORS",
    "CHANNELS",
    "FOOT_PLACE",
    "HAND_CHANNELS",
    "SIDED_CHANNELS",
    "check_channels",
    "check_hand",
    "check_hand_of_layer",
    "check_pose",
]

SIDED_CHANNELS = (
    "hip_flexion",
    "hip_abduction",
    "hip_rotation",
    "knee_flexion",
    "ankle_dorsiflexion",
    "collar_elevation",
    "collar_protraction",
    "shoulder_flexion",
    "shoulder_abduction",
    "shoulder_rotation",
    "elbow_flexion",
    "foot_forward",
    "foot_aside",
    "foot_up",
    "foot_pitch",
)
"""Channels that exist once a side, in degrees; a foot's place is in leg lengths from where it stood, its pitch is toes up."""

FOOT_PLACE = ("foot_forward", "foot_aside", "foot_up")

CENTRAL_CHANNELS = (
    "root_height",
    "root_forward",
    "root_lateral",
    "pelvis_tilt",
    "pelvis_obliquity",
    "pelvis_rotation",
    "trunk_flexion",
    "trunk_lateral",
    "trunk_rotation",
    "neck_flexion",
    "neck_lateral",
    "neck_rotation",
)
"""Channels of the root (leg lengths, relative to standing), pelvis, trunk and neck (degrees). Lateral and rotation are
positive to the left, or to the near side where the action has a side."""

HAND_CHANNELS = ("hand_aside", "hand_up", "hand_forward", "hand_reach")
"""Where a wrist should be from its anchor, in arm lengths (aside is positive outward, to the hand's own side), and how far it
is followed, 0 to 1; once a side."""

CHANNELS = (
    *CENTRAL_CHANNELS,
    *(f"{side}_{c}" for side in ("left", "right") for c in SIDED_CHANNELS),
    *(f"{side}_{c}" for side in ("left", "right") for c in HAND_CHANNELS),
)
"""All channels, in the order in which kernels hold them."""

ANCHORS = ("chest", "head", "floor", "meeting", "partner")
"""What a hand may be told to be beside: the uppermost joint of the spine, the head's joint, each turning with it, or the floor
under the body's path, turning with the heading; or the point between two who meet, which stands still, as high as their
shoulders are in the mean, in lengths of their arms in the mean."""

_SIDES = ("near", "far", "both")
_WRITTEN = {*CENTRAL_CHANNELS, *(f"{side}_{c}" for side in _SIDES for c in (*SIDED_CHANNELS, *HAND_CHANNELS))}


def check_channels(names: list[str]) -> None:
    """Check that these are channels as action files write them.

    Raises
    ------
    ValueError
        That names the first one that is not.
    """
    for name in names:
        if name not in _WRITTEN:
            msg = f"unknown channel {shown(name)}{did_you_mean(name, _WRITTEN)}"
            raise ValueError(msg)


def check_pose(pose: dict[str, float]) -> None:
    """Check that a pose is one of channels, each within its bounds.

    Raises
    ------
    ValueError
        That names the channel.
    """
    check_channels(list(pose))
    for name, value in pose.items():
        least, most, unit = _bounds(name)
        if not least <= value <= most:
            msg = f"{name} is {unit}, from {least} to {most} (got {value:.15g})"
            raise ValueError(msg)


def _bounds(name: str) -> tuple[int, int, str]:
    """Smallest and largest value of a channel, and what it is counted in."""
    if name.startswith("root_") or name.endswith(FOOT_PLACE):
        return -2, 2, "in leg lengths"
    if name.endswith("_hand_reach"):
        return 0, 1, "a share"
    if "_hand_" in name:
        return -3, 3, "in arm lengths"
    return -360, 360, "in degrees"


def check_hand(hand: str, pose: set[str], moved: set[str]) -> None:
    """Check that one hand is told where to be in full: all of its place is in `pose`, and it follows at some time."""
    named, posed = (
        {c for c in HAND_CHANNELS if not channels.isdisjoint((f"{hand}_{c}", f"both_{c}"))} for channels in (moved, pose)
    )
    lacking = [f"{hand}_{c}" for c in HAND_CHANNELS[:3] if named and c not in posed]
    if lacking:
        msg = f"`pose` lacks {', '.join(lacking)}: say where the hand is while nothing else is said"
        raise ValueError(msg)
    if named and "hand_reach" not in named:
        msg = f"{hand}_hand_reach is missing: say how far the hand follows, from 0 (not at all) to 1"
        raise ValueError(msg)


def check_hand_of_layer(hand: str, moved: set[str], parts: set[str]) -> None:
    """Check that a layer that says where a hand is takes over its arm, since only then the hand goes there."""
    named = sorted(moved & {f"{side}_{c}" for side in (hand, "both") for c in HAND_CHANNELS})
    if named and f"{hand}_arm" not in parts and not {"left_arm", "right_arm"} <= parts:
        msg = f"{named[0]} moves the {hand} arm, which is not among `parts`: add {hand}_arm"
        raise ValueError(msg)
