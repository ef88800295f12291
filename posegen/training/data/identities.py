"""Identities of clips: who moves, what the body looks like, and which clips are compared with which.

A clip's identity is the person of its first actor. Splits separate identities, not clips: no clip of an identity in the test
split is trained on. The tables are computed from the rows and joints of a dataset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset
from posegen.dataset.splits import in_split
from posegen.errors import UsageError
from posegen.randomness import Stream, uniform
from posegen.skeleton import JOINTS
from posegen.training.data.features import Draw, Recipe, View
from posegen.training.data.sources import SampleArrays, cached_array

_LOOKS = ("stature", "legs", "arms", "shoulders", "hips", "age", "male", "style")
"""Appearance of a body: stature and bone lengths in metres, years, 0 or 1, a number for the style."""
SIZES = 5
"""Number of lengths among them; they come first."""

SAME, OTHER, ALIKE = slice(0, 8), slice(8, 16), slice(16, 24)
"""Columns of the table of partners: clips of the same identity, of other identities, and of those that look most alike."""
EVALUATED = ("validation", "test")
"""Splits whose clips are compared with each other."""

TRAINED_VARIANTS = ("base",)
"""Variants used for training.

A scaled body and a mirrored handedness are other identities, and a shifted clip has the features of the base. `speed` keeps the
identity, but a pair with the base of the same sample is too easy: with it, 60 steps of 64 clips reached an AUC of .981 on
unseen identities, without it .993.
"""
_PARTNERS = 24
_NEAREST = 3
_ROUNDS = 4
_STYLES = 1 << 16
_CANDIDATES = 4

_BONES = {
    "legs": (("hip", "knee"), ("knee", "ankle")),
    "arms": (("shoulder", "elbow"), ("elbow", "wrist")),
}


def _person(fields: Mapping[str, Array], view: View) -> Array:
    return np.array([row["actors"][0]["person"] for row in fields[ROWS]], np.int64)


def _look(fields: Mapping[str, Array], view: View) -> Array:
    joints = fields["joints"][:, 0, :1].astype(np.float64)
    position = {name: joints[:, 0, number] for number, name in enumerate(JOINTS)}
    sides = ("left", "right")

    def distance(one: str, other: str) -> Array:
        return np.asarray(np.sqrt(((position[one] - position[other]) ** 2).sum(axis=-1)))

    limbs = [
        sum(distance(f"{side}_{near}", f"{side}_{far}") for near, far in _BONES[limb] for side in sides) / 2
        for limb in ("legs", "arms")
    ]
    widths = [distance("left_shoulder", "right_shoulder"), distance("left_hip", "right_hip")]
    actors = [row["actors"][0] for row in fields[ROWS]]
    styles = [xxhash.xxh3_64_intdigest(actor["style"].encode()) % _STYLES for actor in actors]
    known = [[actor["stature"], actor["age"], actor["male"], style] for actor, style in zip(actors, styles, strict=True)]
    stature, age, male, style = np.array(known, np.float64).reshape(-1, 4).T
    return np.stack([stature, *limbs, *widths, age, male, style], axis=-1).astype(np.float32)


_PERSON = Recipe("person", 1, (ROWS,), "int64", (), _person)
_LOOK = Recipe("look", 1, ("joints", ROWS), "float32", (len(_LOOKS),), _look)
"""Bones keep their lengths, so one frame is enough."""

IDENTITY_RECIPES = (_PERSON, _LOOK)
"""Number of the first actor in the population, and its appearance."""


@dataclass(frozen=True)
class Identities:
    """Identities of the clips of a dataset.

    Attributes
    ----------
    dataset : Path
    person : int64 [sample]
    look : float32 [sample, look]
    seed : int
        Seed of the dataset, which decides the split of each identity.
    shuffled : bool
        Whether each sample is assigned a random identity of its split: a control.
    """

    dataset: Path
    person: Array = field(repr=False)
    look: Array = field(repr=False)
    seed: int
    shuffled: bool = False

    def in_split(self, split: str) -> Array:
        """Return the samples of the identities in a split, int64 [n], ascending."""
        persons = in_split(self.seed, np.unique(self.person), split, identities=True)
        return np.flatnonzero(np.isin(self.person, persons))

    def groups(self, size: int) -> Array:
        """Arrange the samples of the training split in groups of `size` clips of one identity.

        An identity with fewer clips, but at least two, has some of them twice in a group. There are four rounds with different
        groups.

        Returns
        -------
        int64 [n]
            A multiple of `size`.

        Raises
        ------
        UsageError
            If no identity has two clips.
        """
        samples, person = self.labelled("training")
        own = [samples[person == number] for number in np.unique(person)]
        rounds = [
            np.resize(_random_order(self.seed, mine, Draw.GROUP, turn), -(-len(mine) // size) * size)
            for turn in range(_ROUNDS)
            for mine in own
            if len(mine) > 1
        ]
        if not rounds:
            raise UsageError(self._too_few("training"))
        return np.concatenate(rounds)

    def check(self, split: str) -> None:
        """Raise UsageError if a split has no two clips of one identity, or no two identities."""
        _, person = self.labelled(split)
        _, clips = np.unique(person, return_counts=True)
        if len(clips) < 2 or clips.max() < 2:
            raise UsageError(self._too_few(split))

    def labelled(self, split: str) -> tuple[Array, Array]:
        """Return the samples of a split, int64 [n], ascending, and their identity labels, int64 [n]."""
        samples = self.in_split(split)
        return samples, self.person[_random_order(self.seed, samples, Draw.SHUFFLE, 0) if self.shuffled else samples]

    def arrays_in(self, split: str) -> SampleArrays:
        """Return ``person`` of the clips of a split; of an evaluated one also ``size``, the bone lengths, and ``partner``."""
        samples, person = self.labelled(split)
        if split not in EVALUATED:
            return SampleArrays(samples, {"person": person})
        look = self.look[samples]
        partner = partners_of(samples, person, look, self.seed)
        return SampleArrays(samples, {"person": person, "size": look[:, :SIZES], "partner": partner})

    def _too_few(self, split: str) -> str:
        persons, samples = len(np.unique(self.person)), len(self.person)
        problem = f"{samples:,} samples of {persons:,} identities; its {split} split lacks two identities, one with two clips"
        return f"{self.dataset}: has {problem}. Generate more samples, or fewer identities: --set population.persons=100"


def open_identities(dataset: Dataset, view: View, samples: int, *, shuffled: bool) -> Identities:
    """Read the identities of the first samples of a dataset; :data:`IDENTITY_RECIPES` must be cached."""
    shards = range(-(-samples // dataset.header.shard))

    def base(recipe: Recipe) -> Array:
        return np.concatenate([cached_array(dataset.path, recipe, view, shard)[:, 0] for shard in shards])[:samples]

    return Identities(dataset.path, base(_PERSON), base(_LOOK), dataset.header.seed, shuffled)


def partners_of(samples: Array, person: Array, look: Array, seed: int) -> Array:
    """Select clips to compare each clip with.

    Parameters
    ----------
    samples, person : int64 [n]
        Ascending samples, and their identities.
    look : float32 [n, look]
    seed : int

    Returns
    -------
    int64 [n, 24]
        Samples in the columns :data:`SAME`, later ones only, so that no pair occurs twice; :data:`OTHER`, drawn from all other
        identities; :data:`ALIKE`, drawn from the three identities that look most alike. -1 where there is none.
    """
    table = np.full((len(samples), _PARTNERS), -1, np.int64)
    names, first = np.unique(person, return_index=True)
    own = {name: samples[person == name] for name in names.tolist()}
    near = dict(zip(names.tolist(), names[look_alikes(look[first], _NEAREST)].tolist(), strict=True))
    count = OTHER.stop - OTHER.start
    draws = uniform(seed, samples, Stream.AUGMENT, (1 + _CANDIDATES) * count, substream=Draw.PARTNER)
    for row, (sample, name) in enumerate(zip(samples.tolist(), person.tolist(), strict=True)):
        later = own[name][own[name] > sample][: SAME.stop]
        table[row, : len(later)] = later
        candidates = (draws[row, count:] * len(samples)).astype(np.int64)
        others = candidates[person[candidates] != name][:count]
        table[row, OTHER.start : OTHER.start + len(others)] = samples[others]
        alike = np.concatenate([own[other] for other in near[name]]) if near[name] else samples[:0]
        if len(alike):
            table[row, ALIKE] = alike[(draws[row, :count] * len(alike)).astype(np.int64)]
    return table


def look_alikes(look: Array, count: int) -> Array:
    """Return for each identity those that look most alike.

    Parameters
    ----------
    look : float32 [identity, look]
        Appearance. Lengths and age are compared in standard deviations; another sex or style counts as two.
    count : int

    Returns
    -------
    int64 [identity, at most count]
        The nearest first.
    """
    measured = look[:, : SIZES + 1].astype(np.float64)
    measured = (measured - measured.mean(axis=0)) / np.maximum(measured.std(axis=0), 1e-9)
    nearest = np.empty((len(look), min(count, len(look) - 1)), np.int64)
    for number in range(len(look)):
        distance = ((measured - measured[number]) ** 2).sum(axis=1) + 4.0 * (look[:, -2:] != look[number, -2:]).sum(axis=1)
        distance[number] = np.inf
        nearest[number] = np.argsort(distance, kind="stable")[: nearest.shape[1]]
    return nearest


def _random_order(seed: int, samples: Array, what: Draw, turn: int) -> Array:
    drawn = uniform(seed, samples, Stream.AUGMENT, 1, attempt=turn, substream=what)[:, 0]
    return samples[np.argsort(drawn, kind="stable")]
