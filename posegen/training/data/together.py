"""Train on real and generated clips in one run: generated ones first, then both in a ratio, then real ones.

Batch k is a function of the seed and k, as in every run. The classes are those of the real clips; an action that no class has
stays a class of its own, so that its clips train the encoder too. Validation and test have real clips only, and are not the
matter of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from posegen.dataset.batches import Order
from posegen.dataset.read import Dataset
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.wording import shown
from posegen.foundations.yaml_files import read_yaml
from posegen.library.class_maps import class_maps
from posegen.training.data.body_shape import recipe_on_shape
from posegen.training.data.captions import Captions, OwnCaptions
from posegen.training.data.feature_cache import cached_array, features_folder, fill_cache
from posegen.training.data.features import ABSENT, ACTION, LENGTH, MOTION, Draw, Recipe, View
from posegen.training.data.sources import ClipSource, Origin, Query
from posegen.training.settings import Settings


def read_class_map(
    labels: str | None, words: Sequence[str], actions: Sequence[str], shown_ones: Sequence[str]
) -> dict[str, str]:
    """Return the class of each action that a dataset shows.

    Parameters
    ----------
    labels : str or None
        Name of a published dataset of :mod:`posegen.library.class_maps`, or path of a YAML file with the actions of each class,
        ``wave: wave`` or ``kick: [kick, side_kick]``. None: a class has the action of its name.
    words, actions, shown_ones : sequence of str
        Classes of the real clips, actions that a dataset can have, and those that it shows.

    Raises
    ------
    UsageError
        If the file is no such map, names an unknown action or class, or the dataset shows none of the classes.
    """
    if labels is None:
        table: Mapping[str, Sequence[str]] = {name: (name,) for name in set(words) & set(actions)}
    elif labels in class_maps():
        known = class_maps()[labels].actions
        table = {name: known.get(name, ()) for name in words}
    else:
        table = _read_map(labels, words, actions)
    found = {action: name for name, own in table.items() for action in own if action in shown_ones}
    if not found:
        hint = f"Name the actions of each class in a YAML file, or one of {', '.join(class_maps())}, with --labels-map"
        raise UsageError(f"none of the classes {', '.join(map(shown, words[:5]))} is shown by the dataset. {hint}")
    return found


def _read_map(labels: str, words: Sequence[str], actions: Sequence[str]) -> dict[str, list[str]]:
    path = Path(labels)
    if not path.is_file():
        raise UsageError(f"--labels-map {labels}: there is no such file; published datasets are {', '.join(class_maps())}")
    given = read_yaml(path)
    if not isinstance(given, dict):
        raise UsageError(f"{path}: must have a line CLASS: ACTION, or CLASS: [ACTION, ...], for each class")
    table = {str(name): [own] if isinstance(own, str) else own for name, own in given.items()}
    for name, own in table.items():
        require_known(f"{path}: the clips have no class", name, words)
        if not isinstance(own, list):
            raise UsageError(f"{path}: {shown(name)} must have an action or a list of actions (got {shown(own)})")
        for action in own:
            require_known(f"{path}: the library of the dataset has no action", str(action), actions)
    return table


def shown_actions(dataset: Dataset, view: View) -> list[str]:
    """Return the actions that sequences of a dataset show."""
    fill_cache(dataset, [ACTION], view, lambda done, total: None)
    shards = (cached_array(features_folder(dataset), ACTION, view, shard) for shard in range(dataset.header.shards()))
    return [view.actions[i] for i in sorted(set().union(*(np.unique(shard).tolist() for shard in shards)) - {ABSENT})]


def schedule(settings: Settings, real: Array, generated: Array) -> Array:
    """Return the clips of each step: int64 [step, batch].

    Parameters
    ----------
    settings : Settings
    real, generated : int64 [n]
        Numbers of clips. Each clip is drawn equally often, but for the last pass over all of them.

    Examples
    --------
    >>> from posegen.training.settings import load_settings
    >>> few = load_settings("quick", ["steps=4", "batch=5", "together.first=0.25", "together.last=0.25"])
    >>> (schedule(few, np.arange(3), np.arange(10, 90)) < 10).sum(axis=1).tolist()
    [0, 1, 1, 5]
    """
    together, steps, batch = settings.together, settings.steps, settings.batch
    own, others = map(int, together.ratio.split(":"))
    at = (np.arange(steps) + 0.5) / steps
    share = np.where(at < together.first, 0.0, np.where(at > 1 - together.last, 1.0, own / (own + others)))
    counts = np.diff(np.floor(np.cumsum(share * batch) + 1e-6), prepend=0)
    is_real = np.arange(batch) < counts[:, None]
    clips = np.empty((steps, batch), np.int64)
    clips[is_real] = _passes(settings.seed, real, int(is_real.sum()), Draw.REAL)
    clips[~is_real] = _passes(settings.seed, generated, int((~is_real).sum()), Draw.GENERATED)
    return clips


def _passes(seed: int, clips: Array, count: int, which: Draw) -> Array:
    """Return the first `count` clips of passes over all, each in an order of its own."""
    passes = np.arange(-(-count // len(clips)))
    order = np.argsort(uniform(seed, passes, Stream.AUGMENT, len(clips), substream=which), axis=1, kind="stable")
    return clips[order.ravel()[:count]]


@dataclass(frozen=True)
class Generated:
    """Generated clips that train a model beside real ones.

    Attributes
    ----------
    dataset : Dataset
    view : View
        That of the dataset.
    classes : int16 [action + 1]
        The class of each action of the dataset; the last one, of absent actions, is ABSENT.
    shape : float64 [22, 3], or None
        Shape of the body that the clips are shown on; None: their own.
    settings : Settings
    captions : Captions or None
        For tasks that take them.
    """

    dataset: Dataset
    view: View
    classes: Array
    shape: Array | None
    settings: Settings
    captions: Captions | None = None

    def prepare(self, recipes: Sequence[Recipe], report: Callable[[int, int], None]) -> None:
        """Compute recipes that are not cached yet.

        Raises
        ------
        UsageError
            If the dataset lacks a field that they read.
        """
        needed = {field for recipe in recipes for field in recipe.fields}
        for name in sorted(needed - {field.name for field in self.dataset.header.all_fields}):
            raise UsageError(f"{self.dataset.path}: has no field {name}. Run: posegen derive {self.dataset.path} --add {name}")
        fill_cache(self.dataset, self.recipes(recipes), self.view, report)

    def recipes(self, recipes: Sequence[Recipe]) -> list[Recipe]:
        """Return recipes with those of motion on the shape of the real bodies."""
        return [
            recipe if self.shape is None or recipe.name != MOTION.name else recipe_on_shape(recipe, self.shape)
            for recipe in recipes
        ]

    def beside(self, real: ClipSource, count: int) -> ClipSource:
        """Return a source whose batch k has the real and generated clips of step k.

        A generated sequence that is longer than the longest real clip shows a stretch of it. Generated clips have the numbers
        from `count` on, which is the number of real clips: those of their sequence and the first frame of the stretch.
        """
        settings, folder, header = self.settings, features_folder(self.dataset), self.dataset.header
        recipe = next(recipe for recipe in real.recipes if recipe.name == LENGTH.name)
        lengths = [cached_array(folder, recipe, self.view, shard) for shard in range(header.shards())]
        length = np.concatenate(lengths).ravel().astype(np.int64)
        sequences = np.flatnonzero(length)
        drawn = uniform(settings.seed, sequences, Stream.AUGMENT, 1, substream=Draw.STRETCH)[:, 0]
        start = (drawn * (np.maximum(length[sequences] - real.view.frames, 0) + 1)).astype(np.int64)
        planned = schedule(settings, real.sample_numbers, count + sequences * self.view.frames + start)
        load = partial(_load_both, self, real.origin, count)
        origin = Origin(f"{real.name} with {self.dataset.path}", ("both",), settings.batch, 2, load)
        additions = real.additions
        if isinstance(additions, OwnCaptions):
            additions = replace(additions, others=self.captions, find=partial(self.find, count))
        numbers = _in_order(planned, settings)
        return replace(real, origin=origin, sample_numbers=numbers, additions=additions, group=settings.batch)

    def find(self, count: int, clips: Array) -> tuple[Array, Array, Array]:
        """Return sample, variant and first frame of generated clips by their numbers."""
        sequence, start = np.divmod(clips - count, self.view.frames)
        return *np.divmod(sequence, len(self.dataset.header.variants)), start


def _in_order(planned: Array, settings: Settings) -> Array:
    """Return clips [step, batch] as samples that :class:`posegen.dataset.batches.Order` yields in the order of steps."""
    steps, batch = planned.shape
    order = Order(settings.seed, steps * batch, 1, batch, batch, batch, settings.data.lanes, drop_last=True)
    numbers = np.empty(planned.size, np.int64)
    for step in range(steps):
        numbers[order.sequences_of(order.pieces(step))[0]] = planned[step]
    return numbers


def _load_both(generated: Generated, real: Origin, count: int, query: Query) -> None:
    """Store the values of real and generated clips."""
    own = np.flatnonzero(query.samples < count)
    into = {recipe.name: query.into[recipe.name][0] for recipe in query.recipes}
    few = {name: [np.empty((len(own), *values.shape[1:]), values.dtype)] for name, values in into.items()}
    if len(own):
        real.load(replace(query, samples=query.samples[own], variants=(0,), into=few))
    others = np.flatnonzero(query.samples >= count)
    folder, size, frames = features_folder(generated.dataset), generated.dataset.header.shard, query.view.frames
    places = np.stack(generated.find(count, query.samples[others]), axis=1).tolist()
    for given, recipe in zip(query.recipes, generated.recipes(query.recipes), strict=True):
        values = into[given.name]
        values[own] = few[given.name][0]
        values[others] = ABSENT if given.name == ACTION.name else 0
        for row, (sample, variant, start) in zip(others.tolist(), places, strict=True):
            found = cached_array(folder, recipe, generated.view, sample // size)[sample % size, variant]
            if given.inner[:1] == ("frame",):
                found = found[start : start + frames]
                values[row, : len(found)] = generated.classes[found] if given.name == ACTION.name else found
            else:
                values[row] = min(int(found) - start, frames) if given.name == LENGTH.name else found
