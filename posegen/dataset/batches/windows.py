"""Sources of batches, and the windows of sequences in memory: threads load chunks, and batches are copied out of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import pyarrow as pa

from posegen.dataset.batches.order import Order, Piece, window_order
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
    dtype : str
    """

    shape: tuple[int, ...]
    dtype: str


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
        into : mapping of str to ndarray [variant, chunk, *shape]
            Destination of each array to load, C-contiguous; values after the chunk's samples have no meaning.
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

    def used(self, split: str | None) -> Array:
        """Return whether each position of an epoch has a sample, and one of the split if there is one: bool [position]."""

    def locate(self, samples: Array) -> Mapping[str, Array]:
        """Return ``dataset``, the number of the dataset, and ``sample``, the sample in it, of positions in an epoch."""


Key = tuple[int, int]
"""Epoch and window."""


class Windows:
    """The windows of the current and the next batches. Threads run only inside the context.

    Parameters
    ----------
    source : Source
    order : Order
    selection : Selection
    threads : int
        Threads that load; with 0, :meth:`load` itself loads a window.
    unused : list of dict
        Buffers of earlier windows, which are used first; on exit, all buffers are added. Allocating new memory takes as long as
        decoding into it.
    """

    def __init__(
        self, source: Source, order: Order, selection: Selection, threads: int, unused: list[dict[str, Array]]
    ) -> None:
        self._source = source
        self._order = order
        self._selection = selection
        self._threads = min(threads, source.most_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._loading: dict[Key, tuple[dict[str, Array], list[Future[Any]]]] = {}
        self._tables: dict[Key, Any] = {}
        self._unused = unused

    def __enter__(self) -> Self:
        """Start the threads."""
        if self._threads:
            self._pool = ThreadPoolExecutor(self._threads, "posegen-window")
        return self

    def __exit__(self, *error: object) -> None:
        """Stop loading."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self.keep(())

    @property
    def keys(self) -> AbstractSet[Key]:
        """Windows that are loaded or being loaded."""
        return self._loading.keys()

    def load(self, key: Key) -> None:
        """Begin to load a window, unless it is loaded or being loaded."""
        if key in self._loading:
            return
        buffers = self._unused.pop() if self._unused else self._new_buffers()
        tasks = [(i, int(chunk)) for i, chunk in enumerate(window_order(self._order, *key).chunks)]
        self._loading[key] = buffers, [self._start_load(buffers, *task) for task in tasks]

    def keep(self, keys: Collection[Key]) -> None:
        """Discard all other windows."""
        for key in [key for key in self._loading if key not in keys]:
            buffers, loads = self._loading.pop(key)
            self._tables.pop(key, None)
            for load in loads:
                load.cancel()
            if all(load.done() for load in loads):  # otherwise a thread still writes to it
                self._unused.append(buffers)

    def take(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Wait for windows and copy sequences out of them; raises the errors of loading.

        Returns
        -------
        dict of str to ndarray [n, ...] or list
            Each selected array and column.
        """
        total = sum(piece.stop - piece.first for piece in pieces)
        arrays = {name: np.empty((total, *shape.shape), shape.dtype) for name, shape in self._selection.arrays.items()}
        rows, start = [], 0
        for piece in pieces:
            key = piece.epoch, piece.window
            buffers, loads = self._loading[key]
            tables = [load.result() for load in loads]
            slots = window_order(self._order, *key).slots[piece.first : piece.stop]
            for name, shape in self._selection.arrays.items():
                into, sequences = arrays[name][start : start + len(slots)], buffers[name].reshape(-1, *shape.shape)
                # All slots are valid, so nothing is clipped. To raise an error otherwise, NumPy would copy everything again.
                np.take(sequences, slots, axis=0, out=into, mode="clip")
            start += len(slots)
            rows.append(self._rows(key, tables, slots))
        return arrays | self._columns(rows)

    def _start_load(self, buffers: dict[str, Array], position: int, chunk: int) -> Future[Any]:
        into = {name: buffer[position] for name, buffer in buffers.items()}
        arguments = (chunk, self._selection.variants, into, self._selection.columns)
        if self._pool is not None:
            return self._pool.submit(self._source.load, *arguments)
        loaded: Future[Any] = Future()
        loaded.set_result(self._source.load(*arguments))
        return loaded

    def _new_buffers(self) -> dict[str, Array]:
        outer = (self._order.chunks_in_window, len(self._selection.variants))
        chunk = self._source.chunk
        return {name: np.empty((*outer, chunk, *shape.shape), shape.dtype) for name, shape in self._selection.arrays.items()}

    def _rows(self, key: Key, tables: Sequence[Any], slots: Array) -> Any:
        """Select rows of the tables of a window's chunks."""
        if not self._selection.columns:
            return None
        block, sample = np.divmod(slots, self._source.chunk)
        position, variant = np.divmod(block, len(self._selection.variants))
        begins = np.cumsum([0, *(len(table) for table in tables)])[position]
        rows = begins + sample * len(self._source.variants) + np.array(self._selection.variants)[variant]
        if key not in self._tables:
            self._tables[key] = pa.concat_tables(tables).combine_chunks()
        return self._tables[key].take(rows)

    def _columns(self, rows: Sequence[Any]) -> dict[str, Any]:
        if not self._selection.columns:
            return {}
        table = pa.concat_tables(rows)
        return {name: _to_values(table.column(name)) for name in self._selection.columns}


def _to_values(column: Any) -> Any:
    """Return numbers as an array and everything else as a list."""
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)
    # A copy, because arrays of Arrow are read-only.
    return np.array(column.to_numpy()) if is_number and not column.null_count else column.to_pylist()
