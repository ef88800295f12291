"""Folds by subject, and the choice of training clips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn", "parts_of"]

Array = NDArray[Any]


def parts_of(persons: Sequence[str], families: Sequence[str], parts: int) -> Array:
    """Assign clips to folds: no subject in two folds, and each family in each fold where possible.

    Parameters
    ----------
    persons, families : sequence of str
        Who moves in each clip, and what it shows.
    parts : int

    Returns
    -------
    int64 [clip]
        Persons of many clips are put first, each into the part that has the smallest share of what they show.
    """
    who, shown = np.array(persons), np.array(families)
    names, counts = np.unique(who, return_counts=True)
    total = {family: int((shown == family).sum()) for family in np.unique(shown)}
    held = [dict.fromkeys(total, 0) for _ in range(parts)]
    found = np.zeros(len(who), np.int64)
    for position in np.argsort(-counts, kind="stable"):
        own = who == names[position]
        shares = [sum(part[family] / total[family] for family in shown[own]) for part in held]
        chosen = int(np.argmin(shares))
        for family in shown[own]:
            held[chosen][family] += 1
        found[own] = chosen
    return found


def drawn(families: Sequence[str], allowed: Array, count: int | None, seed: int) -> Array:
    """Draw `count` clips of each family among those allowed, or all if there are fewer.

    Parameters
    ----------
    families : sequence of str
    allowed : bool [clip]
    count : int or None
        None: all.
    seed : int
        With one seed, the clips of a smaller count are among those of a larger.

    Returns
    -------
    int64 [n]
        Clips in order.
    """
    shown = np.array(families)
    order = np.random.default_rng(seed).permutation(len(shown))
    order = order[allowed[order]]
    chosen = [order[shown[order] == family][:count] for family in np.unique(shown)]
    return np.sort(np.concatenate(chosen))
