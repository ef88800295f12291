"""Channels of a clip: the anatomical angles and the course of the pelvis that reproduce its joints on any body.

The inverse of :mod:`posegen.motion.trunk`. Angles do not depend on the lengths of bones, and distances are in leg lengths. Feet
are in :mod:`posegen.mocap.steps`, arms in :mod:`posegen.mocap.arms`. Positions do not show how a head turns, so it stays as in
standing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posegen.checks.ranges import REST
from posegen.evaluation.body import point, unit
from posegen.exchange.joint_rotations import about_axes
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import DEFAULT_SKELETON, JOINT_LIMITS, PROPORTIONS
from posegen.library.channels import CHANNELS
from posegen.mocap.arms import CLEAR, arm_angles, steady
from posegen.mocap.rest_pose import LEG, Spine, rest_offsets, seen_from, spine_rotations
from posegen.motion.scene_arrays import NEUTRAL, hanging_arms

ZERO = REST[DEFAULT_SKELETON]
CHEST_LEAN = ZERO["shoulder_flexion"]
"""Degrees by which the line from spine3 to neck leans back in the rest pose."""
HEAD_LEAN = ZERO["neck_flexion"] + CHEST_LEAN
HIP_BELOW_PELVIS = 0.047 / LEG
UPRIGHT = 0.93
"""Share of the leg length at which the hips are above the ankles of a body that stands upright."""
MOST_CALIBRATED = {"pelvis_tilt": 25.0, "trunk_flexion": 45.0, "neck_flexion": 65.0}
"""Degrees by which the spine in standing may differ from ours: the skeleton of CMU's by 11, 27 and 54, and people stand
differently."""
TOES_OUT = 7.0
"""Degrees that the feet of actions point further out than the body faces."""
LEVEL = 0.5
"""Cosine of the tilt of a pelvis from which its direction is well defined."""


class Ground(NamedTuple):
    """The axes in which a clip is described: where it stands, the direction that it faces, and the size of the body.

    Attributes
    ----------
    origin : float64 [3], or [frame, 3]
        Point on the floor between the feet, or below the body in each frame, metres.
    facing : float, or float64 [frame]
        Radians about the vertical axis from +z.
    leg : float
        Thigh and shank, metres.
    ankle : float
        Height of the ankles of feet that stand flat, metres.
    """

    origin: Array
    facing: Array | float
    leg: float
    ankle: float


def leg_length(joints: Array) -> float:
    """Return the median length of thigh and shank of both legs in metres; `joints` is float [frame, 22, 3]."""
    lengths = [
        np.sqrt(((point(joints, f"{side}_{near}") - point(joints, f"{side}_{far}")) ** 2).sum(-1))
        for side in ("left", "right")
        for near, far in (("hip", "knee"), ("knee", "ankle"))
    ]
    return float(np.median(np.sum(lengths, axis=0)) / 2)


def facing(joints: Array) -> Array:
    """Return the direction in which the hips face in each frame: continuous radians from +z to the left, float64 [frame]."""
    across = point(joints, "left_hip") - point(joints, "right_hip")
    return np.unwrap(np.arctan2(-across[:, 2], across[:, 0]))


def on_ground(joints: Array, ground: Ground) -> Array:
    """Return joints relative to the ground of a clip: at its origin, facing +z, in leg lengths above the floor."""
    facing = np.reshape(ground.facing, (-1, 1))
    s, c = np.sin(facing), np.cos(facing)
    moved = (joints - np.reshape(ground.origin, (-1, 1, 3))) / ground.leg
    left, ahead = moved[..., 0] * c - moved[..., 2] * s, moved[..., 0] * s + moved[..., 2] * c
    return np.stack([left, moved[..., 1], ahead], axis=-1)


def body_channels(
    joints: Array,
    ground: Ground,
    yaws: tuple[Array | float, Array | float] = (0.0, 0.0),
    standing: Mapping[str, float] | None = None,
) -> dict[str, Array]:
    """Return root, pelvis, trunk, neck, hip rotation and arm channels of a clip.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, y up.
    ground : Ground
    yaws : tuple of float64 [frame]
        Radians by which the left and the right foot of the action point further to the left than the body faces.
    standing : mapping of str to float, optional
        :func:`standing_angles` of the skeleton of the clip.

    Returns
    -------
    dict of str to float64 [frame]
        Degrees and leg lengths, relative to quiet standing, as action files write them. Sided ones begin with ``left_`` or
        ``right_``.
    """
    body = on_ground(joints, ground)
    hips = (point(body, "left_hip") + point(body, "right_hip")) / 2
    angles, pelvis, spine = _trunk_and_arms(body, standing)
    for side, sign, yaw in (("left", 1.0, yaws[0]), ("right", -1.0, yaws[1])):
        angles[f"{side}_hip_rotation"] = _knee_turn(body, side, sign, yaw)
    angles |= _without_hanging(body, angles, spine)
    for name in angles:
        angles[name] = angles[name] - NEUTRAL.get(name.removeprefix("left_").removeprefix("right_"), 0.0)
    up = pelvis[:, :, 1] * HIP_BELOW_PELVIS
    away = hips + up - _standing_pelvis(ground)
    return angles | {"root_lateral": away[:, 0], "root_height": away[:, 1], "root_forward": away[:, 2]}


def rest_of_clip(joints: Array, standing: Mapping[str, float]) -> Array:
    """Return the offset of each joint of a clip from its parent in the rest pose: fractions of stature, float64 [22, 3].

    Parameters
    ----------
    joints : float [frame, 22, 3]
    standing : mapping of str to float
        :func:`standing_angles` of the skeleton of the clip.
    """
    body = on_ground(joints, Ground(np.zeros(3), facing(joints), leg_length(joints), 0.0))
    angles, _, spine = _trunk_and_arms(body, standing)
    return rest_offsets(body, angles, spine)


def _trunk_and_arms(body: Array, standing: Mapping[str, float] | None) -> tuple[dict[str, Array], Array, Spine]:
    """Return the degrees of pelvis, trunk, neck and arms, the axes of the clip's pelvis, and the spine of these degrees."""
    angles, pelvis = _spine_angles(body)
    for name, off in (standing or {}).items():
        angles[name] -= off
    spine = spine_rotations(angles)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        # Calibration turns the chest against that of the clip, and arms keep their directions in space.
        angles |= arm_angles(body, spine.chest, side, sign)
    return angles, pelvis, spine


