"""Sources of clips: the cache of a dataset, a dataset itself, or a config.

A :class:`ClipSource` is a source as :mod:`posegen.dataset.batches` defines it, restricted to the samples of one split. It
counts samples within the split; `sample_numbers` maps them to the samples of the dataset. Where the clips come from is its
origin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from posegen.config.schema import Config
from posegen.dataset.batches import CAPTIONS, ArrayShape, SequenceBatch
from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset
from posegen.dataset.tables import caption_texts
from posegen.foundations.arrays import Array
from posegen.training.data.captions import FreshCaptions
from posegen.training.data.feature_cache import cached_array, features_folder, read_field
from posegen.training.data.features import Recipe, View

Additions = Callable[[dict[str, Array], SequenceBatch, int | None], dict[str, Array]]
"""Returns clips of a batch with further arrays, such as captions. There is a seed in training only."""

_AT_ONCE = 100
"""Samples that are synthesised at once."""


def view_of(dataset: Dataset, stride: int) -> View:
    """Return the view of a dataset at a stride."""
    header = dataset.header
    names = header.field("action").attributes["names"]
    actors = header.field("joints").shape[header.field("joints").dims.index("actor")]
    return View(-(-header.frames // stride), header.fps / stride, stride, tuple(map(str, names)), actors=actors)


@dataclass(frozen=True)
class Query:
    """Values to load.

    Attributes
    ----------
    recipes : sequence of Recipe
    view : View
    samples : int64 [sample]
    variants : sequence of int
        Indices of variants.
    into : mapping of str to sequence of ndarray [sample, ...]
        Destination of each recipe, an array for each variant.
    captions : bool
        Whether the captions are loaded too.
    """

    recipes: Sequence[Recipe]
    view: View
    samples: Array
    variants: Sequence[int]
    into: Mapping[str, Sequence[Array]]
    captions: bool = False

    def compute(self, fields: Mapping[str, Array], start: int = 0) -> None:
        """Compute the recipes from fields [sample, variant, ...] of the samples from number `start` on."""
        for recipe in self.recipes:
            for variant, destination in zip(self.variants, self.into[recipe.name], strict=True):
                values = recipe.compute({name: fields[name][:, variant] for name in recipe.fields}, self.view)
                destination[start : start + len(values)] = values


@dataclass(frozen=True)
class Origin:
    """Where clips come from.

    Attributes
    ----------
    name : str
        Name for messages.
    variants : tuple of str
    chunk : int
        Samples that are loaded together.
    most_threads : int
        Number of threads that may load at once.
    load : callable
        Stores the values of a query; returns its captions, if it asks for them. Can be pickled.
    """

    name: str
    variants: tuple[str, ...]
    chunk: int
    most_threads: int
    load: Callable[[Query], pa.Table | None]


def cached_origin(dataset: Dataset) -> Origin:
    """Return the clips of a dataset whose recipes are cached."""
    header = dataset.header
    return Origin(
        str(dataset.path), header.variants, header.chunk, 4, partial(_load_cached, features_folder(dataset), header.shard)
    )


def dataset_origin(dataset: Dataset) -> Origin:
    """Return the clips of a dataset that is read once, so that a cache would not pay."""
    return Origin(str(dataset.path), dataset.header.variants, dataset.header.chunk, 2, partial(_load_stored, dataset))


def config_origin(config: Config) -> Origin:
    """Return the clips of a config, whose samples are synthesised when they are needed."""
    # Synthesis keeps Python busy: more threads would wait for one another.
    return Origin(f"config {config.name}", config.variants.names, config.store.chunk, 1, partial(_load_synthesised, config))


def _load_cached(folder: Path, shard_size: int, query: Query) -> None:
    shards, rows = np.divmod(query.samples, shard_size)
    for shard in dict.fromkeys(shards.tolist()):
        own = np.flatnonzero(shards == shard)
        for recipe in query.recipes:
            values = cached_array(folder, recipe, query.view, shard)
            for variant, destination in zip(query.variants, query.into[recipe.name], strict=True):
                destination[own] = values[rows[own], variant]


def _load_stored(dataset: Dataset, query: Query) -> None:
    fields = {name for recipe in query.recipes for name in recipe.fields}
    query.compute({name: read_field(dataset, name, query.samples) for name in fields})


def _load_synthesised(config: Config, query: Query) -> pa.Table | None:
    from posegen.synthesis.synthesize import synthesize

    captions = []
    names = {name for recipe in query.recipes for name in recipe.fields}
    for start in range(0, len(query.samples), _AT_ONCE):
        batch = synthesize(config, query.samples[start : start + _AT_ONCE])
        arrays = {name: getattr(batch, name) for name in names}
        if ROWS in names:
            arrays[ROWS] = np.array(batch.rows, object).reshape(len(batch.samples), len(batch.variants))
        query.compute(arrays, start)
        if query.captions:
            captions.append(caption_texts(batch.table.column(CAPTIONS)))
    return pa.table({CAPTIONS: pa.chunked_array(captions)}) if query.captions else None


@dataclass(frozen=True)
class SampleArrays:
    """Samples, int64 [n], ascending, and arrays [n, ...] of them by name."""

    samples: Array
    arrays: dict[str, Array]

    def __call__(self, clips: dict[str, Array], batch: SequenceBatch, seed: int | None) -> dict[str, Array]:
        """Return clips of a batch with the arrays of their samples."""
        rows = np.searchsorted(self.samples, clips["sample"])
        return clips | {name: values[rows] for name, values in self.arrays.items()}


@dataclass(frozen=True)
class ClipSource:
    """Samples of one origin; see :class:`posegen.dataset.batches.Source`.

    Attributes
    ----------
    origin : Origin
    recipes : tuple of Recipe
    view : View
    sample_numbers : int64 [sample]
        Samples of the origin: ascending, or arranged in groups.
    additions : callable or None
        Adds captions or identities to clips, for tasks that take them.
    group : int or None
        Number of consecutive samples that stay together, if `sample_numbers` is arranged in groups.
    only_variants : tuple of str or None
        The variants that are used; None: all.
    """

    origin: Origin
    recipes: tuple[Recipe, ...]
    view: View
    sample_numbers: Array
    additions: Additions | None = None
    group: int | None = None
    only_variants: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Name for messages."""
        return self.origin.name

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.sample_numbers)

    @property
    def seed(self) -> None:
        """None: training selects the samples of a split itself."""
        return None

    @property
    def is_by_actor(self) -> bool:
        """Return whether each actor of a sequence is a clip of its own."""
        return any(recipe.is_by_actor for recipe in self.recipes)

    @property
    def chunk(self) -> int:
        """Samples that are loaded together."""
        return self.group or self.origin.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return tuple(name for name in self.origin.variants if self.only_variants is None or name in self.only_variants)

    @property
    def most_threads(self) -> int:
        """Number of threads that may load at once."""
        return self.origin.most_threads

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        shapes = ((recipe, recipe.shape(self.view)) for recipe in self.recipes)
        return {recipe.name: ArrayShape(shape, recipe.dtype) for recipe, shape in shapes}

    def columns(self) -> tuple[str, ...]:
        """Return the names of the table's columns: captions where they are generated with the samples."""
        return (CAPTIONS,) if isinstance(self.additions, FreshCaptions) else ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Load a chunk into arrays."""
        samples = self.sample_numbers[chunk * self.chunk : (chunk + 1) * self.chunk]
        recipes = [recipe for recipe in self.recipes if recipe.name in into]
        room = {recipe.name: list(into[recipe.name]) for recipe in recipes}
        indices = [self.origin.variants.index(self.variants[variant]) for variant in variants]
        return self.origin.load(Query(recipes, self.view, samples, indices, room, bool(columns)))
