"""GLB: an animated skeleton for three.js, Blender, Unity, Godot and other programs that read glTF 2.0.

Each joint is a node with the names of :data:`foundations.skeleton.JOINTS`; the animation turns the joints and moves the pelvis.
Bones are drawn as octahedra, so that viewers show something. Metres, y up.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.joint_rotations import local_rotations, quaternions, shortest
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, PARENTS

_JSON, _BINARY = 0x4E4F534A, 0x004E4942
_FLOAT, _SHORT = 5126, 5123
_VERTICES, _TRIANGLES = 34962, 34963
_WIDE, _AT = 0.09, 0.2
"""Half the width of a bone, and where it is widest, as shares of its length."""
_BONE = np.array([[0, 0, 0], [_WIDE, _AT, 0], [0, _AT, _WIDE], [-_WIDE, _AT, 0], [0, _AT, -_WIDE], [0, 1, 0]], np.float32)
_FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]], np.uint16)


class _Buffer:
    """The binary part of a file, and the accessors of what has been added to it."""

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


def encode(clip: Clip) -> bytes:
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
    """Return the nodes of the joints, and behind them one for each bone, below the joint at which it begins."""
    nodes: list[dict[str, Any]] = []
    for joint, name in enumerate(JOINTS):
        place = clip.joints[0, 0] if joint == 0 else clip.offsets[joint]
        children = [child for child, parent in enumerate(PARENTS) if parent == joint]
        nodes.append({"name": name, "translation": np.asarray(place, float).round(6).tolist(), "children": children})
    up = np.array([0.0, 1.0, 0.0])
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            offset = clip.offsets[joint]
            size = float(np.sqrt((offset * offset).sum()))
            nodes[parent]["children"].append(len(nodes))
            nodes.append(
                {
                    "name": f"{JOINTS[parent]}_to_{JOINTS[joint]}",
                    "mesh": 0,
                    "rotation": quaternions(shortest(up, offset)).tolist(),
                    "scale": [size, size, size],
                }
            )
    for node in nodes:
        if not node.get("children", True):
            del node["children"]  # glTF has no empty lists
    return nodes


def _continued(turns: Array) -> Array:
    """Return quaternions with signs such that each is nearest to the one before it, since readers interpolate them."""
    signs = np.where((turns[1:] * turns[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    return np.asarray(turns * np.concatenate([[1.0], np.cumprod(signs)])[:, None])


FORMAT = one_file_each("glb", "animated skeletons in glTF 2.0", ".glb", encode, fields=("rotation",), frame_bytes=470)
