"""Feet that are on the ground together do not come too close when somebody steps sideways."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.contacts import FIRST, LAST, PRINT_X, PRINT_YAW, PRINT_Z, rest_frame
from posegen.motion.rows import ASIDE_SPEED
from posegen.motion.trigonometry import cos_turns, sin_turns

__all__ = ["keep_apart"]

Array = NDArray[Any]


@kernel
def keep_apart(root: Array, stances: Array, counts: Array, least: Scalar) -> None:
    """Move prints of sideways steps outwards until the left one lies `least` metres to the left of the right one.

    Where side steps end, the foot that closes up for good is set down where standing wants it, beside a foot that still has to
    step out; that one's print moves.

    Parameters
    ----------
    root : float32 [rows, frames]
    stances : float [2, stances, 6], changed
    counts : int [2]
        How many stances each foot has.
    least : float
    """
    for i in range(counts[0]):
        for j in range(counts[1]):
            left, right = stances[0, i], stances[1, j]
            begin, end = max(left[FIRST], right[FIRST]), min(left[LAST], right[LAST])
            if begin >= end or root[ASIDE_SPEED, int(begin)] == 0:
                continue
            yaw = 0.5 * (left[PRINT_YAW] + right[PRINT_YAW])
            s, c = sin_turns(yaw), cos_turns(yaw)
            lack = least - ((left[PRINT_X] - right[PRINT_X]) * c - (left[PRINT_Z] - right[PRINT_Z]) * s)
            if lack <= 0:
                continue
            left_rests = rest_frame(root, int(left[FIRST]), int(left[LAST])) >= 0
            right_rests = rest_frame(root, int(right[FIRST]), int(right[LAST])) >= 0
            share = 0.5
            if left_rests != right_rests:
                share = 1.0 if right_rests else 0.0
            left[PRINT_X] += share * lack * c
            left[PRINT_Z] -= share * lack * s
            right[PRINT_X] -= (1.0 - share) * lack * c
            right[PRINT_Z] += (1.0 - share) * lack * s
