"""Where clips come from: the cache of a dataset, or a config, each time only the samples of one split.

Both are sources of batches as :mod:`posegen.streaming` knows them, so which clips are in batch k is a function of the seed
and k. Samples are counted within the split here; :attr:`samples_of` a source tells which they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config import Config
from posegen.store.read import Dataset
from posegen.streaming import ArrayShape
from posegen.training.cache import cached_array
from posegen.training.captions import Captions
from posegen.training.own_clips import OwnClips
from posegen.training.recipes import Recipe, View

__all__ = ["Cached", "ClipSource", "Making", "Owned", "Reading"]

Array = NDArray[Any]

_MOST_MADE = 100
"""Samples that are made at once."""


@dataclass(frozen=True)
class Cached:
    """Samples of a dataset, by what recipes made of them.

    Attributes
    ----------
    path : Path
        Of the dataset.
    recipes : tuple of Recipe
    view : View
    samples_of : tuple of int
        Which samples, ascending.
    variants : tuple of str
    chunk, shard : int
        Samples that are read together, and samples in a shard.
    captions : Captions or None
        Of its clips, where a task takes them.
    """

    path: Path
    recipes: tuple[Recipe, ...]
    view: View
    samples_of: Array
    variants: tuple[str, ...]
    chunk: int
    shard: int
    captions: Captions | None = None

    most_threads = 4

    @property
    def name(self) -> str:
        """The dataset's folder."""
        return str(self.path)

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.samples_of)

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        return _shapes(self.recipes, self.view)

    def columns(self) -> tuple[str, ...]:
        """There is no table."""
        return ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> None:
        """Load a chunk; see :class:`posegen.streaming.Source`."""
        del columns
        shards, rows = np.divmod(self.samples_of[chunk * self.chunk : (chunk + 1) * self.chunk], self.shard)
        for recipe in self.recipes:
            if recipe.name not in into:
                continue
            for shard in np.unique(shards):
                places = np.flatnonzero(shards == shard)
                values = cached_array(self.path, recipe, self.view, int(shard))
                for v, variant in enumerate(variants):
                    plain = into[recipe.name][v].reshape(self.chunk, *recipe.shape(self.view))
                    plain[places] = values[rows[places], variant]


@dataclass(frozen=True)
class Making:
    """Samples of a config, made when they are needed; the attributes are those of :class:`Cached`."""

    config: Config
    recipes: tuple[Recipe, ...]
    view: View
    samples_of: Array
    captions: Captions | None = None

    # Making samples keeps Python busy itself: more threads would wait for one another.
    most_threads = 1

    @property
    def name(self) -> str:
        """The config's name."""
        return f"config {self.config.name}"

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.samples_of)

    @property
    def chunk(self) -> int:
        """Samples in a chunk, as a dataset would have it."""
        return self.config.store.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return self.config.variants.names

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        return _shapes(self.recipes, self.view)

    def columns(self) -> tuple[str, ...]:
        """There is no table."""
        return ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> None:
        """Make a chunk; see :class:`posegen.streaming.Source`."""
        from posegen.synthesis import synthesize

        del columns
        for start in range(0, self.chunk, _MOST_MADE):
            first = chunk * self.chunk + start
            samples = self.samples_of[first : min(first + _MOST_MADE, (chunk + 1) * self.chunk)]
            if not len(samples):
                return
            batch = synthesize(self.config, samples)
            for recipe in self.recipes:
                if recipe.name in into:
                    for v, variant in enumerate(variants):
                        fields = {name: getattr(batch, name)[:, variant] for name in recipe.fields}
                        values = recipe.compute(fields, self.view)
                        plain = into[recipe.name][v].reshape(self.chunk, *recipe.shape(self.view))
                        plain[start : start + len(samples)] = values


@dataclass(frozen=True)
class Reading:
    """Samples of a dataset that are gone through once, so that nothing is worth caching; the attributes are those of
    `Cached`.
    """

    dataset: Dataset
    recipes: tuple[Recipe, ...]
    view: View
    samples_of: Array
    captions: Captions | None = None

    most_threads = 2

    @property
    def name(self) -> str:
        """The dataset's folder."""
        return str(self.dataset.path)

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.samples_of)

    @property
    def chunk(self) -> int:
        """Samples in a chunk."""
        return self.dataset.header.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return self.dataset.header.variants

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        return _shapes(self.recipes, self.view)

    def columns(self) -> tuple[str, ...]:
        """There is no table."""
        return ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> None:
        """Load a chunk; see :class:`posegen.streaming.Source`."""
        del columns
        samples = self.samples_of[chunk * self.chunk : (chunk + 1) * self.chunk]
        fields = {name: self.dataset.arrays(name, samples) for name in {n for r in self.recipes for n in r.fields}}
        for recipe in self.recipes:
            for v, variant in enumerate(variants):
                values = recipe.compute({name: fields[name][:, variant] for name in recipe.fields}, self.view)
                into[recipe.name][v].reshape(self.chunk, *recipe.shape(self.view))[: len(samples)] = values


@dataclass(frozen=True)
class Owned:
    """Clips of a user's own, each a sample of one variant; the attributes are those of `Cached`."""

    clips: OwnClips
    recipes: tuple[Recipe, ...]
    view: View
    samples_of: Array
    captions: Captions | None = None

    most_threads = 1
    chunk = 20
    variants = ("own",)

    @property
    def name(self) -> str:
        """Where they lie."""
        return str(self.clips.path)

    @property
    def samples(self) -> int:
        """How many clips there are."""
        return len(self.samples_of)

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        return _shapes(self.recipes, self.view)

    def columns(self) -> tuple[str, ...]:
        """There is no table."""
        return ()

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> None:
        """Load a chunk; see :class:`posegen.streaming.Source`."""
        del columns
        chosen = self.samples_of[chunk * self.chunk : (chunk + 1) * self.chunk]
        fields = self.clips.padded(chosen)
        for recipe in self.recipes:
            if recipe.name in into:
                for v in range(len(variants)):
                    plain = into[recipe.name][v].reshape(self.chunk, *recipe.shape(self.view))
                    plain[: len(chosen)] = recipe.compute(fields, self.view)


ClipSource = Cached | Making | Reading | Owned


def _shapes(recipes: Sequence[Recipe], view: View) -> dict[str, ArrayShape]:
    shapes = ((recipe, recipe.shape(view)) for recipe in recipes)
    return {recipe.name: ArrayShape(shape, shape, recipe.dtype) for recipe, shape in shapes}
