"""Which samples a model is trained with, by which it is chosen, and on which it is judged.

A sample's part is a function of the seed and its number alone: all its variants are in the same one, it stays there when a
dataset grows, and every stage that asks gets the same answer. So is a person's, for tasks that are judged on persons never
trained on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.errors import UsageError
from posegen.randomness import Stream, uniform
from posegen.wording import did_you_mean, shown

__all__ = ["SPLITS", "in_split", "persons_in_split"]

SPLITS = {"test": (0.0, 0.1), "validation": (0.1, 0.2), "training": (0.2, 1.0)}
"""From where to where a sample's draw lies."""

_SAMPLES, _PERSONS = 0, 1


def in_split(seed: int, samples: ArrayLike, split: str) -> NDArray[Any]:
    """Take those samples that are in a split.

    Parameters
    ----------
    seed : int
        That of the dataset, so that all who use it part it alike.
    samples : int64 [n]
        Their numbers.
    split : str
        ``training``, ``validation`` or ``test``: 80, 10 and 10 % of the samples, near enough.

    Returns
    -------
    int64 [m]
        In the order in which they were given.

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


def persons_in_split(seed: int, persons: ArrayLike, split: str) -> NDArray[Any]:
    """Take those persons that are in a split: by a hash of the seed and their number in the population, other than a sample's.

    Parameters
    ----------
    seed : int
        That of the dataset.
    persons : int64 [n]
        Their numbers.
    split : str
        ``training``, ``validation`` or ``test``.

    Returns
    -------
    int64 [m]
        In the order in which they were given.

    Raises
    ------
    UsageError
        If there is no split of this name.

    Examples
    --------
    >>> persons_in_split(0, range(60), "test").tolist()
    [33, 47, 50, 59]
    """
    return _in_split(seed, persons, split, _PERSONS)


def _in_split(seed: int, of: ArrayLike, split: str, substream: int) -> NDArray[Any]:
    if split not in SPLITS:
        msg = f"there is no split {shown(split)}{did_you_mean(str(split), SPLITS)}. There are: {', '.join(SPLITS)}"
        raise UsageError(msg)
    low, high = SPLITS[split]
    numbers = np.asarray(of, np.int64)
    drawn = uniform(seed, numbers, Stream.SPLIT, 1, substream=substream)[:, 0]
    return numbers[(low <= drawn) & (drawn < high)]
