"""A keyed permutation of 0 to n - 1 that is computed for each number by itself.

A Feistel network (Luby and Rackoff, How to construct pseudorandom permutations from pseudorandom functions, 1988) permutes the
numbers of an even number of bits: it swaps halves, each time after adding a function of one half to the other, which can be
undone whatever the function is. Its rounds take theirs from the counter-based generator of :mod:`posegen.randomness`. Numbers
that come out too large go through it again (cycle walking: Black and Rogaway, Ciphers with arbitrary finite domains, 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.randomness import Stream, philox_kernel

__all__ = ["permuted"]

Array = NDArray[Any]

_ROUNDS = 8
_LARGEST = 1 << 40


def permuted(seed: int, numbers: ArrayLike, size: int, stream: Stream, which: int = 0) -> Array:
    """Permute numbers below `size`.

    Parameters
    ----------
    seed : int
        0 to 2^64 - 1.
    numbers : int64 [n]
        0 to `size` - 1.
    size : int
        1 to 2^40.
    stream : Stream
        What the permutation is for.
    which : int
        0 to 2^16 - 1: permutations of other numbers have nothing to do with one another.

    Returns
    -------
    int64 [n]
        Each of 0 to `size` - 1 once, if `numbers` has each once.

    Raises
    ------
    ValueError
        If a number is not below `size`, or `size` is out of its range.

    Examples
    --------
    >>> sorted(permuted(7, range(5), 5, Stream.QUOTA).tolist())
    [0, 1, 2, 3, 4]
    """
    values = np.array(numbers, np.int64)
    if not 1 <= size <= _LARGEST:
        msg = f"size is {size}; it must lie between 1 and 2^40"
        raise ValueError(msg)
    if values.size and not 0 <= values.min() <= values.max() < size:
        msg = f"numbers go from {values.min()} to {values.max()}; they must lie between 0 and {size - 1}"
        raise ValueError(msg)
    half = (max(size - 1, 1).bit_length() + 1) // 2
    tag = int(stream) << 16 | which
    key = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
    walking = np.arange(len(values))
    while len(walking):
        values[walking] = _network(values[walking], half, tag, key)
        walking = walking[values[walking] >= size]
    return values


def _network(values: Array, half: int, tag: int, key: Array) -> Array:
    mask = np.int64((1 << half) - 1)
    left, right = values >> half, values & mask
    counter = np.empty((len(values), 4), np.uint32)
    keys = np.broadcast_to(key, (len(values), 2)).copy()
    for number in range(_ROUNDS):
        counter[:, 0], counter[:, 1] = right, tag
        counter[:, 2], counter[:, 3] = number, half
        drawn = philox_kernel(counter, keys)[:, 0].astype(np.int64) & mask
        left, right = right, left ^ drawn
    return left << half | right
