"""Stances that are none, or must end early, where one gait passes into another: a touch, a foot that is left behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.contacts import FIRST, LAST, LATE, PRINT_X, PRINT_Z, roll_forward
from posegen.motion.rows import GAIT_WEIGHT, PITCH, ROOT_X, ROOT_Z

__all__ = ["ignore_touches", "release"]

Array = NDArray[Any]

FARTHEST = 0.58
"""Lengths of the leg by which a flat foot's ankle may be behind the body, over the floor: 35 degrees of a straight leg."""
FEWEST = 3
"""Frames that are left of a stance."""


@kernel
def ignore_touches(planted: Array) -> None:
    """Let a foot swing on that meets the ground for a single frame, where one way of hopping passes into another.

    `planted` is bool [frames].
    """
    for f in range(1, len(planted) - 1):
        if planted[f] and not planted[f - 1] and not planted[f + 1]:
            planted[f] = False


@kernel
def release(root: Array, leg: Array, foot: Array, length: Scalar, planted: Array, stances: Array, count: int) -> None:
    """End stances of a gait before the leg would have to be longer than it is; else the pelvis would come down to it.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    foot : float [4]
    length : float
        Of the leg, metres.
    planted : bool [frames], changed
    stances : float [stances, 8], changed
        Only where they end; their prints are planned already.
    count : int
    """
    farthest = FARTHEST * length
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        while last - first > FEWEST and last < len(planted) and root[GAIT_WEIGHT, last - 1] > 0:
            x, z = root[ROOT_X, last - 1] - stances[i, PRINT_X], root[ROOT_Z, last - 1] - stances[i, PRINT_Z]
            if np.sqrt(x * x + z * z) - roll_forward(leg[PITCH, last - 1], foot) <= farthest:
                break
            last -= 1
            planted[last] = False
            stances[i, LAST], stances[i, LATE] = last, 0.0
