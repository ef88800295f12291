"""The field `keypoints`: the joints in the image of the sequence's camera, their visibility, and simulated detections.

Visibility is coded as in COCO: 2 visible, 1 in the image but occluded, 0 outside of it or behind the camera. A joint is
occluded where a capsule (a rod with round ends) of any body covers its pixel and is nearer to the camera by more than its
radius.

Detections have a normal error in x and y. Its standard deviation is COCO's for that keypoint (the `sigmas` of its keypoint
evaluation: hips .107, wrists .062, ...), times the square root of the body's area in the image, taken as .53 of the box around
its joints, as evaluations do that have boxes only. COCO measured it between annotators of the same images; detectors trained on
them come close to it. Three numbers are chosen, not measured: the error of occluded joints is doubled; 1 in 100 visible joints
and 1 in 10 occluded ones are missed, that is placed anywhere within a quarter of the box; the confidence is .95 for a visible
joint and .6 for an occluded one, divided by 1 + e^2 with e the error in units of twice the deviation. Joints outside the image
are not detected.
"""

from __future__ import annotations

import numpy as np

from posegen.fields.camera import SIZE, Views, views
from posegen.fields.field import DerivedField, FieldArray, Sequences
from posegen.fields.vectors import dot, length, vector
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.skeleton import JOINTS, PROPORTIONS

OUTSIDE, HIDDEN, SEEN, NOBODY = 0, 1, 2, 255

_SIGMAS = {"hip": 0.107, "pelvis": 0.107, "spine": 0.107, "knee": 0.087, "ankle": 0.089, "foot": 0.089, "shoulder": 0.079,
           "collar": 0.079, "neck": 0.079, "elbow": 0.072, "wrist": 0.062, "head": 0.035}  # fmt: skip
"""COCO's values. Joints that COCO lacks take the value of a neighbour, the head that of the ears."""
_SIGMA = np.array([next(v for part, v in _SIGMAS.items() if part in name) for name in JOINTS])

_BODY_IN_BOX = 0.53
_CAPSULES = (
    ("pelvis", "neck", 0.075),
    ("head", "head", 0.055),
    *((f"{side}_{a}", f"{side}_{b}", r) for side in ("left", "right") for a, b, r in (
        ("hip", "knee", 0.045), ("knee", "ankle", 0.03), ("ankle", "foot", 0.02), ("shoulder", "elbow", 0.026),
        ("elbow", "wrist", 0.02),
    )),
)  # fmt: skip
"""Ends of each capsule, and its radius divided by the stature."""

_NEAR = 0.05
_TERMS = 4
_DRAWS = 2 * _TERMS + 3
_MISSED = (0.0, 0.1, 0.01)
_CONFIDENCE = (0.0, 0.6, 0.95)
_HIDDEN_MORE = 2.0


def _projected(joints: Array, seen: Views) -> tuple[Array, Array, Array]:
    """Return pixels x and y and the depth of joints; float64 [n, variant, actor, frame, joint]."""
    place, *axes = (values[:, :, :, None, :, None] for values in (seen.position, *seen.axes))
    away = vector(joints) - place
    right, down, ahead = (dot(away, axis) for axis in axes)
    scale = seen.focal[:, :, None, :, None] / np.where(ahead > _NEAR, ahead, np.nan)
    return right * scale + SIZE / 2, down * scale + SIZE / 2, ahead


def _hidden(x: Array, y: Array, depth: Array, stature: Array, focal: Array) -> Array:
    """Return whether a capsule of any body occludes a joint."""
    hidden = np.zeros(x.shape, bool)
    size = stature * focal[:, :, None]
    for other in range(x.shape[2]):
        for near, far, radius in _CAPSULES:
            i, j = JOINTS.index(near), JOINTS.index(far)
            ax, ay, az = (values[:, :, other, None, :, i, None] for values in (x, y, depth))
            bx, by, bz = (values[:, :, other, None, :, j, None] for values in (x, y, depth))
            dx, dy = bx - ax, by - ay
            span = dx * dx + dy * dy
            at = np.clip(((x - ax) * dx + (y - ay) * dy) / np.maximum(span, 1e-9), 0.0, 1.0)
            gap_x, gap_y, z = x - ax - at * dx, y - ay - at * dy, az + at * (bz - az)
            wide = radius * size[:, :, other, None, :, None] / np.maximum(z, _NEAR)
            thick = radius * stature[:, :, other, None, :, None]
            # Comparisons with NaN (absent actors, joints behind the camera) are false.
            hidden |= (gap_x * gap_x + gap_y * gap_y < wide * wide) & (z + thick < depth) & (z > _NEAR)
    return hidden


