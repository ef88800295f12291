"""NumPy arrays: their type in annotations, where docstrings state shapes and element types, and groups of equal numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any shape and type."""


def grouped(keys: Array) -> Iterator[tuple[int, Array]]:
    """Yield the distinct numbers of an array in order, each with its positions, int64 [n].

    Examples
    --------
    >>> [(key, positions.tolist()) for key, positions in grouped(np.array([3, 1, 3]))]
    [(1, [1]), (3, [0, 2])]
    """
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    return zip(found.tolist(), np.split(order, first[1:]), strict=False)  # nothing has one part
