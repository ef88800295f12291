"""Where sequences come from: what a dataset and a config have in common for who reads batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["CAPTIONS", "ArrayShape", "Source", "Wanted"]

Array = NDArray[Any]

CAPTIONS = "captions"
"""Asked for by this name, a sequence's captions are their texts."""


@dataclass(frozen=True)
class ArrayShape:
    """An array that every sequence has.

    Attributes
    ----------
    shape : tuple of int
        Of one sequence.
    piece : tuple of int
        What is decoded as one; divides `shape`.
    dtype : str
    """

    shape: tuple[int, ...]
    piece: tuple[int, ...]
    dtype: str

    @property
    def grid(self) -> tuple[int, ...]:
        """Pieces along each dimension."""
        return tuple(size // step for size, step in zip(self.shape, self.piece, strict=True))

    def held(self, chunk: int) -> tuple[int, ...]:
        """Shape in which a variant of a chunk of samples is held: the grid, and for each place in it all samples' pieces."""
        return (*self.grid, chunk, *self.piece)

    def take(self, buffer: Array, slots: Array, into: Array) -> None:
        """Take sequences out of a buffer.

        Parameters
        ----------
        buffer : ndarray [..., *held]
            Variants of chunks.
        slots : int64 [n]
            Which sequences; see :class:`posegen.dataset.batches.order.Window`.
        into : ndarray [n, *shape]
            Where they go.
        """
        chunk = buffer.shape[-1 - len(self.shape)]
        if all(places == 1 for places in self.grid):
            # Slots are there, so nothing is clipped; but to raise otherwise, NumPy would copy everything once more.
            np.take(buffer.reshape(-1, *self.shape), slots, axis=0, out=into, mode="clip")
            return
        blocks = buffer.reshape(-1, *self.held(chunk))
        block, row = np.divmod(slots, chunk)
        for place in np.ndindex(self.grid):
            within = tuple(slice(at * step, (at + 1) * step) for at, step in zip(place, self.piece, strict=True))
            into[(slice(None), *within)] = blocks[(block, *place, row)]


@dataclass(frozen=True)
class Wanted:
    """What a batch is to hold: arrays by name, columns of the table of sequences, positions of variants."""

    arrays: dict[str, ArrayShape]
    columns: tuple[str, ...]
    variants: tuple[int, ...]


class Source(Protocol):
    """Samples in chunks.

    It can be pickled, and holds no thread and no open file, so that it can be handed to another process. What it does
    is a function of its arguments.

    Attributes
    ----------
    samples, chunk : int
        How many samples there are, and how many of them a chunk has; the last one may have fewer.
    variants : tuple of str
        Their names in order.
    most_threads : int
        How many threads may load at once.
    """

    @property
    def samples(self) -> int: ...  # noqa: D102
    @property
    def chunk(self) -> int: ...  # noqa: D102
    @property
    def variants(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def most_threads(self) -> int: ...  # noqa: D102
    @property
    def name(self) -> str:
        """What messages call it."""

    def arrays(self) -> Mapping[str, ArrayShape]:
        """Describe the arrays by name."""

    def columns(self) -> tuple[str, ...]:
        """Name the columns of the table of sequences."""

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> Any:
        """Load a chunk.

        Parameters
        ----------
        chunk : int
        variants : sequence of int
            Positions of those that are wanted.
        into : mapping of str to ndarray [variant, *held]
            Where the values of each wanted array go; what lies behind the chunk's samples does not matter.
        columns : tuple of str
            Of the table of sequences, :data:`CAPTIONS` as lists of texts.

        Returns
        -------
        pyarrow.Table or None
            Rows of the samples in all their variants; None if no columns are wanted.
        """
