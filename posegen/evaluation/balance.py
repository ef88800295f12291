"""Whether a body that stands could: its extrapolated centre of mass over its base of support (Hof et al. 2005)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.constants import GRAVITY
from posegen.evaluation.body import centre_of_mass, longest_present
from posegen.evaluation.filtering import REACH, low_pass
from posegen.skeleton import JOINTS, sole_points

__all__ = ["balance_margin", "hull_distance"]

Array = NDArray[Any]

DIRECTIONS = 72
LOW = 0.05
SLOW = 0.15
"""Metres a second: a body whose feet or centre of mass are faster is stepping, and need not balance."""
UPRIGHT = 0.45
"""Height of the centre of mass over the greatest of the head: lower, a body may sit, kneel or lie on more than feet."""
HEAD = JOINTS.index("head")


def hull_distance(points: ArrayLike, place: ArrayLike) -> Array:
    """How far a place is outside the convex hull of points in a plane.

    Parameters
    ----------
    points : float [..., n, 2]
    place : float [..., 2]

    Returns
    -------
    float64 [...]
        Positive outside, negative inside; by the hull's extent in 72 directions, so short by at most .1 %.
    """
    turns = np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS
    ways = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    reach = (np.asarray(points, np.float64)[..., None, :] * ways).sum(-1).max(-2)
    return np.asarray(((np.asarray(place, np.float64)[..., None, :] * ways).sum(-1) - reach).max(-1))


def balance_margin(joints: ArrayLike, fps: float) -> Array:
    """How far outside the base of support the extrapolated centre of mass is while a body stands still on both feet.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, floor at height 0.
    fps : float
        Frames a second.

    Returns
    -------
    float64 [n]
        Metres, for each frame of quiet standing: ``x + v / sqrt(g / l)``, `l` the height of the centre of mass, against the
        hull of heels and toes. The hull has no breadth of the feet, so some 4 cm to the side are within a real foot.
    """
    places = np.asarray(joints, np.float64)
    places = low_pass(places[longest_present(places)], fps)
    if len(places) <= REACH:
        return np.zeros(0)
    centre, soles = centre_of_mass(places), sole_points(places)
    speed = np.gradient(centre, 1 / fps, axis=0)
    stepping = np.sqrt((np.gradient(soles, 1 / fps, axis=0) ** 2).sum(-1)).max(-1)
    tall = centre[:, 1] > UPRIGHT * places[:, HEAD, 1].max()
    quiet = (soles[..., 1] < LOW).all(-1) & (stepping < SLOW) & (np.sqrt((speed**2).sum(-1)) < SLOW) & tall
    ahead = centre + speed / np.sqrt(GRAVITY / np.maximum(centre[:, 1:2], 0.1))
    return hull_distance(soles[quiet][..., [0, 2]], ahead[quiet][:, [0, 2]])
