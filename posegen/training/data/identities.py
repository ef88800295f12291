"""Identities of clips: who moves, what the body looks like, and which clips are compared with which.

A clip's identity is the person of its first actor. Splits separate identities, not clips: no clip of an identity in the test
split is trained on. The tables are computed from the rows and joints of a dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xxhash

from posegen.dataset.layout import ROWS
from posegen.dataset.read import Dataset
from posegen.dataset.splits import SPLITS, in_split
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.skeleton import JOINTS
from posegen.training.data.feature_cache import cached_array, features_folder
from posegen.training.data.features import Draw, Recipe, View
from posegen.training.data.sources import SampleArrays

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
_FEWEST_PERSONS, _ENOUGH_PERSONS, _SHARE_OF_FEW, _TURNS = 6, 4, 0.2, 4
"""Of a user's clips: persons that are needed for three splits and in an evaluated one, and the share of few persons in it."""

_BONES = {
    "legs": (("hip", "knee"), ("knee", "ankle")),
    "arms": (("shoulder", "elbow"), ("elbow", "wrist")),
}


def _person(fields: Mapping[str, Array], view: View) -> Array:
    return np.array([row["actors"][0]["person"] for row in fields[ROWS]], np.int64)


def _bone_lengths(joints: Array) -> list[Array]:
    """Return the lengths of legs and arms, and the widths of shoulders and hips, of poses float [pose, joint, 3]."""
    position = {name: joints[:, number] for number, name in enumerate(JOINTS)}
    sides = ("left", "right")

    def distance(one: str, other: str) -> Array:
        return np.asarray(np.sqrt(((position[one] - position[other]) ** 2).sum(axis=-1)))

    limbs = [
        np.asarray(sum(distance(f"{side}_{near}", f"{side}_{far}") for near, far in _BONES[limb] for side in sides)) / 2
        for limb in ("legs", "arms")
    ]
    return [*limbs, distance("left_shoulder", "right_shoulder"), distance("left_hip", "right_hip")]


def _look(fields: Mapping[str, Array], view: View) -> Array:
    lengths = _bone_lengths(fields["joints"][:, 0, 0].astype(np.float64))
    actors = [row["actors"][0] for row in fields[ROWS]]
    styles = [xxhash.xxh3_64_intdigest(actor["style"].encode()) % _STYLES for actor in actors]
    known = [[actor["stature"], actor["age"], actor["male"], style] for actor, style in zip(actors, styles, strict=True)]
    stature, age, male, style = np.array(known, np.float64).reshape(-1, 4).T
    return np.stack([stature, *lengths, age, male, style], axis=-1).astype(np.float32)


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
    dataset : str
        Path of the dataset, for messages.
    person : int64 [sample]
    look : float32 [sample, look]
    seed : int
        Seed of the dataset, which decides the split of each identity.
    shuffled : bool
        Whether each sample is assigned a random identity of its split: a control.
    splits : dict of str to int64 [n], or None
        Samples of each split, where they do not follow from the seed.
    hint : str
        What to do if there are too few clips.
    """

    dataset: str
    person: Array = field(repr=False)
    look: Array = field(repr=False)
    seed: int
    shuffled: bool = False
    splits: Mapping[str, Array] | None = field(default=None, repr=False)
    hint: str = "Generate more samples, or fewer identities: --set population.persons=100"

    @property
    def tests_known_persons(self) -> bool:
        """Whether persons of the validation or the test split are also in the training split."""
        trained, *evaluated = (self.person[self.in_split(split)] for split in ("training", *EVALUATED))
        return bool(np.isin(np.concatenate(evaluated), trained).any())

    def in_split(self, split: str) -> Array:
        """Return the samples of the identities in a split, int64 [n], ascending."""
        if self.splits is not None:
            return self.splits[split]
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
        return f"{self.dataset}: has {problem}. {self.hint}"


def open_identities(dataset: Dataset, view: View, samples: int, *, shuffled: bool) -> Identities:
    """Read the identities of the first samples of a dataset; :data:`IDENTITY_RECIPES` must be cached."""
    shards, folder = range(-(-samples // dataset.header.shard)), features_folder(dataset)

    def base(recipe: Recipe) -> Array:
        return np.concatenate([cached_array(folder, recipe, view, shard)[:, 0] for shard in shards])[:samples]

    return Identities(str(dataset.path), base(_PERSON), base(_LOOK), dataset.header.seed, shuffled)


def identities_of_clips(path: Path, joints: Sequence[Array], subjects: Sequence[str]) -> tuple[Identities, str | None]:
    """Return the identities of a user's clips, and a warning if they are few.

    Persons with two clips or more are divided by a hash. If validation or test then has fewer than two persons, each gets a
    fifth of the persons, two at least. If there are not six persons, clips are divided instead.

    Parameters
    ----------
    path : Path
        For messages.
    joints : sequence of float [frame, 22, 3]
        Metres; the clips.
    subjects : sequence of str
        Who moves in each clip.
    """
    lengths = np.array([np.median(_bone_lengths(clip.astype(np.float64)), axis=1) for clip in joints])
    unknown = np.zeros((len(joints), 1))
    look = np.concatenate([unknown, lengths, np.repeat(unknown, len(_LOOKS) - SIZES, axis=1)], axis=1).astype(np.float32)
    names, person = np.unique(np.array(subjects), return_inverse=True)
    splits, warning = _divided_persons(person.astype(np.int64), len(names))
    hint = "Add clips: at least two persons with two clips each, and more in training"
    return Identities(str(path), person.astype(np.int64), look, 0, splits=splits, hint=hint), warning


def _divided_persons(person: Array, count: int) -> tuple[dict[str, Array], str | None]:
    """Return the clips of each split, and a warning if there are few persons."""
    clips = np.bincount(person, minlength=count)
    several = np.flatnonzero(clips > 1)
    drawn = uniform(0, several, Stream.SPLIT, 1, substream=1)[:, 0]
    order = several[np.argsort(drawn, kind="stable")]
    single = np.flatnonzero(clips == 1)
    if len(several) < _FEWEST_PERSONS:
        parts = np.arange(len(person)) % _TURNS
        # Clips of each person alternate between the splits.
        parts[np.argsort(person, kind="stable")] = np.arange(len(person)) % _TURNS
        own = {"test": parts == 1, "validation": parts == 3, "training": parts % 2 == 0}
        warning = (
            f"warning: only {len(several)} persons have two clips or more, and six are needed to test on unseen persons. Clips "
            "are divided instead, and the measures are those of known persons"
        )
        return {split: np.flatnonzero(chosen) for split, chosen in own.items()}, warning
    splits = {split: in_split(0, order, split, identities=True) for split in SPLITS}
    few: str | None = None
    if min(len(splits[split]) for split in EVALUATED) < _ENOUGH_PERSONS:
        each = max(2, round(_SHARE_OF_FEW * len(order)))
        splits = dict(zip(SPLITS, np.split(order, [each, 2 * each]), strict=True))
        few = (
            f"warning: {len(order)} persons have two clips or more: {len(order) - 2 * each} train, {each} select the weights, "
            f"and {each} test the model. Measures of so few persons vary much from person to person"
        )
    splits["training"] = np.concatenate([splits["training"], single])
    return {split: np.flatnonzero(np.isin(person, persons)) for split, persons in splits.items()}, few


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
