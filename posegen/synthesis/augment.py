"""Augmentations of plain arrays, for clips without a planned scene.

Joints are float arrays [..., frames, joints, 3] in metres, y up, x to the left of a figure that faces +z. Labels have the
same leading axes and frames: action [..., frames, 5], contact [..., frames, 9]. Every function returns a new array, identical
on every machine.

The variants of posegen transform the planned scene instead: a faster variant has other steps, and jumps obey the same gravity.
The functions of this module only transform the arrays.

Examples
--------
>>> import numpy as np
>>> from posegen import augment
>>> joints = np.zeros((50, 22, 3), np.float32)
>>> augment.speed(joints, 1.25).shape
(40, 22, 3)
>>> action = np.zeros((50, 5), np.uint16)
>>> augment.speed_labels(action, 1.25).shape
(40, 5)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRID
from posegen.foundations.skeleton import MIRROR_CONTACTS, MIRROR_JOINTS, MIRROR_PARTS


def speed(joints: ArrayLike, factor: float) -> Array:
    """Return a clip `factor` times as fast at the same frame rate, by linear interpolation.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
    factor : float
        Above 0; 2 is twice as fast and leaves half as many frames.

    Returns
    -------
    float [..., new frames, joints, 3]
        Frame i is the moment i * factor of the clip. If one of the two frames around it is NaN, so is the result.
    """
    array = _checked(joints)
    times = _times(array.shape[-3], factor)
    before = times.astype(np.int64)
    after = np.minimum(before + 1, array.shape[-3] - 1)
    share = (times - before).astype(array.dtype)[:, None, None]
    first, second = np.take(array, before, axis=-3), np.take(array, after, axis=-3)
    # A moment that coincides with a frame has its value even if the neighbour is NaN.
    return np.where(share == 0, first, first + (second - first) * share)


def speed_labels(labels: ArrayLike, factor: float, axis: int = 0) -> Array:
    """Resample labels like :func:`speed` resamples joints: each new frame has the label of the nearest old one.

    Parameters
    ----------
    labels : array with frames along `axis`
    factor : float
    axis : int
        The axis of the frames; 0 for a single clip.

    Returns
    -------
    array with the new number of frames along `axis`
    """
    array = np.asarray(labels)
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(f"labels of shape {list(array.shape)} have no axis {axis}: give the axis that counts the frames")
    nearest = np.floor(_times(array.shape[axis], factor) + 0.5).astype(np.int64)
    return np.take(array, nearest, axis=axis)


def position(joints: ArrayLike, offset: Sequence[float]) -> Array:
    """Translate a clip on the floor.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
    offset : two floats
        Metres along x and z, rounded to the grid of stored positions (`constants.GRID`), so that the opposite
        offset restores the clip exactly.

    Returns
    -------
    float [..., frames, joints, 3]
    """
    array = _checked(joints)
    if len(offset) != 2 or not np.isfinite(offset).all():
        raise ValueError(f"offset must be two finite numbers, metres along x and z, not {offset!r}")
    x, z = (float(np.rint(metres / GRID)) * GRID for metres in offset)
    return np.asarray(array + np.array([x, 0.0, z], array.dtype))


def scale(joints: ArrayLike, factor: float) -> Array:
    """Scale bodies and paths about the origin of the floor, so that feet stay on the floor.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
    factor : float
        Above 0.

    Returns
    -------
    float [..., frames, joints, 3]
    """
    array = _checked(joints)
    return np.asarray(array * array.dtype.type(_positive("factor", factor)))


def mirror(joints: ArrayLike) -> Array:
    """Exchange left and right joints and negate x; applied twice, the clip is unchanged.

    Parameters
    ----------
    joints : float [..., frames, 22, 3]

    Returns
    -------
    float [..., frames, 22, 3]
    """
    array = _checked(joints)
    mirrored = _swapped(array, MIRROR_JOINTS, axis=-2, what="joints")
    # Subtracting rather than negating avoids -0, which compares equal but hashes differently.
    mirrored[..., 0] = 0 - mirrored[..., 0]
    return mirrored


def mirror_parts(labels: ArrayLike) -> Array:
    """Exchange left and right in action labels [..., frames, 5]."""
    return _swapped(np.asarray(labels), MIRROR_PARTS, axis=-1, what="labels by body part")


def mirror_contacts(labels: ArrayLike) -> Array:
    """Exchange left and right in contact labels [..., frames, 9]."""
    return _swapped(np.asarray(labels), MIRROR_CONTACTS, axis=-1, what="contacts")


def _checked(joints: ArrayLike) -> Array:
    array = np.asarray(joints)
    if array.ndim < 3 or array.shape[-1] != 3 or not array.shape[-3]:
        raise ValueError(f"joints must have the shape [..., frames, joints, 3] and a frame or more, not {list(array.shape)}")
    if array.dtype not in (np.float32, np.float64):
        raise ValueError(f"joints must be float32 or float64 in metres, not {array.dtype}: convert them first")
    return array


def _positive(name: str, value: float) -> float:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above 0, not {value}")
    return float(value)


def _times(frames: int, factor: float) -> Array:
    """Return the moment of the clip for each new frame, in old frames."""
    _positive("factor", factor)
    # The margin keeps the last frame if rounding moves it just past the end.
    count = int((frames - 1) / factor + 1e-9) + 1
    return np.asarray(np.minimum(np.arange(count) * float(factor), frames - 1))


def _swapped(array: Array, order: tuple[int, ...], axis: int, what: str) -> Array:
    if array.ndim == 0 or array.shape[axis] != len(order):
        raise ValueError(f"only arrays of {len(order)} {what} can be mirrored, and this one has the shape {list(array.shape)}")
    return np.take(array, order, axis=axis)
