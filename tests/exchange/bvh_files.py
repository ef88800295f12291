"""Files in the .bvh format for tests: our own skeleton under the names of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import JOINTS, PARENTS

__all__ = ["MIXAMO", "bvh_text"]

MIXAMO = {
    "pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2", "neck": "Neck", "head": "Head",
    **{
        f"{side.lower()}_{ours}": f"{side}{theirs}"
        for side in ("Left", "Right")
        for ours, theirs in {
            "hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "foot": "ToeBase", "collar": "Shoulder", "shoulder": "Arm",
            "elbow": "ForeArm", "wrist": "Hand",
        }.items()
    },
}  # fmt: skip


def bvh_text(
    turns: Sequence[Mapping[str, tuple[float, float, float]]],
    names: Mapping[str, str] = MIXAMO,
    scale: float = 100.0,
    fps: float = 50.0,
    place: tuple[float, float, float] = (0.0, 1.0, 0.0),
    prefix: str = "mixamorig:",
    without: Sequence[str] = (),
) -> str:
    """Write frames in which some joints are turned: degrees about z, x and y, in this order (leftmost outermost).

    Joints of `without` are left out; what is below them is at the joint above them.
    """
    offsets = scale * body_offsets(empty_scenes(1, 1, 1).persons)[0, 0].astype(np.float64)
    order: list[int] = []
    lines = ["HIERARCHY"]

    def write(joint: int, depth: int, offset: NDArray[np.float64]) -> None:
        below = [child for child, parent in enumerate(PARENTS) if parent == joint]
        if JOINTS[joint] in without:
            for child in below:
                write(child, depth, offset + offsets[child])
            return
        order.append(joint)
        kind = "JOINT" if depth else "ROOT"
        channels = "3" if depth else "6 Xposition Yposition Zposition"
        lines.extend([f"{kind} {prefix}{names[JOINTS[joint]]}", "{", f"OFFSET {_row(offset)}"])
        lines.append(f"CHANNELS {channels} Zrotation Xrotation Yrotation")
        for child in below:
            write(child, depth + 1, offsets[child])
        if not below:
            lines.extend(["End Site", "{", "OFFSET 0 1 0", "}"])
        lines.append("}")

    write(0, 0, offsets[0])
    lines += ["MOTION", f"Frames: {len(turns)}", f"Frame Time: {1 / fps:.8f}"]
    for frame in turns:
        numbers = [*(scale * np.array(place))]
        for joint in order:
            numbers += frame.get(JOINTS[joint], (0.0, 0.0, 0.0))
        lines.append(_row(np.array(numbers)))
    return "\n".join(lines) + "\n"


def _row(numbers: NDArray[np.float64]) -> str:
    return " ".join(f"{number:.6f}" for number in numbers)
