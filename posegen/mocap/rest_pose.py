"""The skeleton of a clip: where its joints are from their parents while all angles are 0.

Not responsible for the angles, see :mod:`posegen.mocap.pose_channels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posegen.evaluation.body import point
from posegen.exchange.joint_rotations import about_axes
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import ANATOMICAL, JOINTS, PARENTS, PROPORTIONS

LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
"""Share of stature; the stature of a clip is that of a body with such legs."""
LIMBS = ("knee", "ankle", "elbow", "wrist")
"""Joints of limbs, which hang straight down."""


class Spine(NamedTuple):
    """Rotations of pelvis, spine1, spine2, chest and head, float64 [frame, 3, 3]; their columns are left, up and forward."""

    pelvis: Array
    spine1: Array
    spine2: Array
    chest: Array
    head: Array


def spine_rotations(angles: Mapping[str, Array]) -> Spine:
    """Return the rotations of a body with these angles of pelvis, trunk and neck: degrees, float64 [frame]."""
    pelvis = _turned(angles["pelvis_rotation"], angles["pelvis_tilt"], angles["pelvis_obliquity"])
    third = _turned(*(angles[f"trunk_{name}"] / 3 for name in ("rotation", "flexion")), -angles["trunk_lateral"] / 3)
    spine1, spine2 = pelvis @ third, pelvis @ third @ third
    chest = spine2 @ third
    # Positions do not show how a head turns.
    neck = _turned(np.zeros(len(chest)), angles["neck_flexion"], -angles["neck_lateral"])
    return Spine(pelvis, spine1, spine2, chest, chest @ neck)


def _turned(*degrees: Array) -> Array:
    """Return rotations about the vertical axis . the one to the left . the one ahead: float64 [frame, 3, 3]."""
    y, x, z = (
        about_axes(np.tile(np.eye(3)[axis], (len(angle), 1)), np.radians(angle))
        for axis, angle in zip((1, 0, 2), degrees, strict=True)
    )
    return np.asarray(y @ x @ z)


def seen_from(axes: Array, vectors: Array) -> Array:
    """Return vectors [frame, 3] in the axes of rotations [frame, 3, 3]."""
    return np.asarray((np.swapaxes(axes, -1, -2) @ vectors[..., None])[..., 0])


def from_girdle(vectors: Array, elevation: Array, protraction: Array) -> Array:
    """Return vectors in the axes of the left chest [frame, 3] in those of its shoulder girdle; angles are degrees [frame]."""
    s, c = np.sin(np.radians(elevation)), np.cos(np.radians(elevation))
    x, y, z = vectors.T
    x, y = c * x + s * y, c * y - s * x
    s, c = np.sin(np.radians(protraction)), np.cos(np.radians(protraction))
    return np.stack([c * x + s * z, y, c * z - s * x], axis=-1)


def rest_offsets(body: Array, angles: Mapping[str, Array], spine: Spine) -> Array:
    """Return the offset of each joint from its parent in the rest pose, symmetric: fractions of stature, float64 [22, 3].

    Parameters
    ----------
    body : float64 [frame, 22, 3]
        Joints in leg lengths in the axes of the angles.
    angles : mapping of str to float64 [frame]
        Degrees from the rest pose, of both shoulder girdles.
    spine : Spine
    """
    rest = ANATOMICAL.copy()
    axes = {"spine1": spine.pelvis, "spine2": spine.spine1, "spine3": spine.spine2, "neck": spine.chest, "head": spine.head}
    axes |= {"left_hip": spine.pelvis, "left_collar": spine.chest, "left_shoulder": spine.chest}
    for name, rotation in axes.items():
        sides = ("left", "right") if name.startswith("left_") else ("",)
        found = np.mean([_offset(body, angles, name.replace("left", side), rotation) for side in sides], axis=0)
        rest[JOINTS.index(name)] = LEG * (found if len(sides) > 1 else found * (0, 1, 1))
    for limb in LIMBS:
        length = np.mean([_length(body, f"{side}_{limb}") for side in ("left", "right")])
        rest[JOINTS.index(f"left_{limb}")] = 0.0, -LEG * length, 0.0
    for joint, name in enumerate(JOINTS):
        if name.startswith("right_"):
            rest[joint] = rest[JOINTS.index(name.replace("right", "left"))] * (-1, 1, 1)
    return rest


def _offset(body: Array, angles: Mapping[str, Array], name: str, axes: Array) -> Array:
    """Return the median offset of a joint in the axes of its parent, on the left side: [3]."""
    away = seen_from(axes, _away(body, name)) * ((-1, 1, 1) if name.startswith("right") else (1, 1, 1))
    if name.endswith("shoulder"):
        side = name.partition("_")[0]
        away = from_girdle(away, angles[f"{side}_collar_elevation"], angles[f"{side}_collar_protraction"])
    return np.asarray(np.median(away, axis=0))


def _length(body: Array, name: str) -> float:
    return float(np.median(np.sqrt((_away(body, name) ** 2).sum(-1))))


def _away(body: Array, name: str) -> Array:
    return point(body, name) - body[:, PARENTS[JOINTS.index(name)]]
