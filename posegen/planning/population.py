"""The population: a person is a function of the seed and the number of the person; different persons are cast as actors.

Person 12 has the same body and the same handedness in every scene, so that a dataset can be split by person.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, choose, integers, normal, stream_keys, uniform
from posegen.foundations.scene import HABITS, Persons
from posegen.foundations.skeleton import AVERAGE_STATURE, JOINTS, LIBRARY_SKELETON, SHAPE, SKELETONS
from posegen.library.load import Library
from posegen.planning.repertoire import check_names
from posegen.planning.rules import RULES

Candidates = list[tuple[Array, Array, Array]]
"""Rows of samples, and the numbers of the persons who may be the first actor, and any actor, in ascending order."""

_BODY = RULES.body
_LIMIT = _BODY.most_deviation
_MOVED = (
    (("left_collar", "left_shoulder"), True),
    (("spine1", "spine2", "spine3", "neck", "head", "left_knee", "left_ankle", "left_elbow", "left_wrist"), False),
)
"""Joints whose placement varies: freely, or along their bone, so that angles are measured from the same directions."""


def persons(config: Config, library: Library, index: ArrayLike) -> Persons:
    """Return persons of the config's population.

    Parameters
    ----------
    config : Config
    library : Library
        For the styles, and for the skeletons of its clips.
    index : int64 [...]
        Numbers of the persons.

    Returns
    -------
    Persons
        Arrays of the shape of `index`.
    """
    number = np.asarray(index, np.int64)
    population = config.population
    draws = uniform(config.seed, number.ravel(), Stream.PERSON, 4)
    sizes = np.clip(normal(config.seed, number.ravel(), Stream.BODY, 2 + len(SHAPE)), -_LIMIT, _LIMIT)
    habits = np.clip(normal(config.seed, number.ravel(), Stream.HABIT, HABITS), -_LIMIT, _LIMIT)
    male = draws[:, 0] >= population.female
    mean, spread = (np.where(male, men, women) for men, women in zip(_BODY.stature_men, _BODY.stature_women, strict=True))
    age = population.age.min + draws[:, 2] * (population.age.max - population.age.min)
    lost = (age - _BODY.energy.middle_age) * _BODY.energy.lost_per_year
    energy = np.clip(sizes[:, 1] * _BODY.energy.deviation - lost, -1.0, 1.0)

    def single(values: Array) -> Array:
        return values.astype(np.float32).reshape(number.shape)

    return Persons(
        index=number.copy(),
        stature=single((mean + spread * sizes[:, 0]) * _grown(age, male)),
        age=single(age),
        male=male.reshape(number.shape),
        left_handed=(draws[:, 1] < population.left_handed).reshape(number.shape),
        energy=single(energy),
        style=_styles(config, library, age, draws[:, 3]).astype(np.int16).reshape(number.shape),
        habits=habits.astype(np.float32).reshape(*number.shape, HABITS),
        key=stream_keys(config.seed, number.ravel(), Stream.WAY).reshape(number.shape),
        rest=_placement(config, library, number),
        shape=_shape(sizes[:, 2:], age, male).astype(np.float32).reshape(*number.shape, len(SHAPE)),
    )


def _shape(draws: Array, age: Array, male: Array) -> Array:
    """Return the lengths of people relative to those of the average body, [n, SHAPE], for independent normal numbers."""
    shorter = np.minimum(age - _BODY.short_legs[0], 0.0) * _BODY.short_legs[1]
    shape = np.empty(draws.shape)
    for i, name in enumerate(SHAPE):
        rule = getattr(_BODY.variation, name)
        # Sequential additions: the order in a NumPy reduction depends on the CPU.
        number = sum(weight * draws[:, k] for k, weight in enumerate(rule.row))
        shape[:, i] = 1.0 + np.where(male, rule.men, -rule.men) + rule.deviation * np.clip(number, -_LIMIT, _LIMIT)
        shape[:, i] += shorter if name in ("thigh", "shank") else 0.0
    return shape


def _placement(config: Config, library: Library, number: Array) -> Array:
    """Return the rest offsets of persons, fractions of stature [..., 22, 3]; symmetric."""
    spread = config.population.skeleton_spread / AVERAGE_STATURE
    if config.skeleton == LIBRARY_SKELETON:
        rest = library.skeletons.offsets()[library.skeletons.of_persons(number)]
    else:
        rest = np.broadcast_to(SKELETONS[config.skeleton], (*number.shape, len(JOINTS), 3))
    if not spread:
        return rest
    drawn = np.clip(normal(config.seed, number.ravel(), Stream.PLACEMENT, 3 * len(JOINTS)), -_LIMIT, _LIMIT)
    bones = rest.copy()
    # The pelvis is known by its hips and spine1, whose direction from the hips is kept.
    bones[..., JOINTS.index("spine1"), 1:] -= rest[..., JOINTS.index("left_hip"), 1:]
    lengths = np.sqrt((bones * bones).sum(-1, keepdims=True))
    most = _BODY.most_moved * np.where(lengths > 0, lengths, _BODY.pelvis) * np.ones(3)
    # Nor do left and right change places.
    most[..., 0] = np.where(rest[..., 0] != 0, _BODY.most_moved * np.abs(rest[..., 0]), most[..., 0])
    moves = np.clip(spread * drawn.reshape(*number.shape, len(JOINTS), 3), -most, most)
    moved = rest.copy()
    for names, freely in _MOVED:
        for name in names:
            joint = JOINTS.index(name)
            along = moves[..., joint, 1:2] * bones[..., joint, :] / lengths[..., joint, :]
            moved[..., joint, :] += moves[..., joint, :] if freely else along
    for joint in map(JOINTS.index, ("left_hip", "spine1")):
        # The pelvis is displaced against both, so that the line between them keeps its direction.
        moved[..., joint, 1:] -= moves[..., 0, 1:]
    for joint, name in enumerate(JOINTS):
        if name.startswith("right_"):
            moved[..., joint, :] = moved[..., JOINTS.index(name.replace("right", "left")), :] * np.array([-1.0, 1.0, 1.0])
    return moved


def _grown(age: Array, male: Array) -> Array:
    """Return the share of the adult stature that each person has."""
    share = np.ones(len(age))
    for (year, *boy_and_girl), (later, *grown) in pairwise(_BODY.growth):
        part = (age - year) / (later - year)
        boy, girl = (one + part * (two - one) for one, two in zip(boy_and_girl, grown, strict=True))
        share = np.where((age >= year) & (age < later), np.where(male, boy, girl), share)
    return share


def _styles(config: Config, library: Library, age: Array, draws: Array) -> Array:
    """Draw the style of each person; neutral if the person is too young for all styles of the config."""
    styles = config.population.styles
    check_names("population.styles", styles, library.styles)
    begins = np.array([style.from_age for style in library.styles.values()])
    years = np.maximum(age[:, None] - begins, 0.0) / _BODY.years_to_full_weight
    weights = np.array([float(styles.get(name, 0.0)) for name in library.styles]) * np.where(begins > 0, years, 1.0)
    cumulative = np.cumsum(weights, axis=1)
    return np.where(cumulative[:, -1] > 0, choose(draws, cumulative), 0)


def cast(config: Config, samples: Array, attempt: ArrayLike, candidates: Candidates | None) -> Array:
    """Return the numbers of different persons for the actors of each sample, [n, most actors].

    `candidates` limits the persons of each sample; None allows all.
    """
    most, count = config.story.actors.max, config.population.persons
    draws = uniform(config.seed, samples, Stream.CAST, most, attempt=attempt)
    if candidates is None:
        return _different(draws, count, integers(draws[:, 0], 0, count - 1))
    chosen = np.empty((len(samples), most), np.int64)
    for rows, first, others in candidates:
        one = first[integers(draws[rows, 0], 0, len(first) - 1)]
        # The first actor is among `others`, too.
        chosen[rows] = others[_different(draws[rows], len(others), np.searchsorted(others, one))]
    return chosen


def _different(draws: Array, count: int, first: Array) -> Array:
    """Draw different numbers below `count` for the actors of each sample; those of the first actor are given."""
    chosen = np.empty(draws.shape, np.int64)
    chosen[:, 0] = first
    for actor in range(1, draws.shape[1]):
        index = integers(draws[:, actor], 0, count - 1 - actor)
        # From an index among the numbers that are left to an index among all of them.
        for other in np.sort(chosen[:, :actor], axis=1).T:
            index = index + (index >= other)
        chosen[:, actor] = index
    return chosen
