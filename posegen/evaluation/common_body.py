"""Poses of a common body: 13 joints on fixed bone lengths, so that distances of two people are those of their movements."""

from __future__ import annotations

import numpy as np

from posegen.arrays import Array
from posegen.evaluation.body import point, unit
from posegen.skeleton import PROPORTIONS, mirror_order

JOINTS = (
    "head", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle",
    "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
STATURE = 1.70
"""Stature of the common body, metres."""

_BONES = (
    ("hips", "shoulders", PROPORTIONS["shoulder_height"] - PROPORTIONS["hip_height"], (0, 1, 0)),
    ("shoulders", "head", 0.1, (0, 1, 0)),
    *(
        (near, side + far, length, (direction[0] if side == "left_" else -direction[0], direction[1], 0))
        for side in ("left_", "right_")
        for near, far, length, direction in (
            ("hips", "hip", PROPORTIONS["hip_spacing"] / 2, (1, 0)),
            (side + "hip", "knee", PROPORTIONS["thigh"], (0, -1)),
            (side + "knee", "ankle", PROPORTIONS["shank"], (0, -1)),
            ("shoulders", "shoulder", PROPORTIONS["shoulder_spacing"] / 2, (1, 0)),
            (side + "shoulder", "elbow", PROPORTIONS["upper_arm"], (0, -1)),
            (side + "elbow", "wrist", PROPORTIONS["forearm"], (0, -1)),
        )
    ),
)
"""Near and far end, length as a fraction of stature, and direction in upright standing."""
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
    sources = {
        f"{joint}s": (point(joints, f"left_{joint}") + point(joints, f"right_{joint}")) / 2 for joint in ("hip", "shoulder")
    }
    placed = {"hips": np.zeros_like(sources["hips"])}
    for near, far, length, _ in _BONES:
        start, end = (sources[name] if name in sources else point(joints, name) for name in (near, far))
        placed[far] = placed[near] + STATURE * length * np.nan_to_num(unit(end - start))
    body = np.stack([placed[name] for name in JOINTS], axis=-2)
    across = body[:, 1] - body[:, 2] + body[:, 7] - body[:, 8]
    x, z = np.nan_to_num(unit(across[:, [0, 2]]), nan=np.sqrt(0.5)).T[..., None]
    return np.stack([body[..., 0] * x + body[..., 2] * z, body[..., 1], body[..., 2] * x - body[..., 0] * z], axis=-1).astype(
        np.float32
    )


def standing_pose() -> Array:
    """Return the common body in upright standing with hanging arms: float32 [13, 3]."""
    placed = {"hips": np.zeros(3)}
    for near, far, length, direction in _BONES:
        placed[far] = placed[near] + STATURE * length * np.array(direction)
    return np.stack([placed[name] for name in JOINTS]).astype(np.float32)


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
