"""Two people beside each other: where the palms of their hands are, and how deep the one is in the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.evaluation.body import point
from posegen.evaluation.collisions import segment_distance
from posegen.skeleton import PROPORTIONS

__all__ = ["overlap_of_two", "palms"]

Array = NDArray[Any]

HAND, PALM = 0.108, 0.506
"""Length of the hand as a share of stature, and how far along it its middle is (Winter, Biomechanics and Motor Control of
Human Movement, figure 4.1 and table 4.1)."""

_UPPER_ARM = "upper_arm"
_BODY = {
    "trunk": ("spine1", "spine3", 0.055),
    "head": ("head", "head", 0.045),
    **{
        f"{side}_{part}": (f"{side}_{near}", f"{side}_{far}", radius)
        for side in ("left", "right")
        for part, near, far, radius in (
            (_UPPER_ARM, "shoulder", "elbow", 0.02),
            ("forearm", "elbow", "wrist", 0.018),
            ("thigh", "hip", "knee", 0.034),
            ("shank", "knee", "ankle", 0.024),
        )
    },
}
"""Ends and radius of each part, the latter as a fraction of stature: as slim as those that one body is measured by."""


def palms(joints: ArrayLike) -> Array:
    """Where the middles of the hands are: the skeleton ends at the wrists, and a hand goes on as its forearm does.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [..., 2, 3]
        Left, right.
    """
    places = np.asarray(joints, np.float64)
    reach = PALM * HAND * _stature(places)[..., None]
    found = []
    for side in ("left", "right"):
        elbow, wrist = point(places, f"{side}_elbow"), point(places, f"{side}_wrist")
        along = wrist - elbow
        found.append(wrist + reach * along / np.sqrt((along * along).sum(-1))[..., None])
    return np.stack(found, -2)


def _stature(places: Array) -> Array:
    """How tall people are by thigh and shank, metres."""
    leg = sum(
        np.sqrt(((point(places, f"left_{near}") - point(places, f"left_{far}")) ** 2).sum(-1))
        for near, far in (("hip", "knee"), ("knee", "ankle"))
    )
    return np.asarray(leg / (PROPORTIONS["thigh"] + PROPORTIONS["shank"]))


def overlap_of_two(one: ArrayLike, other: ArrayLike, *, upper_arms: bool = True) -> Array:
    """How deep two people are in one another.

    Parameters
    ----------
    one, other : float [..., 22, 3]
        Metres.
    upper_arms : bool
        Whether upper arms count, which no measure of one body alone looks at.

    Returns
    -------
    float64 [...]
        Depth of the deepest of all pairs of a part of the one and a part of the other, in metres, 0 where nothing overlaps;
        NaN where one of them is absent. Hands and feet are left out, so that hands may meet.
    """
    places = np.broadcast_arrays(np.asarray(one, np.float64), np.asarray(other, np.float64))
    statures = [_stature(each) for each in places]
    deepest = np.where(np.isnan(statures[0] + statures[1]), np.nan, 0.0)
    parts = [part for name, part in _BODY.items() if upper_arms or not name.endswith(_UPPER_ARM)]
    for a, b, radius in parts:
        for c, d, other_radius in parts:
            ends = [point(places[0], a), point(places[0], b), point(places[1], c), point(places[1], d)]
            depth = radius * statures[0] + other_radius * statures[1] - segment_distance(*ends)
            deepest = np.maximum(deepest, depth)
    return np.asarray(deepest)
