"""Where clips come from: the cache of a dataset, a dataset as it is, a config, or a user's own clips; of each only the samples
of one split.

A :class:`ClipSource` is a source of batches as :mod:`posegen.dataset.batches` knows them, so which clips are in batch k is a
function of the seed and k. Samples are counted within the split there; its attribute `samples_of` tells which they are.
What differs from place to place is an origin, which does one thing: it gives what recipes make of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.dataset.batches import CAPTIONS, ArrayShape
from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset
from posegen.training.data.cache import cached_array, read_field
from posegen.training.data.captions import Captions, CaptionSampler, FreshCaptions
from posegen.training.data.features import Recipe, View
from posegen.training.data.identities import PeopleIn
from posegen.training.data.own_clips import OwnClips

__all__ = ["Asked", "Cached", "ClipSource", "Making", "Owned", "Reading"]

Array = NDArray[Any]

Put = Callable[[Recipe, int, Any, Array], None]
"""Takes a recipe, the place of a variant among those asked for, places of samples, and the values of these."""

_MOST_MADE = 100
"""Samples that are made at once."""


@dataclass(frozen=True)
class Asked:
    """What an origin is asked for: what `recipes` make of some variants of some samples, and whether captions as well."""

    recipes: Sequence[Recipe]
    view: View
    samples: Array
    variants: Sequence[int]
    captions: bool = False


@dataclass(frozen=True)
class Cached:
    """A dataset, by what recipes made of it.

    Attributes
    ----------
    path : Path
        Of the dataset.
    variants : tuple of str
    chunk, shard : int
        Samples that are read together, and samples in a shard.
    """

    path: Path
    variants: tuple[str, ...]
    chunk: int
    shard: int

    most_threads = 4

    @property
    def name(self) -> str:
        """The dataset's folder."""
        return str(self.path)

    def load(self, asked: Asked, put: Put) -> None:
        """Give what was computed once."""
        shards, rows = np.divmod(asked.samples, self.shard)
        within = {shard: np.flatnonzero(shards == shard) for shard in dict.fromkeys(shards.tolist())}
        for shard, places in within.items():
            chosen = rows[places]
            for recipe in asked.recipes:
                values = cached_array(self.path, recipe, asked.view, shard)
                for v, variant in enumerate(asked.variants):
                    put(recipe, v, places, values[chosen, variant])


@dataclass(frozen=True)
class Making:
    """A config, whose samples are made when they are needed."""

    config: Config

    # Making samples keeps Python busy itself: more threads would wait for one another.
    most_threads = 1

    @property
    def name(self) -> str:
        """The config's name."""
        return f"config {self.config.name}"

    @property
    def chunk(self) -> int:
        """Samples in a chunk, as a dataset would have it."""
        return self.config.store.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return self.config.variants.names

    def load(self, asked: Asked, put: Put) -> pa.Table | None:
        """Make samples."""
        from posegen.synthesis import synthesize

        texts: list[list[str]] = []
        for start in range(0, len(asked.samples), _MOST_MADE):
            batch = synthesize(self.config, asked.samples[start : start + _MOST_MADE])
            places = slice(start, min(start + _MOST_MADE, len(asked.samples)))
            rows = np.array(batch.rows, object).reshape(len(batch.samples), len(self.variants))
            for recipe in asked.recipes:
                for v, variant in enumerate(asked.variants):
                    every = {name: rows if name == ROWS else getattr(batch, name) for name in recipe.fields}
                    fields = {name: values[:, variant] for name, values in every.items()}
                    put(recipe, v, places, recipe.compute(fields, asked.view))
            if asked.captions:
                texts += [[caption["text"] for caption in row["captions"]] for row in batch.rows]
        return pa.table({CAPTIONS: pa.array(texts, pa.list_(pa.string()))}) if asked.captions else None


@dataclass(frozen=True)
class Reading:
    """A dataset that is gone through once, so that nothing is worth caching."""

    dataset: Dataset

    most_threads = 2

    @property
    def name(self) -> str:
        """The dataset's folder."""
        return str(self.dataset.path)

    @property
    def chunk(self) -> int:
        """Samples in a chunk."""
        return self.dataset.header.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return self.dataset.header.variants

    def load(self, asked: Asked, put: Put) -> None:
        """Read samples."""
        names = {name for recipe in asked.recipes for name in recipe.fields}
        fields = {name: read_field(self.dataset, name, asked.samples) for name in names}
        for recipe in asked.recipes:
            for v, variant in enumerate(asked.variants):
                own = {name: fields[name][:, variant] for name in recipe.fields}
                put(recipe, v, slice(len(asked.samples)), recipe.compute(own, asked.view))


@dataclass(frozen=True)
class Owned:
    """Clips of a user's own, each a sample of one variant."""

    clips: OwnClips

    most_threads = 1
    chunk = 20
    variants = ("own",)

    @property
    def name(self) -> str:
        """Where they lie."""
        return str(self.clips.path)

    def load(self, asked: Asked, put: Put) -> None:
        """Give clips."""
        fields = self.clips.padded(asked.samples)
        for recipe in asked.recipes:
            for v in range(len(asked.variants)):
                put(recipe, v, slice(len(asked.samples)), recipe.compute(fields, asked.view))


@dataclass(frozen=True)
class ClipSource:
    """Samples of one origin; see :class:`posegen.dataset.batches.Source`.

    Attributes
    ----------
    origin : Cached, Making, Reading or Owned
    recipes : tuple of Recipe
    view : View
    samples_of : int64 [sample]
        Which samples: ascending, or arranged in groups.
    captions : Captions, FreshCaptions or None
        Of its clips, where a task takes them.
    people : PeopleIn or None
        In its clips, where a task is about them.
    group : int or None
        Samples in a row that belong together, if `samples_of` is arranged so: they come into the same window of batches.
    of_variants : tuple of str or None
        The only variants that it shows; None: all that there are.
    sentences : CaptionSampler or None
        Where a task learns from captions as words: what a clip is shown with.
    """

    origin: Cached | Making | Reading | Owned
    recipes: tuple[Recipe, ...]
    view: View
    samples_of: Array
    captions: Captions | FreshCaptions | None = None
    people: PeopleIn | None = None
    group: int | None = None
    of_variants: tuple[str, ...] | None = None
    sentences: CaptionSampler | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.origin.name

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.samples_of)

    @property
    def chunk(self) -> int:
        """Samples that are loaded together."""
        return self.group or self.origin.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return tuple(name for name in self.origin.variants if self.of_variants is None or name in self.of_variants)

    @property
    def most_threads(self) -> int:
        """How many threads may load at once."""
        return self.origin.most_threads

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        shapes = ((recipe, recipe.shape(self.view)) for recipe in self.recipes)
        return {recipe.name: ArrayShape(shape, shape, recipe.dtype) for recipe, shape in shapes}

    def columns(self) -> tuple[str, ...]:
        """Name the columns of the table: captions where they are made with the samples."""
        return (CAPTIONS,) if isinstance(self.captions, FreshCaptions) else ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Load a chunk."""
        samples = self.samples_of[chunk * self.chunk : (chunk + 1) * self.chunk]
        recipes = [recipe for recipe in self.recipes if recipe.name in into]
        room = {
            recipe.name: [part.reshape(self.chunk, *recipe.shape(self.view)) for part in into[recipe.name]]
            for recipe in recipes
        }

        def put(recipe: Recipe, v: int, places: Any, values: Array) -> None:
            room[recipe.name][v][places] = values

        places = [self.origin.variants.index(self.variants[variant]) for variant in variants]
        return self.origin.load(Asked(recipes, self.view, samples, places, bool(columns)), put)
