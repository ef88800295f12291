"""The nearest-neighbour two-sample test (Lopez-Paz and Oquab 2017): whether a clip's source shows in its neighbour."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["nearest_neighbour_accuracy"]


def nearest_neighbour_accuracy(one: ArrayLike, other: ArrayLike) -> float:
    """Share of all features whose nearest neighbour, themselves left out, is from their own set.

    Parameters
    ----------
    one, other : float [n, feature]
        Of the same length, or the larger set has the better chance.

    Returns
    -------
    float
        .5 if they cannot be told apart, 1 if they always can; below .5 if one copies the other.
    """
    features = np.concatenate([np.asarray(one, np.float64), np.asarray(other, np.float64)])
    squares = (features * features).sum(-1)
    distance = squares[:, None] + squares - 2 * features @ features.T
    np.fill_diagonal(distance, np.inf)
    source = np.arange(len(features)) < len(np.asarray(one))
    return float((source[distance.argmin(-1)] == source).mean())
