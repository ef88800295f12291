"""Read a body from its joint positions: joints by name, stature, centre of mass, and the frames in which it is present.

What these quantities say about the motion is measured elsewhere in this package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.skeleton import JOINTS, PROPORTIONS

# Part: joints at its near and far end, share of the mass, where between them its centre lies (Winter 2009, table 4.1).
# The trunk's ends are the middles of shoulders and hips. A hand lies at the wrist, a foot between ankle and ball.
_LIMBS = (
    ("hip", "knee", 0.100, 0.433),
    ("knee", "ankle", 0.0465, 0.433),
    ("ankle", "foot", 0.0145, 0.5),
    ("shoulder", "elbow", 0.028, 0.436),
    ("elbow", "wrist", 0.016, 0.430),
    ("wrist", "wrist", 0.006, 0.0),
)
_TRUNK, _HEAD = 0.497, 0.081


def point(joints: Array, name: str) -> Array:
    """Return the positions of one joint: float [..., 3] of [..., 22, 3]."""
    return joints[..., JOINTS.index(name), :]


def unit(vectors: Array) -> Array:
    """Scale vectors to length 1; NaN where the length is 0."""
    length = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    return np.asarray(vectors / np.where(length > 0, length, np.nan))


def stature(joints: Array) -> Array:
    """Return the height of a body in metres, estimated from its left thigh and shank: float [...] of [..., 22, 3]."""
    leg = sum(
        np.sqrt(((point(joints, f"left_{near}") - point(joints, f"left_{far}")) ** 2).sum(-1))
        for near, far in (("hip", "knee"), ("knee", "ankle"))
    )
    return np.asarray(leg / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))


def centre_of_mass(joints: ArrayLike) -> Array:
    """Return the centre of mass.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [..., 3]
        Metres. Mass fractions are those of Winter, Biomechanics and Motor Control of Human Movement, and sum to 1.
    """
    positions = np.asarray(joints, np.float64)
    hips, shoulders = ((point(positions, f"left_{n}") + point(positions, f"right_{n}")) / 2 for n in ("hip", "shoulder"))
    total = _TRUNK * (hips + shoulders) / 2 + _HEAD * point(positions, "head")
    mass = _TRUNK + _HEAD
    for near, far, share, along in _LIMBS:
        for side in ("left_", "right_"):
            total = total + share * (point(positions, side + near) * (1 - along) + point(positions, side + far) * along)
            mass += share
    return np.asarray(total / mass)


def true_intervals(flags: Array) -> list[slice]:
    """Return the intervals in which `flags`, bool [frame], is true.

    >>> true_intervals(np.array([True, False, True, True]))
    [slice(0, 1, None), slice(2, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def longest_present(joints: ArrayLike) -> slice:
    """Return the longest interval of frames of [frame, joint, axis] in which every joint is finite."""
    intervals = true_intervals(np.isfinite(np.asarray(joints)).all((-2, -1)))
    return max(intervals, key=lambda interval: interval.stop - interval.start, default=slice(0, 0))
