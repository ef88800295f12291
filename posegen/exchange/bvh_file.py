"""BVH: the skeleton of each person, and rotations of its joints, for Blender, Unity, GMR and other programs.

Joints have the names of LAFAN1; lengths are centimetres, y is up, and all joints turn in the order z, y, x. In the rest pose
the arms hang down (:mod:`posegen.foundations.skeleton`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.kernels.decimals import decimal_text
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, PARENTS

NAMES = {
    "pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2", "neck": "Neck", "head": "Head",
    "hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "foot": "Toe",
    "collar": "Shoulder", "shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand",
}  # fmt: skip
"""Names of the joints in LAFAN1; those of limbs begin with ``Left`` or ``Right``."""

_CENTIMETRES = 100.0
_NUMBERS = "%.4f %.4f %.4f"
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
    frames, order = len(clip.joints), _depth_first()
    root = clip.joints[:, 0].astype(np.float64) * _CENTIMETRES
    values = np.concatenate([root, _angles(clip)[:, order].reshape(frames, -1)], axis=1)
    head = _hierarchy() % tuple(_offsets(clip))
    return f"{head}MOTION\nFrames: {frames}\nFrame Time: {1 / clip.fps:.8f}\n".encode() + decimal_text(values, " ")


@cache
def _children(joint: int) -> list[int]:
    return [child for child, parent in enumerate(PARENTS) if parent == joint]


@cache
def _depth_first(joint: int = 0) -> list[int]:
    """Return a joint and those below it, in the order of the file."""
    return [joint, *(below for child in _children(joint) for below in _depth_first(child))]


@cache
def _hierarchy() -> str:
    """Return the skeleton with places for the numbers of :func:`_offsets`."""
    return "\n".join(("HIERARCHY", *_joint_lines(0, 0), ""))


def _joint_lines(joint: int, depth: int) -> Iterator[str]:
    """Yield the lines of a joint and of those below it."""
    indent, inner = "  " * depth, "  " * (depth + 1)
    yield f"{indent}{'JOINT' if depth else 'ROOT'} {bvh_name(JOINTS[joint])}"
    yield f"{indent}{{"
    yield f"{inner}OFFSET {_NUMBERS}"
    channels = "Zrotation Yrotation Xrotation"
    yield f"{inner}CHANNELS {f'3 {channels}' if depth else f'6 Xposition Yposition Zposition {channels}'}"
    children = _children(joint)
    for child in children:
        yield from _joint_lines(child, depth + 1)
    if not children:
        yield from (f"{inner}End Site", f"{inner}{{", f"{inner}  OFFSET {_NUMBERS}", f"{inner}}}")
    yield f"{indent}}}"


def _offsets(clip: Clip) -> Iterator[float]:
    """Yield x, y and z of the offset of each joint and end of a bone, in centimetres."""
    places = clip.offsets.tolist()
    for joint in _depth_first():
        end = () if _children(joint) else _ENDS[JOINTS[joint].rpartition("_")[2]]
        for metres in (*places[joint], *(share * clip.stature for share in end)):
            yield metres * _CENTIMETRES


def _angles(clip: Clip) -> Array:
    """Return the angles about z, y and x of each joint relative to its parent: degrees [frame, 22, 3]."""
    x0, x1, x2, y0, y1, y2 = np.moveaxis(clip.fields["rotation"], -1, 0).astype(np.float64)
    z, x = np.arctan2(x1, x0), np.arctan2(y2, x0 * y1 - x1 * y0)  # the last is z of the third axis
    return np.asarray(np.degrees(np.stack([z, np.arcsin(np.clip(-x2, -1.0, 1.0)), x], axis=-1)))


FORMAT = one_file_each(
    "bvh", "BVH in centimetres with the joint names of LAFAN1", ".bvh", encode, fields=("rotation",), frame_bytes=560
)
