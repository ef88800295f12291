"""How far up the right answers stand when all answers of a pool are put in order: recall at k, and the median rank.

The rules, since published figures differ by them:

- A pool is so many motions, each of another sample, and one caption of each: the search is among as many answers as the pool
  has. A motion's other captions take their turn in other pools.
- Right is what is told by the very same words: where two motions of a pool have equal captions, nobody could say which of
  the two is meant, so either counts. How it comes out if only the motion's own caption counts is told beside it, as ``strict``.
- A wrong answer that scores as high as a right one stands before it. So a model that scores all alike finds nothing, rather
  than everything.
- Ranks count from 1, of the best right answer; over all questions of all pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.randomness import Stream, permuted

__all__ = ["RECALLS", "Ranking", "chance_of", "pools", "rank_pairs", "ranking_of", "ranks_of"]

Array = NDArray[Any]

RECALLS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Ranking:
    """How questions of one kind came out.

    Attributes
    ----------
    recall : dict of int to float
        By k: share of the questions with a right answer among the first k.
    median : float
        Rank of the best right answer.
    chance : dict of int to float
        The recall that answers in a random order would have.
    pool : int
        Answers to choose from.
    questions : int
    """

    recall: dict[int, float]
    median: float
    chance: dict[int, float]
    pool: int
    questions: int


def ranks_of(scores: ArrayLike, right: ArrayLike) -> Array:
    """Rank the best right answer of each question.

    Parameters
    ----------
    scores : float [question, answer]
        Higher is better.
    right : bool [question, answer]
        At least one for each question.

    Returns
    -------
    int64 [question]
        1 and up: one more than the wrong answers that score at least as high.

    Raises
    ------
    ValueError
        If a question has no right answer, or a score is NaN.

    Examples
    --------
    >>> ranks_of([[0.9, 0.5, 0.1], [0.5, 0.5, 0.5]], np.eye(3, dtype=bool)[:2]).tolist()
    [1, 3]
    """
    values, good = np.asarray(scores), np.asarray(right, bool)
    if np.isnan(values).any():
        msg = "scores hold NaN: what they come from has diverged"
        raise ValueError(msg)
    if not good.any(axis=1).all():
        msg = "there is a question without a right answer"
        raise ValueError(msg)
    best = np.where(good, values, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(1 + ((values >= best) & ~good).sum(axis=1), np.int64)


def chance_of(right: ArrayLike, answers: int, k: int) -> Array:
    """Tell how likely one of the first `k` is right when answers stand in a random order.

    Parameters
    ----------
    right : int [question]
        How many of its answers are right.
    answers, k : int

    Returns
    -------
    float64 [question]

    Examples
    --------
    >>> chance_of([1, 2, 4], 4, 2).round(3).tolist()
    [0.5, 0.833, 1.0]
    """
    return np.array([1 - _none_right(int(count), answers, k) for count in np.asarray(right)])


def _none_right(right: int, answers: int, k: int) -> float:
    if right + k > answers:
        return 0.0
    # C(answers - right, k) / C(answers, k), by logarithms of factorials since they are large.
    wrong = answers - right
    return float(np.exp(lgamma(wrong + 1) - lgamma(wrong - k + 1) - lgamma(answers + 1) + lgamma(answers - k + 1)))


def ranking_of(ranks: ArrayLike, right: ArrayLike, pool: int, recalls: Sequence[int] = RECALLS) -> Ranking:
    """Sum up ranks.

    Parameters
    ----------
    ranks, right : int [question]
        Rank of the best right answer, and how many right ones there are.
    pool : int
        How many answers there are.
    recalls : sequence of int
        The k of recall; those above the pool are left out.

    Returns
    -------
    Ranking
    """
    found, count = np.asarray(ranks), np.asarray(right)
    chosen = [k for k in recalls if k <= pool]
    recall = {k: float((found <= k).mean()) for k in chosen}
    chance = {k: float(chance_of(count, pool, k).mean()) for k in chosen}
    return Ranking(recall, float(np.median(found)), chance, pool, len(found))


def pools(seed: int, count: int, size: int, time: int = 0) -> list[Array]:
    """Draw pools: all numbers below `count` in a random order, cut into pools of `size`.

    What does not fill a pool at the end is left out, so all pools are equally hard. Of fewer than `size` there is one pool with
    all of them.

    Parameters
    ----------
    seed, count, size : int
    time : int
        Another time, another order.

    Returns
    -------
    list of int64 [size]
    """
    size = min(size, count)
    if not size:
        return []
    order = permuted(seed, np.arange(count), count, Stream.SPLIT, which=1 + time)
    return [order[start : start + size] for start in range(0, count - size + 1, size)]


def rank_pairs(
    motion: ArrayLike, text: ArrayLike, words: ArrayLike, *, pool: int, seed: int = 0, times: int = 1
) -> dict[str, Ranking]:
    """Rank motions by texts and texts by motions, in pools.

    Parameters
    ----------
    motion : float [sample, feature]
        Of unit length; one motion of each sample.
    text : float [sample, caption, feature]
        Of unit length: each motion's captions.
    words : int [sample, caption]
        The same number for the same words; -1, behind the others, where a motion has fewer captions, but each has one.
    pool : int
        How many motions are in a pool.
    seed : int
        Of the draw of pools.
    times : int
        How often each motion is in a pool, each time with another of its captions.

    Returns
    -------
    dict of str to Ranking
        ``motion_to_text`` and ``text_to_motion``, and the same with ``_strict`` behind it, where equal words do not count.
    """
    motions, texts, numbers = np.asarray(motion), np.asarray(text), np.asarray(words)
    found: dict[str, list[Array]] = {}
    rights: dict[str, list[Array]] = {}
    size, captions = min(pool, len(motions)), (numbers >= 0).sum(axis=1)
    drawn = [(time, chosen) for time in range(times) for chosen in pools(seed, len(motions), pool, time)]
    for turn, chosen in drawn:
        told = (chosen + turn) % captions[chosen]
        scores = motions[chosen] @ texts[chosen, told].T
        same = numbers[chosen, told][:, None] == numbers[chosen, told]
        for suffix, right in (("", same), ("_strict", np.eye(size, dtype=bool))):
            for name, asked in (("motion_to_text", scores), ("text_to_motion", scores.T)):
                found.setdefault(name + suffix, []).append(ranks_of(asked, right))
                rights.setdefault(name + suffix, []).append(right.sum(axis=1))
    return {name: ranking_of(np.concatenate(ranks), np.concatenate(rights[name]), size) for name, ranks in found.items()}
