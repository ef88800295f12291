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
here; the notebook changes the sign of that step, so that joints cannot be recovered after it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from posegen.exchange.kernels.features263 import fill_clip
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import body_offsets
from posegen.foundations.errors import UsageError
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import JOINTS, PARENTS

FPS = 20
WIDTH = 263
GROUPS = (slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 67), slice(67, 193), slice(193, 259), slice(259, 263))
"""Columns that share a standard deviation in ``Std.npy``."""

_AXES = {
    (1.0, 0.0, 0.0): (1, 13),
    (-1.0, 0.0, 0.0): (2, 14),
    (0.0, 1.0, 0.0): (3, 6, 9, 12),
    (0.0, -1.0, 0.0): (4, 5, 7, 8, 16, 17, 18, 19, 20, 21),
    (0.0, 0.0, 1.0): (10, 11, 15),
}
"""Direction of the bones in the rest pose of the features, by joint at their end."""
_BONE_AXES = np.zeros((len(JOINTS), 3), np.float32)
for _axis, _joints in _AXES.items():
    _BONE_AXES[list(_joints)] = _axis
_SMOOTHING, _RADIUS = 20.0, 80
_WEIGHTS = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / _SMOOTHING) ** 2)
_WEIGHTS = (_WEIGHTS / _WEIGHTS.sum()).astype(np.float32)


def bone_lengths(pose: Array) -> Array:
    """Return the length of the bone that ends at each joint of a pose [22, 3]: float64 [22]; 0 for the pelvis."""
    bones = pose[1:] - pose[list(PARENTS[1:])]
    return np.concatenate([[0.0], np.sqrt((bones * bones).sum(-1))])


@cache
def mean_offsets() -> Array:
    """Return the offset of each joint from its parent in the rest pose of a body of mean proportions, 1.70 m tall."""
    body = empty_scenes(1, 1, 1).persons
    body.stature[:] = 1.7
    return np.asarray(body_offsets(body)[0, 0].astype(np.float64))


def standard_lengths() -> Array:
    """Return the bone lengths of a body of mean proportions, 1.70 m tall."""
    return np.asarray(np.sqrt((mean_offsets() ** 2).sum(-1)))


def features_of(joints: Array, lengths: Array) -> tuple[Array, Array]:
    """Compute the features of a clip.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, at 20 frames per second; at least two frames.
    lengths : float [22]
        Bone lengths of the result, metres; all 0 to keep those of the clip. The path is scaled by the length of the legs.

    Returns
    -------
    float32 [frame - 1, 263]
        Features.
    float32 [frame, 22, 3]
        The joints that they describe: with the given bone lengths, the lowest joint at height 0, the first frame at the
        origin, facing +z.

    Raises
    ------
    UsageError
        If there are fewer than two frames.
    """
    frames = len(joints)
    if frames < 2:
        raise UsageError(f"features need at least two frames (got {frames})")
    given, moved = np.empty((2, len(JOINTS), 3, frames), np.float32)
    ahead, turns = np.empty((2, frames + 2 * _RADIUS), np.float32), np.empty((2, frames), np.float32)
    bones, columns = np.empty((len(JOINTS), 4, frames - 1)), np.empty((WIDTH, frames - 1), np.float32)
    places, features = np.empty((frames, len(JOINTS), 3), np.float32), np.empty((frames - 1, WIDTH), np.float32)
    own, lengths = np.ascontiguousarray(joints, np.float32), lengths.astype(np.float32)
    fill_clip(own, lengths, _WEIGHTS, _BONE_AXES, given, moved, ahead, turns, bones, columns, places, features)
    features[:, 0] = np.arcsin(features[:, 0])
    return features, places


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


def _turned(vectors: Array, turns: Array) -> Array:
    """Return vectors [3, ...] turned about y; `turns` [2, ...] are cosine and sine of half the angle."""
    cosine, sine = turns[0] * turns[0] - turns[1] * turns[1], 2.0 * turns[0] * turns[1]
    x, y, z = vectors
    return np.stack([cosine * x + sine * z, np.broadcast_to(y, (cosine * x).shape), cosine * z - sine * x])
