"""How different the clips of a set are from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["diversity"]


def diversity(features: ArrayLike) -> float:
    """Mean distance between all pairs of clips.

    Parameters
    ----------
    features : float [n, feature]
        At least two clips; scaled so that the features count alike.
    """
    values = np.asarray(features, np.float64)
    squares = (values * values).sum(-1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * values @ values.T, 0))
    np.fill_diagonal(distance, 0)
    return float(distance.sum() / (len(values) * (len(values) - 1)))
