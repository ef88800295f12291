"""Two people beside each other: where the palms of their hands are, and how deep the one is in the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.evaluation.body import point
from posegen.evaluation.collisions import CAPSULES, segment_distance, stature_of

__all__ = ["overlap_of_two", "palms"]

Array = NDArray[Any]

HAND, PALM = 0.108, 0.506
"""Length of the hand as a share of stature, and how far along it its middle is (Winter, Biomechanics and Motor Control of
Human Movement, figure 4.1 and table 4.1)."""
_UPPER_ARM = 0.02
_BODY = {
    **CAPSULES,
    "left_upper_arm": ("left_shoulder", "left_elbow", _UPPER_ARM),
    "right_upper_arm": ("right_shoulder", "right_elbow", _UPPER_ARM),
}


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
    reach = PALM * HAND * stature_of(places)[..., None]
    found = []
    for side in ("left", "right"):
        elbow, wrist = point(places, f"{side}_elbow"), point(places, f"{side}_wrist")
        along = wrist - elbow
        found.append(wrist + reach * along / np.sqrt((along * along).sum(-1))[..., None])
    return np.stack(found, -2)


def overlap_of_two(one: ArrayLike, other: ArrayLike) -> Array:
    """How deep two people are in one another.

    Parameters
    ----------
    one, other : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [...]
        Depth of the deepest of all pairs of a part of the one and a part of the other, in metres, 0 where nothing overlaps;
        NaN where one of them is absent. Hands and feet are left out, so that hands may meet.
    """
    places = np.broadcast_arrays(np.asarray(one, np.float64), np.asarray(other, np.float64))
    statures = [stature_of(each) for each in places]
    deepest = np.where(np.isnan(statures[0] + statures[1]), np.nan, 0.0)
    for a, b, radius in _BODY.values():
        for c, d, other_radius in _BODY.values():
            ends = [point(places[0], a), point(places[0], b), point(places[1], c), point(places[1], d)]
            depth = radius * statures[0] + other_radius * statures[1] - segment_distance(*ends)
            deepest = np.maximum(deepest, depth)
    return np.asarray(deepest)
