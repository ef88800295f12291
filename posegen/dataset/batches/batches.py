"""Batches of shuffled sequences, prefetched by threads. :func:`make_batches` is the one definition of their options."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import gcd
from typing import Any

import numpy as np

from posegen.dataset.batches.order import Order, Piece
from posegen.dataset.batches.windows import MixedSource, SelectableSource, Selection, Source, SourceOwner, Windows
from posegen.dataset.splits import is_in_split
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.wording import counted, shown

WINDOW = 1280
"""Default number of sequences that are shuffled together."""

_THREADS = 2
_SEEDS = 2**64


_DEFAULT_COLUMNS = ("captions", "length")


@dataclass(frozen=True, repr=False)
class SequenceBatch:
    """A batch of sequences.

    Attributes
    ----------
    number, epoch : int
        Index of the batch, counted over all epochs, and its epoch.
    values : dict of str to ndarray [n, ...] or list
        ``sample``, ``variant`` and each selected field, for each of n sequences. ``batch.joints`` and ``batch["joints"]`` are
        short for ``batch.values["joints"]``.
    """

    number: int
    epoch: int
    values: dict[str, Any]

    def __repr__(self) -> str:
        return f"<SequenceBatch {self.number}: {counted(len(self), 'sequence')}, {', '.join(self.values)}>"

    def __dir__(self) -> list[str]:
        return ["number", "epoch", "values", *self.values]

    def __len__(self) -> int:
        return len(self.values["sample"])

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name not in values:
            raise AttributeError(f"a batch has no {name!r}, only number, epoch, {', '.join(values)}")
        return values[name]


@dataclass(frozen=True, repr=False)
class Batches:
    """Batches from `start` on, to be iterated any number of times; made by :func:`make_batches`.

    Files are open and threads run only during iteration, and batches can be pickled and used in other processes.

    Attributes
    ----------
    source : Source
    order : Order
    selection : Selection
    start : int
        Index of the first batch.
    stop : int or None
        Index after the last batch; None for no end.
    every : int
        Step between batches; 1 for all.
    threads : int
        Threads that prefetch.
    unused : list
        Buffers for the next iteration.
    """

    source: Source
    order: Order
    selection: Selection
    start: int
    stop: int | None
    every: int
    threads: int
    unused: list[Any] = field(default_factory=list, compare=False)

    def __repr__(self) -> str:
        names = ", ".join([*self.selection.arrays, *self.selection.columns])
        return f"<Batches of {self.order.size} sequences, {self.per_epoch} an epoch: {names}>"

    def __dir__(self) -> list[str]:
        return ["at", "batch", "per_epoch", "share", "start", "stop", "window_bytes"]

    def __reduce__(self) -> tuple[Any, ...]:
        return Batches, (self.source, self.order, self.selection, self.start, self.stop, self.every, self.threads)

    @property
    def per_epoch(self) -> int:
        """Number of batches in an epoch, of all shares."""
        return self.order.per_epoch

    @property
    def window_bytes(self) -> int:
        """Size of the arrays of a window in bytes; up to three are in memory for each lane, one of them only for a moment."""
        sequences = self.order.chunk * self.order.variants * self.order.chunks_in_window
        return sum(sequences * int(np.prod(x.shape)) * np.dtype(x.dtype).itemsize for x in self.selection.arrays.values())

    def __len__(self) -> int:
        if self.stop is None:
            raise TypeError("these batches have no end: set `epochs` to a number")
        return len(range(self.start, self.stop, self.every))

    def __iter__(self) -> Iterator[SequenceBatch]:
        numbers = iter(count(self.start, self.every) if self.stop is None else range(self.start, self.stop, self.every))
        planned: deque[tuple[int, list[Piece]]] = deque()
        with Windows(self.source, self.order, self.selection, self.threads, self.unused) as windows:
            while self._plan(planned, numbers, windows):
                number, pieces = planned.popleft()
                for piece in pieces:
                    windows.load(piece[:2])
                yield self._make_batch(number, pieces, windows)
                windows.keep({piece[:2] for _, pieces in planned for piece in pieces})

    def at(self, start: int, stop: int | None = None) -> Batches:
        """Return the same batches from index `start` on, up to `stop` if it is given."""
        stop = self.stop if stop is None else _check_integer("stop", stop)
        return replace(self, start=_check_integer("start", start), stop=stop)

    def batch(self, number: int) -> SequenceBatch:
        """Return the batch with this index, without reading other batches."""
        return next(iter(replace(self.at(number, number + 1), threads=0)))

    def share(self, rank: int, of: int, *, equal: bool = False) -> Batches:
        """Return every `of`-th batch, beginning with the one at position `rank`: the share of one of `of` processes.

        Each batch is in exactly one share and keeps its index. If the number of batches is not a multiple of `of`, the first
        shares have one batch more, which a process that waits for the others at each step would never get past.

        Parameters
        ----------
        rank, of : int
        equal : bool
            Leave out the last batches, fewer than `of`, so that all shares have the same number.

        Raises
        ------
        UsageError
            If `rank` is not below `of`.
        """
        of, rank = _check_integer("of", of, least=1), _check_integer("rank", rank)
        if rank >= of:
            raise UsageError(f"rank is {rank}; with {of} shares it must be between 0 and {of - 1}")
        stop = self.stop
        if equal and stop is not None:
            stop = self.start + self.every * (len(self) - len(self) % of)
        return replace(self, start=self.start + rank * self.every, stop=stop, every=self.every * of)

    def _plan(self, planned: deque[tuple[int, list[Piece]]], numbers: Iterator[int], windows: Windows) -> bool:
        """Plan the next batches and begin to load their windows. Return whether there is a next batch."""
        lanes = self.order.lanes // gcd(self.order.lanes, self.every)
        # Up to the next batch of each lane, so that its window is kept, and until one window per lane is being prefetched.
        while len(planned) <= lanes or (self.threads and len(windows.keys - _windows_of(planned[0])) < lanes):
            number = next(numbers, None)
            if number is None:
                break
            planned.append((number, self.order.pieces(number)))
            if self.threads:
                for key in sorted(_windows_of(planned[-1])):
                    windows.load(key)
        return bool(planned)

    def _make_batch(self, number: int, pieces: Sequence[Piece], windows: Windows) -> SequenceBatch:
        samples, variants = self.order.sequences_of(pieces)
        names = [self.source.variants[index] for index in self.selection.variants]
        keys: dict[str, Any] = {"sample": samples, "variant": [names[variant] for variant in variants.tolist()]}
        if isinstance(self.source, MixedSource):
            keys |= self.source.locate(samples)
        return SequenceBatch(number, pieces[0].epoch, keys | windows.take(pieces))


def make_batches(
    source: Source | SourceOwner,
    size: int,
    *,
    seed: int = 0,
    fields: Sequence[str] | str | None = None,
    variants: Sequence[str] | str | None = None,
    split: str | None = None,
    where: str = "",
    window: int = WINDOW,
    epochs: int | None = 1,
    start: int = 0,
    drop_last: bool = False,
    lanes: int = 1,
    threads: int = _THREADS,
) -> Batches:
    """Return shuffled batches of sequences, which depend on nothing but these arguments, the samples and their chunks.

    Parameters
    ----------
    source : Source or SourceOwner
        What to read: an open dataset, a config without a dataset, or clips. As a method, ``dataset.batches(64, seed=1)``.
    size : int
        Sequences in a batch; the last batch of an epoch may have fewer, and is left out with `drop_last`.
    seed : int
        Seed of the order; 0 to 2^64 - 1.
    fields : sequence of str, or str, optional
        Arrays and columns of the table of sequences, besides ``sample`` and ``variant``; ``captions`` are lists of texts.
        All arrays, ``captions`` and ``length`` unless given.
    variants : sequence of str, or str, optional
        All unless given.
    split : str, optional
        ``training`` (or ``train``), ``validation`` (``val``) or ``test``: batches of the samples in this split alone; see
        :mod:`posegen.dataset.splits`.
    where : str
        SQL condition on the columns of a stored table, such as ``duration > 4``: batches of such sequences (needs DuckDB).
    window : int
        Number of sequences that are shuffled together: whole chunks of samples with their variants, at least one chunk.
    epochs, start : int
        Number of passes, each in another order, None for no end; and the index of the first batch, counted over all epochs.
    lanes : int
        Windows that take turns in providing batches: a multiple of the number of processes that read. Each takes memory.
    threads : int
        Threads that prefetch; 0 to read only when a batch is requested.

    Raises
    ------
    UsageError
        If there are no samples or no such fields or variants, or a number is out of its range.
    """
    source = source.batch_source(fields) if isinstance(source, SourceOwner) else source
    indices = _select_variants(source, variants)
    integers = {"seed": _check_integer("seed", seed, below=_SEEDS)}
    for name, value in (("size", size), ("window", window), ("lanes", lanes)):
        integers[name] = _check_integer(name, value, least=1)
    order = _make_order(source, integers, indices, split, where, drop_last=drop_last)
    stop = None if epochs is None else _check_integer("epochs", epochs, least=1) * order.per_epoch
    selection = _select_fields(source, fields, indices)
    first, workers = _check_integer("start", start), _check_integer("threads", threads)
    return Batches(source, order, selection, first, stop, 1, workers)


def _make_order(
    source: Source, integers: dict[str, int], variants: tuple[int, ...], split: str | None, where: str, *, drop_last: bool
) -> Order:
    """Return the order of the sequences; UsageError if there is none."""
    if source.samples < 1:
        raise UsageError(f"{source.name}: no samples yet, so there are no batches")
    chosen = _choose(source, split, where, variants)
    sizes = {"samples": source.samples, "variants": len(variants), "chunk": source.chunk}
    order = Order(**sizes, **integers, drop_last=drop_last, chosen=chosen)
    if order.total == 0:
        lacks = [f"in the split {split}"] * (split is not None) + [f"for which {where} holds"] * bool(where)
        raise UsageError(f"{source.name}: no sample {' '.join(lacks)} among {source.samples:,}")
    if order.per_epoch == 0:
        msg = f"{source.name}: {order.total} sequences, fewer than a batch of {order.size}"
        raise UsageError(f"{msg}, and drop_last leaves out such a batch")
    return order


def _choose(source: Source, split: str | None, where: str, variants: tuple[int, ...]) -> bytes:
    """Return the bits of the sequences in a split for which a condition holds, as :class:`Order` takes them."""
    masks = []
    if isinstance(source, MixedSource):
        masks.append(source.used(split)[:, None])
    elif split is not None:
        if source.seed is None:
            raise UsageError(f"{source.name} has no splits")
        masks.append(is_in_split(source.seed, source.samples, split)[:, None])
    if where:
        if not isinstance(source, SelectableSource):
            raise UsageError(f"{source.name} has no stored table of sequences, so where cannot be used. Generate a dataset")
        masks.append(source.match(where)[:, variants])
    chosen = np.ones((source.samples, len(variants)), bool)
    for mask in masks:
        chosen &= mask
    return np.packbits(chosen).tobytes() if masks else b""


def _windows_of(planned: tuple[int, list[Piece]]) -> set[tuple[int, int]]:
    return {piece[:2] for piece in planned[1]}


def _check_integer(name: str, value: Any, least: int = 0, below: int | None = None) -> int:
    """Return an option as an int; UsageError if it is none or out of its range."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (below is not None and number >= below):
        bounds = f"of at least {least}" if below is None else f"between {least} and {below - 1}"
        raise UsageError(f"{name} must be an integer {bounds} (got {shown(value)})")
    return number


