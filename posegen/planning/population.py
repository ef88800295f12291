"""The population: a person is a function of the seed and the number of the person; different persons are cast as actors.

Person 12 has the same body and the same handedness in every scene, so that a dataset can be split by person.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.config.schema import Config
from posegen.library.load import Library
from posegen.planning.repertoire import check_names
from posegen.randomness import Stream, choose, integers, normal, uniform
from posegen.scene import HABITS, Persons
from posegen.skeleton import PROPORTIONS

Candidates = list[tuple[Array, Array, Array]]
"""Rows of samples, and the numbers of the persons who may be the first actor, and any actor, in ascending order."""

_STATURE_MEN, _STATURE_WOMEN = (1.759, 0.067), (1.618, 0.063)
_GROWTH = (
    (6.0, 0.66, 0.71),
    (8.0, 0.73, 0.785),
    (10.0, 0.79, 0.85),
    (12.0, 0.85, 0.925),
    (14.0, 0.93, 0.98),
    (16.0, 0.985, 0.995),
    (18.0, 1.0, 1.0),
)
"""Years, and share of the adult stature of boys and of girls: medians of the CDC growth charts of 2000."""
_SHORT_LEGS = (12.0, 0.0085)
"""Age from which the legs have their adult share of the stature, and the share by which they are shorter per year before."""
_LIMIT = 2.5
_VARIATION = {"legs": 0.02, "arms": 0.025, "shoulders": 0.035, "hips": 0.04}
_ENERGY_SPREAD = 0.45
_ENERGY_LOST_PER_YEAR = 0.006
_MIDDLE_AGE = 45.0
_YEARS_TO_FULL_WEIGHT = 10.0


def persons(config: Config, library: Library, index: ArrayLike) -> Persons:
    """Return persons of the config's population.

    Parameters
    ----------
    config : Config
    library : Library
        For the styles.
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
    sizes = np.clip(normal(config.seed, number.ravel(), Stream.BODY, 2 + len(_VARIATION)), -_LIMIT, _LIMIT)
    habits = np.clip(normal(config.seed, number.ravel(), Stream.HABIT, HABITS), -_LIMIT, _LIMIT)
    male = draws[:, 0] >= population.female
    mean, spread = (np.where(male, men, women) for men, women in zip(_STATURE_MEN, _STATURE_WOMEN, strict=True))
    age = population.age.min + draws[:, 2] * (population.age.max - population.age.min)
    energy = np.clip(sizes[:, 1] * _ENERGY_SPREAD - (age - _MIDDLE_AGE) * _ENERGY_LOST_PER_YEAR, -1.0, 1.0)

    def single(values: Array) -> Array:
        return values.astype(np.float32).reshape(number.shape)

    sizes[:, 2] += np.minimum(age - _SHORT_LEGS[0], 0.0) * _SHORT_LEGS[1] / _VARIATION["legs"]
    factors = {name: single(1.0 + spread * sizes[:, 2 + i]) for i, (name, spread) in enumerate(_VARIATION.items())}
    return Persons(
        index=number.copy(),
        stature=single((mean + spread * sizes[:, 0]) * _grown(age, male)),
        age=single(age),
        male=male.reshape(number.shape),
        left_handed=(draws[:, 1] < population.left_handed).reshape(number.shape),
        energy=single(energy),
        style=_styles(config, library, age, draws[:, 3]).astype(np.int16).reshape(number.shape),
        habits=habits.astype(np.float32).reshape(*number.shape, HABITS),
        **factors,
    )


def _grown(age: Array, male: Array) -> Array:
    """Return the share of the adult stature that each person has."""
    share = np.ones(len(age))
    for (year, *boy_and_girl), (later, *grown) in pairwise(_GROWTH):
        part = (age - year) / (later - year)
        boy, girl = (one + part * (two - one) for one, two in zip(boy_and_girl, grown, strict=True))
        share = np.where((age >= year) & (age < later), np.where(male, boy, girl), share)
    return share


def _styles(config: Config, library: Library, age: Array, draws: Array) -> Array:
    """Draw the style of each person; neutral if the person is too young for all styles of the config."""
    styles = config.population.styles
    check_names("population.styles", styles, library.styles)
    begins = np.array([style.from_age for style in library.styles.values()])
    years = np.maximum(age[:, None] - begins, 0.0) / _YEARS_TO_FULL_WEIGHT
    weights = np.array([float(styles.get(name, 0.0)) for name in library.styles]) * np.where(begins > 0, years, 1.0)
    cumulative = np.cumsum(weights, axis=1)
    return np.where(cumulative[:, -1] > 0, choose(draws, cumulative), 0)


def leg_height(people: Persons) -> Array:
    """Return the height of the hip joint above the ground in standing, in metres; about 0.9 for an average adult."""
    limb = (PROPORTIONS["thigh"] + PROPORTIONS["shank"]) * people.legs.astype(np.float64) + PROPORTIONS["ankle_height"]
    return np.asarray(people.stature * limb)


def seat_height(people: Persons, draws: Array) -> Array:
    """Return the height of a seat for each person, 0.95 to 1.08 of the knee height, for draws on [0, 1)."""
    knee = (PROPORTIONS["shank"] + PROPORTIONS["ankle_height"]) * people.stature * people.legs
    return np.asarray(((0.95 + 0.13 * draws) * knee).astype(np.float32))


def cast(config: Config, samples: Array, attempt: int, candidates: Candidates | None) -> Array:
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
    """Draw different numbers below `count` for the actors of each sample, of which the first actor's are given."""
    chosen = np.empty(draws.shape, np.int64)
    chosen[:, 0] = first
    for actor in range(1, draws.shape[1]):
        index = integers(draws[:, actor], 0, count - 1 - actor)
        # From an index among the numbers that are left to an index among all of them.
        for other in np.sort(chosen[:, :actor], axis=1).T:
            index = index + (index >= other)
        chosen[:, actor] = index
    return chosen
