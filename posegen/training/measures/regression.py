"""Measures of regression: errors of predicted values, and the least error that can be reached from words alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posegen.arrays import Array

FEWEST = 3
"""Least number of values of other clips from which the constant of a group is estimated."""
_FOLDS = 10
_CANDIDATES = 257


def smape(predicted: Array | float, true: Array) -> float:
    """Return the symmetric mean absolute percentage error: |predicted - true| over the mean of both, in per cent; 0 to 200.

    Parameters
    ----------
    predicted, true : float [n]
        Greater than 0.

    Examples
    --------
    >>> smape(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    50.0
    """
    return float(200 * (np.abs(predicted - true) / (predicted + true)).mean())


def errors_of(predicted: Array, true: Array) -> dict[str, float]:
    """Return ``smape`` in per cent, ``mae`` in the unit of the values, and ``r2``, the share of explained variance."""
    total = float(((true - true.mean()) ** 2).sum())
    residual = float(((predicted - true) ** 2).sum())
    r2 = 1 - residual / total if total > 0 else 0.0
    return {"smape": smape(predicted, true), "mae": float(np.abs(predicted - true).mean()), "r2": r2}


def best_constant(true: Array) -> float:
    """Return the constant prediction with the least SMAPE, among 257 quantiles of the values.

    Parameters
    ----------
    true : float [n]
        Greater than 0.
    """
    candidates = np.quantile(true, np.linspace(0, 1, min(_CANDIDATES, 2 * len(true) - 1)))
    errors = (np.abs(candidates[:, None] - true) / (candidates[:, None] + true)).mean(axis=1)
    return float(candidates[errors.argmin()])


def entropy_floor(true: Array, words: Array, clips: Array, steps: Sequence[Sequence[int]]) -> float:
    """Return the SMAPE of predicting each value from words alone: by the best constant of the clips with the same words.

    The constant of a tenth of the clips is estimated from the other nine tenths (cross-validation). The result is therefore
    slightly above the least possible error, and approaches it with more clips.

    Parameters
    ----------
    true : float [n]
        Greater than 0.
    words : int [n, word]
        Numbers of the words that describe each value.
    clips : int [n]
        Number of the clip that each value belongs to, from 0.
    steps : sequence of sequence of int
        Columns of `words` that define a group, the finest first. The next step is used for a group with fewer than
        :data:`FEWEST` values in other folds; the last resort is the constant of all clips.

    Returns
    -------
    float
        Per cent.
    """
    predicted, fold = np.full(len(true), np.nan), clips % _FOLDS
    for columns in (*steps, ()):
        _, group = np.unique(words[:, list(columns)], axis=0, return_inverse=True)
        group = np.ravel(group)
        for number, part in set(zip(group[np.isnan(predicted)].tolist(), fold[np.isnan(predicted)].tolist(), strict=True)):
            own = group == number
            others = own & (fold != part)
            if others.sum() >= (FEWEST if columns else 1):
                predicted[own & (fold == part) & np.isnan(predicted)] = best_constant(true[others])
    # A single clip has no others.
    predicted[np.isnan(predicted)] = best_constant(true)
    return smape(predicted, true)
