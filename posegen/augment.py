"""Augmentations of plain arrays, for clips that have no scene behind them.

Joints are float arrays [..., frames, joints, 3] in metres, y up, x to the left of a figure that faces +z. Labels have the
same leading axes and frames, and what they like behind: action [..., frames, 5], contact [..., frames, 9]. Every function
returns a new array and gives the same result on every machine; random ones are a function of (seed, sample).

posegen's own variants are better where there is a scene, since they transform who does what before motion is made: a
faster variant takes other steps, and jumps under the same gravity. What is here only transforms the finished arrays.

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
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.constants import GRID
from posegen.skeleton import MIRROR_CONTACTS, MIRROR_JOINTS, MIRROR_PARTS

__all__ = [
    "frame_dropout",
    "joint_noise",
    "mirror",
    "mirror_contacts",
    "mirror_parts",
    "position",
    "rotate",
    "scale",
    "speed",
    "speed_labels",
]

Array = NDArray[Any]


QUARTER_TURN = 1.5707963267948966

_NOISE, _DROPOUT = 0, 1
"""Substreams of the random numbers."""


def speed(joints: ArrayLike, factor: float) -> Array:
    """Play a clip `factor` times as fast at the same frame rate, linear between frames.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
    factor : float
        Above 0; 2 is twice as fast and leaves half as many frames.

    Returns
    -------
    float [..., new frames, joints, 3]
        Frame i shows the moment i * factor of the clip. Where one of the two frames around it is NaN, so is the result.
    """
    array = _checked(joints)
    times = _times(array.shape[-3], factor)
    before = times.astype(np.int64)
    after = np.minimum(before + 1, array.shape[-3] - 1)
    share = (times - before).astype(array.dtype)[:, None, None]
    first, second = np.take(array, before, axis=-3), np.take(array, after, axis=-3)
    # Where a moment falls on a frame it is that frame, even if its neighbour is NaN.
    return np.where(share == 0, first, first + (second - first) * share)


def speed_labels(labels: ArrayLike, factor: float, axis: int = 0) -> Array:
    """Resample labels as :func:`speed` does joints: each new frame has the label of the nearest old one.

    Parameters
    ----------
    labels : array with frames along `axis`
    factor : float
    axis : int
        The axis of the frames; 0 is right for a single clip.

    Returns
    -------
    array with the new number of frames along `axis`
    """
    array = np.asarray(labels)
    if not -array.ndim <= axis < array.ndim:
        msg = f"labels of shape {list(array.shape)} have no axis {axis}: give the axis that counts the frames"
        raise ValueError(msg)
    nearest = np.floor(_times(array.shape[axis], factor) + 0.5).astype(np.int64)
    return np.take(array, nearest, axis=axis)


def position(joints: ArrayLike, offset: Sequence[float]) -> Array:
    """Move a clip over the floor.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
    offset : two floats
        Metres along x and z. They are rounded to the grid that datasets are stored on (:data:`GRID`), so that clips on it
        stay on it and moving back restores them bit for bit.

    Returns
    -------
    float [..., frames, joints, 3]
    """
    array = _checked(joints)
    if len(offset) != 2 or not np.isfinite(offset).all():
        msg = f"offset must be two finite numbers, metres along x and z, not {offset!r}"
        raise ValueError(msg)
    x, z = (float(np.rint(metres / GRID)) * GRID for metres in offset)
    return np.asarray(array + np.array([x, 0.0, z], array.dtype))


def scale(joints: ArrayLike, factor: float) -> Array:
    """Scale bodies and the way they go alike, about the origin of the floor, so that feet stay on the floor.

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
    """Swap left and right: joints change places with their mirror joints, and x its sign. Twice gives the clip back.

    Parameters
    ----------
    joints : float [..., frames, 22, 3]

    Returns
    -------
    float [..., frames, 22, 3]
    """
    array = _checked(joints)
    mirrored = _swapped(array, MIRROR_JOINTS, axis=-2, what="joints")
    # Subtracting rather than negating leaves no -0, which would compare equal but hash otherwise.
    mirrored[..., 0] = 0 - mirrored[..., 0]
    return mirrored


def mirror_parts(labels: ArrayLike) -> Array:
    """Action labels [..., frames, 5] of the mirrored clip: what the left arm did is done by the right."""
    return _swapped(np.asarray(labels), MIRROR_PARTS, axis=-1, what="labels by body part")


def mirror_contacts(labels: ArrayLike) -> Array:
    """Contact labels [..., frames, 9] of the mirrored clip: where the left heel touched, the right one does."""
    return _swapped(np.asarray(labels), MIRROR_CONTACTS, axis=-1, what="contacts")


def rotate(joints: ArrayLike, angle: float) -> Array:
    """Turn a clip about the vertical through the origin.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
    angle : float
        Radians; positive turns a figure that faces +z to its left, towards +x.

    Returns
    -------
    float [..., frames, joints, 3]
    """
    array = _checked(joints)
    if not np.isfinite(angle):
        msg = f"angle must be a finite number of radians, not {angle}"
        raise ValueError(msg)
    sine, cosine = (array.dtype.type(value) for value in _sine_and_cosine(angle))
    x, y, z = array[..., 0], array[..., 1], array[..., 2]
    return np.stack([x * cosine + z * sine, y, z * cosine - x * sine], axis=-1)


