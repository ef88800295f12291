"""Channels of a clip: the anatomical angles and the course of the pelvis that reproduce its joints on any body.

The inverse of :mod:`posegen.motion.trunk`. Angles do not depend on the lengths of bones, and distances are in leg lengths.
Feet are in :mod:`posegen.mocap.steps`, arms in :mod:`posegen.mocap.body_angles`. Positions do not show how a head turns, so
it stays as in standing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posegen.checks.ranges import REST
from posegen.evaluation.body import point, unit
from posegen.exchange.joint_rotations import about_axis, from_vectors, rotation_vectors
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import DEFAULT_SKELETON, JOINT_LIMITS, JOINTS, PARENTS, PROPORTIONS
from posegen.library.channels import CHANNELS
from posegen.library.skeletons import FARTHEST, LIMBS, LONGEST, MEASURED, MOST_SKELETONS, SHORTEST, SkeletonEntry
from posegen.mocap.body_angles import CLEAR, LEG, Spine, arm_angles, rest_offsets, seen_from, spine_rotations, steady
from posegen.motion.scene_arrays import NEUTRAL, hanging_arms

ZERO = REST[DEFAULT_SKELETON]
CHEST_LEAN = ZERO["shoulder_flexion"]
"""Backward lean of the line from spine3 to neck in the rest pose, degrees."""
HEAD_LEAN = ZERO["neck_flexion"] + CHEST_LEAN
HIP_BELOW_PELVIS = 0.047 / LEG
UPRIGHT = 0.93
"""Share of the leg length at which the hips are above the ankles of a body that stands upright."""
MOST_CALIBRATED = {"pelvis_tilt": 25.0, "trunk_flexion": 45.0, "neck_flexion": 65.0}
"""Maximum difference of the standing spine from ours, degrees. That of CMU's skeleton is 11, 27 and 54, and people stand
differently."""
TOES_OUT = 7.0
"""Degrees that the feet of actions point further out than the body faces."""
LEVEL = 0.5
"""Cosine of the tilt of a pelvis from which its direction is well defined."""
SAME = 0.009
"""Root mean square distance of the joints of two skeletons, as a fraction of stature, up to which they are one. Those of
several clips of a person differ by up to 12 mm from their median."""

_LEGS = [[JOINTS.index(f"{side}_{name}") for name in ("hip", "knee", "ankle")] for side in ("left", "right")]


class Ground(NamedTuple):
    """The axes in which a clip is described: its place, the direction that it faces, and the size of the body.

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
    bones = np.diff(joints[:, _LEGS], axis=2)
    return float(np.median(np.sqrt((bones**2).sum(-1)).sum(axis=(1, 2))) / 2)


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
    away = hips + up - standing_pelvis(ground)
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
    """Return the differences of a standing spine from ours, degrees; None if nobody stands upright in a clip.

    They describe its skeleton: other skeletons have their joints at other points of the body. `joints` is float [frame, 22, 3].
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
    across, girdle = (point(body, f"left_{name}") - point(body, f"right_{name}") for name in ("hip", "collar"))
    pelvis = axes(across, point(body, "spine1") - hips) @ about_axis(0, -np.radians(ZERO["hip_flexion"]))
    chest = axes(girdle, point(body, "neck") - point(body, "spine3")) @ about_axis(0, -np.radians(CHEST_LEAN))
    turn, tilt, lateral = _continuous_rotations(pelvis)
    angles = {"pelvis_rotation": turn, "pelvis_tilt": tilt, "pelvis_obliquity": -lateral}
    third = from_vectors(rotation_vectors(np.swapaxes(pelvis, -1, -2) @ chest) / 3)
    for name, values in zip(("rotation", "flexion", "lateral"), _continuous_rotations(third), strict=True):
        angles[f"trunk_{name}"] = 3 * values
    head = seen_from(chest, unit(point(body, "head") - point(body, "neck")))
    angles["neck_flexion"] = np.degrees(np.arctan2(head[:, 2], head[:, 1])) - HEAD_LEAN
    angles["neck_lateral"] = np.degrees(np.arcsin(np.clip(head[:, 0] / np.cos(np.radians(HEAD_LEAN)), -1, 1)))
    return angles, pelvis


def _without_hanging(body: Array, angles: dict[str, Array], spine: Spine) -> dict[str, Array]:
    """Return the angles of the upper arms without the angles that the engine adds on this skeleton."""
    rest = rest_offsets(body, angles, spine)
    hanging = 360 * hanging_arms(rest[None], np.ones(1))[0]
    return {
        name: angles[name] - hanging[CHANNELS.index(name)]
        for side in ("left", "right")
        for name in (f"{side}_shoulder_flexion", f"{side}_shoulder_abduction")
    }


def standing_pelvis(ground: Ground) -> Array:
    """Return the position of the pelvis in quiet standing relative to the middle of the ankles, in leg lengths."""
    tilt, hip, knee = (np.radians(NEUTRAL[name]) for name in ("pelvis_tilt", "hip_flexion", "knee_flexion"))
    thigh, shank = PROPORTIONS["thigh"] / LEG, PROPORTIONS["shank"] / LEG
    upper, lower = hip - tilt, hip - tilt - knee
    down = thigh * np.cos(upper) + shank * np.cos(lower)
    ahead = thigh * np.sin(upper) + shank * np.sin(lower)
    up = ground.ankle / ground.leg + down + HIP_BELOW_PELVIS * np.cos(tilt)
    return np.array([0.0, up, HIP_BELOW_PELVIS * np.sin(tilt) - ahead])


def axes(left: Array, up: Array) -> Array:
    """Return rotations with the columns left, up and forward: float64 [..., 3, 3]."""
    across = unit(left)
    above = unit(up - (up * across).sum(-1, keepdims=True) * across)
    return np.stack([across, above, np.cross(across, above)], axis=-1)


def _continuous_rotations(turn: Array) -> tuple[Array, Array, Array]:
    """Return the degrees of rotation . flexion . lateral flexion without jumps, also of a body that lies.

    With its axis level, a rotation about the vertical one does not show: it is then that of the frames around.
    """
    steep = np.sqrt(turn[:, 0, 2] ** 2 + turn[:, 2, 2] ** 2)
    about = steady(np.arctan2(turn[:, 0, 2], turn[:, 2, 2]), steep / LEVEL)
    rest = about_axis(1, -about) @ turn
    flexion, lateral = np.unwrap(np.arctan2(-rest[:, 1, 2], rest[:, 2, 2])), -np.arctan2(-rest[:, 0, 1], rest[:, 0, 0])
    return np.degrees(about), np.degrees(flexion), np.degrees(lateral)


def _knee_turn(body: Array, side: str, sign: float, yaw: Array | float) -> Array:
    """Return how much further out a knee points than the foot, degrees; the foot points 7 degrees out."""
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
    # The angle fades to 0 where the knee is straight and shows no direction.
    return np.asarray(np.degrees(np.clip(turn * np.clip(size / CLEAR, 0.0, 1.0) ** 2, low, high)))


class Skeleton(NamedTuple):
    """Lengths of the bones of a clip in leg lengths, float64 [21], and :func:`~posegen.mocap.pose_channels.standing_angles`."""

    bones: Array
    standing: Mapping[str, float]


def standing_skeleton(joints: Array) -> Skeleton | None:
    """Return the skeleton of a clip, or None if nobody stands upright in it; `joints` is float [frame, 22, 3]."""
    body = np.asarray(joints, np.float64)
    standing = standing_angles(body)
    return None if standing is None else Skeleton(_bones(body), standing)


def usual_standing(joints: Array, others: Sequence[Skeleton]) -> Mapping[str, float]:
    """Return the standing angles of a clip in which nobody stands: those of the clip with the most similar skeleton."""
    if not others:
        return {}
    bones = _bones(np.asarray(joints, np.float64))
    return min(others, key=lambda other: float(((other.bones - bones) ** 2).sum())).standing


def distinct_skeletons(offsets: Sequence[Array]) -> dict[str, SkeletonEntry]:
    """Return the skeletons of a library, as means of similar ones, the most frequent first.

    Parameters
    ----------
    offsets : sequence of float64 [22, 3]
        Of each clip; see :func:`posegen.mocap.pose_channels.rest_of_clip`.
    """
    groups: list[list[Array]] = []
    for rest in offsets:
        unlike = [float(np.sqrt(((np.mean(group, axis=0) - rest) ** 2).sum(-1).mean())) for group in groups]
        nearest = int(np.argmin(unlike)) if unlike else -1
        if nearest >= 0 and unlike[nearest] <= SAME:
            groups[nearest].append(rest)
        else:
            groups.append([rest])
    groups.sort(key=len, reverse=True)
    return {f"clips_{number}": _entry(group) for number, group in enumerate(groups[:MOST_SKELETONS], 1)}


def _entry(group: Sequence[Array]) -> SkeletonEntry:
    rest = np.mean(group, axis=0).clip(-FARTHEST, FARTHEST)
    limbs = [JOINTS.index(name) for name in LIMBS]
    # A bone of a clip may be shorter or longer than any of a person.
    rest[limbs] = rest[limbs].clip([0, -LONGEST, 0], [0, -SHORTEST, 0])
    offsets = {name: tuple(round(float(value), 4) + 0.0 for value in rest[JOINTS.index(name)]) for name in MEASURED}
    return SkeletonEntry.model_validate({"weight": len(group), "offsets": offsets})


def _bones(joints: Array) -> Array:
    away = joints[:, 1:] - joints[:, PARENTS[1:]]
    return np.asarray(np.median(np.sqrt((away**2).sum(-1)), axis=0) / leg_length(joints))
