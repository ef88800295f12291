"""How far numbers that are told are from true ones, and how far they must be from one who knows no more than some words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST", "best_constant", "entropy_floor", "errors_of", "smape"]

Array = NDArray[Any]

FEWEST = 20
"""Values that a group must have: of fewer, the best constant tells of chance."""
_TRIED = 257


def smape(found: Array | float, true: Array) -> float:
    """Symmetric mean absolute percentage error: |found - true| over the mean of both, in per cent; 0 to 200.

    Parameters
    ----------
    found, true : float [n]
        Above 0.

    Examples
    --------
    >>> smape(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    50.0
    """
    return float(200 * (np.abs(found - true) / (found + true)).mean())


def errors_of(found: Array, true: Array) -> dict[str, float]:
    """Compute ``smape`` in per cent, ``mae`` in the unit of the values, and ``r2``: the share of their variance told."""
    spread = float(((true - true.mean()) ** 2).sum())
    left = float(((found - true) ** 2).sum())
    r2 = 1 - left / spread if spread > 0 else 0.0
    return {"smape": smape(found, true), "mae": float(np.abs(found - true).mean()), "r2": r2}


def best_constant(true: Array) -> float:
    """Find the number that has the least SMAPE where it is told of all: among 257 quantiles of the values.

    Parameters
    ----------
    true : float [n]
        Above 0.
    """
    tried = np.quantile(true, np.linspace(0, 1, min(_TRIED, 2 * len(true) - 1)))
    return float(min(tried, key=lambda value: smape(float(value), true)))


def entropy_floor(true: Array, words: Array, steps: Sequence[Sequence[int]]) -> float:
    """Least SMAPE of one who is told words and not the values: that of the best constant for those of whom the same is said.

    Parameters
    ----------
    true : float [n]
        Above 0.
    words : int [n, word]
        What is said of each.
    steps : sequence of sequence of int
        Which words make a group. Those of groups of fewer than :data:`FEWEST` are put together by the words of the next step;
        what is left at the end is one group.

    Returns
    -------
    float
        Per cent.
    """
    total, left = 0.0, np.arange(len(true))
    for columns in (*steps, ()):
        _, group = np.unique(words[left][:, list(columns)], axis=0, return_inverse=True)
        group = np.ravel(group)
        large = np.bincount(group, minlength=1) >= (FEWEST if columns else 0)
        for number in np.flatnonzero(large):
            own = true[left[group == number]]
            total += len(own) * smape(best_constant(own), own) if len(own) else 0.0
        left = left[~large[group]]
    return total / len(true)
