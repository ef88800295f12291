"""Anatomical angles recovered from joint positions, as far as those determine them, and how far they leave the joints' ranges.

The turn of a limb about its own length cannot be seen from positions, nor that of the head; which way a knee bends can, by the
foot. Captured joints are centres that software estimated, so a range counts as left only beyond a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.checks.angles import BENT, REST
from posegen.checks.ranges import TOLERANCE
from posegen.evaluation.body import point, unit
from posegen.skeleton import JOINT_LIMITS, sole_points

__all__ = ["TOLERANCE", "joint_angles", "range_excess"]

Array = NDArray[Any]


def joint_angles(joints: ArrayLike) -> dict[str, Array]:
    """Recover anatomical angles.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    dict of str to float64 [...]
        Degrees, with the signs of :mod:`posegen.skeleton`, by ``side_joint_angle``. Shoulder flexion is given where the upper
        arm hangs or is lifted by less than 60 degrees to the side, NaN elsewhere.
    """
    places = np.asarray(joints, np.float64)
    hips = (point(places, "left_hip") + point(places, "right_hip")) / 2
    pelvis = _frame(point(places, "left_hip") - point(places, "right_hip"), point(places, "spine1") - hips)
    collars = point(places, "left_collar") - point(places, "right_collar")
    chest = _frame(collars, point(places, "neck") - point(places, "spine3"))
    angles = _trunk(pelvis, chest)
    head = _seen_from(chest, unit(point(places, "head") - point(places, "neck")))
    angles["neck_flexion"] = np.degrees(np.arctan2(head[..., 2], head[..., 1])) - REST["neck_flexion"]
    angles["neck_lateral"] = np.degrees(np.arcsin(np.clip(head[..., 0], -1, 1)))
    soles = sole_points(places)
    for side, outward, heel in (("left", 1.0, 0), ("right", -1.0, 2)):
        hip, knee, ankle, foot = (point(places, f"{side}_{name}") for name in ("hip", "knee", "ankle", "foot"))
        shoulder, elbow, wrist = (point(places, f"{side}_{name}") for name in ("shoulder", "elbow", "wrist"))
        thigh, upper_arm = _seen_from(pelvis, unit(knee - hip)), _seen_from(chest, unit(elbow - shoulder))
        angles[f"{side}_hip_flexion"] = np.degrees(np.arctan2(thigh[..., 2], -thigh[..., 1])) - REST["hip_flexion"]
        angles[f"{side}_hip_abduction"] = np.degrees(np.arcsin(np.clip(outward * thigh[..., 0], -1, 1)))
        angles[f"{side}_knee_flexion"] = _knee(hip, knee, ankle, foot)
        angles[f"{side}_ankle_dorsiflexion"] = 90 - _bend(knee - ankle, soles[..., heel + 1, :] - soles[..., heel, :])
        flexion = np.degrees(np.arctan2(upper_arm[..., 2], -upper_arm[..., 1])) - REST["shoulder_flexion"]
        # Behind the head is far flexed, not far extended.
        flexion = np.where(flexion < -90, flexion + 360, flexion)
        angles[f"{side}_shoulder_flexion"] = np.where(np.abs(upper_arm[..., 0]) < np.sin(np.radians(60)), flexion, np.nan)
        angles[f"{side}_elbow_flexion"] = _bend(elbow - shoulder, wrist - elbow)
    return angles


def range_excess(angles: Mapping[str, Array], ranges: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """By how many degrees each angle of :func:`joint_angles` is outside its range of motion; 0 inside, NaN if unknown.

    Parameters
    ----------
    angles : mapping of str to float [...]
        Degrees.
    ranges : mapping of str to float [2, ...], optional
        Smallest and largest value of those whose range is not :data:`posegen.skeleton.JOINT_LIMITS`.
    """
    excess = {}
    for name, values in angles.items():
        usual = JOINT_LIMITS[name.removeprefix("left_").removeprefix("right_")]
        low, high = usual if ranges is None or name not in ranges else ranges[name]
        if name.endswith("shoulder_flexion"):
            high = np.inf  # beyond straight up it cannot be told from extension with the arm to the side
        excess[name] = np.maximum(np.maximum(low - values, values - high), 0.0)
    return excess


def _frame(left: Array, up: Array) -> Array:
    """Axes left, up, forward as rows: float [..., 3, 3]."""
    across = unit(left)
    above = unit(up - (up * across).sum(-1, keepdims=True) * across)
    return np.stack([across, above, np.cross(across, above)], axis=-2)


def _seen_from(frame: Array, vectors: Array) -> Array:
    return np.asarray((frame * vectors[..., None, :]).sum(-1))


def _trunk(pelvis: Array, chest: Array) -> dict[str, Array]:
    # Columns of this are the chest's axes in those of the pelvis: rotation . flexion . lateral flexion.
    turned = (pelvis[..., :, None, :] * chest[..., None, :, :]).sum(-1)
    return {
        "trunk_flexion": np.degrees(np.arcsin(np.clip(-turned[..., 1, 2], -1, 1))),
        "trunk_rotation": np.degrees(np.arctan2(turned[..., 0, 2], turned[..., 2, 2])),
        "trunk_lateral": -np.degrees(np.arctan2(turned[..., 1, 0], turned[..., 1, 1])),
    }


def _bend(upper: Array, lower: Array) -> Array:
    return np.asarray(np.degrees(np.arccos(np.clip((unit(upper) * unit(lower)).sum(-1), -1, 1))))


def _knee(hip: Array, knee: Array, ankle: Array, foot: Array) -> Array:
    # A bent knee lies, seen along the shank, on the side of the hip that the toes are on, however far the foot points down.
    shank = unit(ankle - knee)
    thigh, ahead = (v - (v * shank).sum(-1, keepdims=True) * shank for v in (unit(knee - hip), foot - ankle))
    before = (thigh * unit(ahead)).sum(-1)
    bend = _bend(knee - hip, ankle - knee)
    return np.where(before < -BENT, -bend, bend)
