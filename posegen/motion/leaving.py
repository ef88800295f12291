"""The course of a foot before its first stance and behind its last one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.rows import between

__all__ = ["RATE_LANDS", "RATE_LIFTS", "RATE_OF_PASSING", "leave_row"]

Array = NDArray[Any]

RATE_OF_PASSING = 0.125
"""Share of the time that a foot takes to pass to its free course, over which its rate before that is taken."""
RATE_LIFTS, RATE_LANDS = 0.25, 0.4
"""Shares of it in which the rate that a foot has at the lift passes off, and in which that at the landing comes about."""


@kernel
def leave_row(row: Array, nominal: Array, edge: int, inward: int, beyond: Scalar, leaving: Scalar, longest: Scalar) -> None:
    """Fill a row before the first stance or behind the last one, as `swing_row` does where the other one is far away.

    So what is shown does not depend on how far behind it the scratch goes on: who dives in the last second swims free of where
    he stood.

    Parameters
    ----------
    row, nominal, leaving, longest : see `swing_row` of :mod:`posegen.motion.swings`
    edge : int
        Last planted frame, or the first one.
    inward : int
        From there to the next planted frame: -1 or 1.
    beyond : float
        Frames by which the stance lasts longer than to `edge`.
    """
    first, last, one = 0 if inward > 0 else edge + 1, edge if inward > 0 else len(row), np.float32(1.0)
    over, brief = max(int(RATE_OF_PASSING * longest + 0.5), 1), max((RATE_LANDS if inward > 0 else RATE_LIFTS) * leaving, 1.0)
    inner, outer, change = edge + inward * over, edge - inward * over, np.float32(0.0)
    if 0 <= inner < len(row) and 0 <= outer < len(row):
        change = (row[edge] - row[inner] - nominal[outer] + nominal[edge]) / over
    keep, rate = np.float32(row[edge] - nominal[edge] + change * beyond), np.float32(change * brief)
    for f in between(first, last):
        since = max(abs(np.int64(f) - edge) - beyond, 0.0)
        x, y = np.float32(min(since / leaving, 1.0)), np.float32(min(since / brief, 1.0))
        row[f] = nominal[f] + keep * ((one - x) * (one - x) * (one + np.float32(2.0) * x)) + rate * (y * (one - y) * (one - y))
