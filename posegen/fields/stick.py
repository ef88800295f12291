"""The field `stick`: five lines for a body, as in published stick figure datasets: trunk, arms and legs.

Their ends are those of the converters of gestura-ai/stick-gen: the head and the middle of the shoulders; from there each wrist;
from the middle of the hips each ankle. Its 20 numbers per frame, x and y of both ends seen from +z, are
``stick[..., :2].reshape(*stick.shape[:-3], 20)``.
"""

from __future__ import annotations

import numpy as np

from posegen.fields.field import AXES, DerivedField, FieldArray, Sequences
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS

_LINES = ("trunk", "left_arm", "right_arm", "left_leg", "right_leg")


def _compute(sequences: Sequences) -> dict[str, Array]:
    joints = sequences.joints
    place = {name: joints[..., i, :] for i, name in enumerate(JOINTS)}
    shoulders, hips = ((place[f"left_{name}"] + place[f"right_{name}"]) * np.float32(0.5) for name in ("shoulder", "hip"))
    ends = (
        (place["head"], shoulders),
        (shoulders, place["left_wrist"]),
        (shoulders, place["right_wrist"]),
        (hips, place["left_ankle"]),
        (hips, place["right_ankle"]),
    )
    return {"stick": np.stack([np.stack(line, axis=-2) for line in ends], axis=-3)}


FIELD = DerivedField(
    "stick",
    1,
    "five lines for a body: trunk, arms and legs",
    (FieldArray("stick", {"line": _LINES, "end": ("near", "far"), "axis": AXES}, attributes={"units": "m"}),),
    _compute,
)
