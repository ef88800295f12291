"""Who is in the clips: persons, what they look like, and which clips are held against which.

A clip's person is that of its first actor. Persons are parted, not clips: of a person who is in the test split, no clip is
trained on. What is looked up here is computed once from the rows and joints of a dataset and kept with it, as features are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from posegen.config.identity import digest
from posegen.dataset.layout import ROWS
from posegen.dataset.splits import identities_in_split
from posegen.errors import UsageError
from posegen.randomness import Stream, uniform
from posegen.skeleton import JOINTS
from posegen.training.data.cache import FOLDER, cached_array, keep_array, kept_array
from posegen.training.data.features import GROUP, PARTNER, SHUFFLE, Recipe, View

__all__ = [
    "ALIKE",
    "JUDGED",
    "LOOKS",
    "OTHER",
    "PEOPLE",
    "SAME",
    "SAME_PERSON",
    "SIZES",
    "People",
    "PeopleIn",
    "look_alikes",
    "open_people",
    "partners_of",
]

Array = NDArray[Any]

LOOKS = ("stature", "legs", "arms", "shoulders", "hips", "age", "male", "style")
"""What a person looks like: stature and lengths of bones in metres, years, 0 or 1, a number that stands for the style."""
SIZES = 5
"""How many of them are lengths."""

SAME, OTHER, ALIKE = slice(0, 8), slice(8, 16), slice(16, 24)
"""Places among a clip's partners: clips of the same person, of others, and of those who look most like this one."""
JUDGED = ("validation", "test")
"""Splits whose clips are held against one another."""

SAME_PERSON = ("base",)
"""Variants that persons are learned from. Who is scaled has another body, and who is mirrored another handedness, so these are
other persons; a shifted one looks to a model as the base does. `speed` is the same person in a hurry or at leisure, but a pair
with the base of the same sample proves nothing: with it, 60 steps of 64 clips reached an AUC of .981 on persons never trained
on, without it .993.
"""
_PARTNERS = 24
_VERSION = 1
_NEAREST = 3
_ROUNDS = 4
_STYLES = 1 << 16
_CANDIDATES = 4

_BONES = {
    "legs": (("hip", "knee"), ("knee", "ankle")),
    "arms": (("shoulder", "elbow"), ("elbow", "wrist")),
}


def _person(fields: Mapping[str, Array], view: View) -> Array:
    del view
    return np.array([row["actors"][0]["person"] for row in fields[ROWS]], np.int64)


def _look(fields: Mapping[str, Array], view: View) -> Array:
    del view
    joints = fields["joints"][:, 0, :1].astype(np.float64)
    place = {name: joints[:, 0, number] for number, name in enumerate(JOINTS)}
    sides = ("left", "right")

    def apart(one: str, other: str) -> Array:
        return np.asarray(np.sqrt(((place[one] - place[other]) ** 2).sum(axis=-1)))

    limbs = [
        sum(apart(f"{side}_{near}", f"{side}_{far}") for near, far in _BONES[limb] for side in sides) / 2
        for limb in ("legs", "arms")
    ]
    widths = [apart("left_shoulder", "right_shoulder"), apart("left_hip", "right_hip")]
    actors = [row["actors"][0] for row in fields[ROWS]]
    told = [[actor["stature"], actor["age"], float(actor["male"]), _number(actor["style"])] for actor in actors]
    stature, age, male, style = np.array(told, np.float64).reshape(-1, 4).T
    return np.stack([stature, *limbs, *widths, age, male, style], axis=-1).astype(np.float32)


def _number(style: str) -> float:
    return float(xxhash.xxh3_64_intdigest(style.encode()) % _STYLES)


PERSON = Recipe("person", 1, (ROWS,), "int64", (), _person)
"""Number of the first actor's person in the population."""

