"""BVH: the skeleton of each person, and rotations of its joints, for Blender, Unity, GMR and other programs.

Joints have the names of LAFAN1; lengths are centimetres, y is up, and all joints turn in the order z, y, x. In the rest pose
the arms hang down (:mod:`posegen.skeleton`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from posegen.arrays import Array
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.joint_rotations import local_rotations
from posegen.exchange.kernels.decimals import decimal_text
from posegen.skeleton import JOINTS, PARENTS

NAMES = {
    "pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2", "neck": "Neck", "head": "Head",
    "hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "foot": "Toe",
    "collar": "Shoulder", "shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand",
}  # fmt: skip
"""Names of the joints in LAFAN1; those of limbs begin with ``Left`` or ``Right``."""

_CENTIMETRES = 100.0
_ENDS = {"head": (0.0, 0.11, 0.0), "foot": (0.0, 0.0, 0.06), "wrist": (0.0, -0.09, 0.0)}
"""End of the bone behind the last joint, as a fraction of stature; it is only drawn."""


def bvh_name(joint: str) -> str:
    """Return the name of a joint in the files.

    >>> bvh_name("left_hip"), bvh_name("spine3")
    ('LeftUpLeg', 'Spine2')
    """
    side, _, part = joint.rpartition("_")
    return f"{side.capitalize()}{NAMES[part]}"


def encode(clip: Clip) -> bytes:
    """Return the BVH file of a clip."""
    order = list(_depth_first(0))
    angles = _angles(clip)
    root = clip.joints[:, 0].astype(np.float64) * _CENTIMETRES
    values = np.concatenate([root, *(angles[joint] for joint in order)], axis=1)
    head = [*_hierarchy(clip, 0, 0), "MOTION", f"Frames: {len(values)}", f"Frame Time: {1 / clip.fps:.8f}"]
    return "\n".join(("HIERARCHY", *head, "")).encode() + decimal_text(values, " ")


@cache
def _children(joint: int) -> list[int]:
    return [child for child, parent in enumerate(PARENTS) if parent == joint]


def _depth_first(joint: int) -> Iterator[int]:
    yield joint
    for child in _children(joint):
        yield from _depth_first(child)


def _hierarchy(clip: Clip, joint: int, depth: int) -> Iterator[str]:
    """Yield the lines of a joint and of those below it."""
    indent, inner = "  " * depth, "  " * (depth + 1)
    yield f"{indent}{'JOINT' if depth else 'ROOT'} {bvh_name(JOINTS[joint])}"
    yield f"{indent}{{"
    yield f"{inner}OFFSET {_numbers(clip.offsets[joint])}"
    channels = "Zrotation Yrotation Xrotation"
    yield f"{inner}CHANNELS {f'3 {channels}' if depth else f'6 Xposition Yposition Zposition {channels}'}"
    children = _children(joint)
    for child in children:
        yield from _hierarchy(clip, child, depth + 1)
    if not children:
        end = np.array(_ENDS[JOINTS[joint].rpartition("_")[2]]) * clip.stature
        yield from (f"{inner}End Site", f"{inner}{{", f"{inner}  OFFSET {_numbers(end)}", f"{inner}}}")
    yield f"{indent}}}"


def _numbers(metres: Array) -> str:
    return " ".join(f"{value * _CENTIMETRES:.4f}" for value in metres.tolist())


def _angles(clip: Clip) -> Array:
    """Return the angles about z, y and x of each joint relative to its parent: degrees [22, frame, 3]."""
    local = local_rotations(clip)
    z, x = np.arctan2(local[..., 1, 0], local[..., 0, 0]), np.arctan2(local[..., 2, 1], local[..., 2, 2])
    y = np.arcsin(np.clip(-local[..., 2, 0], -1.0, 1.0))
    return np.asarray(np.degrees(np.stack([z, y, x], axis=-1)))


FORMAT = one_file_each(
    "bvh", "BVH in centimetres with the joint names of LAFAN1", ".bvh", encode, fields=("rotation",), frame_bytes=560
)