def stature(joints: Array) -> Array:
    """Return the height of a body in metres, estimated from its left thigh and shank: float64 [...] of [..., 22, 3]."""
    hip, knee, ankle = (vector(joints[..., JOINTS.index(f"left_{name}"), :]) for name in ("hip", "knee", "ankle"))
    leg = length(hip - knee) + length(knee - ankle)
    return np.asarray(leg / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))


def _detected(sequences: Sequences, pixels: Array, visibility: Array) -> tuple[Array, Array]:
    """Return simulated detections, in pixels and NaN where nothing is detected, and their confidence, 0 there."""
    detections, confidence = np.full(pixels.shape, np.nan), np.full(visibility.shape, np.nan)
    low, high = (np.where(np.isnan(pixels), absent, pixels) for absent in (np.inf, -np.inf))
    box = high.max(-2) - low.min(-2)
    box = np.where(box > 0, box, np.nan)
    root = np.sqrt(box[..., 0] * box[..., 1])
    for variant, actor in np.ndindex(visibility.shape[1:3]):
        where = (slice(None), variant, actor)
        shape = (*visibility[where].shape, _DRAWS)
        substream = variant * visibility.shape[2] + actor
        count = shape[1] * shape[2] * _DRAWS
        draws = uniform(sequences.config.seed, sequences.samples, Stream.DETECTOR, count, substream=substream).reshape(shape)
        kind = np.minimum(visibility[where], SEEN)
        spread = _SIGMA * np.sqrt(_BODY_IN_BOX) * root[where][..., None] * np.where(kind == HIDDEN, _HIDDEN_MORE, 1.0)
        missed = draws[..., -1] < np.take(_MISSED, kind)
        quarter = 0.5 * root[where][..., None]
        x, y = (
            np.where(missed, (draws[..., 2 * _TERMS + axis] - 0.5) * quarter, _normal(draws, axis) * spread) for axis in (0, 1)
        )
        error = (x * x + y * y) / (4.0 * spread * spread)
        nothing = visibility[where] == OUTSIDE
        detections[where] = np.where(nothing[..., None], np.nan, pixels[where] + np.stack([x, y], -1))
        confidence[where] = np.where(nothing, 0.0, np.take(_CONFIDENCE, kind) / (1.0 + error))
    return detections, confidence


def _normal(draws: Array, axis: int) -> Array:
    """Return the sum of four uniform numbers, scaled to variance 1: nearly normal, and at most 3.5 in magnitude."""
    total = draws[..., axis * _TERMS] - 2.0
    for term in range(1, _TERMS):
        total = total + draws[..., axis * _TERMS + term]
    return np.asarray(total * 1.7320508075688772)


def _compute(sequences: Sequences) -> dict[str, Array]:
    seen = views(sequences)
    joints = sequences.joints.astype(np.float64)
    x, y, depth = _projected(joints, seen)
    inside = (x >= 0) & (x < SIZE) & (y >= 0) & (y < SIZE)
    hidden = _hidden(x, y, depth, stature(joints), seen.focal)
    visibility = np.where(inside, np.where(hidden, HIDDEN, SEEN), OUTSIDE)
    pixels = np.stack([x, y], -1)
    detections, confidence = _detected(sequences, pixels, visibility)
    return {"keypoints": pixels, "visibility": visibility, "detections": detections, "confidence": confidence}


_PIXELS = {"joint": JOINTS, "pixel": ("x", "y")}
FIELD = DerivedField(
    "keypoints",
    1,
    "joints in the camera image, their visibility, and simulated detections",
    (
        FieldArray("keypoints", _PIXELS, attributes={"units": "px"}),
        FieldArray("visibility", {"joint": JOINTS}, "uint8", NOBODY, {"names": ["outside", "hidden", "seen"]}),
        FieldArray("detections", _PIXELS, attributes={"units": "px"}),
        FieldArray("confidence", {"joint": JOINTS}, attributes={"units": "1"}),
    ),
    _compute,
    sources=("joints", "rows"),
    requires=("camera",),
)
