"""Rotations of the joints of a clip, as matrices, quaternions and rotation vectors."""

from __future__ import annotations

import numpy as np

from posegen.exchange.clip import Clip
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import PARENTS


def local_rotations(clip: Clip) -> Array:
    """Return rotations relative to the parent of each joint, those of the pelvis in the world: float64 [22, frame, 3, 3].

    In the rest pose of :mod:`posegen.foundations.skeleton` they are the identity. The clip has the field ``rotation``.
    """
    columns = np.moveaxis(clip.fields["rotation"], 1, 0).astype(np.float64)
    x, y = columns[..., :3], columns[..., 3:]
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def in_world(local: Array) -> Array:
    """Return rotations in the world of rotations relative to the parent of each joint: [22, ..., 3, 3]."""
    world = np.empty_like(local)
    for joint, parent in enumerate(PARENTS):
        world[joint] = local[joint] if parent < 0 else world[parent] @ local[joint]
    return world


def joint_positions(local: Array, root: Array, offsets: Array) -> Array:
    """Return positions by forward kinematics: float64 [frame, 22, 3].

    `local` are rotations relative to the parent of each joint [22, frame, 3, 3], `root` the positions of the pelvis [frame, 3],
    and `offsets` those of each joint from its parent in the rest pose [22, 3].
    """
    world, joints = in_world(local), np.empty((len(root), len(PARENTS), 3))
    for joint, parent in enumerate(PARENTS):
        joints[:, joint] = root if parent < 0 else joints[:, parent] + world[parent] @ offsets[joint]
    return joints


def in_parent(world: Array) -> Array:
    """Return rotations relative to the parent of each joint, those of the pelvis in the world: [22, ..., 3, 3]."""
    return np.stack([world[j] if p < 0 else np.swapaxes(world[p], -1, -2) @ world[j] for j, p in enumerate(PARENTS)])


def quaternions(matrices: Array) -> Array:
    """Return rotations [..., 3, 3] as quaternions x, y, z, w of either sign.

    The largest of the four numbers decides which formula is used, as all others divide by a smaller one (Shepperd 1978).

    Examples
    --------
    >>> quaternions(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).round(4).tolist()
    [0.0, 0.0, 0.7071, 0.7071]
    """
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    trace = diagonal.sum(axis=-1, keepdims=True)
    outer = np.empty((*matrices.shape[:-2], 4, 4))
    outer[..., range(4), range(4)] = np.concatenate([1 + 2 * diagonal - trace, 1 + trace], axis=-1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        outer[..., i, j] = outer[..., j, i] = matrices[..., i, j] + matrices[..., j, i]
        outer[..., k, 3] = outer[..., 3, k] = matrices[..., j, i] - matrices[..., i, j]
    largest = np.diagonal(outer, axis1=-2, axis2=-1).argmax(axis=-1)
    best = np.take_along_axis(outer, largest[..., None, None], -2)[..., 0, :]
    return np.asarray(best / np.sqrt((best * best).sum(axis=-1, keepdims=True)))


def from_vectors(vectors: Array) -> Array:
    """Return the rotations [..., 3, 3] of vectors [..., 3]: axis times angle in radians.

    Examples
    --------
    >>> from_vectors(np.array([0.0, 0.0, np.pi / 2])).round(4).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    angles = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    x, y, z = np.moveaxis(vectors / np.maximum(angles, 1e-12), -1, 0)
    none = np.zeros_like(x)
    skew = np.stack([none, -z, y, z, none, -x, -y, x, none], axis=-1).reshape(*x.shape, 3, 3)
    return np.asarray(np.eye(3) + np.sin(angles)[..., None] * skew + (1 - np.cos(angles))[..., None] * skew @ skew)


def about_axis(axis: int, angles: Array) -> Array:
    """Return the rotations [..., 3, 3] about x, y or z (`axis` 0, 1 or 2) by angles in radians [...]."""
    return from_vectors(np.asarray(angles)[..., None] * np.eye(3)[axis])


def rotation_vectors(matrices: Array) -> Array:
    """Return rotations [..., 3, 3] as axis times angle in radians, of at most half a turn.

    Examples
    --------
    >>> rotation_vectors(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).round(4).tolist()
    [0.0, 0.0, 1.5708]
    """
    turns = quaternions(matrices)
    turns = turns * np.where(turns[..., 3:] < 0, -1.0, 1.0)
    sine = np.sqrt((turns[..., :3] ** 2).sum(axis=-1, keepdims=True))
    angle = 2 * np.arctan2(sine, turns[..., 3:])
    return np.asarray(turns[..., :3] * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0))


def shortest(a: Array, b: Array) -> Array:
    """Return the shortest rotation [3, 3] from the direction `a` [3] to `b` [3]; any half turn between opposite directions.

    Examples
    --------
    >>> (shortest(np.array([0.0, 2.0, 0.0]), np.array([0.0, -1.0, 0.0])) @ [0.0, 1.0, 0.0]).round(6).tolist()
    [0.0, -1.0, 0.0]
    """
    a, b = a / np.sqrt(a @ a), b / np.sqrt(b @ b)
    if a @ b < -1 + 1e-12:
        across = np.cross(a, np.eye(3)[abs(a).argmin()])
        across /= np.sqrt(across @ across)
        return np.asarray(2 * np.outer(across, across) - np.eye(3))
    x, y, z = np.cross(a, b)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + skew + skew @ skew / (1 + a @ b))
