"""Whether motion could be that of a body on a floor: measures over joint positions alone.

Every measure takes joints of any leading dimensions and leaves out what is absent (NaN). None of them knows how the motion
was made, so that they can be taken of captured motion too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.skeleton import PARENTS, sole_points

__all__ = ["bone_length_error", "contact_speeds", "floor_depth", "frozen_frames", "sole_depth"]

Array = NDArray[Any]

TOUCHING = 1
SOLES = 4
"""How many of the contacts, from the first on, are points of the soles."""


def bone_length_error(joints: ArrayLike) -> Array:
    """By how much bones change their length over time.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres.

    Returns
    -------
    float64 [...]
        The largest difference of any bone in any frame from its mean length, in metres; NaN where nobody is present.
    """
    positions = _positions(joints)
    child = [joint for joint, parent in enumerate(PARENTS) if parent >= 0]
    bones = positions[..., child, :] - positions[..., [PARENTS[joint] for joint in child], :]
    lengths = np.sqrt((bones * bones).sum(-1))
    present = ~np.isnan(lengths)
    count = np.maximum(present.sum(-2, keepdims=True), 1)
    mean = np.where(present, lengths, 0.0).sum(-2, keepdims=True) / count
    error = np.where(present, np.abs(lengths - mean), -np.inf).max((-2, -1), initial=-np.inf)
    return np.where(np.isneginf(error), np.nan, error)


def sole_depth(joints: ArrayLike) -> Array:
    """How far soles sink into the floor.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres; the floor is at height 0.

    Returns
    -------
    float64 [...]
        Depth of the lowest heel or toe point in any frame, in metres: 0 where it never sinks, NaN where nobody is present.
    """
    heights = sole_points(_positions(joints))[..., 1]
    lowest = np.where(np.isnan(heights), np.inf, heights).min((-2, -1), initial=np.inf)
    return np.where(np.isposinf(lowest), np.nan, np.maximum(-lowest, 0.0))


def floor_depth(joints: ArrayLike) -> Array:
    """How far anything of a body sinks into the floor: a point of the soles, or a joint of who sits, kneels or lies.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres; the floor is at height 0.

    Returns
    -------
    float64 [...]
        Depth of the lowest joint, heel or toe point in any frame, in metres: 0 where none sinks, NaN where nobody is present.
    """
    heights = _positions(joints)[..., 1]
    lowest = np.where(np.isnan(heights), np.inf, heights).min((-2, -1), initial=np.inf)
    return np.asarray(np.maximum(sole_depth(joints), -lowest))


def contact_speeds(joints: ArrayLike, contact: ArrayLike, fps: float) -> Array:
    """How fast sole points move while they are said to touch.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres.
    contact : uint8 [..., frame, point]
        Labels, 1 where a point touches; the first four points are those of the soles.
    fps : float
        Frames a second.

    Returns
    -------
    float64 [n]
        Metres a second from each frame to the next, for every sole point that touches in both.
    """
    soles = sole_points(_positions(joints))
    step = np.diff(soles, axis=-3)
    speed = np.sqrt((step * step).sum(-1)) * fps
    touching = np.asarray(contact)[..., :SOLES] == TOUCHING
    return np.asarray(speed[touching[..., 1:, :] & touching[..., :-1, :]])


def frozen_frames(joints: ArrayLike, tolerance: float = 0.0) -> Array:
    """How long a figure stands as if turned to stone.

    Parameters
    ----------
    joints : float [..., frame, joint, axis]
        Metres.
    tolerance : float
        A frame is frozen if no coordinate of any joint differs by more than this from the frame before.

    Returns
    -------
    int64 [...]
        Length of the longest stretch of frozen frames.
    """
    step = np.abs(np.diff(_positions(joints), axis=-3)).max((-2, -1))
    frozen = step <= tolerance  # False where the figure is absent: NaN compares with nothing
    longest = run = np.zeros(frozen.shape[:-1], np.int64)
    for frame in range(frozen.shape[-1]):
        run = np.where(frozen[..., frame], run + 1, 0)
        longest = np.maximum(longest, run)
    return longest


def _positions(joints: ArrayLike) -> Array:
    positions = np.asarray(joints, np.float64)
    if positions.ndim < 3 or positions.shape[-2:] != (len(PARENTS), 3):
        msg = f"joints must be [..., frame, {len(PARENTS)}, 3], got shape {positions.shape}"
        raise ValueError(msg)
    return positions
