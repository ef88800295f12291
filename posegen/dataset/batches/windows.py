"""The windows of sequences that are in memory: threads load their chunks, and batches are copied out of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from posegen.dataset.batches.order import Order, Piece
from posegen.dataset.batches.sources import Selection, Source
from posegen.foundations.arrays import Array

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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
        tasks = [(i, int(chunk)) for i, chunk in enumerate(self._order.in_window(*key).chunks)]
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
            slots = self._order.in_window(*key).slots[piece.first : piece.stop]
            for name, shape in self._selection.arrays.items():
                shape.take(buffers[name], slots, arrays[name][start : start + len(slots)])
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
        return {
            name: np.empty((*outer, *shape.buffer_shape(chunk)), shape.dtype) for name, shape in self._selection.arrays.items()
        }

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
