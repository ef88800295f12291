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
from posegen.dataset.batches.skeletons import vary_skeletons
from posegen.dataset.batches.sources import MixedSource, SelectableSource, Selection, Source, SourceOwner
from posegen.dataset.batches.windows import Windows
from posegen.dataset.splits import in_split
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.wording import shown

WINDOW = 1280
"""Default number of sequences that are shuffled together."""

_THREADS = 2
_SEEDS = 2**64
_MOST_NOISE = 0.1
_BODY = (len(JOINTS), 3)


@dataclass(frozen=True)
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

    def __len__(self) -> int:
        return len(self.values["sample"])

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name not in values:
            raise AttributeError(f"a batch has no {name!r}, only number, epoch, {', '.join(values)}")
        return values[name]


@dataclass(frozen=True)
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
    skeleton_noise : float
        Variation of the skeletons, metres; see :func:`posegen.dataset.batches.skeletons.vary_skeletons`.
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
    skeleton_noise: float = 0.0
    unused: list[Any] = field(default_factory=list, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        order = (self.source, self.order, self.selection, self.start, self.stop, self.every)
        return Batches, (*order, self.threads, self.skeleton_noise)

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
        if self.order.parts and isinstance(self.source, MixedSource):
            keys |= self.source.locate(samples)
        values, epoch = keys | windows.take(pieces), pieces[0].epoch
        if self.skeleton_noise:
            joints: Array = values["joints"]
            index = np.array(self.selection.variants)[variants]
            values["joints"] = vary_skeletons(
                joints, self.skeleton_noise, seed=self.order.seed, epoch=epoch, sample=samples, variant=index
            )
        return SequenceBatch(number, epoch, values)


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
    skeleton_noise: float = 0.0,
) -> Batches:
    """Return shuffled batches of sequences.

    The sequences of batch k depend only on k, seed, size, window, lanes, drop_last, the split, the selected variants, the
    sequences for which the condition holds, and the number of samples and the chunk size of the source.

    Parameters
    ----------
    source : Source or SourceOwner
        What to read: an open dataset, a config without a dataset, or clips. As a method, ``dataset.batches(64, seed=1)``.
    size : int
        Sequences in a batch; the last batch of an epoch may have fewer.
    seed : int
        Seed of the order; 0 to 2^64 - 1.
    fields : sequence of str, or str, optional
        Content of batches besides ``sample`` and ``variant``: arrays, and columns of the table of sequences; ``captions`` are
        lists of texts. All arrays unless given.
    variants : sequence of str, or str, optional
        All unless given.
    split : str, optional
        ``training``, ``validation`` or ``test``: batches of the samples in this split alone; see :mod:`posegen.dataset.splits`.
    where : str
        SQL condition on the columns of the table of sequences, such as ``duration > 4``: batches of the sequences for which it
        holds alone (needs DuckDB and a dataset on disk).
    window : int
        Number of sequences that are shuffled together: whole chunks of samples with their variants, at least one chunk.
    epochs : int or None
        Number of passes over all sequences, each in another order; None for no end.
    start : int
        Index of the first batch, to resume from it. Batches are counted over all epochs.
    drop_last : bool
        Leave out an incomplete batch at the end of an epoch.
    lanes : int
        Number of windows that take turns in providing batches, so that several processes read different windows: a multiple of
        the number of processes. Takes memory for as many windows.
    threads : int
        Threads that prefetch; 0 to read only when a batch is requested.
    skeleton_noise : float
        Standard deviation in metres by which bones of each actor are varied, differently in each clip and epoch; 0 to .1. See
        :func:`posegen.dataset.batches.skeletons.vary_skeletons`. Only ``joints`` change, not fields derived from them.

    Returns
    -------
    Batches

    Raises
    ------
    UsageError
        If there are no samples or no such fields or variants, or a number is out of its range.
    """
    if isinstance(source, SourceOwner):
        source = source.batch_source(fields)
    if source.samples < 1:
        raise UsageError(f"{source.name}: no samples yet, so there are no batches")
    indices = _select_variants(source, variants)
    conditions = [text for text in (where, source.where if isinstance(source, MixedSource) else "") if text]
    order = Order(
        seed=_check_integer("seed", seed, below=_SEEDS),
        samples=source.samples,
        variants=len(indices),
        chunk=source.chunk,
        size=_check_integer("size", size, least=1),
        window=_check_integer("window", window, least=1),
        lanes=_check_integer("lanes", lanes, least=1),
        drop_last=bool(drop_last),
        split=None if split is None else _check_split(source, split),
        parts=source.parts if isinstance(source, MixedSource) else (),
        chosen=_matching(source, conditions, indices),
    )
    if order.total == 0:
        lacks = [f"in the split {split}"] * (split is not None) + [f"for which {text} holds" for text in conditions]
        raise UsageError(f"{source.name}: no sample {' '.join(lacks)} among {source.samples:,}")
    if order.per_epoch == 0:
        msg = f"{source.name}: {order.total} sequences, fewer than a batch of {size}, and drop_last leaves out such a batch"
        raise UsageError(msg)
    stop = None if epochs is None else _check_integer("epochs", epochs, least=1) * order.per_epoch
    selection = _select_fields(source, fields, indices)
    noise, first, workers = (
        _check_noise(skeleton_noise, selection),
        _check_integer("start", start),
        _check_integer("threads", threads),
    )
    return Batches(source, order, selection, first, stop, 1, workers, noise)


def _matching(source: Source, conditions: Sequence[str], variants: tuple[int, ...]) -> bytes:
    """Return the bits of the sequences for which conditions hold; see :class:`posegen.dataset.batches.order.Order`."""
    if not conditions:
        return b""
    if not isinstance(source, SelectableSource):
        raise UsageError(f"{source.name} has no stored table of sequences, so where cannot be used. Generate a dataset")
    return np.packbits(np.logical_and.reduce([source.match(where)[:, variants] for where in conditions])).tobytes()


def _check_split(source: Source, split: str) -> tuple[int, str]:
    """Return the seed of the samples, and the split; UsageError if there is no such split."""
    if source.seed is None:
        raise UsageError(f"{source.name} has no splits")
    in_split(source.seed, [], split)  # refuses unknown names
    return source.seed, split


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


def _check_noise(value: Any, selection: Selection) -> float:
    """Return `skeleton_noise` as a float; UsageError if it is out of its range or there are no joints to vary."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST_NOISE:
        raise UsageError(f"skeleton_noise must be metres between 0 and {_MOST_NOISE} (got {shown(value)})")
    if value and "joints" not in selection.arrays:
        raise UsageError("skeleton_noise varies joints, which these batches do not have: add 'joints' to `fields`")
    shape = selection.arrays["joints"].shape if value else (0, 0, *_BODY)
    if len(shape) != 4 or shape[-2:] != _BODY:
        msg = f"skeleton_noise varies joints [actor, frame, {_BODY[0]}, 3]; these have the shape {list(shape)}: leave it out"
        raise UsageError(msg)
    return float(value)


def _check_names(what: str, names: Sequence[str] | str) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    twice = sorted({str(name) for name in listed if listed.count(name) > 1})
    if twice or not listed:
        raise UsageError(f"{what} must be a list of distinct names (got {f'{twice[0]!r} twice' if twice else 'an empty list'})")
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
    names = list(arrays) if fields is None else _check_names("fields", fields)
    others = [name for name in names if name not in arrays and name not in ("sample", "variant")]
    columns = source.columns() if others else ()
    for name in others:
        require_known(f"{source.name} has no field", name, [*arrays, *columns])
    return Selection({name: arrays[name] for name in names if name in arrays}, tuple(others), variants)
