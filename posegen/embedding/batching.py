"""Which texts are embedded together: those of like length, as many as a budget of tokens allows.

Texts are padded to the longest of their batch, so a batch costs its longest text times how many there are. Which texts are
together is a function of their lengths and the budget alone: whoever embeds the same texts again makes the same batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUDGET", "plan_batches"]

Array = NDArray[Any]

BUDGET = 1024
"""Tokens in a batch, with padding, where nothing else is known."""


def plan_batches(lengths: Array, budget: int) -> list[Array]:
    """Put texts into batches.

    Parameters
    ----------
    lengths : int [n]
        Tokens of each text.
    budget : int
        Most tokens of a batch, with padding; a longer text is in a batch of its own.

    Returns
    -------
    list of int64 [batch]
        Positions of the texts of each batch; those of the longest texts first, so that what does not fit into memory is known
        at once, and what is last, when others have nothing left to do, is short.

    Examples
    --------
    >>> [batch.tolist() for batch in plan_batches(np.array([3, 9, 2, 8, 3]), 16)]
    [[1], [3, 0], [4, 2]]
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    batches, first = [], 0
    while first < len(order):
        longest = max(1, int(lengths[order[first]]))
        count = max(1, budget // longest)
        batches.append(order[first : first + count])
        first += count
    return batches
