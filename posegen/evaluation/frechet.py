"""The Fréchet distance between two sets of features, each taken as a normal distribution (Heusel et al. 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["frechet_distance"]


def frechet_distance(one: ArrayLike, other: ArrayLike) -> float:
    """``|m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2))``.

    Parameters
    ----------
    one, other : float [n, feature]
        At least two rows each.
    """
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    apart = first.mean(0) - second.mean(0)
    spread, other_spread = (np.atleast_2d(np.cov(features, rowvar=False)) for features in (first, second))
    root = _root(spread)
    # tr (C1 C2)^(1/2) is that of (C1^(1/2) C2 C1^(1/2))^(1/2), which is symmetric.
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ other_spread @ root), 0)).sum()
    return float(max(apart @ apart + np.trace(spread) + np.trace(other_spread) - 2 * shared, 0.0))


def _root(matrix: NDArray[Any]) -> NDArray[Any]:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
