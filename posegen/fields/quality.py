"""How plausible each body's motion is, as one number between 0 and 1, and the measures that it is made of.

The measures are those of ``posegen evaluate``, of one body at a time, over all its frames:

slide    share of the steps from frame to frame of sole points labelled as touching that are faster than .2 m/s
depth    metres that a sole point or a joint sinks into the floor at most
jerk     m/s^3, root mean square over joints of third differences of the stored positions
stretch  metres that a bone differs from its length in the first frame at most

The score is the product of 1 / (1 + (measure / scale)^2), with the scales .1, 20 mm, 1500 m/s^3 and 20 mm: a motion that has
one measure of that size is half as good. Of 171 captured clips (CMU) the jerk is 230 m/s^3 in the median and 630 at most, and
the stretch 1.5 mm in the median. The grid of the positions alone makes a jerk of some 4 m/s^3, and bones differ by .3 mm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.fields.family import Description, Family, Sequences
from posegen.fields.vectors import length, minus, vector
from posegen.skeleton import PARENTS, sole_points

__all__ = ["QUALITY", "SCALES"]

Array = NDArray[Any]

SCALES = {"slide": 0.1, "depth": 0.02, "jerk": 1500.0, "stretch": 0.02}
"""A measure of that size halves the score."""

_FAST = 0.2
_SOLES = 4


def _mean(values: Array, counted: Array) -> Array:
    """Mean over the last axis of what counts; 0 where nothing does."""
    # One addition after another: a NumPy reduction may group them as the CPU likes.
    total = np.cumsum(np.where(counted, values, 0.0), axis=-1)[..., -1]
    return np.asarray(total / np.maximum(counted.sum(-1), 1))


def _slide(joints: Array, contact: Array, fps: float) -> Array:
    speed = length(vector(np.diff(sole_points(joints), axis=3))) * fps
    touching = contact[..., :_SOLES] == 1
    both = touching[..., 1:, :] & touching[..., :-1, :]
    flat = (*both.shape[:3], -1)
    return _mean((speed > _FAST).reshape(flat).astype(np.float64), both.reshape(flat))


def _depth(joints: Array) -> Array:
    heights = [joints[..., 1], sole_points(joints)[..., 1]]
    lowest = [np.where(np.isnan(values), np.inf, values).min((-2, -1)) for values in heights]
    return np.asarray(np.maximum(-np.minimum(*lowest), 0.0))


def _jerk(joints: Array, fps: float) -> Array:
    if joints.shape[3] < 4:
        return np.zeros(joints.shape[:3])
    jerk = length(vector(np.diff(joints, 3, axis=3))) * (fps * fps * fps)
    flat = jerk.reshape(*jerk.shape[:3], -1)
    return np.sqrt(_mean(flat * flat, ~np.isnan(flat)))


def _stretch(joints: Array) -> Array:
    worst = np.zeros(joints.shape[:3])
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            bone = length(minus(vector(joints[..., joint, :]), vector(joints[..., parent, :])))
            change = abs(bone - bone[..., :1])
            worst = np.maximum(worst, np.where(np.isnan(change), 0.0, change).max(-1))
    return worst


def _compute(sequences: Sequences) -> dict[str, Array]:
    joints, fps = sequences.joints.astype(np.float64), float(sequences.config.fps)
    measures = {
        "slide": _slide(joints, sequences.contact, fps),
        "depth": _depth(joints),
        "jerk": _jerk(joints, fps),
        "stretch": _stretch(joints),
    }
    nobody = ~sequences.present.any(axis=3)
    score = np.ones(nobody.shape)
    for name, scale in SCALES.items():
        share = measures[name] / scale
        score = score / (1.0 + share * share)
    each = np.stack([np.where(nobody, np.nan, measures[name]) for name in SCALES], axis=-1)
    return {"quality": np.where(nobody, np.nan, score).astype(np.float32), "quality_measures": each.astype(np.float32)}


QUALITY = Family(
    "quality",
    1,
    "a score of plausibility for each body, and what it is made of",
    (
        Description("quality", {}, attributes={"units": "1", "scales": dict(SCALES)}, of=("actor",)),
        Description(
            "quality_measures", {"measure": tuple(SCALES)}, attributes={"units": ["1", "m", "m/s^3", "m"]}, of=("actor",)
        ),
    ),
    _compute,
    sources=("joints", "contact"),
)
