"""The low-pass filter that motion goes through before it is differentiated, generated and captured alike.

Captured joints carry noise that two or three derivatives blow up, so speed, acceleration and jerk mean something only when
both sides went through the same filter: a Gaussian of no phase that halves the power at 5 Hz, cut at 4 frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CUT_OFF", "REACH", "low_pass"]

CUT_OFF = 5.0
"""Hertz at which half of the power is left."""
REACH = 4
"""Frames that are lost at each end."""


def low_pass(values: ArrayLike, fps: float) -> NDArray[Any]:
    """Filter a series over time.

    Parameters
    ----------
    values : float [frame, ...]
    fps : float
        Frames a second.

    Returns
    -------
    float64 [frame - 8, ...]
        The frames for which the filter needs none behind an end; none where there are too few.
    """
    series = np.asarray(values, np.float64)
    spread = np.sqrt(np.log(2)) / (2 * np.pi * CUT_OFF) * fps
    weights = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / spread) ** 2)
    weights /= weights.sum()
    count = max(len(series) - 2 * REACH, 0)
    filtered = np.zeros((count, *series.shape[1:]))
    for shift, weight in enumerate(weights):
        filtered += weight * series[shift : shift + count]
    return filtered
