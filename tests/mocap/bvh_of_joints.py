"""BVH files of joint positions, by a writer that shares no code with posegen's: a rotation and a position for each joint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.foundations.skeleton import JOINTS, PARENTS

__all__ = ["write_bvh"]

_NAMES = {
    "pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2", "neck": "Neck", "head": "Head", "hip": "UpLeg",
    "knee": "Leg", "ankle": "Foot", "foot": "ToeBase", "collar": "Shoulder", "shoulder": "Arm", "elbow": "ForeArm",
    "wrist": "Hand",
}  # fmt: skip
_ALONG = {"hip": "knee", "knee": "ankle", "ankle": "foot", "shoulder": "elbow", "elbow": "wrist", "neck": "head"}


def write_bvh(path: Path, joints: ArrayLike, fps: float, scale: float = 100.0) -> None:
    """Write a clip, float [frame, 22, 3] in metres: limbs hang along their bones, and turn from that."""
    places = scale * np.asarray(joints, np.float64)
    turns = np.tile(np.eye(3), (len(places), len(JOINTS), 1, 1))
    for joint, name in enumerate(JOINTS):
        side, _, part = name.rpartition("_")
        end = _ALONG.get(part)
        if end is not None:
            child = JOINTS.index(f"{side}_{end}" if side else end)
            turns[:, joint] = _from_down(places[:, child] - places[:, joint])
    lines, order = ["HIERARCHY"], []

    def describe(joint: int, depth: int) -> None:
        side, _, part = JOINTS[joint].rpartition("_")
        order.append(joint)
        lines.extend([f"{'JOINT' if depth else 'ROOT'} {side.capitalize()}{_NAMES[part]}", "{", "OFFSET 0 0 0"])
        lines.append("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation")
        children = [child for child, parent in enumerate(PARENTS) if parent == joint]
        for child in children:
            describe(child, depth + 1)
        if not children:
            lines.extend(["End Site", "{", "OFFSET 0 1 0", "}"])
        lines.append("}")

    describe(0, 0)
    lines += ["MOTION", f"Frames: {len(places)}", f"Frame Time: {1 / fps:.8f}"]
    for f in range(len(places)):
        numbers: list[float] = []
        for joint in order:
            parent = PARENTS[joint]
            above = turns[f, parent] if parent >= 0 else np.eye(3)
            offset = places[f, joint] - places[f, parent] if parent >= 0 else places[f, joint]
            numbers += [*(above.T @ offset), *_zxy(above.T @ turns[f, joint])]
        lines.append(" ".join(f"{number:.5f}" for number in numbers))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _from_down(bones: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shortest rotations from straight down to each bone."""
    bones = bones / np.linalg.norm(bones, axis=-1, keepdims=True)
    down = np.array([0.0, -1.0, 0.0])
    out = np.empty((len(bones), 3, 3))
    for f, bone in enumerate(bones):
        x, y, z = np.cross(down, bone)
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        out[f] = np.eye(3) + skew + skew @ skew / max(1 + down @ bone, 1e-6)
    return out


def _zxy(turn: NDArray[np.float64]) -> tuple[float, float, float]:
    x = np.arcsin(np.clip(turn[2, 1], -1, 1))
    z, y = np.arctan2(-turn[0, 1], turn[1, 1]), np.arctan2(-turn[2, 0], turn[2, 2])
    return float(np.degrees(z)), float(np.degrees(x)), float(np.degrees(y))
