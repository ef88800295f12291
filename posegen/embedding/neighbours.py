"""Find nearest neighbours among vectors of unit length with faiss: exactly among few, with an inverted index among many.

Neighbours are sorted by similarity, rounded to a millionth so that the last bits of sums do not matter; ties are sorted by
row. The index depends on the vectors only: its seed is fixed, and neither threads nor earlier queries change it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.machine import available_cores
from posegen.foundations.plugins import require_extra

EXACT = 20_000
"""Number of vectors up to which the search is exact; it takes half a minute of a core at most."""
MAX_LISTS, MIN_PER_LIST = 1024, 64
"""Most lists of the index, and least mean number of vectors per list."""
PROBED_LISTS = 32
"""Number of nearest lists that are searched for a vector."""
TRAINING_PER_LIST, TRAINING_ROUNDS = 40, 8
"""Vectors per list for training the centroids, and rounds of training."""
SPARE = 16
"""Additional candidates per query, so that ties at the end are cut by row."""
DIGITS = 6
"""Decimals to which similarities are rounded."""


def neighbour_index(vectors: Array, *, exact: int = EXACT) -> Any:
    """Build an index of vectors.

    Parameters
    ----------
    vectors : float32 [n, dimension]
        Of unit length.
    exact : int
        Number of vectors up to which the search is exact.

    Returns
    -------
    faiss.Index
        Exact, or with inverted lists.

    Raises
    ------
    UsageError
        If a package of the extra ``embed`` is not installed.
    """
    require_extra("embed")
    import faiss

    faiss.omp_set_num_threads(available_cores())
    if len(vectors) <= exact:
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        return flat
    number = max(1, min(MAX_LISTS, len(vectors) // MIN_PER_LIST))
    quantizer = faiss.IndexFlatIP(vectors.shape[1])
    lists = faiss.IndexIVFFlat(quantizer, vectors.shape[1], number, faiss.METRIC_INNER_PRODUCT)
    lists.cp.niter, lists.cp.seed, lists.cp.spherical = TRAINING_ROUNDS, 1, True
    lists.train(vectors[np.arange(TRAINING_PER_LIST * number) * len(vectors) // (TRAINING_PER_LIST * number)])
    lists.add(vectors)
    lists.nprobe = PROBED_LISTS
    return lists


def find_neighbours(index: Any, vectors: Array, rows: Array, count: int) -> tuple[Array, Array]:
    """Find the nearest neighbours of some of the vectors of an index.

    Parameters
    ----------
    index : faiss.Index
        Made by :func:`neighbour_index`.
    vectors : float32 [n, dimension]
        All vectors of the index.
    rows : int64 [queries]
        Vectors whose neighbours to find; a vector is not its own neighbour.
    count : int
        Number of neighbours.

    Returns
    -------
    others : int64 [queries, count]
        Nearest first, padded with -1.
    similarities : float32 [queries, count]
        Cosines, padded with -inf.
    """
    near, found = index.search(vectors[rows], min(len(vectors), count + 1 + SPARE))
    return rank_candidates(near, np.where(found == rows[:, None], -1, found), count)


def rank_candidates(similarities: Array, candidates: Array, count: int) -> tuple[Array, Array]:
    """Sort candidates by descending similarity, ties by row, and keep the first `count`.

    Parameters
    ----------
    similarities : float32 [queries, candidates]
    candidates : int64 [queries, candidates]
        Rows; -1 for none.
    count : int

    Returns
    -------
    others : int64 [queries, count]
        Padded with -1.
    similarities : float32 [queries, count]
        Padded with -inf.

    Examples
    --------
    >>> others, _ = rank_candidates(np.array([[0.5, 0.9, 0.5]]), np.array([[7, 8, 3]]), 4)
    >>> others.tolist()
    [[8, 3, 7, -1]]
    """
    near = np.where(candidates < 0, -np.inf, np.round(similarities.astype(np.float64), DIGITS))
    order = np.lexsort((candidates, -near), axis=-1)[:, :count]
    others, near = np.take_along_axis(candidates, order, 1), np.take_along_axis(near, order, 1)
    short = ((0, 0), (0, max(0, count - others.shape[1])))
    others, near = np.pad(others, short, constant_values=-1), np.pad(near, short, constant_values=-np.inf)
    return others.astype(np.int64), near.astype(np.float32)
