"""Measure two people beside each other: positions of their palms, and how deep one body penetrates the other.

This is a slow reference in NumPy, with more body parts than :func:`posegen.checks.capsules.people_overlap`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posegen.evaluation.body import point
from posegen.fields.keypoints import stature
from posegen.foundations.arrays import Array
from tests.naive import segment_distance

HAND, PALM = 0.108, 0.506
"""Length of the hand as a share of stature, and how far along it its centre is (Winter, Biomechanics and Motor Control of
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
"""Ends and radius of each part; the radius is a fraction of stature, as slim as in the measure of one body."""


def palms(joints: ArrayLike) -> Array:
    """Return the centres of the hands. The skeleton ends at the wrists, so a hand is taken to extend its forearm.

    Parameters
    ----------
    joints : float [..., 22, 3]
        Metres.

    Returns
    -------
    float64 [..., 2, 3]
        Left, right.
    """
    positions = np.asarray(joints, np.float64)
    reach = PALM * HAND * stature(positions)[..., None]
    found = []
    for side in ("left", "right"):
        elbow, wrist = point(positions, f"{side}_elbow"), point(positions, f"{side}_wrist")
        along = wrist - elbow
        found.append(wrist + reach * along / np.sqrt((along * along).sum(-1))[..., None])
    return np.stack(found, -2)


def overlap_of_two(one: ArrayLike, other: ArrayLike, *, upper_arms: bool = True) -> Array:
    """Return how deep two people penetrate each other.

    Parameters
    ----------
    one, other : float [..., 22, 3]
        Metres.
    upper_arms : bool
        Whether upper arms count; measures of one body ignore them.

    Returns
    -------
    float64 [...]
        Depth of the deepest pair of parts in metres; 0 where nothing overlaps, NaN where one person is absent. Hands and
        feet are omitted, so that hands may meet.
    """
    positions = np.broadcast_arrays(np.asarray(one, np.float64), np.asarray(other, np.float64))
    statures = [stature(each) for each in positions]
    deepest = np.where(np.isnan(statures[0] + statures[1]), np.nan, 0.0)
    parts = [part for name, part in _BODY.items() if upper_arms or not name.endswith(_UPPER_ARM)]
    for a, b, radius in parts:
        for c, d, other_radius in parts:
            ends = [point(positions[0], a), point(positions[0], b), point(positions[1], c), point(positions[1], d)]
            depth = radius * statures[0] + other_radius * statures[1] - segment_distance(*ends)
            deepest = np.maximum(deepest, depth)
    return np.asarray(deepest)
