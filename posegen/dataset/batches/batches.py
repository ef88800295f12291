"""Batches of shuffled sequences, read ahead of who trains on them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import gcd
from typing import Any

import numpy as np

from posegen.dataset.batches.asked import chosen_variants, count_samples, wanted_of, whole
from posegen.dataset.batches.order import Order, Piece
from posegen.dataset.batches.source import Source, Wanted
from posegen.dataset.batches.windows import Windows
from posegen.errors import UsageError

__all__ = ["THREADS", "WINDOW", "Batches", "SequenceBatch", "make_batches"]

WINDOW = 1280
"""Sequences that are shuffled with one another unless asked for otherwise."""

THREADS = 2
"""Threads that read ahead unless asked for otherwise."""

_SEEDS = 2**64


@dataclass(frozen=True)
class SequenceBatch:
    """Sequences to train on.

    Attributes
    ----------
    number, epoch : int
        Of the batch, counted over all epochs, and of the epoch that it is in.
    values : dict of str to ndarray [n, ...] or list
        ``sample``, ``variant`` and each field that was asked for, for each of n sequences. ``batch.joints`` and
        ``batch["joints"]`` are short for ``batch.values["joints"]``.
    """

    number: int
    epoch: int
    values: dict[str, Any]

    def __len__(self) -> int:
        return len(self.values["sample"])

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name not in values:
            msg = f"a batch has no {name!r}, only number, epoch, {', '.join(values)}"
            raise AttributeError(msg)
        return values[name]


@dataclass(frozen=True)
class Batches:
    """The batches of an order, to be gone through from `start` on, again and again; made by :func:`make_batches`.

    Nothing is open and no thread runs but while one goes through it, and it can be pickled, so that it can be handed to other
    processes.

    Attributes
    ----------
    source : Source
    order : Order
    wanted : Wanted
    start : int
        Number of the first batch.
    stop : int or None
        Of the one behind the last; None for no end.
    every : int
        1, or every how manieth batch from `start` on.
    threads : int
        That read ahead.
    unused : list
        Buffers that wait for the next who goes through them.
    """

    source: Source
    order: Order
    wanted: Wanted
    start: int
    stop: int | None
    every: int
    threads: int
    unused: list[Any] = field(default_factory=list, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Batches, (self.source, self.order, self.wanted, self.start, self.stop, self.every, self.threads)

    @property
    def per_epoch(self) -> int:
        """Batches in an epoch, of all shares."""
        return self.order.per_epoch

    @property
    def window_bytes(self) -> int:
        """Bytes that the arrays of a window take; up to three are in memory for each lane, one of them for a moment."""
        chunk = self.order.chunk * self.order.variants * self.order.chunks_in_window
        return sum(chunk * int(np.prod(x.shape)) * np.dtype(x.dtype).itemsize for x in self.wanted.arrays.values())

    def __len__(self) -> int:
        if self.stop is None:
            msg = "there is no end of batches: give `epochs` a number if there is to be one"
            raise TypeError(msg)
        return len(range(self.start, self.stop, self.every))

    def __iter__(self) -> Iterator[SequenceBatch]:
        numbers = iter(count(self.start, self.every) if self.stop is None else range(self.start, self.stop, self.every))
        planned: deque[tuple[int, list[Piece]]] = deque()
        with Windows(self.source, self.order, self.wanted, self.threads, self.unused) as windows:
            while self._plan(planned, numbers, windows):
                number, pieces = planned.popleft()
                for piece in pieces:
                    windows.want(piece[:2])
                yield self._made(number, pieces, windows)
                windows.keep({piece[:2] for _, pieces in planned for piece in pieces})

    def at(self, start: int, stop: int | None = None) -> Batches:
        """Take the same batches from number `start` on, to `stop` if it is given."""
        return replace(self, start=whole("start", start, least=0), stop=self.stop if stop is None else whole("stop", stop))

    def batch(self, number: int) -> SequenceBatch:
        """Make the batch of this number, whatever batches there are before it."""
        return next(iter(replace(self.at(number, number + 1), threads=0)))

    def share(self, rank: int, of: int) -> Batches:
        """Take every `of`-th of the batches, beginning with number `rank` of them: the share of one of `of` processes.

        The shares together are all batches, each once, and a batch keeps its number. Where their count is no multiple
        of `of`, the first shares have one batch more.

        Raises
        ------
        UsageError
            If `rank` is not below `of`.
        """
        of, rank = whole("of", of, least=1), whole("rank", rank, least=0)
        if rank >= of:
            msg = f"rank is {rank}; with {of} shares it goes from 0 to {of - 1}"
            raise UsageError(msg)
        return replace(self, start=self.start + rank * self.every, every=self.every * of)

    def _plan(self, planned: deque[tuple[int, list[Piece]]], numbers: Iterator[int], windows: Windows) -> bool:
        """Look ahead, and have read what is seen; tell whether there is a next batch."""
        lanes = self.order.lanes // gcd(self.order.lanes, self.every)
        # As far as the next batch of each lane, so that what it needs is kept; and until so many windows are on their way.
        while len(planned) <= lanes or (self.threads and len(windows.keys - _windows_of(planned[0])) < lanes):
            number = next(numbers, None)
            if number is None:
                break
            planned.append((number, self.order.pieces(number)))
            if self.threads:
                for key in sorted(_windows_of(planned[-1])):
                    windows.want(key)
        return bool(planned)

    def _made(self, number: int, pieces: Sequence[Piece], windows: Windows) -> SequenceBatch:
        parts = [self.order.of_piece(piece) for piece in pieces]
        names = [self.source.variants[position] for position in self.wanted.variants]
        told = {
            "sample": np.concatenate([samples for samples, _ in parts]),
            "variant": [names[variant] for _, variants in parts for variant in variants.tolist()],
        }
        return SequenceBatch(number, pieces[0].epoch, told | windows.take(pieces))


def make_batches(
    source: Source,
    size: int,
    *,
    seed: int = 0,
    fields: Sequence[str] | str | None = None,
    variants: Sequence[str] | str | None = None,
    window: int = WINDOW,
    epochs: int | None = 1,
    start: int = 0,
    drop_last: bool = False,
    lanes: int = 1,
    threads: int = THREADS,
) -> Batches:
    """Make batches of shuffled sequences.

    Which sequences are in batch k depends on k, seed, size, window, lanes and drop_last, on how many samples and what size of
    chunks the source has, and on which variants are chosen: on nothing else.

    Parameters
    ----------
    source : Source
    size : int
        Sequences in a batch; the last one of an epoch has what is left.
    seed : int
        Of the order; 0 to 2^64 - 1.
    fields : sequence of str, or str, optional
        What batches hold besides ``sample`` and ``variant``: arrays, and columns of the table of sequences, of which
        ``captions`` are given as lists of texts. All arrays unless given.
    variants : sequence of str, or str, optional
        All unless given.
    window : int
        Sequences that are shuffled with one another: whole chunks of samples with their variants, at least one chunk.
    epochs : int or None
        How often to go through all sequences, each time in another order; None for ever.
    start : int
        Number of the first batch, to go on from there. Batches are counted over all epochs.
    drop_last : bool
        Leave out what does not fill a batch at the end of an epoch.
    lanes : int
        In how many windows batches take turns, so that several processes need not read the same ones: a multiple of how
        many there are. Takes memory for as many windows.
    threads : int
        That read ahead; 0 to read only when a batch is asked for.

    Returns
    -------
    Batches

    Raises
    ------
    UsageError
        If there are no samples, or no such fields or variants, or a number is out of its range.
    """
    chosen = chosen_variants(source, variants)
    order = Order(
        seed=whole("seed", seed, least=0, below=_SEEDS),
        samples=count_samples(source),
        variants=len(chosen),
        chunk=source.chunk,
        size=whole("size", size, least=1),
        window=whole("window", window, least=1),
        lanes=whole("lanes", lanes, least=1),
        drop_last=bool(drop_last),
    )
    if order.per_epoch == 0:
        msg = f"{source.name} has {order.total} sequences, fewer than a batch of {size}, and drop_last leaves out such a batch"
        raise UsageError(msg)
    stop = None if epochs is None else whole("epochs", epochs, least=1) * order.per_epoch
    wanted = wanted_of(source, fields, chosen)
    return Batches(source, order, wanted, whole("start", start, least=0), stop, 1, whole("threads", threads, least=0))


def _windows_of(planned: tuple[int, list[Piece]]) -> set[tuple[int, int]]:
    return {piece[:2] for piece in planned[1]}
