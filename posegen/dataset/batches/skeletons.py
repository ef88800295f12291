"""Bodies of a batch with other bone lengths and joint placement, for models that must cope with any skeleton."""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS, MIRROR_JOINTS, PARENTS

_FARTHEST = 2.0
"""Largest displacement in standard deviations."""
_MOST_MOVED = 0.4
"""Largest displacement along each axis as a fraction of the length of the bone, so that no bone vanishes."""
_SHORTEST = np.float32(1e-6)
"""Metres: some skeletons have two joints in one place."""
_EPOCHS = 256
_FEET = (JOINTS.index("left_foot"), JOINTS.index("right_foot"))
_LEG = [JOINTS.index(name) for name in ("left_knee", "left_ankle")]
_ON_PELVIS = tuple(JOINTS.index(name) for name in ("left_hip", "right_hip", "spine1"))
_ON_CHEST = tuple(JOINTS.index(name) for name in ("neck", "left_collar", "right_collar"))
_LENGTHENED = tuple(joint for joint in range(1, len(JOINTS)) if joint not in (*_FEET, *_ON_PELVIS, *_ON_CHEST))
"""Joints whose bone changes in length only, since positions do not determine the axes of what it is attached to."""


def vary_skeletons(joints: Array, noise: float, *, seed: int, epoch: int, sample: Array, variant: Array) -> Array:
    """Show each actor on another skeleton, which is constant over the clip.

    Hips, spine1, neck and collars are displaced in the axes of pelvis or chest; other bones change in length. Left and right
    change alike, and feet keep their size. The lowest joint keeps its height in each frame, and the path of the pelvis is
    scaled as the legs are, so that soles stay on the floor and slide little. Hands that touched something may miss it.

    Parameters
    ----------
    joints : float32 [n, actors, frames, 22, 3]
        Metres; NaN where absent.
    noise : float
        Standard deviation of the displacement of a joint from its parent along each axis, metres.
    seed, epoch : int
        Seed of the batches and number of the epoch.
    sample, variant : int [n]
        Numbers of samples and indices of variants.

    Returns
    -------
    float32 [n, actors, frames, 22, 3]
        Varied bodies; a function of the arguments only.

    Examples
    --------
    >>> clips = np.ones((1, 2, 5, 22, 3), np.float32)
    >>> vary_skeletons(clips, 0.03, seed=1, epoch=0, sample=np.array([5]), variant=np.array([0])).shape
    (1, 2, 5, 22, 3)
    """
    moves = np.float32(noise) * _displacements(joints.shape[:2], seed, epoch, sample, variant)
    bones = joints - joints[..., np.maximum(PARENTS, 0), :]
    length = np.maximum(_norm(bones[:, :, :1]), _SHORTEST)
    moves = np.clip(moves, -_MOST_MOVED * length, _MOST_MOVED * length)
    grown = np.ones_like(length)
    grown[..., _LENGTHENED, :] += moves[..., _LENGTHENED, 1:2] / length[..., _LENGTHENED, :]
    leg = (grown * length)[..., _LEG, 0].sum(-1) / length[..., _LEG, 0].sum(-1)
    bones *= grown
    for part, axes in (
        (_ON_PELVIS, _axes(joints, "hip", "pelvis", "spine1")),
        (_ON_CHEST, _axes(joints, "collar", "spine3", "neck")),
    ):
        for joint in part:
            bones[..., joint, :] += sum(moves[..., joint, axis, None] * axes[axis] for axis in range(3))
    varied = joints.copy()
    for joint, parent in enumerate(PARENTS[1:], 1):
        varied[..., joint, :] = varied[..., parent, :] + bones[..., joint, :]
    varied[..., 1] += (joints[..., 1].min(-1) - varied[..., 1].min(-1))[..., None]
    for axis in (0, 2):
        way = joints[..., :1, axis] - joints[:, :, :1, :1, axis]
        varied[..., axis] += (leg - 1)[..., None] * way
    return varied


def _displacements(shape: tuple[int, ...], seed: int, epoch: int, sample: Array, variant: Array) -> Array:
    """Return symmetric displacements in standard deviations: float32 [n, actors, 1, 22, 3]."""
    from posegen.foundations.randomness import Stream, normal  # with numba, which reading does not need

    drawn = np.empty((*shape, 1, len(JOINTS), 3), np.float32)
    for index in np.unique(variant):
        own = variant == index
        count = shape[1] * len(JOINTS) * 3
        values = normal(seed, sample[own], Stream.SKELETON, count, attempt=epoch % _EPOCHS, substream=int(index))
        drawn[own] = np.clip(values, -_FARTHEST, _FARTHEST).reshape(-1, *drawn.shape[1:])
    for joint, other in enumerate(MIRROR_JOINTS):
        if other == joint:
            drawn[..., joint, 0] = 0.0
        elif JOINTS[joint].startswith("right"):
            drawn[..., joint, :] = drawn[..., other, :] * np.array([-1, 1, 1], np.float32)
    return drawn


def _axes(joints: Array, beside: str, low: str, high: str) -> tuple[Array, Array, Array]:
    """Return the directions to the left, up and forward of a part of the trunk: float32 [n, actors, frames, 3] each."""
    left = joints[..., JOINTS.index(f"left_{beside}"), :] - joints[..., JOINTS.index(f"right_{beside}"), :]
    left = left / np.maximum(_norm(left), _SHORTEST)
    up = joints[..., JOINTS.index(high), :] - joints[..., JOINTS.index(low), :]
    up = up - (up * left).sum(-1, keepdims=True) * left
    up = up / np.maximum(_norm(up), _SHORTEST)
    return left, up, np.cross(left, up)


def _norm(vectors: Array) -> Array:
    """Return the lengths of vectors [..., 3] as [..., 1]."""
    return np.asarray(np.sqrt((vectors * vectors).sum(-1, keepdims=True)))
