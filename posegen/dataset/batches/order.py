"""Which sequences are in batch k: computed for each batch by itself, from the seed and the numbers of what there is.

An epoch goes through every sequence once. The chunks of samples, which are what is stored and decoded as one, are put into an
order of their own in each epoch; so many of them as fill the shuffle window follow one another as a window, and the sequences
of a window are put into an order in turn: that of numbers drawn for them from the counter-based generator of
:mod:`posegen.randomness`. All variants of a sample are in the same window, so that a sample that is made on the way is made
once an epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.randomness import Stream, philox_kernel

__all__ = ["Order", "Piece", "Window"]

Array = NDArray[Any]

_WORD = 2**32 - 1
_NO_WINDOW = _WORD
_WINDOWS_KEPT = 64


class Piece(NamedTuple):
    """Part of a batch: sequences `first` to `stop`, in its own order, of a window of an epoch."""

    epoch: int
    window: int
    first: int
    stop: int


class Window(NamedTuple):
    """What a window holds.

    Attributes
    ----------
    chunks : int64 [c]
        Numbers of its chunks of samples.
    slots : int64 [n]
        Its sequences in their order. Slot (c * variants + v) * chunk + s is variant v of sample s of the c-th of its chunks.
    """

    chunks: Array
    slots: Array


@dataclass(frozen=True)
class Order:
    """The order of all sequences in all epochs.

    Attributes
    ----------
    seed : int
        0 to 2^64 - 1.
    samples, variants : int
        How many there are to choose from, at least 1 each.
    chunk : int
        Samples in a chunk.
    size : int
        Sequences in a batch.
    window : int
        Sequences that are shuffled with one another; whole chunks of them, at least one.
    lanes : int
        How many windows the batches take turns in: as if there were so many orders one behind the other, read side by side.
    drop_last : bool
        Leave out what does not fill a batch at the end of an epoch.

    Examples
    --------
    >>> order = Order(seed=7, samples=5, variants=1, chunk=2, size=2, window=4)
    >>> [order.sequences(k)[0].tolist() for k in range(order.per_epoch)]
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

    @property
    def total(self) -> int:
        """Sequences in an epoch."""
        return self.samples * self.variants

    @property
    def per_epoch(self) -> int:
        """Batches in an epoch."""
        return self.total // self.size if self.drop_last else -(-self.total // self.size)

    @property
    def chunks(self) -> int:
        """Chunks of samples, the last of which may be short."""
        return -(-self.samples // self.chunk)

    @property
    def chunks_in_window(self) -> int:
        """Chunks in a full window."""
        return min(max(1, self.window // (self.chunk * self.variants)), self.chunks)

    def pieces(self, number: int) -> list[Piece]:
        """Tell from which windows a batch is.

        Parameters
        ----------
        number : int
            Of the batch, counted from 0 over all epochs.

        Returns
        -------
        list of Piece
            One for most batches; the next begins where a window ends.
        """
        epoch, step = divmod(number, self.per_epoch)
        start = self._place(step) * self.size
        stop = min(start + self.size, self.total)
        full = self.chunks_in_window * self.chunk * self.variants
        missing = (self.chunks * self.chunk - self.samples) * self.variants
        # Only the last chunk may be short, and all windows behind its own begin earlier by that.
        short = _chunk_order(self.seed, epoch, self.chunks).last // self.chunks_in_window
        pieces = []
        while start < stop:
            window = start // full if start < (short + 1) * full - missing else (start + missing) // full
            begin = window * full - (missing if short < window else 0)
            end = min((window + 1) * full - (missing if short <= window else 0), stop)
            pieces.append(Piece(epoch, window, start - begin, end - begin))
            start = end
        return pieces

    def in_window(self, epoch: int, window: int) -> Window:
        """Tell what a window holds, and in what order."""
        return _window_order(self, epoch, window)

    def sequences(self, number: int) -> tuple[Array, Array]:
        """List what a batch holds.

        Parameters
        ----------
        number : int
            Of the batch.

        Returns
        -------
        (int64 [n], int64 [n])
            Samples, and positions of their variants among the chosen ones.
        """
        parts = [self.of_piece(piece) for piece in self.pieces(number)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def of_piece(self, piece: Piece) -> tuple[Array, Array]:
        """List what a part of a batch holds, as :meth:`sequences` does."""
        found = self.in_window(piece.epoch, piece.window)
        block, sample = np.divmod(found.slots[piece.first : piece.stop], self.chunk)
        position, variant = np.divmod(block, self.variants)
        return found.chunks[position] * self.chunk + sample, variant

    def _place(self, step: int) -> int:
        """Tell which batch of the order of sequences is number `step` of an epoch: lanes take turns, a short one comes last."""
        whole = self.total // self.size
        if step >= whole:
            return step
        each, more = divmod(whole, self.lanes)
        row, lane = divmod(step, self.lanes)
        return lane * each + min(lane, more) + row


class _Chunks(NamedTuple):
    """The chunks of an epoch in their order, and where in it the last one is, which alone may be short."""

    order: Array
    last: int


@lru_cache(4)
def _chunk_order(seed: int, epoch: int, chunks: int) -> _Chunks:
    order = _shuffled(seed, epoch, _NO_WINDOW, chunks)
    return _Chunks(order, int(np.flatnonzero(order == chunks - 1)[0]))


@lru_cache(_WINDOWS_KEPT)
def _window_order(order: Order, epoch: int, window: int) -> Window:
    first = window * order.chunks_in_window
    chunks = _chunk_order(order.seed, epoch, order.chunks).order[first : first + order.chunks_in_window]
    each = np.minimum(order.samples - chunks * order.chunk, order.chunk)
    there = np.flatnonzero(np.arange(order.chunk) < np.repeat(each, order.variants)[:, None])
    return Window(chunks, there[_shuffled(order.seed, epoch, window, len(there))])


def _shuffled(seed: int, epoch: int, window: int, size: int) -> Array:
    """Put 0 to `size` - 1 in the order of numbers drawn for them."""
    counter = np.empty((size, 4), np.uint32)
    counter[:, 0], counter[:, 1] = np.arange(size), window
    counter[:, 2], counter[:, 3] = epoch & _WORD, Stream.ORDER
    key = np.array([seed & _WORD, seed >> 32], np.uint32)
    drawn = philox_kernel(counter, np.broadcast_to(key, (size, 2)).copy()).astype(np.uint64)
    order = np.argsort(drawn[:, 0] << np.uint64(32) | drawn[:, 1], kind="stable")
    order.setflags(write=False)
    return order
