"""Poses of a common body: 13 joints on fixed bone lengths, so that distances of two people are those of their movements."""

from __future__ import annotations

import numpy as np

from posegen.evaluation.body import point, unit
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import mirror_order

_UPRIGHT = {
    "hips": (0.0, 0.0), "shoulders": (0.0, 0.476), "head": (0.0, 0.646), "hip": (0.082, 0.0), "knee": (0.082, -0.416),
    "ankle": (0.082, -0.835), "shoulder": (0.187, 0.476), "elbow": (0.187, 0.160), "wrist": (0.187, -0.088),
}  # fmt: skip
"""x of the left side and y in upright standing: 1.70 m tall in the proportions of :mod:`posegen.foundations.skeleton`."""
_BONES = (
    ("hips", "shoulders"), ("shoulders", "head"), ("hips", "hip"), ("hip", "knee"), ("knee", "ankle"),
    ("shoulders", "shoulder"), ("shoulder", "elbow"), ("elbow", "wrist"),
)  # fmt: skip
_PAIRED = ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
JOINTS = ("head", *(f"{side}_{name}" for name in _PAIRED for side in ("left", "right")))
_POSITIONS = [_UPRIGHT["head"], *((x * _UPRIGHT[name][0], _UPRIGHT[name][1]) for name in _PAIRED for x in (1, -1))]
STANDING = np.array([(x, y, 0.0) for x, y in _POSITIONS], np.float32)
"""The common body in upright standing with hanging arms: float32 [13, 3]."""
_MIRROR = mirror_order(JOINTS)
_LEGS = [JOINTS.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("knee", "ankle")]


def common_body(joints: Array) -> Array:
    """Return poses on the common body, each turned about the vertical axis so that hips and shoulders face +z.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, finite.

    Returns
    -------
    float32 [frame, 13, 3]
        Metres from the middle of the hips; joints as in :data:`JOINTS`.
    """
    sources = {name: np.stack([point(joints, f"{side}_{name}") for side in ("left", "right")], axis=1) for name in _PAIRED}
    sources |= {f"{name}s": sources[name].mean(1, keepdims=True) for name in ("hip", "shoulder")}
    sources["head"] = point(joints, "head")[:, None]
    placed = {"hips": np.zeros_like(sources["hips"])}
    for near, far in _BONES:
        length = np.hypot(*np.subtract(_UPRIGHT[far], _UPRIGHT[near]))
        placed[far] = placed[near] + length * np.nan_to_num(unit(sources[far] - sources[near]))
    body = np.concatenate([placed[name] for name in ("head", *_PAIRED)], axis=1)
    across = body[:, 1] - body[:, 2] + body[:, 7] - body[:, 8]
    x, z = np.nan_to_num(unit(across[:, [0, 2]]), nan=np.sqrt(0.5)).T[..., None]
    return np.stack([body[..., 0] * x + body[..., 2] * z, body[..., 1], body[..., 2] * x - body[..., 0] * z], axis=-1).astype(
        np.float32
    )


def mirrored(poses: Array) -> Array:
    """Return the mirror image of poses [..., 13, 3]."""
    return np.asarray(poses[..., _MIRROR, :] * np.array([-1, 1, 1], poses.dtype))


def distance(poses: Array, others: Array) -> Array:
    """Return the mean distance of the joints of two poses in metres, [...] of [..., 13, 3]."""
    difference = poses - others
    return np.asarray(np.sqrt((difference * difference).sum(-1)).mean(-1))


def asymmetry(poses: Array) -> Array:
    """Return the mean distance of knees and ankles from those of the mirrored pose, metres: [...] of [..., 13, 3]."""
    return distance(poses[..., _LEGS, :], mirrored(poses)[..., _LEGS, :])
