"""Channels of a clip: the anatomical angles and the course of the pelvis that reproduce its joints on any body.

The inverse of :mod:`posegen.motion.trunk`. Angles do not depend on the lengths of bones, and distances are in leg lengths. Feet
are in :mod:`posegen.mocap.steps`. Positions do not show how a head turns, so it stays as in standing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posegen.arrays import Array
from posegen.checks.ranges import REST
from posegen.evaluation.body import point, true_intervals, unit
from posegen.exchange.joint_rotations import about_axes
from posegen.fields.field import minimum_jerk
from posegen.library.channels import CHANNELS
from posegen.mocap.rest_pose import LEG, Spine, from_girdle, rest_offsets, seen_from, spine_rotations
from posegen.motion.scene_arrays import NEUTRAL, hanging_arms
from posegen.skeleton import DEFAULT_SKELETON, JOINT_LIMITS, PROPORTIONS

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
MOST_COLLAR = 30.0
BENDING = np.array([-0.3, 0.2, 1.0])
"""Direction, outward, up and ahead, in which the forearm of a straight arm would bend."""
CLEAR = 0.25
"""Sine of the angle from which the direction of a bent or lifted limb is well defined."""
TOES_OUT = 7.0
"""Degrees that the feet of actions point further out than the body faces."""
MOST_BEHIND = np.radians(45.0)
"""How far behind the side an arm may pass as it circles, so that it can pass to the side instead."""
LEADING, BEHIND = np.radians(45.0), np.radians(130.0)
"""An arm that does so leaves its course from this much further away from the side, and this near to the flexion behind."""
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
        angles |= _arm(body, spine.chest, side, sign)
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
    about = _steady(np.arctan2(turn[:, 0, 2], turn[:, 2, 2]), steep / LEVEL)
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


def _arm(body: Array, chest: Array, side: str, sign: float) -> dict[str, Array]:
    """Return the channels of one arm in degrees; `sign` is 1 on the left."""
    mirror = np.array([sign, 1.0, 1.0])
    collar, shoulder, elbow, wrist = (point(body, f"{side}_{name}") for name in ("collar", "shoulder", "elbow", "wrist"))
    girdle = seen_from(chest, unit(shoulder - collar)) * mirror
    upper, fore = seen_from(chest, unit(elbow - shoulder)) * mirror, seen_from(chest, unit(wrist - elbow)) * mirror
    # Skeletons place the collar at other heights, so that it counts from its lowest position.
    raised = np.degrees(np.arctan2(girdle[:, 1], girdle[:, 0]))
    elevation = np.clip(raised - np.percentile(raised, 10), 0, MOST_COLLAR)
    turned = np.degrees(np.arctan2(girdle[:, 2], girdle[:, 0]))
    protraction = np.clip(turned - np.median(turned), -MOST_COLLAR, MOST_COLLAR)
    upper, fore = (from_girdle(vectors, elevation, protraction) for vectors in (upper, fore))
    flexion, abduction = _continuous(upper, fore)
    through = _through_side(flexion, abduction)
    if through is not None:
        flexion, abduction = through
        fore = _carried(upper, _direction(flexion, abduction), fore)
    across, along, ahead = _seen_from_arm(fore, flexion, abduction)
    bent = np.sqrt(across**2 + ahead**2)
    # A straight arm shows no rotation. Its elbow would bend ahead and inward, as persons bend it by themselves.
    usual_across, _, usual_ahead = _seen_from_arm(np.tile(BENDING, (len(fore), 1)), flexion, abduction)
    weight = np.clip(bent / CLEAR, 0, 1) ** 2
    size = np.maximum(np.sqrt(usual_across**2 + usual_ahead**2), 1e-6)
    across_mixed = weight * across / np.maximum(bent, 1e-6) + (1 - weight) * usual_across / size
    ahead_mixed = weight * ahead / np.maximum(bent, 1e-6) + (1 - weight) * usual_ahead / size
    rotation = np.unwrap(np.arctan2(across_mixed, ahead_mixed))
    low, high = np.radians(JOINT_LIMITS["shoulder_rotation"])
    rotation = np.clip(rotation - 2 * np.pi * np.round((rotation.mean() - 0.5 * (low + high)) / (2 * np.pi)), low, high)
    return {
        f"{side}_collar_elevation": elevation,
        f"{side}_collar_protraction": protraction,
        f"{side}_shoulder_flexion": np.degrees(flexion),
        f"{side}_shoulder_abduction": np.degrees(abduction),
        f"{side}_shoulder_rotation": np.degrees(rotation),
        f"{side}_elbow_flexion": np.degrees(np.arctan2(bent, along)),
    }


def _turned_too_far(fore: Array, flexion: Array, abduction: Array) -> Array:
    """Return the radians by which an upper arm with these angles turns beyond its range, as far as a bent elbow shows it."""
    across, _, ahead = _seen_from_arm(fore, flexion, abduction)
    low, high = np.radians(JOINT_LIMITS["shoulder_rotation"])
    middle = (low + high) / 2
    away = np.abs(np.angle(np.exp(1j * (np.arctan2(across, ahead) - middle))))
    return np.asarray(np.clip((across**2 + ahead**2) / CLEAR**2, 0, 1) * np.maximum(away - (high - low) / 2, 0))


def _seen_from_arm(fore: Array, flexion: Array, abduction: Array) -> tuple[Array, Array, Array]:
    """Return the components of directions across, along and ahead of an upper arm with these angles (radians), unrotated."""
    s, c = np.sin(flexion), np.cos(flexion)
    x, y, z = fore[:, 0], c * fore[:, 1] - s * fore[:, 2], s * fore[:, 1] + c * fore[:, 2]
    s, c = np.sin(abduction), np.cos(abduction)
    return c * x + s * y, s * x - c * y, z


def _continuous(upper: Array, fore: Array) -> tuple[Array, Array]:
    """Return flexion and abduction in radians of the direction of an upper arm without jumps, on its left side: [frame] each.

    Each direction has two pairs of angles, such as up: flexed by 180 degrees, or abducted by 180. The sequence of pairs with
    the smallest changes is chosen, counted from standing and back to it: an arm that was raised ahead and lowered at the side
    hangs again, and is not both flexed and abducted by 180 degrees. Where the arm points to the side, every flexion is right,
    and the nearest clear one is kept.
    """
    abduction = np.arcsin(np.clip(upper[:, 0], -1, 1))
    flexion = np.arctan2(upper[:, 2], -upper[:, 1])
    clear = np.sqrt(upper[:, 1] ** 2 + upper[:, 2] ** 2)
    pairs = [(flexion, abduction), (flexion + np.pi, np.pi - abduction)]
    limits = [np.radians(JOINT_LIMITS[f"shoulder_{name}"]) for name in ("flexion", "abduction")]
    options = []
    for first, second in pairs:
        turned = _turned_too_far(fore, first, second)
        for turns in (-1, 0, 1):
            moved = first + turns * 2 * np.pi
            outside = sum(
                np.maximum(low - values, 0) + np.maximum(values - high, 0)
                for values, (low, high) in zip((moved, second), limits, strict=True)
            )
            options.append((moved, second, np.asarray(outside + turned)))
    values = np.array([option[:2] for option in options])  # [option, angle, frame]
    cost = np.array([option[2] for option in options])
    total, back = cost[:, 0] + np.abs(values[..., 0]).sum(axis=1), []
    for f in range(1, len(upper)):
        step = np.abs(values[:, None, 0, f] - values[None, :, 0, f - 1]) * clear[f]
        step = step + np.abs(values[:, None, 1, f] - values[None, :, 1, f - 1]) + total[None]
        back.append(step.argmin(axis=1))
        total = step.min(axis=1) + 0.1 * cost[:, f]
    which = [int((total + np.abs(values[..., -1]).sum(axis=1)).argmin())]
    for choices in reversed(back):
        which.append(int(choices[which[-1]]))
    chosen = values[which[::-1], :, np.arange(len(upper))]
    return _steady(chosen[:, 0], clear / CLEAR), chosen[:, 1]


def _through_side(flexion: Array, abduction: Array) -> tuple[Array, Array] | None:
    """Return flexion and abduction of an upper arm that circles and points exactly to the side in each round, or None.

    There its flexion may turn back by a round, which an arm that passes further behind cannot: the angles of an arm that hangs
    again are those of standing. None if it does not circle, or passes too far behind.

    Parameters
    ----------
    flexion, abduction : float64 [frame]
        Radians without jumps.
    """
    rounds = np.floor((flexion + np.pi / 2) / (2 * np.pi)).astype(np.int64)  # changes where the arm is behind
    if rounds[0] == rounds[-1]:
        return None
    aside = np.arccos(np.clip(np.abs(np.sin(abduction)), 0, 1))
    flexed, away = flexion - 2 * np.pi * rounds, abduction.copy()
    for f in np.flatnonzero(np.diff(rounds)):
        if abs(rounds[f + 1] - rounds[f]) > 1 or aside[f] > MOST_BEHIND:
            return None
        behind = 2 * np.pi * max(rounds[f], rounds[f + 1]) - np.pi / 2
        near = (aside < aside[f] + LEADING) & (np.abs(flexion - behind) < BEHIND)
        run = next(run for run in true_intervals(near) if run.start <= f < run.stop)
        first, last = run.start, max(run.stop - 1, f + 1)
        span, within = np.arange(first, last + 1), slice(first, last + 1)
        share = (span - first) / (last - first)
        flexed[within] = flexed[first] + (flexed[last] - flexed[first]) * minimum_jerk(share)
        away[within] += np.interp(span, [first, f, last], [0, 1, 0]) * (np.sign(away[f]) * np.pi / 2 - away[within])
    return flexed, away


def _direction(flexion: Array, abduction: Array) -> Array:
    """Return the directions of upper arms with these angles, on the left side: float64 [frame, 3]."""
    level = np.cos(abduction)
    return np.stack([np.sin(abduction), -level * np.cos(flexion), level * np.sin(flexion)], axis=-1)


def _carried(before: Array, behind: Array, carried: Array) -> Array:
    """Return directions turned by the shortest turn from one direction to another; float64 [frame, 3] each."""
    axis = np.cross(before, behind)
    sine = np.sqrt((axis**2).sum(-1))
    turn = about_axes(axis / np.maximum(sine, 1e-9)[:, None], np.arctan2(sine, (before * behind).sum(-1)))
    return np.asarray((turn @ carried[..., None])[..., 0])


def _steady(angle: Array, clearness: Array) -> Array:
    """Return an angle that follows its neighbours where it is not clear, and is 0 where it is nowhere clear; radians."""
    angle = np.unwrap(angle)
    weight = np.clip(clearness, 0.0, 1.0) ** 2
    clear = weight > 0.5
    if not clear.any():
        return np.zeros_like(angle)
    filled = np.interp(np.arange(len(angle)), np.flatnonzero(clear), angle[clear])
    return np.asarray(weight * angle + (1 - weight) * filled)


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
