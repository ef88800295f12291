"""A camera that watches each sequence, with its lens and place in every frame.

A pinhole camera as in :mod:`posegen.exchange.camera`: its axes are x to the right, y down and z forward; pixels count from the
upper left corner. The picture and the usual focal length are those of Human3.6M (1000 x 1000 pixels, some 1145: Ionescu et al.
2014). Which of seven ways the camera moves is drawn for each sample; its variants share the draws, and the mirror variant has
the mirrored camera, so that its picture is the base's picture, flipped:

static  stands, and sees all places that the people come to
pan     stands, and turns after them
zoom    stands, turns after them, and its focal length grows or shrinks by up to 1.8
track   goes along with them at a constant distance
dolly   comes closer or goes away while it watches them
crane   rises or sinks while it watches them
orbit   goes around them by 60 to 180 degrees

Whom it watches is the middle of the people's pelvises, smoothed over a second. Moves are minimum-jerk over the whole sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.fields.family import Description, Family, Sequences
from posegen.fields.vectors import Vector, constant, cosine, cross, dot, minus, sine, unit
from posegen.randomness import Stream, uniform

__all__ = ["CAMERA", "KINDS", "SIZE", "Views", "views"]

Array = NDArray[Any]

KINDS = ("static", "pan", "zoom", "track", "dolly", "crane", "orbit")
SIZE = 1000
"""Pixels across and down the picture."""

_FOCAL = 1145.0
_HALF_VIEW = SIZE / 2 / _FOCAL
_TURN = 6.283185307179586
_BODY = 1.1
"""Metres that a standing body takes up or down from the height that is watched, and to the side, with room to spare."""
_SMOOTHED = 0.5


@dataclass(frozen=True)
class Views:
    """What the cameras of n samples see by, in all variants and frames.

    Attributes
    ----------
    kind : int64 [n]
    axes : three vectors of float64 [n, variant, frame]
        The camera's right, down and forward in the world.
    position : vector of float64 [n, variant, frame]
    focal : float64 [n, variant, frame]
        Pixels.
    """

    kind: Array
    axes: tuple[Vector, Vector, Vector]
    position: Vector
    focal: Array


def views(sequences: Sequences) -> Views:
    """Place a camera for each sequence."""
    draws = uniform(sequences.config.seed, sequences.samples, Stream.CAMERA, 8)
    kind = np.minimum(np.floor(draws[:, 0] * len(KINDS)), len(KINDS) - 1).astype(np.int64)
    places, path, spread, apart = _watched(sequences)
    progress = _progress(sequences)
    sign = np.where(sequences.parameter("mirrored") > 0, -1.0, 1.0)[..., None]

    def drawn(column: int, low: float, high: float) -> Array:
        return (low + draws[:, column] * (high - low))[:, None, None]

    def only(*names: str) -> Array:
        return np.isin(kind, [KINDS.index(name) for name in names])[:, None, None]

    grows = np.where(drawn(5, 0, 1) < 0.5, progress, 1.0 - progress)
    # A camera that stands must see far; one that turns after somebody need not, but nobody may walk into it.
    fitting = np.maximum(spread[..., None] + 0.3, _BODY) / _HALF_VIEW + spread[..., None]
    everybody = (apart[..., None] + 0.5) / _HALF_VIEW + apart[..., None]
    standing = np.maximum(spread[..., None] + drawn(1, 2.8, 4.5), everybody)
    going = np.maximum(drawn(1, 3.0, 5.0), everybody)
    distance = np.where(only("static"), fitting, np.where(only("pan", "zoom"), standing, going))
    distance = distance * np.where(only("dolly"), 1.0 + grows * drawn(6, 0.4, 1.0), 1.0)
    azimuth = drawn(2, 0, _TURN) + np.where(only("orbit"), progress * drawn(6, _TURN / 6, _TURN / 2), 0.0)
    azimuth = np.where(only("orbit") & (drawn(7, 0, 1) < 0.5), -azimuth, azimuth)
    height = drawn(3, 0.9, 1.9) + np.where(only("crane"), grows * drawn(6, 1.0, 2.5), 0.0)
    focal = _FOCAL * drawn(4, 0.95, 1.05) * np.where(only("zoom"), 1.0 + grows * drawn(6, 0.3, 0.8), 1.0)
    around = tuple(np.where(only("static", "pan", "zoom"), place, moving) for place, moving in zip(places, path, strict=True))
    x, y, z = (np.where(only("static"), place, moving) for place, moving in zip(places, path, strict=True))
    position = (around[0] + sign * distance * sine(azimuth), height + 0.0 * path[1], around[2] + distance * cosine(azimuth))
    forward = unit(minus((x, y, z), position))
    right = unit(cross(forward, constant(0.0, 1.0, 0.0)))
    return Views(kind, (right, cross(forward, right), forward), position, focal + 0.0 * path[0])


def _watched(sequences: Sequences) -> tuple[Vector, Vector, Array, Array]:
    """Middle of all places, the smoothed middle of the people in each frame, and how far from either anybody comes."""
    joints = sequences.joints[..., 0, :].astype(np.float64)
    present = sequences.present
    people = np.zeros(joints.shape[:2] + joints.shape[3:4])
    middle = np.zeros((*people.shape, 3))
    for actor in range(joints.shape[2]):
        there = present[:, :, actor]
        middle += np.where(there[..., None], joints[:, :, actor], 0.0)
        people += there
    middle /= np.where(people > 0, people, np.nan)[..., None]
    path = np.moveaxis(_smoothed(middle, sequences), -1, 0)
    lowest = np.where(present[..., None], joints, np.inf).min((2, 3))
    highest = np.where(present[..., None], joints, -np.inf).max((2, 3))
    centre = (lowest + highest) / 2
    half = (highest - lowest) / 2
    spread = np.sqrt(half[..., 0] * half[..., 0] + half[..., 2] * half[..., 2])
    across, along = (joints[..., i] - path[i][:, :, None] for i in (0, 2))
    apart = np.sqrt(np.where(present, across * across + along * along, 0.0).max((2, 3)))
    places = (centre[..., 0, None], centre[..., 1, None], centre[..., 2, None])
    return places, (path[0], path[1], path[2]), spread, apart


def _smoothed(middle: Array, sequences: Sequences) -> Array:
    """Mean over a second; beyond the first and the last frame stands what is there."""
    reach = max(1, round(_SMOOTHED * sequences.config.fps))
    last = _lengths(sequences)[..., None] - 1
    frames = np.arange(sequences.shape[3])
    total = np.zeros_like(middle)
    for step in range(-reach, reach + 1):
        at = np.clip(np.minimum(frames + step, last), 0, None)
        total += np.take_along_axis(middle, at[..., None], axis=2)
    return np.asarray(np.where(np.isnan(middle), np.nan, total / (2 * reach + 1)))


def _lengths(sequences: Sequences) -> Array:
    """Frames of each sequence; int64 [n, variant]."""
    return np.asarray(sequences.present.any(axis=2).sum(axis=2, dtype=np.int64))


def _progress(sequences: Sequences) -> Array:
    """Minimum-jerk rise from 0 in the first frame of each sequence to 1 in its last."""
    last = np.maximum(_lengths(sequences) - 1, 1)[..., None]
    x = np.minimum(np.arange(sequences.shape[3]) / last, 1.0)
    return np.asarray(x * x * x * (10.0 + x * (-15.0 + 6.0 * x)))


def _compute(sequences: Sequences) -> dict[str, Array]:
    seen = views(sequences)
    shape = seen.focal.shape
    absent = np.isnan(seen.focal)
    extrinsics = np.zeros((*shape, 4, 4))
    for row, axis in enumerate(seen.axes):
        for column in range(3):
            extrinsics[..., row, column] = axis[column]
        extrinsics[..., row, 3] = -dot(axis, seen.position)
    extrinsics[..., 3, 3] = 1.0
    intrinsics = np.zeros((*shape, 3, 3))
    intrinsics[..., 0, 0] = intrinsics[..., 1, 1] = seen.focal
    intrinsics[..., 0, 2] = intrinsics[..., 1, 2] = SIZE / 2
    intrinsics[..., 2, 2] = 1.0
    extrinsics[absent] = np.nan
    intrinsics[absent] = np.nan
    kind = np.broadcast_to(seen.kind[:, None], shape[:2]).astype(np.uint8)
    return {"camera": kind, "extrinsics": extrinsics.astype(np.float32), "intrinsics": intrinsics.astype(np.float32)}


CAMERA = Family(
    "camera",
    1,
    "a moving camera: its kind, its place and its lens in every frame",
    (
        Description("camera", {}, "uint8", 255, {"names": list(KINDS)}, of=()),
        Description(
            "extrinsics",
            {"row": 4, "column": 4},
            attributes={"units": "m", "meaning": "from world to camera axes (right, down, forward)"},
            of=("frame",),
        ),
        Description(
            "intrinsics",
            {"image_row": 3, "image_column": 3},
            attributes={"units": "px", "size": [SIZE, SIZE]},
            of=("frame",),
        ),
    ),
    _compute,
    sources=("joints", "rows"),
)
