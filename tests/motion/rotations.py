"""Rotations as plain matrices, made from the table of signs in `posegen.skeleton`: what kernels must equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.library.channels import CHANNELS
from posegen.skeleton import JOINTS, PARENTS

__all__ = ["about_x", "about_y", "about_z", "central", "forward_kinematics", "limb"]

Array = NDArray[Any]


def about_x(turns: float) -> Array:
    c, s = np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_y(turns: float) -> Array:
    c, s = np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def about_z(turns: float) -> Array:
    c, s = np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def limb(side: str, flexion: float = 0.0, abduction: float = 0.0, rotation: float = 0.0) -> Array:
    """Flexion . abduction . rotation; the right side mirrors y and z."""
    sign = 1 if side == "left" else -1
    product: Array = about_x(-flexion) @ about_z(sign * abduction) @ about_y(sign * rotation)
    return product


def central(rotation: float, flexion: float, lateral: float) -> Array:
    """Rotation . flexion . lateral flexion of trunk or neck."""
    product: Array = about_y(rotation) @ about_x(flexion) @ about_z(-lateral)
    return product


def forward_kinematics(angles: Array, pelvis: Array, root: Array, offsets: Array) -> Array:
    """All joints of the upper body from one frame's channels in turns; [22, 3], legs left at 0."""
    of = dict(zip(CHANNELS, angles, strict=True))
    trunk = [of[f"trunk_{c}"] / 3 for c in ("rotation", "flexion", "lateral")]
    turned = {"pelvis": pelvis}
    for joint in ("spine1", "spine2", "spine3"):
        turned[joint] = central(*trunk)
    turned["neck"] = central(*(of[f"neck_{c}"] for c in ("rotation", "flexion", "lateral")))
    for side in ("left", "right"):
        arm = {c.removeprefix(f"{side}_"): of[c] for c in CHANNELS if c.startswith(side)}
        elevation = limb(side, abduction=arm["collar_elevation"])
        turned[f"{side}_collar"] = elevation @ limb(side, rotation=-arm["collar_protraction"])
        turned[f"{side}_shoulder"] = limb(side, arm["shoulder_flexion"], arm["shoulder_abduction"], arm["shoulder_rotation"])
        turned[f"{side}_elbow"] = limb(side, arm["elbow_flexion"])
    whole, places = np.zeros((22, 3, 3)), np.zeros((22, 3))
    for j, name in enumerate(JOINTS):
        own = turned.get(name, np.eye(3))
        parent = PARENTS[j]
        if any(part in name for part in ("hip", "knee", "ankle", "foot")):
            continue
        whole[j] = own if parent < 0 else whole[parent] @ own
        places[j] = root if parent < 0 else places[parent] + whole[parent] @ offsets[j]
    return places