def standing_angles(joints: Array) -> dict[str, float] | None:
    """Return the degrees by which the spine of a body that stands differs from ours; None if nobody stands upright in a clip.

    They belong to its skeleton, whose joints are elsewhere in the body. `joints` is float [frame, 22, 3].
    """
    body = on_ground(joints, Ground(np.zeros(3), facing(joints), leg_length(joints), 0.0))
    hips = (point(body, "left_hip") + point(body, "right_hip")) / 2
    ankles = (point(body, "left_ankle") + point(body, "right_ankle")) / 2
    upright = (hips[:, 1] - ankles[:, 1] > UPRIGHT) & (np.abs(point(body, "neck") - hips)[:, [0, 2]].max(axis=1) < 0.15)
    if not upright.any():
        return None
    angles, _ = _spine_angles(body[upright])
    return {
        name: float(np.clip(np.median(angles[name]) - NEUTRAL[name], -most, most)) for name, most in MOST_CALIBRATED.items()
    }


def _spine_angles(body: Array) -> tuple[dict[str, Array], Array]:
    """Return the degrees of pelvis, trunk and neck from the rest pose of our skeleton, and the axes of the pelvis."""
    hips = (point(body, "left_hip") + point(body, "right_hip")) / 2
    pelvis = _axes(point(body, "left_hip") - point(body, "right_hip"), point(body, "spine1") - hips) @ _about_x(
        -ZERO["hip_flexion"]
    )
    chest = _axes(
        point(body, "left_collar") - point(body, "right_collar"), point(body, "neck") - point(body, "spine3")
    ) @ _about_x(-CHEST_LEAN)
    turn, tilt, lateral = _continuous_rotations(pelvis)
    angles = {"pelvis_rotation": np.degrees(turn), "pelvis_tilt": np.degrees(tilt)}
    angles["pelvis_obliquity"] = -np.degrees(lateral)
    trunk = _rotation_flexion_lateral(_third(np.swapaxes(pelvis, -1, -2) @ chest))
    for name, values in zip(("trunk_rotation", "trunk_flexion", "trunk_lateral"), trunk, strict=True):
        angles[name] = 3 * np.degrees(values)
    head = seen_from(chest, unit(point(body, "head") - point(body, "neck")))
    angles["neck_flexion"] = np.degrees(np.arctan2(head[:, 2], head[:, 1])) - HEAD_LEAN
    angles["neck_lateral"] = np.degrees(np.arcsin(np.clip(head[:, 0] / np.cos(np.radians(HEAD_LEAN)), -1, 1)))
    return angles, pelvis


def _without_hanging(body: Array, angles: dict[str, Array], spine: Spine) -> dict[str, Array]:
    """Return the angles of the upper arms without what the engine adds to them on this skeleton."""
    rest = rest_offsets(body, angles, spine)
    hanging = 360 * hanging_arms(rest[None], np.ones(1))[0]
    return {
        name: angles[name] - hanging[CHANNELS.index(name)]
        for side in ("left", "right")
        for name in (f"{side}_shoulder_flexion", f"{side}_shoulder_abduction")
    }


