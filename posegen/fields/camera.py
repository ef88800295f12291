"""The field `camera`: a simulated camera for each sequence, with its intrinsics and its pose in every frame.

The camera is a pinhole camera as in :mod:`posegen.exchange.camera`: its axes are x to the right, y down and z forward; pixels
count from the upper left corner. Image size and focal length are those of Human3.6M (1000 x 1000 pixels, about 1145 pixels:
Ionescu et al. 2014). One of seven movements is drawn for each sample. Its variants share the draws, and the mirror variant has
the mirrored camera, so that its image is the flipped image of the base variant:

static  does not move; all positions of the actors are in view
pan     stays in place and turns towards the actors
zoom    pans while the focal length grows or shrinks by up to 1.8
track   follows the actors at a constant distance
dolly   approaches or retreats, looking at the actors
crane   rises or sinks, looking at the actors
orbit   moves around the actors by 60 to 180 degrees

The camera looks at the mean of the actors' pelvises, smoothed over one second. Movements are minimum-jerk over the sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posegen.fields.field import DerivedField, FieldArray, Sequences, minimum_jerk, weighted_neighbours
from posegen.fields.vectors import Vector, cosine, cross, dot, sine, stacked, unit
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform

KINDS = ("static", "pan", "zoom", "track", "dolly", "crane", "orbit")
SIZE = 1000
"""Width and height of the image in pixels."""

_FOCAL = 1145.0
_HALF_VIEW = SIZE / 2 / _FOCAL
_TURN = 6.283185307179586
_BODY = 1.1
"""Half the height, and half the width, in metres that a standing body needs in the image, with a margin."""
_SMOOTHED = 0.5


@dataclass(frozen=True)
class Views:
    """Cameras of n samples, in all variants and frames.

    Attributes
    ----------
    kind : int64 [n]
    axes : three vectors of float64 [n, variant, frame]
        Directions right, down and forward of the camera in world coordinates.
    position : vector of float64 [n, variant, frame]
    focal : float64 [n, variant, frame]
        Pixels.
    """

    kind: Array
    axes: tuple[Vector, Vector, Vector]
    position: Vector
    focal: Array


def views(sequences: Sequences) -> Views:
    """Compute the camera of each sequence."""
    draws = uniform(sequences.config.seed, sequences.samples, Stream.CAMERA, 8)
    kind = np.minimum(np.floor(draws[:, 0] * len(KINDS)), len(KINDS) - 1).astype(np.int64)
    places, path, spread, apart = _targets(sequences)
    # A minimum-jerk rise from 0 in the first frame of each sequence to 1 in its last.
    progress = minimum_jerk(np.arange(sequences.shape[3]) / np.maximum(sequences.lengths - 1, 1)[..., None])
    sign = np.where(sequences.parameter("mirrored") > 0, -1.0, 1.0)[..., None]

    def drawn(column: int, low: float, high: float) -> Array:
        return (low + draws[:, column] * (high - low))[:, None, None]

    def only(*names: str) -> Array:
        return np.isin(kind, [KINDS.index(name) for name in names])[:, None, None]

    grows = np.where(drawn(5, 0, 1) < 0.5, progress, 1.0 - progress)
    # A static camera must see every position. A panning one need not, but no actor may walk into it.
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
    around = np.where(only("static", "pan", "zoom"), places, path)
    ahead, across = distance * cosine(azimuth), sign * distance * sine(azimuth)
    position = np.stack([around[0] + across, height + 0.0 * path[1], around[2] + ahead])
    forward = unit(np.where(only("static"), places, path) - position)
    right = unit(cross(forward, np.array([0.0, 1.0, 0.0])))
    return Views(kind, (right, cross(forward, right), forward), position, focal + 0.0 * path[0])


def _targets(sequences: Sequences) -> tuple[Vector, Vector, Array, Array]:
    """Return the centre of all positions, the smoothed mean actor position per frame, and the largest distance from each."""
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
    return np.moveaxis(centre, -1, 0)[..., None], path, spread, apart


def _smoothed(middle: Array, sequences: Sequences) -> Array:
    """Return the mean over one second; the first and the last frame are repeated beyond the ends."""
    reach = max(1, round(_SMOOTHED * sequences.config.fps))
    total = weighted_neighbours(middle, sequences.lengths - 1, dict.fromkeys(range(-reach, reach + 1), 1.0))
    return np.asarray(np.where(np.isnan(middle), np.nan, total / (2 * reach + 1)))


def _compute(sequences: Sequences) -> dict[str, Array]:
    seen = views(sequences)
    shape = seen.focal.shape
    extrinsics = np.zeros((*shape, 4, 4))
    extrinsics[..., :3, :3] = np.moveaxis(np.stack(seen.axes), (0, 1), (-2, -1))
    extrinsics[..., :3, 3] = stacked(np.stack([-dot(axis, seen.position) for axis in seen.axes]))
    extrinsics[..., 3, 3] = 1.0
    intrinsics = np.zeros((*shape, 3, 3))
    intrinsics[..., 0, 0] = intrinsics[..., 1, 1] = seen.focal
    intrinsics[..., 0, 2] = intrinsics[..., 1, 2] = SIZE / 2
    intrinsics[..., 2, 2] = 1.0
    return {"camera": np.broadcast_to(seen.kind[:, None], shape[:2]), "extrinsics": extrinsics, "intrinsics": intrinsics}


_EXTRINSICS = {"units": "m", "meaning": "from world to camera axes (right, down, forward)"}
_INTRINSICS = {"units": "px", "size": [SIZE, SIZE]}
FIELD = DerivedField(
    "camera",
    1,
    "a moving camera: its movement, and its pose and intrinsics in every frame",
    (
        FieldArray("camera", {}, "uint8", 255, {"names": list(KINDS)}, per=()),
        FieldArray("extrinsics", {"row": 4, "column": 4}, attributes=_EXTRINSICS, per=("frame",)),
        FieldArray("intrinsics", {"image_row": 3, "image_column": 3}, attributes=_INTRINSICS, per=("frame",)),
    ),
    _compute,
    sources=("joints", "rows"),
)
