"""Measure how deep limbs of one body penetrate its trunk or each other, with capsules (round-ended rods) as flesh.

Overlap between people is measured in :mod:`posegen.checks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.checks.capsules import PAIRS
from posegen.evaluation.body import point, stature
from posegen.skeleton import CAPSULES

__all__ = ["body_overlap", "segment_distance"]

Array = NDArray[Any]


def segment_distance(first: Array, second: Array, third: Array, fourth: Array) -> Array:
    """Return the shortest distance between two line segments (Ericson, Real-Time Collision Detection, 5.1.9).

    Parameters
    ----------
    first, second, third, fourth : float [..., 3]
        Ends of the first and of the second segment; the ends of a segment may coincide.

    Returns
    -------
    float [...]
    """
    one, other, apart = second - first, fourth - third, first - third
    a, e, b = (one * one).sum(-1), (other * other).sum(-1), (one * other).sum(-1)
    c, f = (one * apart).sum(-1), (other * apart).sum(-1)
    tiny = 1e-12
    crossing = a * e - b * b
    s = np.where(crossing > tiny, np.clip((b * f - c * e) / np.maximum(crossing, tiny), 0, 1), 0.0)
    t = np.where(e > tiny, (b * s + f) / np.maximum(e, tiny), 0.0)
    inside = np.clip(t, 0, 1)
    # Where the nearest point of the second line lies beyond its end, take the nearest point of the first to that end.
    s = np.where((t != inside) | (e <= tiny) | (crossing <= tiny), np.clip((b * inside - c) / np.maximum(a, tiny), 0, 1), s)
    s = np.where(a > tiny, s, 0.0)
    gap = apart + s[..., None] * one - inside[..., None] * other
    return np.asarray(np.sqrt((gap * gap).sum(-1)))


def body_overlap(joints: ArrayLike) -> Array:
    """Return the depth to which parts of one body penetrate each other.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [...]
        Depth of the deepest of 12 pairs of capsules in metres; 0 where none overlap, NaN where the body is absent.
    """
    positions = np.asarray(joints, np.float64)
    height = stature(positions)
    deepest = np.where(np.isnan(height), np.nan, 0.0)
    for one, other in PAIRS:
        (a, b, radius), (c, d, other_radius) = CAPSULES[one], CAPSULES[other]
        distance = segment_distance(*(point(positions, name) for name in (a, b, c, d)))
        deepest = np.maximum(deepest, (radius + other_radius) * height - distance)
    return np.asarray(deepest)
