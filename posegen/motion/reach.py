"""The pelvis comes down as far as planted feet would otherwise be out of reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.rows import ANKLE_X, ANKLE_Y, ANKLE_Z, HIP_X, HIP_Y, HIP_Z

__all__ = ["add_lack", "smooth_cover"]

Array = NDArray[Any]


@kernel
def add_lack(leg: Array, planted: Array, reach: Scalar, lack: Array) -> None:
    """Raise `lack` to how far the hip is too high for a planted ankle to be within `reach` of it; metres."""
    for f in range(len(lack)):
        if planted[f]:
            dx, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
            high = np.float32(reach * reach) - dx * dx - dz * dz
            high = np.sqrt(max(high, np.float32(0.0)))
            lack[f] = max(lack[f], leg[HIP_Y, f] - leg[ANKLE_Y, f] - high)


@kernel
def smooth_cover(lack: Array, radius: int, work: Array) -> None:
    """Replace a row by a smooth one that is nowhere below it: the mean over a window of the maximum over that window."""
    frames = len(lack)
    for f in range(frames):
        most = lack[f]
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            most = max(most, lack[g])
        work[f] = most
    for f in range(frames):
        total, weights = np.float32(0.0), np.float32(0.0)
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            weight = np.float32(radius + 1 - abs(g - f))
            total += weight * work[g]
            weights += weight
        lack[f] = total / weights
