"""Files of animated skeletons: BVH for Blender, Unity, GMR and others, and GLB for programs that read glTF 2.0.

In BVH, joints have the names of LAFAN1; lengths are centimetres, y is up, and all joints turn in the order z, y, x. In the rest
pose the arms hang down (:mod:`posegen.foundations.skeleton`).

In GLB, each joint is a node with the names of :data:`foundations.skeleton.JOINTS`; the animation turns the joints and moves the
pelvis. Bones are drawn as octahedra, so that viewers show something. Metres, y up.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.joint_rotations import local_rotations, quaternions, shortest
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
_ENDS = {"head": (0.0, 0.11, 0.0), "foot": (0.0, 0.0, 0.06), "wrist": (0.0, -0.09, 0.0)}
"""End of the bone after the last joint, as a fraction of stature; it is only drawn."""
_JSON, _BINARY = 0x4E4F534A, 0x004E4942
_FLOAT, _SHORT = 5126, 5123
_VERTICES, _TRIANGLES = 34962, 34963
_WIDE, _AT = 0.09, 0.2
"""Half the width of a bone, and where it is widest, as shares of its length."""
_BONE = np.array([[0, 0, 0], [_WIDE, _AT, 0], [0, _AT, _WIDE], [-_WIDE, _AT, 0], [0, _AT, -_WIDE], [0, 1, 0]], np.float32)
_FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]], np.uint16)


def bvh_name(joint: str) -> str:
    """Return the name of a joint in the files.

    >>> bvh_name("left_hip"), bvh_name("spine3")
    ('LeftUpLeg', 'Spine2')
    """
    side, _, part = joint.rpartition("_")
    return f"{side.capitalize()}{NAMES[part]}"


def encode_bvh(clip: Clip) -> bytes:
    """Return the BVH file of a clip."""
    frames, order = len(clip.joints), _depth_first()
    root = clip.joints[:, 0].astype(np.float64) * _CENTIMETRES
    values = np.concatenate([root, _angles(clip)[:, order].reshape(frames, -1)], axis=1)
    head = "\n".join(("HIERARCHY", *_joint_lines(clip), "MOTION", f"Frames: {frames}", f"Frame Time: {1 / clip.fps:.8f}", ""))
    return head.encode() + decimal_text(values, " ")


@cache
def _children(joint: int) -> list[int]:
    return [child for child, parent in enumerate(PARENTS) if parent == joint]


@cache
def _depth_first(joint: int = 0) -> list[int]:
    """Return a joint and those below it, in the order of the file."""
    return [joint, *(below for child in _children(joint) for below in _depth_first(child))]


def _joint_lines(clip: Clip, joint: int = 0, indent: str = "") -> Iterator[str]:
    """Yield the lines of a joint and of those below it."""
    inner, channels = f"{indent}  ", "Zrotation Yrotation Xrotation"
    yield f"{indent}{'JOINT' if joint else 'ROOT'} {bvh_name(JOINTS[joint])}"
    yield from (f"{indent}{{", _offset_line(inner, clip.offsets[joint].tolist()))
    yield f"{inner}CHANNELS {f'3 {channels}' if joint else f'6 Xposition Yposition Zposition {channels}'}"
    for child in _children(joint):
        yield from _joint_lines(clip, child, inner)
    if end := _ENDS.get(JOINTS[joint].rpartition("_")[2]):
        shares = [share * clip.stature for share in end]
        yield from (f"{inner}End Site", f"{inner}{{", _offset_line(f"{inner}  ", shares), f"{inner}}}")
    yield f"{indent}}}"


def _offset_line(indent: str, metres: Sequence[float]) -> str:
    return f"{indent}OFFSET {' '.join(f'{value * _CENTIMETRES:.4f}' for value in metres)}"


def _angles(clip: Clip) -> Array:
    """Return the angles about z, y and x of each joint relative to its parent: degrees [frame, 22, 3]."""
    x0, x1, x2, y0, y1, y2 = np.moveaxis(clip.fields["rotation"], -1, 0).astype(np.float64)
    z, x = np.arctan2(x1, x0), np.arctan2(y2, x0 * y1 - x1 * y0)  # the last is z of the third axis
    return np.asarray(np.degrees(np.stack([z, np.arcsin(np.clip(-x2, -1.0, 1.0)), x], axis=-1)))


BVH = one_file_each("bvh", "BVH in centimetres with the joint names of LAFAN1", ".bvh", encode_bvh, fields=("rotation",))


class _Buffer:
    """The binary part of a file, and the accessors of the arrays in it."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: Array, kind: str, target: int | None = None) -> int:
        """Add an array [count, components] and return the number of its accessor."""
        data = values.tobytes()
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        self.views.append(view if target is None else view | {"target": target})
        self.data += data + b"\0" * (-len(data) % 4)
        component = _SHORT if values.dtype == np.uint16 else _FLOAT
        rows = values.reshape(len(values), -1)
        about = {"bufferView": len(self.views) - 1, "componentType": component, "count": len(values), "type": kind}
        about |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(about)
        return len(self.accessors) - 1


