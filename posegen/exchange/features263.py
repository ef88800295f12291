"""HumanML3D's 263 numbers a frame, computed from 22 joints, and joints recovered from them.

========= ======= ==========================================================================================
columns   numbers content of frame t
========= ======= ==========================================================================================
0         1       half the change of heading to frame t + 1 about y, radians
1:3       2       step of the pelvis to frame t + 1 along x and z, in the heading of frame t + 1, metres
3         1       height of the pelvis, metres
4:67      63      joints 1 to 21, relative to the point below the pelvis, in the heading of frame t, metres
67:193    126     rotation of each bone relative to the bone before it: the first two columns of its matrix
193:259   66      steps of all joints to frame t + 1, in the heading of frame t, metres
259:263   4       1 where left ankle, left foot, right ankle, right foot move by less than sqrt(.002) m to frame t + 1
========= ======= ==========================================================================================

The definitions are those of ``motion_representation.ipynb`` (Guo et al., Generating Diverse and Natural 3D Human Motions from
Text, CVPR 2022): headings are smoothed by a Gaussian of 20 frames, except for the first; a bone is turned by the shortest
rotation from an axis of the rest pose; the chains of the arms begin with the heading. Headings across 180 degrees are continued
here; the notebook changes the sign of that step, so that joints cannot be recovered behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from posegen.arrays import Array
from posegen.errors import UsageError
from posegen.scene import empty_scenes
from posegen.skeleton import JOINTS, PARENTS, body_offsets

Quaternion = tuple[Array, Array, Array, Array]
"""w, x, y, z."""

FPS = 20
WIDTH = 263
GROUPS = (slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 67), slice(67, 193), slice(193, 259), slice(259, 263))
"""Columns that share a standard deviation in ``Std.npy``."""

_CHAINS = ((0, 2, 5, 8, 11), (0, 1, 4, 7, 10), (0, 3, 6, 9, 12, 15), (9, 14, 17, 19, 21), (9, 13, 16, 18, 20))
_AXES = {
    (1.0, 0.0, 0.0): (1, 13),
    (-1.0, 0.0, 0.0): (2, 14),
    (0.0, 1.0, 0.0): (3, 6, 9, 12),
    (0.0, -1.0, 0.0): (4, 5, 7, 8, 16, 17, 18, 19, 20, 21),
    (0.0, 0.0, 1.0): (10, 11, 15),
}
"""Direction of the bones in the rest pose of the features, by joint at their end."""
_FEET = (7, 10, 8, 11)
_STILL = 0.002
_SMOOTHING, _RADIUS = 20.0, 80
_TINY = 1e-12


@dataclass(frozen=True)
class Skeleton263:
    """The bone lengths to which all clips are brought, metres [22]; 0 for the pelvis."""

    lengths: Array

    @property
    def leg(self) -> float:
        """Length of thigh and shank."""
        return float(self.lengths[5] + self.lengths[8])


def skeleton_of(joints: Array) -> Skeleton263:
    """Return the bone lengths of one pose [22, 3]."""
    parents = np.array(PARENTS)
    bones = joints[1:] - joints[parents[1:]]
    return Skeleton263(np.concatenate([[0.0], np.sqrt((bones * bones).sum(-1))]))


@cache
def standard_skeleton() -> Skeleton263:
    """Return the bone lengths of a body of mean proportions, 1.70 m tall."""
    body = empty_scenes(1, 1, 1).persons
    body.stature[:] = 1.7
    return Skeleton263(np.sqrt((body_offsets(body)[0, 0].astype(np.float64) ** 2).sum(-1)))


def features_of(joints: Array, skeleton: Skeleton263) -> tuple[Array, Array]:
    """Compute the features of clips of one length.

    Parameters
    ----------
    joints : float [n, frame, 22, 3]
        Metres, y up, at 20 frames a second; at least two frames.
    skeleton : Skeleton263
        Bone lengths of the result. The path is scaled by the length of the legs.

    Returns
    -------
    float32 [n, frame - 1, 263]
        Features.
    float32 [n, frame, 22, 3]
        The joints that they describe: with the given bone lengths, the lowest joint at height 0, the first frame at the
        origin, facing +z.

    Raises
    ------
    UsageError
        If there are fewer than two frames.
    """
    if joints.shape[1] < 2:
        raise UsageError(f"features need at least two frames (got {joints.shape[1]})")
    # Components first: [3, joint, clip, frame].
    places = _with_lengths(np.moveaxis(joints, (3, 2), (0, 1)).astype(np.float32), skeleton)
    places[1] -= places[1].min(axis=(0, 2))[:, None]
    places[::2] -= places[::2, :1, :, :1]
    pose = places[..., 0]
    places = _turned(places, _heading(_ahead(pose[:, 2] - pose[:, 1] + pose[:, 17] - pose[:, 16]))[..., None])
    # The notebook subtracts the hips here, by an exchange of left and right: the shoulders are wider, so it faces ahead, too.
    ahead = _ahead(places[:, 1] - places[:, 2] + places[:, 17] - places[:, 16])
    turns = _continued(_heading(_smoothed(ahead)))
    turns[..., 0] = np.array([1.0, 0.0])[:, None]
    around = places.copy()
    around[::2] -= places[::2, :1]
    steps = places[..., 1:] - places[..., :-1]
    now, then = turns[..., :-1], turns[..., 1:]
    n, frames = joints.shape[0], joints.shape[1] - 1
    features = np.empty((WIDTH, n, frames), np.float32)
    features[0] = np.arcsin(np.clip(now[0] * then[1] - now[1] * then[0], -1.0, 1.0))
    features[1:3] = _turned(steps[:, 0], then)[::2]
    features[3] = places[1, 0, :, :-1]
    features[4:67] = _by_joint(_turned(around, turns)[:, 1:, :, :-1])
    features[67:193] = _bone_rotations(places[..., :-1], now)
    features[193:259] = _by_joint(_turned(steps, now))
    features[259:] = (steps * steps).sum(axis=0)[list(_FEET)] < _STILL
    return np.moveaxis(features, 0, 2), np.moveaxis(places, (0, 1), (3, 2)).astype(np.float32)


def joints_of(features: Array) -> Array:
    """Recover joints from features, as readers do: from the path of the pelvis and the joints around it.

    Parameters
    ----------
    features : float [..., frame, 263]

    Returns
    -------
    float64 [..., frame, 22, 3]
        Metres.
    """
    values = np.moveaxis(features, -1, 0).astype(np.float64)
    before = np.zeros_like(values[:3])
    before[..., 1:] = values[:3, ..., :-1]
    half = np.cumsum(before[0], axis=-1)
    back = np.stack([np.cos(half), -np.sin(half)])
    step = np.stack([before[1], np.zeros_like(half), before[2]])
    path = np.cumsum(_turned(step, back), axis=-1)
    path[1] = values[3]
    around = np.moveaxis(values[4:67].reshape(21, 3, *half.shape), 0, 1)
    others = _turned(around, back)
    others[::2] += path[::2, None]
    places = np.concatenate([path[:, None], others], axis=1)
    return np.asarray(np.moveaxis(places, (0, 1), (-1, -2)))


def _with_lengths(places: Array, skeleton: Skeleton263) -> Array:
    """Return the pose with other bone lengths, and the path scaled by the length of the legs in the first frame."""
    bones = np.zeros_like(places)
    for joint, parent in enumerate(PARENTS[1:], 1):
        bones[:, joint] = places[:, joint] - places[:, parent]
    lengths = np.sqrt((bones * bones).sum(axis=0))
    scale = skeleton.leg / np.maximum(lengths[5, :, :1] + lengths[8, :, :1], _TINY)
    bones *= skeleton.lengths[:, None, None].astype(places.dtype) / np.maximum(lengths, _TINY)
    placed = np.empty_like(places)
    placed[:, 0] = places[:, 0] * scale
    for joint, parent in enumerate(PARENTS[1:], 1):
        placed[:, joint] = placed[:, parent] + bones[:, joint]
    return placed


def _ahead(across: Array) -> Array:
    """Return y x `across`, from left to right, of unit length, as components x and z: [2, ...]."""
    length = np.maximum(np.sqrt((across * across).sum(axis=0)), _TINY)
    return np.stack([across[2] / length, -across[0] / length])


def _heading(ahead: Array) -> Array:
    """Return the turn about y that takes a direction to +z: cosine and sine of half its angle, [2, ...]."""
    x, z = ahead / np.maximum(np.sqrt((ahead * ahead).sum(axis=0)), _TINY)
    return np.stack([np.sqrt(np.maximum(1.0 + z, 0.0) / 2), np.copysign(np.sqrt(np.maximum(1.0 - z, 0.0) / 2), -x)])


def _smoothed(ahead: Array) -> Array:
    """Return directions [2, clip, frame] smoothed over time, with the first and the last one repeated beyond the ends."""
    weights = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / _SMOOTHING) ** 2)
    padded = np.pad(ahead, ((0, 0), (0, 0), (_RADIUS, _RADIUS)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(weights), axis=-1)
    return np.asarray(windows @ (weights / weights.sum()).astype(ahead.dtype))


def _continued(turns: Array) -> Array:
    """Return turns [2, clip, frame] of which none is more than half a turn from the one before it."""
    together = (turns[:, :, 1:] * turns[:, :, :-1]).sum(axis=0)
    signs = np.cumprod(np.where(together < 0, -1.0, 1.0), axis=-1)
    return np.asarray(turns * np.pad(signs, ((0, 0), (1, 0)), constant_values=1.0))


def _turned(vectors: Array, turns: Array) -> Array:
    """Return vectors [3, ...] turned about y; `turns` [2, ...] are cosine and sine of half the angle."""
    cosine, sine = turns[0] * turns[0] - turns[1] * turns[1], 2.0 * turns[0] * turns[1]
    x, y, z = vectors
    return np.stack([cosine * x + sine * z, np.broadcast_to(y, (cosine * x).shape), cosine * z - sine * x])


def _by_joint(vectors: Array) -> Array:
    """Return [3, joint, ...] as [joint * 3, ...]."""
    swapped = np.swapaxes(vectors, 0, 1)
    return np.asarray(swapped.reshape(-1, *swapped.shape[2:]))


def _bone_rotations(places: Array, turns: Array) -> Array:
    """Return the first two columns of the rotation of each bone relative to the bone before it, [126, clip, frame]."""
    heading = (turns[0], np.zeros_like(turns[0]), turns[1], np.zeros_like(turns[0]))
    axes = {joint: axis for axis, joints in _AXES.items() for joint in joints}
    columns = np.empty((len(JOINTS) - 1, 6, *places.shape[2:]), places.dtype)
    for chain in _CHAINS:
        before = heading
        for start, end in pairwise(chain):
            bone = _shortest(axes[end], places[:, end] - places[:, start])
            w, x, y, z = _relative(before, bone)
            columns[end - 1] = (
                *(1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
                *(2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
            )
            before = bone
    return columns.reshape(-1, *places.shape[2:])


def _shortest(axis: tuple[float, float, float], bone: Array) -> Quaternion:
    """Return the shortest rotation from an axis to the direction of a bone."""
    x, y, z = bone / np.maximum(np.sqrt((bone * bone).sum(axis=0)), _TINY)
    a, b, c = axis
    parts = np.stack([1.0 + (a * x + b * y + c * z), b * z - c * y, c * x - a * z, a * y - b * x])
    size = np.sqrt((parts * parts).sum(axis=0))
    # A bone opposite to its axis is turned by half a turn about any axis across it.
    parts[:, size < 1e-9] = np.array([0.0, abs(b) + abs(c), abs(a), 0.0])[:, None]
    w, x, y, z = parts / np.sqrt((parts * parts).sum(axis=0))
    return w, x, y, z


def _relative(before: Quaternion, after: Quaternion) -> Quaternion:
    """Return the inverse of a rotation times another."""
    a, b, c, d = before
    w, x, y, z = after
    return (
        a * w + b * x + c * y + d * z,
        a * x - b * w - c * z + d * y,
        a * y + b * z - c * w - d * x,
        a * z - b * y + c * x - d * w,
    )
