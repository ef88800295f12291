"""Several datasets read as one: shuffled batches in which each has a share, and a small file that names them.

An epoch has every sequence of every dataset at least once. With weights, whole chunks of the datasets that need a larger share
are repeated, so that shares hold to one chunk; the repeated chunks are the first ones, in every epoch. The order of batches is
that of :mod:`posegen.dataset.batches.order`: a function of the seed, the sizes and the weights, on any machine.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from posegen.dataset import documents, files, layout, splits
from posegen.dataset.batches import ArrayShape, Source, make_batches
from posegen.dataset.read import Dataset, StoredSource, open_dataset
from posegen.dataset.sample import Sample
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.wording import counted

_MOST_CHUNKS = 10_000_000
_HINT = "Run posegen mix again"


class MixSource:
    """The chunks of several sources, one after another; see :class:`posegen.dataset.batches.Source`.

    Each dataset has splits by its own seed, see :meth:`used`; `seed` is that of the first one. `samples` is the number of
    positions of samples in an epoch, those after the end of a dataset are not used.

    Parameters
    ----------
    sources : sequence of StoredSource
    chunks : sequence of int
        Chunks of each source in an epoch; more than it has if some are repeated.
    """

    def __init__(self, sources: Sequence[StoredSource], chunks: Sequence[int]) -> None:
        self.sources, self.chunks = sources, chunks
        self.chunk, self.seed = sources[0].chunk, sources[0].seed
        self.samples = sum(chunks) * self.chunk
        self.variants = tuple(name for name in sources[0].variants if all(name in source.variants for source in sources))
        self.most_threads = min(source.most_threads for source in sources)
        self.name = " and ".join(source.name for source in sources)

    def arrays(self) -> dict[str, ArrayShape]:
        """Return the arrays that all have in the same shape."""
        first, *others = (dict(source.arrays()) for source in self.sources)
        return {name: shape for name, shape in first.items() if all(other.get(name) == shape for other in others)}

    def columns(self) -> tuple[str, ...]:
        """Return the columns that all have."""
        first, *others = (source.columns() for source in self.sources)
        return tuple(name for name in first if all(name in other for other in others))

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> Any:
        """Load a chunk; see :class:`posegen.dataset.batches.windows.Source`."""
        (number,), (own_chunk,) = (found.tolist() for found in self._find(np.array([chunk])))
        source = self.sources[number]
        own = [source.variants.index(name) for name in self.variants]
        table = source.load(own_chunk, [own[variant] for variant in variants], into, columns)
        if table is None or own == [*range(len(source.variants))]:
            return table
        samples = len(table) // len(source.variants)
        return table.take((np.arange(samples)[:, None] * len(source.variants) + np.array(own)).ravel())

    def match(self, where: str) -> Array:
        """Return the sequences of an epoch for which an SQL condition holds: bool [position, variant]."""
        variants = [[source.variants.index(name) for name in self.variants] for source in self.sources]
        return self._spread([source.match(where)[:, own] for source, own in zip(self.sources, variants, strict=True)])

    def used(self, split: str | None) -> Array:
        """Return whether each position of an epoch has a sample, and one of the split if there is one: bool [position]."""
        every = [np.ones(source.samples, bool) for source in self.sources]
        if split is not None:
            every = [splits.is_in_split(source.seed, source.samples, split) for source in self.sources]
        return self._spread(every)

    def _spread(self, of_each: Sequence[Array]) -> Array:
        """Return values of the samples of each source, bool [sample, ...], for the positions of an epoch."""
        found = []
        for own, chunks in zip(of_each, self.chunks, strict=True):
            whole = np.zeros((-(-len(own) // self.chunk), self.chunk, *own.shape[1:]), bool)
            whole.reshape(-1, *own.shape[1:])[: len(own)] = own
            found.append(whole[np.arange(chunks) % len(whole)].reshape(-1, *own.shape[1:]))
        return np.concatenate(found)

    def locate(self, samples: Array) -> dict[str, Array]:
        """Return ``dataset``, the number of the dataset, and ``sample``, the sample in it, of positions in an epoch."""
        number, chunk = self._find(samples // self.chunk)
        return {"dataset": number, "sample": chunk * self.chunk + samples % self.chunk}

    def _find(self, chunks: Array) -> tuple[Array, Array]:
        """Return the source and the chunk in it of chunks of the epoch."""
        ends = np.cumsum(self.chunks)
        number = np.searchsorted(ends, chunks, side="right")
        own = np.array([-(-source.samples // source.chunk) for source in self.sources])
        return number, (chunks - (ends - np.array(self.chunks))[number]) % own[number]


class Mix:
    """Several open datasets; made by :func:`concat` or :func:`open_mix`.

    It is a sequence of the samples of all datasets, each once: ``len(mix)``, ``mix[3]``, ``for sample in mix``. Weights
    apply to ``mix.batches``, whose batches have the number of the `dataset` of each sequence besides its `sample`.

    Attributes
    ----------
    datasets : tuple of Dataset
    weights : tuple of float or None
        Shares of the sequences of an epoch; None for each sequence once.
    """

    def __init__(self, datasets: Sequence[Dataset], weights: Sequence[float] | None) -> None:
        self.datasets = tuple(datasets)
        self.weights = None if weights is None else tuple(weights)

    def __repr__(self) -> str:
        shares = "" if self.weights is None else f", weights {':'.join(f'{weight:g}' for weight in self.weights)}"
        return f"<Mix of {', '.join(str(dataset.path) for dataset in self.datasets)}: {counted(len(self), 'sample')}{shares}>"

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __iter__(self) -> Iterator[Sample]:
        return chain.from_iterable(self.datasets)

    def __getitem__(self, index: int) -> Sample:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self!r} has no sample {index}")
        index %= len(self)
        ends = list(accumulate(map(len, self.datasets)))
        number = bisect_right(ends, index)
        return self.datasets[number][index - ends[number]]  # below 0: counted from the end of the dataset

    batches = make_batches

    def batch_source(self, fields: Sequence[str] | str | None) -> MixSource:
        """Return the source of batches with these fields; see :func:`posegen.dataset.batches.make_batches`."""
        sources = [dataset.batch_source(fields) for dataset in self.datasets]
        return MixSource(sources, _chunks(sources, self.weights))

    def positions(self) -> list[int]:
        """Return how many positions of an epoch each dataset has."""
        source = self.batch_source([])
        return [chunks * source.chunk for chunks in source.chunks]


def _chunks(sources: Sequence[Source], weights: Sequence[float] | None) -> list[int]:
    """Return the chunks of each source in an epoch."""
    own = [-(-source.samples // source.chunk) for source in sources]
    if weights is None:
        return own
    passes = [weight / source.samples for weight, source in zip(weights, sources, strict=True)]
    chunks = [each / min(passes) * count for each, count in zip(passes, own, strict=True)]
    if sum(chunks) > _MOST_CHUNKS:
        raise UsageError(
            f"an epoch with weights {list(weights)} has {sum(chunks):.3g} chunks, at most {_MOST_CHUNKS:,} are possible. "
            "Choose weights closer to each other"
        )
    return list(map(round, chunks))


def concat(datasets: Sequence[str | AnyPath | Dataset], weights: Sequence[float] | None = None) -> Mix:
    """Read several datasets as one.

    Parameters
    ----------
    datasets : sequence of str, Path, BucketPath or Dataset
        At least one, with the same frame rate and the same number of samples in a chunk.
    weights : sequence of float, optional
        Share of each dataset in the sequences of an epoch, in any unit; by default each sequence occurs once.

    Returns
    -------
    Mix

    Raises
    ------
    UsageError
        If datasets cannot be read together, or weights are not positive.
    PosegenError
        If a dataset is missing or damaged.

    Examples
    --------
    >>> import posegen, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> config = posegen.load_config("smoke")
    >>> for seed in (0, 1):
    ...     _ = posegen.generate(posegen.load_config("smoke", [f"seed={seed}"]), samples=20, workers=1, out=f"{folder}/{seed}")
    >>> mix = posegen.concat([f"{folder}/0", f"{folder}/1"], weights=[1, 3])
    >>> [sum((batch.dataset == number).sum() for batch in mix.batches(64)) for number in (0, 1)]
    [np.int64(100), np.int64(300)]
    """
    opened = [item if isinstance(item, Dataset) else open_dataset(item) for item in datasets]
    if not opened:
        raise UsageError("a mix needs at least one dataset")
    first = opened[0]
    for other in opened[1:]:
        for what, own, its in (
            ("frames per second", first.header.fps, other.header.fps),
            ("samples in a chunk (config key store.chunk)", first.header.chunk, other.header.chunk),
        ):
            if own != its:
                raise UsageError(f"{other.path}: has {its} {what}, {first.path} has {own}. Generate one of them again")
    for dataset in opened:
        if not len(dataset):
            raise UsageError(f"{dataset.path}: has no samples. Leave it out")
    if weights is not None and (len(weights) != len(opened) or not all(0 < weight < float("inf") for weight in weights)):
        raise UsageError(f"weights must be {len(opened)} positive numbers, one for each dataset (got {list(weights)})")
    return Mix(opened, weights)


@dataclass(frozen=True)
class _Part(documents.Document):
    """A dataset of a mix: its address in a bucket, or its path relative to the file."""

    path: str
    identity: str
    samples: documents.Count


@dataclass(frozen=True)
class _MixDocument(documents.Document):
    """The file of a mix."""

    format_version: layout.Positive
    datasets: list[_Part]
    weights: list[float] | None
    where: Literal[""] = ""


def write_mix(path: str | Path, mix: Mix) -> None:
    """Write a small file that names the datasets of a mix; no motion is copied.

    Parameters
    ----------
    path : str or Path
        File to write. It must not exist.
    mix : Mix

    Raises
    ------
    UsageError
        If the file exists or its folder does not.
    """
    path = Path(path)
    if path.exists() or not path.parent.is_dir():
        raise UsageError(f"{path}: {'exists' if path.exists() else 'its folder does not exist'}. Choose another file")
    parts = []
    for dataset in mix.datasets:
        local = storage_of(dataset.path).local  # by its path from the file on, so that both may be moved together
        address = Path(os.path.relpath(local, path.parent)).as_posix() if local else str(dataset.path)
        parts.append(_Part(address, dataset.header.identity, len(dataset)))
    weights = None if mix.weights is None else [float(weight) for weight in mix.weights]
    files.write_durably(path, documents.seal(_MixDocument(documents.FORMAT_VERSION, parts, weights), indent=2))


def open_mix(path: str | Path) -> Mix:
    """Open the datasets that a file of :func:`write_mix` names.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Mix

    Raises
    ------
    PosegenError
        If the file is missing or damaged, or a dataset is not the one that was mixed, or has another number of samples.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PosegenError(f"{path}: cannot be read ({error.strerror or error})") from error
    document = documents.read_sealed(_MixDocument, data, documents.Origin(str(path), f"{_HINT}."))
    datasets = [open_dataset(part.path if "://" in part.path else path.parent / part.path) for part in document.datasets]
    for part, dataset in zip(document.datasets, datasets, strict=True):
        if (dataset.header.identity, len(dataset)) != (part.identity, part.samples):
            raise PosegenError(f"{path}: {dataset.path} is not the dataset of {part.samples:,} samples that was mixed. {_HINT}")
    return concat(datasets, document.weights)