def _check_names(what: str, names: Sequence[str] | str) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if not listed or len({*listed}) < len(listed):
        raise UsageError(f"{what} must be a list of distinct names (got {shown(listed)})")
    return listed


def _select_variants(source: Source, variants: Sequence[str] | str | None) -> tuple[int, ...]:
    """Return the indices of variants by their names; UsageError for an unknown name."""
    names = _check_names("variants", source.variants if variants is None else variants)
    for name in names:
        require_known(f"{source.name} has no variant", name, source.variants)
    return tuple(i for i, name in enumerate(source.variants) if name in names)


def _select_fields(source: Source, fields: Sequence[str] | str | None, variants: tuple[int, ...]) -> Selection:
    """Separate arrays from columns of the table of sequences; UsageError for an unknown name."""
    arrays = source.arrays()
    stored = source.columns() if fields is None else ()
    names = [*arrays, *(c for c in _DEFAULT_COLUMNS if c in stored)] if fields is None else _check_names("fields", fields)
    others = [name for name in names if name not in arrays and name not in ("sample", "variant")]
    columns = source.columns() if others else ()
    for name in others:
        require_known(f"{source.name} has no field", name, [*arrays, *columns])
    return Selection({name: arrays[name] for name in names if name in arrays}, tuple(others), variants)
