"""Split samples into training, validation and test sets.

The split of a sample is a function of the seed and its index only: all its variants are in the same split, and the split does
not change when a dataset is extended. The same holds for identities, for tasks that are tested on unseen identities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.foundations.errors import require_known

SPLITS = {"test": (0.0, 0.1), "validation": (0.1, 0.2), "training": (0.2, 1.0)}
"""Interval of the random number of a sample in each split."""

_SHORT_NAMES = {"train": "training", "val": "validation"}
FEWEST_EVALUATED = 10
"""Least number of a user's samples in the validation and in the test split, where there are as many."""
_SAMPLES, _IDENTITIES = 0, 1
_SHARE_OF_FEW = 0.2


def split_name(name: str) -> str:
    """Return the name of a split, also for its short name ``train`` or ``val``; UsageError if there is no such split."""
    name = _SHORT_NAMES.get(name, name)
    require_known("there is no split", name, SPLITS)
    return name


def in_split(seed: int, indices: ArrayLike, split: str, *, identities: bool = False) -> NDArray[Any]:
    """Return the samples, or the identities, in a split.

    Parameters
    ----------
    seed : int
        Seed of the dataset.
    indices : int64 [n]
        Indices of samples, or numbers of identities in the population.
    split : str
        ``training``, ``validation`` or ``test``: about 80, 10 and 10 % of them. ``train`` and ``val`` are accepted, too.
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
    from posegen.foundations.randomness import Stream, uniform  # with numba, which reading does not need

    low, high = SPLITS[split_name(split)]
    numbers = np.asarray(indices, np.int64)
    drawn = uniform(seed, numbers, Stream.SPLIT, 1, substream=_IDENTITIES if identities else _SAMPLES)[:, 0]
    return numbers[(low <= drawn) & (drawn < high)]


def is_in_split(seed: int, samples: int, split: str) -> NDArray[Any]:
    """Return whether each of the first `samples` samples is in a split, as :func:`in_split` does: bool [samples]."""
    return np.isin(np.arange(samples), in_split(seed, np.arange(samples), split), assume_unique=True)


def split_groups(groups: NDArray[Any], seed: int, categories: NDArray[Any] | None = None) -> dict[str, NDArray[Any]]:
    """Divide a user's own data into splits; equal groups share a split.

    Parameters
    ----------
    groups : int64 [sample]
        Group of each sample, from 0.
    seed : int
    categories : str [sample], optional
        Category of each sample. Each split gets a group of every category that occurs in three groups or more.

    Returns
    -------
    dict of str to int64 [n]
        Samples of each split: those that :func:`in_split` assigns to it. If validation or test then has
        fewer than ten samples, each gets groups with at least a fifth of the samples instead, or a third of few groups.

    Examples
    --------
    >>> {split: len(samples) for split, samples in split_groups(np.arange(30), 0).items()}
    {'test': 6, 'validation': 6, 'training': 18}
    """
    splits = _split_groups(groups, seed)
    return splits if categories is None else _spread_categories(splits, groups, categories, seed)


def _split_groups(groups: NDArray[Any], seed: int) -> dict[str, NDArray[Any]]:
    from posegen.foundations.randomness import Stream, uniform

    numbers = np.unique(groups)
    splits = {split: np.flatnonzero(np.isin(groups, in_split(seed, numbers, split))) for split in SPLITS}
    if min(len(splits[split]) for split in ("validation", "test")) >= FEWEST_EVALUATED:
        return splits
    drawn = uniform(seed, numbers, Stream.SPLIT, 1)[:, 0]
    order = numbers[np.argsort(drawn, kind="stable")]
    sizes = np.cumsum([(groups == number).sum() for number in order])
    share, third = _SHARE_OF_FEW * len(groups), max(1, len(order) // 3)
    first = min(int(np.searchsorted(sizes, share)) + 1, third)
    second = min(max(int(np.searchsorted(sizes, sizes[first - 1] + share)), first) + 1, first + third)
    own = dict(zip(SPLITS, np.split(order, [first, second]), strict=True))
    return {split: np.flatnonzero(np.isin(groups, own[split])) for split in SPLITS}


def _spread_categories(
    splits: dict[str, NDArray[Any]], groups: NDArray[Any], categories: NDArray[Any], seed: int
) -> dict[str, NDArray[Any]]:
    """Move as few groups as possible so that each split has every category of three groups or more."""
    from posegen.foundations.randomness import Stream, uniform

    numbers, group = np.unique(groups, return_inverse=True)
    names, category = np.unique(categories, return_inverse=True)
    place = np.empty(len(numbers), np.int64)
    for i, split in enumerate(SPLITS):
        place[group[splits[split]]] = i
    group_of, category_of = np.divmod(np.unique(group * len(names) + category), len(names))
    counts = np.zeros((len(SPLITS), len(names)), np.int64)
    np.add.at(counts, (place[group_of], category_of), 1)
    drawn, is_common = uniform(seed, numbers, Stream.SPLIT, 1)[:, 0], counts.sum(axis=0) >= len(SPLITS)
    for one in np.flatnonzero(is_common & (counts == 0).any(axis=0)).tolist():
        members = group_of[category_of == one]
        members = members[np.argsort(drawn[members], kind="stable")]
        for lacking in np.flatnonzero(counts[:, one] == 0).tolist():
            # The split with most groups of the category gives one, unless it then lacks another category of that group.
            for number in members[np.argsort(-counts[place[members], one], kind="stable")].tolist():
                own = category_of[group_of == number]
                if (counts[place[number], own[is_common[own]]] > 1).all():
                    counts[place[number], own] -= 1
                    counts[lacking, own] += 1
                    place[number] = lacking
                    break
    return {split: np.flatnonzero(place[group] == i) for i, split in enumerate(SPLITS)}
