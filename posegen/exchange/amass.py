"""AMASS: rotations of SMPL's joints from its T-pose, for SMPL, SMPL-H and SMPL-X; read by GMR, ProtoMotions, PHC, aitviewer.

z is up. The body is the neutral one with all `betas` 0, which has bones of its own: directions of bones are those of the clip,
and the path is scaled by the length of the legs. Both names of the frame rate are written, since readers differ.

No body model is needed. ``REST`` are offsets from the parent in SMPL's T-pose, metres, x to the left, y up, z forward: the
regressed joints of the neutral body (Loper et al. 2015) as in ProtoMotions' ``smpl_humanoid.xml``, means of left and right.
"""

from __future__ import annotations

import io

import numpy as np

from posegen.arrays import Array
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.joint_rotations import in_parent, in_world, local_rotations, rotation_vectors, shortest
from posegen.skeleton import JOINTS, PARENTS

PELVIS = np.array([-0.0018, -0.2233, 0.0282])
"""The pelvis in the axes of the model, to which `trans` is added."""
_SIDE = {
    "hip": (0.0686, -0.0910, -0.0056), "knee": (0.0363, -0.3789, -0.0067), "ankle": (-0.0147, -0.3982, -0.0430),
    "foot": (0.0259, -0.0520, 0.1213), "collar": (0.0803, 0.1203, -0.0364), "shoulder": (0.0935, 0.0316, -0.0090),
    "elbow": (0.2596, -0.0128, -0.0275), "wrist": (0.2492, 0.0090, -0.0012),
}  # fmt: skip
_MIDDLE = {
    "pelvis": (0.0, 0.0, 0.0), "spine1": (0.0, 0.1090, -0.0267), "spine2": (0.0, 0.1352, 0.0011),
    "spine3": (0.0, 0.0529, 0.0254), "neck": (0.0, 0.2139, -0.0429), "head": (0.0, 0.0650, 0.0513),
}  # fmt: skip


def _rest() -> Array:
    places = []
    for name in JOINTS:
        side, _, part = name.rpartition("_")
        offset = np.array(_SIDE[part] if side else _MIDDLE[part])
        places.append(offset * (-1 if side == "right" else 1, 1, 1))
    return np.array(places)


REST = _rest()
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


def encode(clip: Clip) -> bytes:
    """Return the npz archive of a clip."""
    vectors = rotation_vectors(in_parent(_UP @ smpl_rotations(clip)))
    frames = len(clip.joints)
    body = np.moveaxis(vectors[1:], 0, 1).reshape(frames, -1)
    hands = np.zeros((frames, 3 * _HANDS))
    leg = [JOINTS.index("left_knee"), JOINTS.index("left_ankle")]
    scale = float(np.sqrt((REST[leg] ** 2).sum(-1)).sum() / np.sqrt((clip.offsets[leg] ** 2).sum(-1)).sum())
    root = clip.joints[:, 0].astype(np.float64) * scale
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
