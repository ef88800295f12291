"""Limbs that go through the trunk or each other, with capsules (round-ended rods) for flesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.checks.limbs import PAIRS
from posegen.evaluation.body import point
from posegen.skeleton import CAPSULES, PROPORTIONS

__all__ = ["body_overlap", "segment_distance"]

Array = NDArray[Any]


def segment_distance(first: Array, second: Array, third: Array, fourth: Array) -> Array:
    """Shortest distance between two stretches of lines (Ericson, Real-Time Collision Detection, 5.1.9).

    Parameters
    ----------
    first, second, third, fourth : float [..., 3]
        Ends of the one and of the other; both ends may be one point.

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
    # Where the nearest point of the other line lies beyond its end, the end's nearest point on the one is taken.
    s = np.where((t != inside) | (e <= tiny) | (crossing <= tiny), np.clip((b * inside - c) / np.maximum(a, tiny), 0, 1), s)
    s = np.where(a > tiny, s, 0.0)
    gap = apart + s[..., None] * one - inside[..., None] * other
    return np.asarray(np.sqrt((gap * gap).sum(-1)))


def body_overlap(joints: ArrayLike) -> Array:
    """How deep parts of a body are in one another.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [...]
        Depth of the deepest of 12 pairs, in metres, 0 where nothing overlaps; NaN where absent. Stature is taken from thighs
        and shanks.
    """
    places = np.asarray(joints, np.float64)
    leg = sum(
        np.sqrt(((point(places, f"left_{near}") - point(places, f"left_{far}")) ** 2).sum(-1))
        for near, far in (("hip", "knee"), ("knee", "ankle"))
    )
    stature = leg / (PROPORTIONS["thigh"] + PROPORTIONS["shank"])
    deepest = np.where(np.isnan(stature), np.nan, 0.0)
    for one, other in PAIRS:
        (a, b, radius), (c, d, other_radius) = CAPSULES[one], CAPSULES[other]
        distance = segment_distance(point(places, a), point(places, b), point(places, c), point(places, d))
        deepest = np.maximum(deepest, (radius + other_radius) * stature - distance)
    return np.asarray(deepest)
