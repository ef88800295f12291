"""The course of a foot before its first stance and behind its last one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import kernel

__all__ = ["leave_row"]

Array = NDArray[Any]


@kernel
def leave_row(row: Array, nominal: Array, edge: int, inward: int, longest: int) -> None:
    """Fill a row before the first stance or behind the last one, as `swing_row` does where the other one is far away.

    So what is shown does not depend on how far behind it the scratch goes on: who dives in the last second swims free of where
    he stood.

    Parameters
    ----------
    row, nominal, longest : see `swing_row` of :mod:`posegen.motion.contacts`
    edge : int
        Last planted frame, or the first one.
    inward : int
        From there to the next planted frame: -1 or 1.
    """
    keep, brief, inner = row[edge] - nominal[edge], (longest + 1) // 2, edge + inward
    rate = (keep - (row[inner] - nominal[inner])) * brief if 0 <= inner < len(row) else np.float32(0.0)
    first, last, one = 0 if inward > 0 else edge + 1, edge if inward > 0 else len(row), np.float32(1.0)
    for f in range(first, last):
        x = np.float32(min(abs(f - edge) / longest, 1.0))
        y = np.float32(min(abs(f - edge) / brief, 1.0))
        row[f] = nominal[f] + keep * ((one - x) * (one - x) * (one + np.float32(2.0) * x)) + rate * (y * (one - y) * (one - y))
