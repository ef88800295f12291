"""The field `quality`: a plausibility score between 0 and 1 for each body, and the measures that it consists of.

The measures are those of ``posegen evaluate``, for one body over all its frames:

slide    share of the frame steps of sole points labelled as contacts that are faster than .2 m/s
depth    largest depth of a sole point or joint below the floor, metres
jerk     root mean square over joints of third differences of the stored positions, m/s^3
stretch  largest difference of a bone from its length in the first frame, metres

The score is the product of 1 / (1 + (measure / scale)^2), with the scales .1, 20 mm, 1500 m/s^3 and 20 mm: one measure as large
as its scale halves the score. In 171 mocap clips (CMU) the median jerk is 230 m/s^3 and the largest 630; the median stretch is
1.5 mm. The grid of the positions alone causes a jerk of about 4 m/s^3 and a stretch of .3 mm.
"""

from __future__ import annotations

import numpy as np

from posegen.fields.field import DerivedField, FieldArray, Sequences
from posegen.fields.vectors import length, vector
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import PARENTS, sole_points

SCALES = {"slide": 0.1, "depth": 0.02, "jerk": 1500.0, "stretch": 0.02}
"""Value of each measure that halves the score."""

_FAST = 0.2
_SOLES = 4


def _mean(values: Array, counted: Array) -> Array:
    """Return the mean over the last axis of the values that are counted; 0 where none is."""
    # Additions in order: the grouping of a NumPy reduction depends on the CPU.
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
    bones = length(vector(joints[..., 1:, :] - joints[..., PARENTS[1:], :]))
    change = abs(bones - bones[..., :1, :])
    return np.asarray(np.where(np.isnan(change), 0.0, change).max((-2, -1)))


def _compute(sequences: Sequences) -> dict[str, Array]:
    joints, fps = sequences.joints.astype(np.float64), float(sequences.config.fps)
    # In the order of the scales.
    measures = _slide(joints, sequences.contact, fps), _depth(joints), _jerk(joints, fps), _stretch(joints)
    score = np.ones(sequences.shape[:3])
    for measure, scale in zip(measures, SCALES.values(), strict=True):
        share = measure / scale
        score = score / (1.0 + share * share)
    return {"quality": score, "quality_measures": np.stack(measures, axis=-1)}


_UNITS = {"units": ["1", "m", "m/s^3", "m"]}
FIELD = DerivedField(
    "quality",
    1,
    "a plausibility score for each body, and its measures",
    (
        FieldArray("quality", {}, attributes={"units": "1", "scales": dict(SCALES)}, per=("actor",)),
        FieldArray("quality_measures", {"measure": tuple(SCALES)}, attributes=_UNITS, per=("actor",)),
    ),
    _compute,
    sources=("joints", "contact"),
)