def standing_height(ground: Ground) -> float:
    """Return the height of the pelvis in quiet standing, in leg lengths."""
    return float(_standing_pelvis(ground)[1])


def _standing_pelvis(ground: Ground) -> Array:
    """Return the position of the pelvis in quiet standing relative to the middle of the ankles, in leg lengths."""
    tilt, hip, knee = (np.radians(NEUTRAL[name]) for name in ("pelvis_tilt", "hip_flexion", "knee_flexion"))
    thigh, shank = PROPORTIONS["thigh"] / LEG, PROPORTIONS["shank"] / LEG
    upper, lower = hip - tilt, hip - tilt - knee
    down = thigh * np.cos(upper) + shank * np.cos(lower)
    ahead = thigh * np.sin(upper) + shank * np.sin(lower)
    up = ground.ankle / ground.leg + down + HIP_BELOW_PELVIS * np.cos(tilt)
    return np.array([0.0, up, HIP_BELOW_PELVIS * np.sin(tilt) - ahead])


def _axes(left: Array, up: Array) -> Array:
    """Return rotations whose columns are left, up and forward: float64 [frame, 3, 3]."""
    across = unit(left)
    above = unit(up - (up * across).sum(-1, keepdims=True) * across)
    return np.stack([across, above, np.cross(across, above)], axis=-1)


def _about_x(degrees: float) -> Array:
    s, c = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _rotation_flexion_lateral(turn: Array) -> tuple[Array, Array, Array]:
    """Return the radians of rotation . flexion . lateral flexion, the order of the trunk."""
    flexion = np.arcsin(np.clip(-turn[:, 1, 2], -1, 1))
    return np.arctan2(turn[:, 0, 2], turn[:, 2, 2]), flexion, -np.arctan2(turn[:, 1, 0], turn[:, 1, 1])


def _continuous_rotations(turn: Array) -> tuple[Array, Array, Array]:
    """Return the radians of rotation . flexion . lateral flexion without jumps, also of a body that lies.

    With its axis level, a rotation about the vertical one does not show: it is then that of the frames around.
    """
    steep = np.sqrt(turn[:, 0, 2] ** 2 + turn[:, 2, 2] ** 2)
    about = steady(np.arctan2(turn[:, 0, 2], turn[:, 2, 2]), steep / LEVEL)
    s, c, none = np.sin(about), np.cos(about), np.zeros_like(about)
    back = np.stack([c, none, -s, none, none + 1, none, s, none, c], axis=-1).reshape(-1, 3, 3)
    rest = back @ turn
    return about, np.unwrap(np.arctan2(-rest[:, 1, 2], rest[:, 2, 2])), -np.arctan2(-rest[:, 0, 1], rest[:, 0, 0])


def _third(turn: Array) -> Array:
    """Return rotations by a third of the angle about the same axes."""
    axis = np.stack([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], -1)
    sine = np.sqrt((axis**2).sum(-1)) / 2
    angle = np.arctan2(sine, (np.trace(turn, axis1=1, axis2=2) - 1) / 2) / 3
    return about_axes(axis / np.maximum(2 * sine, 1e-9)[:, None], angle)


def _knee_turn(body: Array, side: str, sign: float, yaw: Array | float) -> Array:
    """Return the degrees by which a knee points further out than the foot, which points 7 degrees out."""
    hip, knee, ankle = (point(body, f"{side}_{name}") for name in ("hip", "knee", "ankle"))
    axis = unit(ankle - hip)
    out = np.radians(TOES_OUT) * sign + yaw
    s, c = np.sin(out), np.cos(out)
    front = 0.1 - axis[:, 1]
    before = np.stack([s * front, axis[:, 0] * s + axis[:, 2] * c, c * front], -1)
    before = unit(before - (before * axis).sum(-1, keepdims=True) * axis)
    bent = unit(knee - hip)
    bent = bent - (bent * axis).sum(-1, keepdims=True) * axis
    size = np.sqrt((bent**2).sum(-1))
    turn = -sign * np.arctan2((axis * np.cross(before, bent)).sum(-1), (before * bent).sum(-1))
    low, high = np.radians(JOINT_LIMITS["hip_rotation"])
    return np.asarray(np.degrees(np.clip(_toward_zero(turn, size / CLEAR), low, high)))


def _toward_zero(angle: Array, clearness: Array) -> Array:
    """Return an angle that fades to 0 where it is not clear, since a straight knee points nowhere."""
    return np.asarray(angle * np.clip(clearness, 0.0, 1.0) ** 2)
