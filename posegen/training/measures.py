"""Measures of trained models: retrieval, classification and regression.

Those of decisions about pairs are in :mod:`posegen.training.verification`.

The rules of retrieval, since published figures differ by them:

- A pool holds motions of different samples and one caption of each. A motion's other captions are used in other pools.
- Every caption with the same words is correct, since equal captions cannot be distinguished. Measures for which only the
  motion's own caption is correct have the suffix ``strict``.
- A wrong answer with the same score as a correct one ranks before it. So a model that gives equal scores finds nothing.
- Ranks start at 1. The measures are over all queries of all pools.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, permuted

RECALLS = (1, 2, 3, 5, 10)
_CANDIDATES = 257


@dataclass(frozen=True)
class Ranking:
    """Measures of retrieval in one direction.

    Attributes
    ----------
    recall : dict of int to float
        By k: share of the queries with a correct answer among the first k.
    median : float
        Median rank of the best correct answer.
    chance : dict of int to float
        Expected recall of a random order.
    pool : int
        Answers per query.
    questions : int
        Number of queries.
    """

    recall: dict[int, float]
    median: float
    chance: dict[int, float]
    pool: int
    questions: int


def ranks_of(scores: ArrayLike, right: ArrayLike) -> Array:
    """Return the rank of the best correct answer of each query.

    Parameters
    ----------
    scores : float [query, answer]
        Higher is better.
    right : bool [query, answer]
        Correct answers, at least one per query.

    Returns
    -------
    int64 [query]
        One more than the number of wrong answers that score at least as high.

    Raises
    ------
    ValueError
        If a query has no correct answer, or a score is NaN.

    Examples
    --------
    >>> ranks_of([[0.9, 0.5, 0.1], [0.5, 0.5, 0.5]], np.eye(3, dtype=bool)[:2]).tolist()
    [1, 3]
    """
    values, good = np.asarray(scores), np.asarray(right, bool)
    if np.isnan(values).any():
        raise ValueError("scores contain NaN: the model has diverged")
    if not good.any(axis=1).all():
        raise ValueError("a query has no correct answer")
    best = np.where(good, values, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(1 + ((values >= best) & ~good).sum(axis=1), np.int64)


def chance_of(right: ArrayLike, answers: int, k: int) -> Array:
    """Return the probability of a correct answer among the first `k` in a random order.

    Parameters
    ----------
    right : int [query]
        Number of correct answers.
    answers, k : int

    Returns
    -------
    float64 [query]

    Examples
    --------
    >>> chance_of([1, 2, 4], 4, 2).round(3).tolist()
    [0.5, 0.833, 1.0]
    """
    return np.array([1 - comb(answers - count, k) / comb(answers, k) for count in np.asarray(right).tolist()])


def ranking_of(ranks: ArrayLike, right: ArrayLike, pool: int) -> Ranking:
    """Compute the measures of ranks.

    Parameters
    ----------
    ranks, right : int [query]
        Rank of the best correct answer, and number of correct answers.
    pool : int
        Number of answers.

    Returns
    -------
    Ranking
    """
    values, count = np.asarray(ranks), np.asarray(right)
    chosen = [k for k in RECALLS if k <= pool]
    recall = {k: float((values <= k).mean()) for k in chosen}
    chance = {k: float(chance_of(count, pool, k).mean()) for k in chosen}
    return Ranking(recall, float(np.median(values)), chance, pool, len(values))


def pools(count: int, size: int, time: int = 0) -> list[Array]:
    """Cut a random order of the numbers below `count` into pools of `size`.

    An incomplete pool at the end is omitted, so that all pools are equally hard. If `count` is less than `size`, there is one
    pool with all numbers.

    Parameters
    ----------
    count, size : int
    time : int
        Number of the repetition; each has another order.

    Returns
    -------
    list of int64 [size]
    """
    size = min(size, count)
    if not size:
        return []
    order = permuted(0, np.arange(count), count, Stream.SPLIT, which=1 + time)
    return [order[start : start + size] for start in range(0, count - size + 1, size)]


def rank_pairs(motion: ArrayLike, text: ArrayLike, words: ArrayLike, *, pool: int, times: int = 1) -> dict[str, Ranking]:
    """Rank captions for motions and motions for captions, in pools.

    Parameters
    ----------
    motion : float [sample, feature]
        Unit vectors, one motion per sample.
    text : float [sample, caption, feature]
        Unit vectors of each motion's captions.
    words : int [sample, caption]
        Equal numbers for equal captions; -1, after the others, where a motion has fewer captions. Each motion has at least one.
    pool : int
        Motions per pool.
    times : int
        Number of pools that each motion is in, each time with another of its captions.

    Returns
    -------
    dict of str to Ranking
        ``motion_to_text`` and ``text_to_motion``; with the suffix ``_strict`` if only the motion's own caption is correct.
    """
    motions, texts, numbers = np.asarray(motion), np.asarray(text), np.asarray(words)
    ranks: dict[str, list[Array]] = {}
    rights: dict[str, list[Array]] = {}
    size, captions = min(pool, len(motions)), (numbers >= 0).sum(axis=1)
    drawn = [(time, chosen) for time in range(times) for chosen in pools(len(motions), pool, time)]
    for turn, chosen in drawn:
        caption = (chosen + turn) % captions[chosen]
        scores = motions[chosen] @ texts[chosen, caption].T
        same = numbers[chosen, caption][:, None] == numbers[chosen, caption]
        for suffix, right in (("", same), ("_strict", np.eye(size, dtype=bool))):
            for name, queries in (("motion_to_text", scores), ("text_to_motion", scores.T)):
                ranks.setdefault(name + suffix, []).append(ranks_of(queries, right))
                rights.setdefault(name + suffix, []).append(right.sum(axis=1))
    return {name: ranking_of(np.concatenate(each), np.concatenate(rights[name]), size) for name, each in ranks.items()}


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


def mean_error(predicted: Array, true: Array) -> dict[str, float]:
    """Return ``mae`` in the unit of the values, and ``r2``, the share of explained variance; NaN if all values are equal.

    >>> mean_error(np.array([1.0]), np.array([2.0]))
    {'mae': 1.0, 'r2': nan}
    """
    total = float(((true - true.mean()) ** 2).sum())
    residual = float(((predicted - true) ** 2).sum())
    r2 = 1 - residual / total if total > 0 else math.nan
    return {"mae": float(np.abs(predicted - true).mean()), "r2": r2}


def macro_f1(confusion: Array) -> float:
    """Return the mean F1 of the classes that occur, from counts [true class, predicted class].

    >>> macro_f1(np.array([[1, 1], [0, 2]])).__round__(3)
    0.733
    """
    hits, true, predicted = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    occurs = true > 0
    return float((2 * hits[occurs] / (true + predicted)[occurs]).mean()) if occurs.any() else 0.0


def balanced_accuracy(confusion: Array) -> float:
    """Return the mean accuracy of the classes that occur, from counts [true class, predicted class].

    >>> balanced_accuracy(np.array([[1, 1], [0, 2]]))
    0.75
    """
    true = confusion.sum(axis=1)
    occurs = true > 0
    return float((np.diag(confusion)[occurs] / true[occurs]).mean()) if occurs.any() else 0.0


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
