"""Counting what is distinct in memory that does not grow with it.

Of the 64-bit hashes of all that comes, the smallest are kept. As long as there are no more distinct ones than are kept, the
count is exact; beyond that it follows from how densely the kept ones lie (Bar-Yossef et al., Counting distinct elements in a
data stream, RANDOM 2002), to within about one in the square root of their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

__all__ = ["MOST_KEPT", "Distinct"]

Array = NDArray[Any]

MOST_KEPT = 1 << 20
_WAITING = 1 << 16
_HASHES = 2.0**64


class Distinct:
    """How many distinct texts there were.

    Parameters
    ----------
    most : int
        Up to so many are counted exactly; more are estimated.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: Array = np.zeros(0, np.uint64)
        self._waiting: list[int] = []

    def add(self, texts: Iterable[str]) -> None:
        """Take some texts down."""
        self._waiting += [xxhash.xxh3_64_intdigest(text.encode()) for text in texts]
        if len(self._waiting) >= _WAITING:
            self._settle()

    @property
    def count(self) -> int:
        """How many there were, exactly or about; see :attr:`exact`."""
        self._settle()
        if len(self._kept) < self._most:
            return len(self._kept)
        return round((self._most - 1) / (float(self._kept[-1]) / _HASHES))

    @property
    def exact(self) -> bool:
        """Whether the count is exact."""
        self._settle()
        return len(self._kept) < self._most

    def _settle(self) -> None:
        if self._waiting:
            self._kept = np.unique(np.concatenate([self._kept, np.array(self._waiting, np.uint64)]))[: self._most]
            self._waiting = []
