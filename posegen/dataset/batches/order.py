"""Compute the sequences of batch k as a function of the seed and k.

An epoch has every sequence once. The chunks of samples, which are stored and decoded at once, are shuffled in each epoch;
consecutive chunks that fill the shuffle window form a window, and the sequences of a window are shuffled in turn. The order is
that of numbers from the counter-based generator of `randomness`. All variants of a sample are in the same window,
so that a sample that is made on demand is made once per epoch.

Not responsible for reading; see :mod:`posegen.dataset.batches.windows`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array

_WORD = 2**32 - 1
_NO_WINDOW = _WORD
_CACHED_WINDOWS = 64


class Piece(NamedTuple):
    """Part of a batch: the sequences `first` to `stop`, in shuffled order, of a window of an epoch."""

    epoch: int
    window: int
    first: int
    stop: int


class Window(NamedTuple):
    """Content of a window.

    Attributes
    ----------
    chunks : int64 [c]
        Indices of its chunks of samples.
    slots : int64 [n]
        Its sequences in order. Slot (c * variants + v) * chunk + s is variant v of sample s of the c-th of its chunks.
    """

    chunks: Array
    slots: Array


@dataclass(frozen=True)
class Order:
    """Order of all sequences in all epochs.

    Attributes
    ----------
    seed : int
        0 to 2^64 - 1.
    samples, variants : int
        Number of samples and of selected variants, at least 1 each.
    chunk : int
        Samples in a chunk.
    size : int
        Sequences in a batch.
    window : int
        Number of sequences that are shuffled together: whole chunks, at least one.
    lanes : int
        Number of windows that take turns in providing batches: the epoch is divided into as many parts, read in parallel.
    drop_last : bool
        Leave out an incomplete batch at the end of an epoch.
    chosen : bytes
        Bits of the sequences [sample, variant] that may occur, as packed by NumPy; empty for all.

    Examples
    --------
    >>> order = Order(seed=7, samples=5, variants=1, chunk=2, size=2, window=4)
    >>> [order.sequences_of(order.pieces(k))[0].tolist() for k in range(order.per_epoch)]
    [[4, 3], [2, 1], [0]]
    """

    seed: int
    samples: int
    variants: int
    chunk: int
    size: int
    window: int
    lanes: int = 1
    drop_last: bool = False
    chosen: bytes = b""

    @property
    def total(self) -> int:
        """Number of sequences in an epoch."""
        return int(_chunk_sizes(self).sum())

    @property
    def per_epoch(self) -> int:
        """Number of batches in an epoch."""
        return self.total // self.size if self.drop_last else -(-self.total // self.size)

    @property
    def chunks(self) -> int:
        """Number of chunks of samples; the last one may be short."""
        return -(-self.samples // self.chunk)

    @property
    def chunks_in_window(self) -> int:
        """Number of chunks in a full window."""
        return min(max(1, self.window // (self.chunk * self.variants)), self.chunks)

    def listed(self) -> Array:
        """Return all sequences of an epoch, not shuffled: sample * variants + variant, int64 [total]."""
        return np.flatnonzero(_chosen(self))

    def pieces(self, number: int) -> list[Piece]:
        """Return the parts of windows that form a batch.

        Parameters
        ----------
        number : int
            Index of the batch, counted from 0 over all epochs.

        Returns
        -------
        list of Piece
            One for most batches; several if a window ends within the batch.
        """
        epoch, step = divmod(number, self.per_epoch)
        start = self._batch_in_epoch(step) * self.size
        stop = min(start + self.size, self.total)
        ends = _window_ends(self, epoch)
        pieces = []
        while start < stop:
            window = bisect_right(ends, start)
            begin = ends[window - 1] if window else 0
            end = min(ends[window], stop)
            pieces.append(Piece(epoch, window, start - begin, end - begin))
            start = end
        return pieces

    def sequences_of(self, pieces: Sequence[Piece]) -> tuple[Array, Array]:
        """Return the sequences of the parts of windows that form a batch.

        Parameters
        ----------
        pieces : sequence of Piece
            What :meth:`pieces` returns.

        Returns
        -------
        (int64 [n], int64 [n])
            Samples, and indices of their variants among the selected ones.
        """
        parts = []
        for piece in pieces:
            content = window_order(self, piece.epoch, piece.window)
            block, sample = np.divmod(content.slots[piece.first : piece.stop], self.chunk)
            position, variant = np.divmod(block, self.variants)
            parts.append((content.chunks[position] * self.chunk + sample, variant))
        samples, variants = zip(*parts, strict=True)
        return np.concatenate(samples), np.concatenate(variants)

    def _batch_in_epoch(self, step: int) -> int:
        """Return the batch, in the order of sequences, at a step of an epoch: lanes take turns, a short batch is last."""
        whole = self.total // self.size
        if step >= whole:
            return step
        each, more = divmod(whole, self.lanes)
        row, lane = divmod(step, self.lanes)
        return lane * each + min(lane, more) + row


@lru_cache(4)
def _chosen(order: Order) -> Array:
    """Return whether each sequence is used: bool [sample, variant]."""
    shape = order.samples, order.variants
    if not order.chosen:
        return np.broadcast_to(np.True_, shape)
    return np.unpackbits(np.frombuffer(order.chosen, np.uint8), count=shape[0] * shape[1]).reshape(shape).astype(bool)


@lru_cache(4)
def _chunk_sizes(order: Order) -> Array:
    """Return the number of sequences of each chunk that are used."""
    return np.add.reduceat(_chosen(order).sum(axis=1), np.arange(0, order.samples, order.chunk))


@lru_cache(4)
def _chunk_order(seed: int, epoch: int, chunks: int) -> Array:
    """Return the chunks of an epoch in order."""
    return _shuffled(seed, epoch, _NO_WINDOW, chunks)


@lru_cache(4)
def _window_ends(order: Order, epoch: int) -> list[int]:
    """Return the number of sequences of an epoch up to the end of each window."""
    sizes = _chunk_sizes(order)[_chunk_order(order.seed, epoch, order.chunks)]
    firsts = np.arange(0, order.chunks, order.chunks_in_window)
    ends: list[int] = np.cumsum(np.add.reduceat(sizes, firsts)).tolist()
    return ends


@lru_cache(_CACHED_WINDOWS)
def window_order(order: Order, epoch: int, window: int) -> Window:
    """Return the content of a window."""
    first = window * order.chunks_in_window
    chunks = _chunk_order(order.seed, epoch, order.chunks)[first : first + order.chunks_in_window]
    samples = chunks[:, None] * order.chunk + np.arange(order.chunk)
    used = _chosen(order)[np.minimum(samples, order.samples - 1)] & (samples < order.samples)[..., None]
    present = np.flatnonzero(used.transpose(0, 2, 1))  # [chunk, variant, sample]
    return Window(chunks, present[_shuffled(order.seed, epoch, window, len(present))])


def _shuffled(seed: int, epoch: int, window: int, size: int) -> Array:
    """Return 0 to `size` - 1 in the order of random numbers drawn for them."""
    from posegen.foundations.randomness import Stream, philox_kernel  # with numba, which reading does not need

    counter = np.empty((size, 4), np.uint32)
    counter[:, 0], counter[:, 1] = np.arange(size), window
    counter[:, 2], counter[:, 3] = epoch & _WORD, Stream.ORDER
    key = np.array([seed & _WORD, seed >> 32], np.uint32)
    drawn = philox_kernel(counter, np.broadcast_to(key, (size, 2)).copy()).astype(np.uint64)
    order = np.argsort(drawn[:, 0] << np.uint64(32) | drawn[:, 1], kind="stable")
    order.setflags(write=False)
    return order
