"""Split samples into training, validation and test sets.

The split of a sample is a function of the seed and its index only: all its variants are in the same split, and the split does
not change when a dataset is extended. The same holds for identities, for tasks that are tested on unseen identities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.errors import UsageError
from posegen.randomness import Stream, uniform
from posegen.wording import did_you_mean, shown

SPLITS = {"test": (0.0, 0.1), "validation": (0.1, 0.2), "training": (0.2, 1.0)}
"""Interval of the random number of a sample in each split."""

_SAMPLES, _IDENTITIES = 0, 1


def in_split(seed: int, samples: ArrayLike, split: str) -> NDArray[Any]:
    """Return the samples in a split.

    Parameters
    ----------
    seed : int
        Seed of the dataset.
    samples : int64 [n]
        Indices of samples.
    split : str
        ``training``, ``validation`` or ``test``: about 80, 10 and 10 % of the samples.

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
    """
    return _in_split(seed, samples, split, _SAMPLES)


def identities_in_split(seed: int, identities: ArrayLike, split: str) -> NDArray[Any]:
    """Return the identities in a split; independent of the split of samples.

    Parameters
    ----------
    seed : int
        Seed of the dataset.
    identities : int64 [n]
        Numbers of identities in the population.
    split : str
        ``training``, ``validation`` or ``test``.

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
    >>> identities_in_split(0, range(60), "test").tolist()
    [33, 47, 50, 59]
    """
    return _in_split(seed, identities, split, _IDENTITIES)


def _in_split(seed: int, indices: ArrayLike, split: str, substream: int) -> NDArray[Any]:
    if split not in SPLITS:
        msg = f"there is no split {shown(split)}{did_you_mean(str(split), SPLITS)}. There are: {', '.join(SPLITS)}"
        raise UsageError(msg)
    low, high = SPLITS[split]
    numbers = np.asarray(indices, np.int64)
    drawn = uniform(seed, numbers, Stream.SPLIT, 1, substream=substream)[:, 0]
    return numbers[(low <= drawn) & (drawn < high)]