def encode_glb(clip: Clip) -> bytes:
    """Return the GLB file of a clip."""
    buffer = _Buffer()
    primitive = {
        "attributes": {"POSITION": buffer.add(_BONE, "VEC3", _VERTICES)},
        "indices": buffer.add(_FACES.reshape(-1, 1), "SCALAR", _TRIANGLES),
    }
    nodes = _nodes(clip)
    times = buffer.add((np.arange(len(clip.joints)) / clip.fps).astype(np.float32)[:, None], "SCALAR")
    samplers = [{"input": times, "output": buffer.add(clip.joints[:, 0].astype(np.float32), "VEC3")}]
    channels: list[dict[str, Any]] = [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]
    for joint, turns in enumerate(quaternions(local_rotations(clip))):
        samplers.append({"input": times, "output": buffer.add(_continued(turns).astype(np.float32), "VEC4")})
        channels.append({"sampler": joint + 1, "target": {"node": joint, "path": "rotation"}})
    document = {
        "asset": {"version": "2.0", "generator": "posegen"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes,
        "meshes": [{"primitives": [primitive]}],
        "animations": [{"name": clip.name, "samplers": samplers, "channels": channels}],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": len(buffer.data)}],
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), _JSON) + text + struct.pack("<II", len(buffer.data), _BINARY) + bytes(buffer.data)
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _nodes(clip: Clip) -> list[dict[str, Any]]:
    """Return the nodes of the joints, then one for each bone, below the joint at which it begins."""
    nodes: list[dict[str, Any]] = []
    for joint, name in enumerate(JOINTS):
        place = clip.joints[0, 0] if joint == 0 else clip.offsets[joint]
        nodes.append({"name": name, "translation": np.asarray(place, float).round(6).tolist()})
        if below := _children(joint):  # glTF has no empty lists
            nodes[joint]["children"] = [*below, *(len(JOINTS) + child - 1 for child in below)]
    for joint, parent in enumerate(PARENTS[1:], 1):
        size = float(np.sqrt((clip.offsets[joint] ** 2).sum()))
        rotation = quaternions(shortest(np.array([0.0, 1.0, 0.0]), clip.offsets[joint])).tolist()
        nodes.append({"name": f"{JOINTS[parent]}_to_{JOINTS[joint]}", "mesh": 0, "rotation": rotation, "scale": 3 * [size]})
    return nodes


def _continued(turns: Array) -> Array:
    """Return quaternions with signs such that each is nearest to the one before it, since readers interpolate them."""
    signs = np.where((turns[1:] * turns[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    return np.asarray(turns * np.concatenate([[1.0], np.cumprod(signs)])[:, None])


GLB = one_file_each("glb", "animated skeletons in glTF 2.0", ".glb", encode_glb, fields=("rotation",))