def joint_noise(joints: ArrayLike, sigma: float, seed: int, sample: int = 0) -> Array:
    """Add independent noise to every coordinate, like that of a marker-based or video-based measurement.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
        Leading axes count clips, each of which gets noise of its own.
    sigma : float
        Standard deviation in metres; no value is larger than 6 times that.
    seed, sample : int
        What the noise is a function of; clip i is numbered sample + i. A longer clip begins with the noise of a shorter.

    Returns
    -------
    float [..., frames, joints, 3]
    """
    from posegen.randomness import Stream, normal

    array = _checked(joints)
    if not (np.isfinite(sigma) and sigma >= 0):
        msg = f"sigma must be 0 or more metres, not {sigma}"
        raise ValueError(msg)
    noisy = array.copy()
    # One clip after another, as each number takes twelve of its size to make.
    for i, clip in enumerate(noisy.reshape(-1, *array.shape[-3:])):
        draws = normal(seed, [sample + i], Stream.AUGMENT, clip.size, substream=_NOISE)
        clip += (sigma * draws).reshape(clip.shape).astype(array.dtype)
    return noisy


def frame_dropout(
    joints: ArrayLike, share: float, seed: int, sample: int = 0, fill: Literal["nan", "hold"] = "nan"
) -> tuple[Array, Array]:
    """Lose frames at random, as a camera or a tracker does.

    Parameters
    ----------
    joints : float [..., frames, joints, 3]
        Leading axes count clips, each of which loses frames of its own.
    share : float
        Probability of each frame to be lost, 0 to below 1. One frame of a clip is always kept.
    seed, sample : int
        What the choice is a function of; clip i is numbered sample + i.
    fill : {"nan", "hold"}
        What lost frames become: NaN, or a repetition of the last frame kept (before the first kept one, that one).

    Returns
    -------
    joints : float [..., frames, joints, 3]
    lost : bool [..., frames]
        Which frames were lost.
    """
    from posegen.randomness import Stream, uniform

    array = _checked(joints)
    if not 0 <= share < 1:
        msg = f"share must be 0 or more and below 1, not {share}"
        raise ValueError(msg)
    if fill not in {"nan", "hold"}:
        msg = f"fill must be 'nan' or 'hold', not {fill!r}"
        raise ValueError(msg)
    frames = array.shape[-3]
    clips = array.reshape(-1, *array.shape[-3:]).copy()
    draws = uniform(seed, sample + np.arange(len(clips)), Stream.AUGMENT, frames, substream=_DROPOUT)
    lost = draws < share
    lost[np.arange(len(clips)), draws.argmax(-1)] = False
    if fill == "nan":
        clips[lost] = np.nan
    else:
        kept = np.maximum.accumulate(np.where(lost, -1, np.arange(frames)), axis=-1)
        kept = np.where(kept < 0, (~lost).argmax(-1)[:, None], kept)
        clips = np.take_along_axis(clips, kept[:, :, None, None], axis=1)
    return clips.reshape(array.shape), lost.reshape(array.shape[:-2])


def _checked(joints: ArrayLike) -> Array:
    array = np.asarray(joints)
    if array.ndim < 3 or array.shape[-1] != 3 or not array.shape[-3]:
        msg = f"joints must have the shape [..., frames, joints, 3] with at least one frame, not {list(array.shape)}"
        raise ValueError(msg)
    if array.dtype not in (np.float32, np.float64):
        msg = f"joints must be float32 or float64 in metres, not {array.dtype}: convert them first"
        raise ValueError(msg)
    return array


def _positive(name: str, value: float) -> float:
    if not (np.isfinite(value) and value > 0):
        msg = f"{name} must be a finite number above 0, not {value}"
        raise ValueError(msg)
    return float(value)


def _times(frames: int, factor: float) -> Array:
    """Moment of the clip that each new frame shows, counted in old frames."""
    _positive("factor", factor)
    # The margin keeps the last frame where rounding brings its moment just behind the end.
    count = int((frames - 1) / factor + 1e-9) + 1
    return np.asarray(np.minimum(np.arange(count) * float(factor), frames - 1))


def _sine_and_cosine(angle: float) -> tuple[float, float]:
    """Sine and cosine by their series, since those of the machine's library differ between machines.

    Quarter turns are exact.
    """
    quarters = int(np.rint(angle / QUARTER_TURN))
    rest = angle - quarters * QUARTER_TURN
    sine, cosine = rest, 1.0
    sine_term, cosine_term = rest, 1.0
    for n in range(2, 22, 2):
        cosine_term *= -rest * rest / ((n - 1) * n)
        sine_term *= -rest * rest / (n * (n + 1))
        cosine += cosine_term
        sine += sine_term
    turned = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))
    return turned[quarters % 4]


def _swapped(array: Array, order: tuple[int, ...], axis: int, what: str) -> Array:
    if array.ndim == 0 or array.shape[axis] != len(order):
        msg = f"only arrays of {len(order)} {what} can be mirrored, and this one has the shape {list(array.shape)}"
        raise ValueError(msg)
    return np.take(array, order, axis=axis)
