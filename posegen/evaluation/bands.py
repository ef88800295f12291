"""Whether figures of generated windows lie where those of captured ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["band", "share_inside"]


def band(reference: ArrayLike) -> NDArray[Any]:
    """The 5th and 95th percentile of each statistic: float64 [2, statistic] of [n, statistic], NaN left out."""
    values = np.asarray(reference, np.float64)
    columns = [column[np.isfinite(column)] for column in values.T]
    return np.array([np.percentile(c, [5, 95]) if len(c) else [np.nan, np.nan] for c in columns]).T


def share_inside(values: ArrayLike, limits: ArrayLike) -> NDArray[Any]:
    """Share of the windows [n, statistic] inside `limits` of :func:`band`; .9 is as good as the reference itself."""
    figures, (low, high) = np.asarray(values, np.float64), np.asarray(limits)
    known = np.isfinite(figures)
    inside = (figures >= low) & (figures <= high)
    count = known.sum(0)
    return np.where(count > 0, inside.sum(0) / np.maximum(count, 1), np.nan)
