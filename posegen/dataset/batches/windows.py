"""Windows of sequences in memory: loaded by threads into buffers that are used again and again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.batches.order import Order, Piece
from posegen.dataset.batches.source import Source, Wanted

__all__ = ["Windows"]

Array = NDArray[Any]
Key = tuple[int, int]
"""Epoch and window."""


class Windows:
    """The windows that are needed now or soon. Threads live only between entering and leaving it.

    Parameters
    ----------
    source : Source
    order : Order
    wanted : Wanted
    threads : int
        That load; with none, a window is loaded when it is wanted.
    unused : list of dict
        Buffers of windows of this kind; they are taken from here first, and put here in the end. To take new memory from
        the system costs as much time as to decode into it.
    """

    def __init__(self, source: Source, order: Order, wanted: Wanted, threads: int, unused: list[dict[str, Array]]) -> None:
        self._source = source
        self._order = order
        self._wanted = wanted
        self._threads = min(threads, source.most_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._loading: dict[Key, tuple[dict[str, Array], list[Future[Any]]]] = {}
        self._tables: dict[Key, Any] = {}
        self._unused = unused

    def __enter__(self) -> Self:
        """Begin."""
        if self._threads:
            self._pool = ThreadPoolExecutor(self._threads, "posegen-window")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Load no more."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self.keep(())

    @property
    def keys(self) -> AbstractSet[Key]:
        """Those that are there or on their way."""
        return self._loading.keys()

    def want(self, key: Key) -> None:
        """Begin to load a window, unless it is there or on its way."""
        if key in self._loading:
            return
        buffers = self._unused.pop() if self._unused else self._new_buffers()
        tasks = [(i, int(chunk)) for i, chunk in enumerate(self._order.in_window(*key).chunks)]
        self._loading[key] = buffers, [self._begin(buffers, *task) for task in tasks]

    def keep(self, keys: Collection[Key]) -> None:
        """Give up all other windows."""
        for key in [key for key in self._loading if key not in keys]:
            buffers, loads = self._loading.pop(key)
            self._tables.pop(key, None)
            for load in loads:
                load.cancel()
            if all(load.done() for load in loads):  # else a thread still writes into it
                self._unused.append(buffers)

    def take(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Take sequences out of windows that were wanted, waiting for them; raises what went wrong in loading them.

        Returns
        -------
        dict of str to ndarray [n, ...] or list
            Each wanted array, and each wanted column.
        """
        total = sum(piece.stop - piece.first for piece in pieces)
        arrays = {name: np.empty((total, *shape.shape), shape.dtype) for name, shape in self._wanted.arrays.items()}
        rows, start = [], 0
        for piece in pieces:
            key = piece.epoch, piece.window
            buffers, loads = self._loading[key]
            tables = [load.result() for load in loads]
            slots = self._order.in_window(*key).slots[piece.first : piece.stop]
            for name, shape in self._wanted.arrays.items():
                shape.take(buffers[name], slots, arrays[name][start : start + len(slots)])
            start += len(slots)
            rows.append(self._rows(key, tables, slots))
        return arrays | self._told(rows)

    def _begin(self, buffers: dict[str, Array], position: int, chunk: int) -> Future[Any]:
        into = {name: buffer[position] for name, buffer in buffers.items()}
        arguments = (chunk, self._wanted.variants, into, self._wanted.columns)
        if self._pool is not None:
            return self._pool.submit(self._source.load, *arguments)
        loaded: Future[Any] = Future()
        loaded.set_result(self._source.load(*arguments))
        return loaded

    def _new_buffers(self) -> dict[str, Array]:
        outer = (self._order.chunks_in_window, len(self._wanted.variants))
        chunk = self._source.chunk
        return {name: np.empty((*outer, *shape.held(chunk)), shape.dtype) for name, shape in self._wanted.arrays.items()}

    def _rows(self, key: Key, tables: Sequence[Any], slots: Array) -> Any:
        """Take rows out of the tables of a window's chunks."""
        if not self._wanted.columns:
            return None
        import pyarrow as pa

        block, sample = np.divmod(slots, self._source.chunk)
        position, variant = np.divmod(block, len(self._wanted.variants))
        begins = np.cumsum([0, *(len(table) for table in tables)])[position]
        rows = begins + sample * len(self._source.variants) + np.array(self._wanted.variants)[variant]
        if key not in self._tables:
            self._tables[key] = pa.concat_tables(tables).combine_chunks()
        return self._tables[key].take(rows)

    def _told(self, rows: Sequence[Any]) -> dict[str, Any]:
        if not self._wanted.columns:
            return {}
        import pyarrow as pa

        table = pa.concat_tables(rows)
        return {name: _plain(table.column(name)) for name in self._wanted.columns}


def _plain(column: Any) -> Any:
    """Give numbers as an array and all else as a list."""
    import pyarrow as pa

    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)
    # A copy: what Arrow gives may not be written to.
    return np.array(column.to_numpy()) if is_number and not column.null_count else column.to_pylist()
