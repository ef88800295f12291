"""Split samples into training, validation and test sets.

The split of a sample is a function of the seed and its index only: all its variants are in the same split, and the split does
not change when a dataset is extended. The same holds for identities, for tasks that are tested on unseen identities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.errors import UsageError
from posegen.wording import did_you_mean, shown

SPLITS = {"test": (0.0, 0.1), "validation": (0.1, 0.2), "training": (0.2, 1.0)}
"""Interval of the random number of a sample in each split."""

_SAMPLES, _IDENTITIES = 0, 1


def in_split(seed: int, indices: ArrayLike, split: str, *, identities: bool = False) -> NDArray[Any]:
    """Return the samples, or the identities, in a split.

    Parameters
    ----------
    seed : int
        Seed of the dataset.
    indices : int64 [n]
        Indices of samples, or numbers of identities in the population.
    split : str
        ``training``, ``validation`` or ``test``: about 80, 10 and 10 % of them.
    identities : bool
        Split identities instead of samples, independently of the split of samples.

    Returns
    -------
    int64 [m]
        In the order of the argument.

    Raises
    ------
    UsageError
        If there is no split of this name.

    Examples
    --------
    >>> in_split(0, range(25), "test").tolist()
    [1, 7, 13, 18, 21, 23]
    >>> in_split(0, range(60), "test", identities=True).tolist()
    [33, 47, 50, 59]
    """
    from posegen.randomness import Stream, uniform  # with numba, which reading does not need

    if split not in SPLITS:
        raise UsageError(f"there is no split {shown(split)}{did_you_mean(str(split), SPLITS)}. There are: {', '.join(SPLITS)}")
    low, high = SPLITS[split]
    numbers = np.asarray(indices, np.int64)
    drawn = uniform(seed, numbers, Stream.SPLIT, 1, substream=_IDENTITIES if identities else _SAMPLES)[:, 0]
    return numbers[(low <= drawn) & (drawn < high)]
