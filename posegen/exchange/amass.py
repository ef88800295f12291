"""AMASS: rotations of SMPL's joints from its T-pose, for SMPL, SMPL-H and SMPL-X; read by GMR, ProtoMotions, PHC, aitviewer.

z is up. The body is the neutral one with all `betas` 0, which has bones of its own: directions of bones are those of the clip,
the path is scaled by the length of the legs, and the lowest point is as high as that of the clip. Both names of the frame rate
are written, since readers differ.

No body model is needed: ``REST`` are the offsets of :data:`posegen.foundations.skeleton.T_POSE`, metres [22, 3].
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.joint_rotations import in_parent, in_world, joint_positions, local_rotations, rotation_vectors, shortest
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, PARENTS, T_POSE, rest_offsets, sole_points

PELVIS = np.array([-0.0018, -0.2233, 0.0282])
"""The pelvis in the axes of the model, to which `trans` is added."""
REST = rest_offsets(T_POSE)
_BODY, _HANDS = 21, 30
_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""From y up to z up."""
_AIMED = {"hip": "knee", "knee": "ankle", "ankle": "foot", "shoulder": "elbow", "elbow": "wrist"}
"""The joint at the end of each bone that is rebased."""


def smpl_rotations(clip: Clip) -> Array:
    """Return the axes of SMPL's joints in the world, y up: float64 [22, frame, 3, 3], the identity in the T-pose.

    A joint is rebased by the rotation from the bone behind it in the T-pose to that in the rest pose of the clip. Feet and
    wrists, which have no such bone, follow the joint before them.
    """
    world = in_world(local_rotations(clip))
    rebased = np.empty_like(world)
    bases = np.tile(np.eye(3), (len(JOINTS), 1, 1))
    for joint, (name, parent) in enumerate(zip(JOINTS, PARENTS, strict=True)):
        side, _, part = name.rpartition("_")
        if side and part in _AIMED:
            child = JOINTS.index(f"{side}_{_AIMED[part]}")
            bases[joint] = shortest(REST[child], clip.offsets[child])
        elif side and part in ("foot", "wrist"):
            bases[joint] = bases[parent]
        rebased[joint] = world[joint] @ bases[joint]
    return rebased


def _lowest(joints: Array) -> Any:
    """Return the height of the lowest joint or sole point of all frames."""
    return min(joints[..., 1].min(), sole_points(joints)[..., 1].min())


def encode(clip: Clip) -> bytes:
    """Return the npz archive of a clip."""
    local = in_parent(smpl_rotations(clip))
    vectors = rotation_vectors(np.concatenate([_UP @ local[:1], local[1:]]))
    frames = len(clip.joints)
    body = np.moveaxis(vectors[1:], 0, 1).reshape(frames, -1)
    hands = np.zeros((frames, 3 * _HANDS))
    leg = [JOINTS.index("left_knee"), JOINTS.index("left_ankle")]
    scale = float(np.sqrt((REST[leg] ** 2).sum(-1)).sum() / np.sqrt((clip.offsets[leg] ** 2).sum(-1)).sum())
    root = clip.joints[:, 0].astype(np.float64) * scale
    # Proportions differ, too, so that the feet would not be at the floor.
    root[:, 1] += _lowest(clip.joints.astype(np.float64)) - _lowest(joint_positions(local, root, REST))
    arrays = {
        "trans": root @ _UP.T - PELVIS,
        "root_orient": vectors[0],
        "pose_body": body,
        "pose_hand": hands,
        "poses": np.concatenate([vectors[0], body, hands], axis=1),
        "betas": np.zeros(16),
    }
    buffer = io.BytesIO()
    np.savez(
        buffer,
        **{name: values.astype(np.float32) for name, values in arrays.items()},
        gender=np.array("neutral"),
        mocap_frame_rate=np.array(float(clip.fps)),
        mocap_framerate=np.array(float(clip.fps)),
        surface_model_type=np.array("smplx"),
    )
    return buffer.getvalue()


FORMAT = one_file_each(
    "amass", "rotations of SMPL's joints with z up, as in AMASS", ".npz", encode, fields=("rotation",), frame_bytes=1290
)
