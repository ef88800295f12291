"""Nearest neighbours among vectors of unit length, by faiss: exact among few, through an index among many.

Neighbours are in the order of their similarity, rounded to a millionth, so that the last bits of sums do not decide; equally
similar ones are in the order of their numbers. How vectors are dealt into the lists of the index depends on nothing but
the vectors: it starts from a fixed draw, and neither the threads nor what is asked first change it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.errors import UsageError
from posegen.machine import available_cores

__all__ = ["EXACT", "Index", "neighbour_index", "ranked"]

Array = NDArray[Any]

EXACT = 20_000
"""Vectors among which every one is compared with every other: half a minute of a core at most."""
MOST_LISTS, IN_LIST = 1024, 64
"""Lists of the index at most, and vectors in each at least, in the mean."""
PROBED = 32
"""Lists that are looked through for a vector: those whose middles are nearest to it."""
TRAINED_WITH, ROUNDS = 40, 8
"""Vectors for each list that its middle is found with, and rounds that it takes."""
SPARE = 16
"""Candidates asked for beyond those that are wanted, so that ties at the end are cut by number."""
DIGITS = 6


@dataclass(frozen=True)
class Index:
    """Finds the neighbours of vectors.

    Attributes
    ----------
    kind : str
        ``exact`` or ``lists``.
    find : callable
        Takes vectors and how many neighbours are wanted; gives similarities and rows, in no certain order among equals.
    """

    kind: str
    find: Callable[[Array, int], tuple[Array, Array]]

    def neighbours(self, vectors: Array, rows: Array, wanted: int) -> tuple[Array, Array]:
        """Find the nearest neighbours of some of the vectors.

        Parameters
        ----------
        vectors : float32 [n, dimension]
            All vectors, those that the index was made of.
        rows : int64 [asked]
            Whose neighbours; none is its own.
        wanted : int
            How many.

        Returns
        -------
        others : int64 [asked, wanted]
            Nearest first; -1 where there are no more.
        similarities : float32 [asked, wanted]
            Cosines; -inf where there is none.
        """
        near, found = self.find(vectors[rows], min(len(vectors), wanted + 1 + SPARE))
        return ranked(near, np.where(found == rows[:, None], -1, found), wanted)


def neighbour_index(vectors: Array, *, exact: int = EXACT) -> Index:
    """Make an index of vectors.

    Parameters
    ----------
    vectors : float32 [n, dimension]
        Of unit length.
    exact : int
        Up to so many vectors, all are compared.

    Returns
    -------
    Index

    Raises
    ------
    UsageError
        If faiss is not installed.
    """
    faiss = _faiss()
    if len(vectors) <= exact:
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        return Index("exact", flat.search)
    number = max(1, min(MOST_LISTS, len(vectors) // IN_LIST))
    quantizer = faiss.IndexFlatIP(vectors.shape[1])
    lists = faiss.IndexIVFFlat(quantizer, vectors.shape[1], number, faiss.METRIC_INNER_PRODUCT)
    lists.cp.niter, lists.cp.seed, lists.cp.spherical = ROUNDS, 1, True
    lists.train(vectors[np.arange(TRAINED_WITH * number) * len(vectors) // (TRAINED_WITH * number)])
    lists.add(vectors)
    lists.nprobe = PROBED
    return Index("lists", lists.search)


def ranked(similarities: Array, candidates: Array, wanted: int) -> tuple[Array, Array]:
    """Put candidates in order: the most similar first, equally similar ones by their numbers.

    Parameters
    ----------
    similarities : float32 [asked, some]
    candidates : int64 [asked, some]
        -1 for none.
    wanted : int

    Returns
    -------
    others : int64 [asked, wanted]
        -1 where there are no more.
    similarities : float32 [asked, wanted]
        -inf where there is none.

    Examples
    --------
    >>> others, _ = ranked(np.array([[0.5, 0.9, 0.5]]), np.array([[7, 8, 3]]), 4)
    >>> others.tolist()
    [[8, 3, 7, -1]]
    """
    near = np.where(candidates < 0, -np.inf, np.round(similarities.astype(np.float64), DIGITS))
    order = np.lexsort((candidates, -near), axis=-1)[:, :wanted]
    others, near = np.take_along_axis(candidates, order, 1), np.take_along_axis(near, order, 1)
    short = ((0, 0), (0, max(0, wanted - others.shape[1])))
    others, near = np.pad(others, short, constant_values=-1), np.pad(near, short, constant_values=-np.inf)
    return others.astype(np.int64), near.astype(np.float32)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        msg = "finding neighbours needs faiss. Install posegen with it: pip install 'posegen[embed]'"
        raise UsageError(msg) from error
    faiss.omp_set_num_threads(available_cores())
    return faiss
