"""How far numbers that are told are from true ones, and how far they must be from one who knows no more than some words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST", "best_constant", "entropy_floor", "errors_of", "smape"]

Array = NDArray[Any]

FEWEST = 3
"""Values of other clips that a number must be found by, to be told of those of whom the same is said."""
_FOLDS = 10
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
    errors = (np.abs(tried[:, None] - true) / (tried[:, None] + true)).mean(axis=1)
    return float(tried[errors.argmin()])


def entropy_floor(true: Array, words: Array, clips: Array, steps: Sequence[Sequence[int]]) -> float:
    """SMAPE of one who is told words and not the values: he tells the number that is best for others of whom the same is said.

    It is cross-validated: what is told of a tenth of the clips is found by the other nine, so that groups may be small and
    nobody is told by himself. So it is a little above the least error that there can be, and nears it with more clips.

    Parameters
    ----------
    true : float [n]
        Above 0.
    words : int [n, word]
        What is said of each.
    clips : int [n]
        Which clip each is of, counted from 0.
    steps : sequence of sequence of int
        Which words make a group, the finest first. Where others of a group have fewer than :data:`FEWEST` values, the next
        step counts, in which all are who say the same there; at the end the same is told of all.

    Returns
    -------
    float
        Per cent.
    """
    told, fold = np.full(len(true), np.nan), clips % _FOLDS
    for columns in (*steps, ()):
        _, group = np.unique(words[:, list(columns)], axis=0, return_inverse=True)
        group = np.ravel(group)
        for number, part in set(zip(group[np.isnan(told)].tolist(), fold[np.isnan(told)].tolist(), strict=True)):
            own = group == number
            others = own & (fold != part)
            if others.sum() >= (FEWEST if columns else 1):
                told[own & (fold == part) & np.isnan(told)] = best_constant(true[others])
    # A single clip has no others.
    told[np.isnan(told)] = best_constant(true)
    return smape(told, true)
