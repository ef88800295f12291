"""Choosing pairs among neighbours: which are near-duplicates, which are hard negatives, and which are neither."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.embedding.pairs_claims import Claims
from posegen.embedding.pairs_labels import KINDS

__all__ = ["Caps", "Pairs", "choose"]

Array = NDArray[Any]


class Pairs(NamedTuple):
    """Pairs of texts, in the order of `row`; the near-duplicates of a text first, then its negatives, nearest first.

    Attributes
    ----------
    row, other : int64 [n]
    similarity : float32 [n]
    negative : bool [n]
        Whether `other` is a hard negative; it is a near-duplicate if not.
    reason : int64 [n]
        By what kind of claim a negative is false; ``len(KINDS)`` for near-duplicates.
    """

    row: Array
    other: Array
    similarity: Array
    negative: Array
    reason: Array


class Caps(NamedTuple):
    """The cosine that near-duplicates have at least, and how many pairs of each kind a text has at most."""

    similarity: float
    duplicates: int
    negatives: int


def choose(rows: Array, others: Array, similarities: Array, claims: Claims, caps: Caps) -> Pairs:
    """Choose pairs among the neighbours of some texts.

    Parameters
    ----------
    rows : int64 [n]
        The texts.
    others : int64 [n, neighbours]
        Nearest first; -1 for none.
    similarities : float32 [n, neighbours]
    claims : Claims
    caps : Caps

    Returns
    -------
    Pairs
    """
    there, safe = others >= 0, np.maximum(others, 0)
    wrong = claims.false(rows, safe)
    false = there & (wrong < len(KINDS))
    alike = there & ~false & (similarities >= caps.similarity) & claims.true(rows, safe)
    found = [_first(alike, caps.duplicates), _first(false, caps.negatives)]
    text = np.concatenate([where[0] for where in found])
    place = np.concatenate([where[1] for where in found])
    negative = np.repeat([False, True], [len(where[0]) for where in found])
    order = np.lexsort((place, negative, text))
    text, place, negative = text[order], place[order], negative[order]
    reason = np.where(negative, wrong[text, place], len(KINDS)).astype(np.int64)
    return Pairs(rows[text], others[text, place], similarities[text, place], negative, reason)


def _first(chosen: Array, most: int) -> tuple[Array, Array]:
    """Find the first chosen places of each row."""
    where = np.nonzero(chosen & (np.cumsum(chosen, axis=1) <= most))
    return where[0], where[1]