LOOK = Recipe("look", 1, ("joints", ROWS), "float32", (len(LOOKS),), _look)
"""What the first actor looks like; see :data:`LOOKS`. Bones keep their lengths, so one frame tells them."""

PEOPLE = (PERSON, LOOK)


@dataclass(frozen=True)
class People:
    """Persons of the clips of a dataset.

    Attributes
    ----------
    dataset : Path
    person : int64 [sample]
    look : float32 [sample, look]
    seed : int
        Of the dataset, by which persons are parted.
    shuffled : bool
        Whether each sample is taken for somebody else's of its split: a control.
    """

    dataset: Path
    person: Array = field(repr=False)
    look: Array = field(repr=False)
    seed: int
    shuffled: bool = False

    def in_split(self, split: str) -> Array:
        """List the samples of the persons who are in a split, int64 [n], ascending."""
        persons = identities_in_split(self.seed, np.unique(self.person), split)
        return np.flatnonzero(np.isin(self.person, persons))

    def groups(self, size: int) -> Array:
        """Arrange the samples of the training split in groups of `size` of one person each.

        Who has fewer is not left out as long as there are two: some stand there twice then. Four rounds follow one another,
        with other groups in each.

        Returns
        -------
        int64 [n]
            A multiple of `size`.

        Raises
        ------
        UsageError
            If nobody has two.
        """
        samples, person = self.told("training")
        own = [samples[person == number] for number in np.unique(person)]
        rounds = [
            np.resize(_shuffled(self.seed, mine, turn), -(-len(mine) // size) * size)
            for turn in range(_ROUNDS)
            for mine in own
            if len(mine) > 1
        ]
        if not rounds:
            raise UsageError(self._too_few("training"))
        return np.concatenate(rounds)

    def partners(self, split: str) -> tuple[Array, Array]:
        """Look up which clips of a split are held against which; find them once.

        Returns
        -------
        int64 [n], int64 [n, 24]
            Samples, and for each its partners.

        Raises
        ------
        UsageError
            If there are no two clips of one person, or no two persons.
        """
        samples, person = self.told(split)
        content = xxhash.xxh3_128_hexdigest(np.concatenate([samples, person]).data)
        looks = xxhash.xxh3_128_hexdigest(np.ascontiguousarray(self.look[samples]).data)
        of = digest({"persons": content, "looks": looks, "seed": self.seed})
        folder = self.dataset / FOLDER / f"partners-{_VERSION}"
        name = f"{split}-{len(self.person):08d}{'-shuffled' if self.shuffled else ''}"
        table = kept_array(folder, name, of)
        if table is None:
            table = partners_of(samples, person, self.look[samples], self.seed)
            if (table[:, SAME] < 0).all() or (table[:, OTHER] < 0).all():
                raise UsageError(self._too_few(split))
            keep_array(folder, name, table, of)
        return samples, table

    def told(self, split: str) -> tuple[Array, Array]:
        """List the samples of a split, int64 [n], ascending, and whose they are told to be, int64 [n]."""
        samples = self.in_split(split)
        return samples, self.person[_drawn_order(self.seed, samples, SHUFFLE, 0) if self.shuffled else samples]

    def _too_few(self, split: str) -> str:
        persons, samples = len(np.unique(self.person)), len(self.person)
        told = f"{samples:,} samples of {persons:,} persons, in the {split} split no two persons of whom one has two clips"
        cure = "Generate more samples, or with fewer persons: --set population.persons=100"
        return f"{self.dataset}: has {told}, so none can be held against another. {cure}"


@dataclass(frozen=True)
class PeopleIn:
    """Persons of the clips of one split."""

    people: People
    split: str

    def told_of(self, samples: Array) -> dict[str, Array]:
        """Tell of clips: ``person``; and for clips that a model is judged by, ``size``, the lengths of bones, and ``partner``,
        samples to hold each against; see :func:`partners_of`.
        """
        known, person = self._told
        told = {"person": person[np.searchsorted(known, samples)]}
        if self.split not in JUDGED:
            return told
        _, partner = self._partners
        return told | {"size": self.people.look[samples, :SIZES], "partner": partner[np.searchsorted(known, samples)]}

    @cached_property
    def _told(self) -> tuple[Array, Array]:
        return self.people.told(self.split)

    @cached_property
    def _partners(self) -> tuple[Array, Array]:
        return self.people.partners(self.split)


def open_people(dataset: Path, view: View, shards: int, samples: int, seed: int, *, shuffled: bool) -> People:
    """Read who is in the first samples of a dataset; their recipes must have been computed."""

    def base(recipe: Recipe) -> Array:
        return np.concatenate([cached_array(dataset, recipe, view, shard)[:, 0] for shard in range(shards)])[:samples]

    return People(dataset, base(PERSON), base(LOOK), seed, shuffled)


def partners_of(samples: Array, person: Array, look: Array, seed: int) -> Array:
    """Find clips to hold each clip against.

    Parameters
    ----------
    samples, person : int64 [n]
        Ascending samples, and whose they are.
    look : float32 [n, look]
    seed : int

    Returns
    -------
    int64 [n, 24]
        Samples at the places :data:`SAME`, of those that come later, so that no pair stands there twice; :data:`OTHER`, drawn
        from all other persons'; :data:`ALIKE`, drawn from those of the three who look most alike. -1 where there is none.
    """
    found = np.full((len(samples), _PARTNERS), -1, np.int64)
    names, first = np.unique(person, return_index=True)
    own = {name: samples[person == name] for name in names.tolist()}
    near = dict(zip(names.tolist(), names[look_alikes(look[first], _NEAREST)].tolist(), strict=True))
    wanted = OTHER.stop - OTHER.start
    draws = uniform(seed, samples, Stream.AUGMENT, (1 + _CANDIDATES) * wanted, substream=PARTNER)
    for place, (sample, name) in enumerate(zip(samples.tolist(), person.tolist(), strict=True)):
        later = own[name][own[name] > sample][: SAME.stop]
        found[place, : len(later)] = later
        candidates = (draws[place, wanted:] * len(samples)).astype(np.int64)
        others = candidates[person[candidates] != name][:wanted]
        found[place, OTHER.start : OTHER.start + len(others)] = samples[others]
        alike = np.concatenate([own[other] for other in near[name]]) if near[name] else samples[:0]
        if len(alike):
            found[place, ALIKE] = alike[(draws[place, :wanted] * len(alike)).astype(np.int64)]
    return found


def look_alikes(look: Array, count: int) -> Array:
    """Find for each person those who look most alike.

    Parameters
    ----------
    look : float32 [person, look]
        See :data:`LOOKS`. Lengths and years count by their standard deviations; another sex and another style by two each.
    count : int

    Returns
    -------
    int64 [person, at most count]
        The nearest first.
    """
    measured = look[:, : SIZES + 1].astype(np.float64)
    measured = (measured - measured.mean(axis=0)) / np.maximum(measured.std(axis=0), 1e-9)
    nearest = np.empty((len(look), min(count, len(look) - 1)), np.int64)
    for number in range(len(look)):
        apart = ((measured - measured[number]) ** 2).sum(axis=1) + 4.0 * (look[:, -2:] != look[number, -2:]).sum(axis=1)
        apart[number] = np.inf
        nearest[number] = np.argsort(apart, kind="stable")[: nearest.shape[1]]
    return nearest


def _shuffled(seed: int, samples: Array, turn: int) -> Array:
    return _drawn_order(seed, samples, GROUP, turn)


def _drawn_order(seed: int, samples: Array, what: int, turn: int) -> Array:
    """Put samples into an order of chance."""
    drawn = uniform(seed, samples, Stream.AUGMENT, 1, attempt=turn, substream=what)[:, 0]
    return samples[np.argsort(drawn, kind="stable")]
