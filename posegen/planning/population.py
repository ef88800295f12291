"""The population: whom a person is, as a function of (seed, number of the person) alone.

Person 12 is the same body with the same handedness in whatever scene it plays, so that a dataset can be split by person.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library import Library
from posegen.randomness import Stream, choose, normal, uniform
from posegen.scene import Persons
from posegen.skeleton import PROPORTIONS
from posegen.wording import did_you_mean

__all__ = ["leg_height", "persons", "seat_height"]

Array = NDArray[Any]

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
"""Years, and shares of their later stature that boys and girls have reached: medians of the CDC's charts of 2000."""
_SHORT_LEGS = (12.0, 0.0085)
"""Years from which on legs are as long for the stature as later, and by which share shorter they are for each year before."""
_LIMIT = 2.5
_VARIATION = {"legs": 0.02, "arms": 0.025, "shoulders": 0.035, "hips": 0.04}
_ENERGY_SPREAD = 0.45
_ENERGY_LOST_PER_YEAR = 0.006
_MIDDLE_AGE = 45.0
_YEARS_TO_THE_WHOLE_WEIGHT = 10.0


def persons(config: Config, library: Library, index: ArrayLike) -> Persons:
    """Persons of the config's population.

    Parameters
    ----------
    config : Config
    library : Library
        Of the styles.
    index : int64 [...]
        Numbers in the population.

    Returns
    -------
    Persons
        Arrays of the shape of `index`.
    """
    number = np.asarray(index, np.int64)
    population = config.population
    draws = uniform(config.seed, number.ravel(), Stream.PERSON, 4)
    sizes = np.clip(normal(config.seed, number.ravel(), Stream.BODY, 2 + len(_VARIATION)), -_LIMIT, _LIMIT)
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
        **factors,
    )


def _grown(age: Array, male: Array) -> Array:
    """Share of the later stature that each person has."""
    share = np.ones(len(age))
    for (year, *boy_and_girl), (later, *grown) in pairwise(_GROWTH):
        part = (age - year) / (later - year)
        boy, girl = (one + part * (two - one) for one, two in zip(boy_and_girl, grown, strict=True))
        share = np.where((age >= year) & (age < later), np.where(male, boy, girl), share)
    return share


def _styles(config: Config, library: Library, age: Array, draws: Array) -> Array:
    """Draw each person's style; who may have none of those that are asked for is neutral."""
    asked = config.population.styles
    for name in asked:
        if name not in library.styles:
            msg = f"population.styles.{name}: unknown style{did_you_mean(name, library.styles)}"
            raise UsageError(msg)
    begins = np.array([style.from_age for style in library.styles.values()])
    years = np.maximum(age[:, None] - begins, 0.0) / _YEARS_TO_THE_WHOLE_WEIGHT
    weights = np.array([float(asked.get(name, 0.0)) for name in library.styles]) * np.where(begins > 0, years, 1.0)
    cumulative = np.cumsum(weights, axis=1)
    return np.where(cumulative[:, -1] > 0, choose(draws, cumulative), 0)


def leg_height(people: Persons) -> Array:
    """Height of the hip joint above the ground when standing, in metres; about .9 for the average adult."""
    limb = (PROPORTIONS["thigh"] + PROPORTIONS["shank"]) * people.legs.astype(np.float64) + PROPORTIONS["ankle_height"]
    return np.asarray(people.stature * limb)


def seat_height(people: Persons, draws: Array) -> Array:
    """Height of a seat that suits a person: .95 to 1.08 of the height of the knee, drawn by numbers on [0, 1)."""
    knee = (PROPORTIONS["shank"] + PROPORTIONS["ankle_height"]) * people.stature * people.legs
    return np.asarray(((0.95 + 0.13 * draws) * knee).astype(np.float32))
