"""The point at which two people meet, which their hands are told from, each hand on its own side of it.

Hands that meet hands are told from as high as the shoulders of the two are in the mean; hands that hold the partner from as
high as the partner's shoulders, in lengths of the partner's arm: so a tall one and a small one are held in the same places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.rows import HEADING_COS, HEADING_SIN, PATH_X, PATH_Z, fill_row
from posegen.skeleton import CAPSULES, PROPORTIONS

__all__ = ["POINT", "hands_apart", "meeting_axes"]

Array = NDArray[Any]

X, Y, Z, SIN, COS, UNIT, OTHER_Y, OTHER_UNIT = range(8)
"""A meeting point: metres, sine and cosine of where the partner is, and what hands count in, metres; 0 where nobody is met.

The last two are height and unit for hands that hold the partner.
"""
POINT = 8

SHOULDER = PROPORTIONS["shoulder_height"]
FLESH = CAPSULES["left_forearm"][2]
YIELDING, NEAREST, FARTHEST = 0.0185, 0.040, 0.0495
"""Metres by which the flesh of two hands that meet may give way, and the least and most that wrists are then apart."""
ALONE_AHEAD = 0.72
"""Lengths of the arm by which the point is ahead of somebody who only acts as if there were a partner."""


@kernel
def hands_apart(statures: Scalar) -> Scalar:
    """How far apart the wrists of hands that meet are, for the sum of both statures; metres."""
    return min(max(FLESH * statures - YIELDING, NEAREST), FARTHEST)


@kernel
def meeting_axes(
    point: Array, root: Array, first: int, stature: Scalar, arm: Scalar, holds: bool, axes: Array, origin: Array
) -> None:
    """Write rotation and origin of a meeting point, or of the partner there, which stand still.

    Parameters
    ----------
    point : float [POINT]
    root : float32 [rows, frames]
    first : int
        Frame in which the slot begins: where nobody is met, the point lies ahead of where the path is then.
    stature, arm : float
        Of this actor, metres.
    holds : bool
        Whether the hand holds the partner.
    axes : float32 [9, frames], written
        Times what a hand's place must be stretched by, which is told in lengths of this actor's arm.
    origin : float32 [3 or more, frames], written
        Metres.
    """
    x, y, z, s, c, unit = point[X], point[Y], point[Z], point[SIN], point[COS], point[UNIT]
    if holds:
        y, unit = point[OTHER_Y], point[OTHER_UNIT]
    if unit == 0:
        f = min(first, root.shape[1] - 1)
        s, c, unit = float(root[HEADING_SIN, f]), float(root[HEADING_COS, f]), float(arm)
        ahead = ALONE_AHEAD * unit
        x, y, z = root[PATH_X, f] + ahead * s, SHOULDER * stature, root[PATH_Z, f] + ahead * c
    stretch = unit / arm
    for i in range(9):
        fill_row(axes[i], np.float32(0.0))
    fill_row(axes[0], np.float32(stretch * c))
    fill_row(axes[8], np.float32(stretch * c))
    fill_row(axes[2], np.float32(stretch * s))
    fill_row(axes[6], np.float32(-stretch * s))
    fill_row(axes[4], np.float32(stretch))
    fill_row(origin[0], np.float32(x))
    fill_row(origin[1], np.float32(y))
    fill_row(origin[2], np.float32(z))
