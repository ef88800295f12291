"""What batches are read from: the protocols of sources, and the shapes of their arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from posegen.foundations.arrays import Array

CAPTIONS = "captions"
"""Name of the column of captions, which are lists of texts in batches."""


@dataclass(frozen=True)
class ArrayShape:
    """Shape of an array of each sequence.

    Attributes
    ----------
    shape : tuple of int
        Shape for one sequence.
    piece : tuple of int
        Shape of what is decoded at once; divides `shape`.
    dtype : str
    """

    shape: tuple[int, ...]
    piece: tuple[int, ...]
    dtype: str

    @property
    def grid(self) -> tuple[int, ...]:
        """Number of pieces along each dimension."""
        return tuple(size // step for size, step in zip(self.shape, self.piece, strict=True))

    def buffer_shape(self, chunk: int) -> tuple[int, ...]:
        """Return the shape of the buffer of a variant of a chunk of samples: the grid, then all samples, then a piece."""
        return (*self.grid, chunk, *self.piece)

    def take(self, buffer: Array, slots: Array, into: Array) -> None:
        """Copy sequences out of a buffer.

        Parameters
        ----------
        buffer : ndarray [..., *buffer_shape]
            Variants of chunks.
        slots : int64 [n]
            Sequences to copy; see :class:`posegen.dataset.batches.order.Window`.
        into : ndarray [n, *shape]
            Destination.
        """
        chunk = buffer.shape[-1 - len(self.shape)]
        if all(cells == 1 for cells in self.grid):
            # All slots are valid, so nothing is clipped; to raise an error otherwise, NumPy would copy everything once more.
            np.take(buffer.reshape(-1, *self.shape), slots, axis=0, out=into, mode="clip")
            return
        blocks = buffer.reshape(-1, *self.buffer_shape(chunk))
        block, row = np.divmod(slots, chunk)
        for cell in np.ndindex(self.grid):
            within = tuple(slice(at * step, (at + 1) * step) for at, step in zip(cell, self.piece, strict=True))
            into[(slice(None), *within)] = blocks[(block, *cell, row)]


@dataclass(frozen=True)
class Selection:
    """Content of batches: arrays by name, columns of the table of sequences, and indices of variants."""

    arrays: dict[str, ArrayShape]
    columns: tuple[str, ...]
    variants: tuple[int, ...]


class Source(Protocol):
    """Samples in chunks.

    A source can be pickled and holds no thread and no open file, so that other processes can use it. Its methods are functions
    of their arguments.
    """

    @property
    def samples(self) -> int:
        """Number of samples."""

    @property
    def chunk(self) -> int:
        """Number of samples in a chunk; the last one may have fewer."""

    @property
    def seed(self) -> int | None:
        """Seed of the samples, which decides on their split; None for samples without splits."""

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""

    @property
    def most_threads(self) -> int:
        """Number of threads that may load at the same time."""

    @property
    def name(self) -> str:
        """Name for messages."""

    def arrays(self) -> Mapping[str, ArrayShape]:
        """Return the shape of each array by name."""

    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table of sequences."""

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> Any:
        """Load a chunk.

        Parameters
        ----------
        chunk : int
        variants : sequence of int
            Indices of the variants to load.
        into : mapping of str to ndarray [variant, *buffer_shape]
            Destination of each array to load; values behind the chunk's samples have no meaning.
        columns : tuple of str
            Columns of the table of sequences, :data:`CAPTIONS` as lists of texts.

        Returns
        -------
        pyarrow.Table or None
            Rows of the samples in all their variants; None if there are no columns to load.
        """


@runtime_checkable
class SelectableSource(Protocol):
    """A source with a table of sequences that is stored, so that conditions on it can be evaluated."""

    def match(self, where: str) -> Array:
        """Return the sequences for which an SQL condition holds: bool [sample, variant]."""


@runtime_checkable
class SourceOwner(Protocol):
    """An object with a method that returns a source, such as an open dataset."""

    def batch_source(self, fields: Sequence[str] | str | None) -> Source:
        """Return the source of batches with these fields; None for the default fields."""


@runtime_checkable
class MixedSource(Protocol):
    """A source of several datasets; see :class:`posegen.dataset.mix.MixSource`."""

    @property
    def parts(self) -> tuple[tuple[int, int, int], ...]:
        """Seed, samples, and chunks in an epoch of each source."""

    @property
    def where(self) -> str:
        """SQL condition on the sequences of all batches; empty for none."""

    def locate(self, samples: Array) -> Mapping[str, Array]:
        """Return ``dataset``, the number of the dataset, and ``sample``, the sample in it, of positions in an epoch."""
