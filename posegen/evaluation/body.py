"""A body taken from its joints: where a joint is, which stretch of a clip is there, and where the mass is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.skeleton import JOINTS

__all__ = ["centre_of_mass", "longest_present", "point", "unit"]

Array = NDArray[Any]

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
    """Positions of one joint: float [..., 3] of [..., 22, 3]."""
    return joints[..., JOINTS.index(name), :]


def unit(vectors: Array) -> Array:
    """Vectors made 1 long; NaN where they have no length."""
    length = np.sqrt((vectors * vectors).sum(-1, keepdims=True))
    return np.asarray(vectors / np.where(length > 0, length, np.nan))


def centre_of_mass(joints: ArrayLike) -> Array:
    """Where the centre of mass is.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [..., 3]
        Metres; mass fractions of Winter, Biomechanics and Motor Control of Human Movement. They add up to 1.
    """
    places = np.asarray(joints, np.float64)
    hips, shoulders = ((point(places, f"left_{n}") + point(places, f"right_{n}")) / 2 for n in ("hip", "shoulder"))
    total = _TRUNK * (hips + shoulders) / 2 + _HEAD * point(places, "head")
    mass = _TRUNK + _HEAD
    for near, far, share, along in _LIMBS:
        for side in ("left_", "right_"):
            total = total + share * (point(places, side + near) * (1 - along) + point(places, side + far) * along)
            mass += share
    return np.asarray(total / mass)


def longest_present(joints: ArrayLike) -> slice:
    """Find the longest stretch of frames [frame, joint, axis] in which the whole figure is there."""
    there = np.isfinite(np.asarray(joints)).all((-2, -1))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    if not len(edges):
        return slice(0, 0)
    starts, stops = edges[::2], edges[1::2]
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))
