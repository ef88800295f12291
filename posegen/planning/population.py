"""The population: a person is a function of the seed and the number of the person; different persons are cast as actors.

Person 12 has the same body and the same handedness in every scene, so that a dataset can be split by person.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, choose, integers, normal, uniform
from posegen.foundations.scene import HABITS, Persons
from posegen.foundations.skeleton import AVERAGE_STATURE, JOINTS, LIBRARY_SKELETON, SHAPE, SKELETONS
from posegen.library.load import Library
from posegen.planning.repertoire import check_names

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
_VARIATION = {
    "thigh": (0.033, 0.0, (1.0,)),
    "shank": (0.033, 0.0, (0.37, 0.929)),
    "trunk": (0.032, 0.0, (-0.419, -0.443, 0.792)),
    "upper_arm": (0.033, 0.0, (0.337, 0.236, -0.062, 0.909)),
    "forearm": (0.043, 0.0145, (0.399, 0.345, -0.162, 0.127, 0.824)),
    "shoulders": (0.042, 0.027, (0.137, -0.118, 0.178, 0.029, 0.159, 0.954)),
    "hips": (0.042, -0.034, (0.19, -0.203, 0.31, 0.045, -0.125, 0.111, 0.893)),
}
"""Of each length of `skeleton.SHAPE`: the standard deviation between people of one stature and sex, by how much
men are above the mean of both sexes, as shares of the length, and a row of the Cholesky factor of the correlations.

From the public measurements of ANSUR II (Gordon et al. 2014; 4,082 men and 1,986 women, both sexes weighted alike) as shares of
stature: buttock-knee length, midpatella height, height of the seventh neck vertebra above the seat, acromion-radiale and
radiale-stylion length, biacromial and bicristal breadth. These share no landmark, whose error would be a correlation. The
breadth of the hips varies by .066 there, with the tissue around them; that of the hip joints is assumed to vary as the
shoulders do.
"""
_MOST_MOVED = 0.4
"""Largest displacement of a joint along each axis as a fraction of the length of its bone, so that no bone vanishes."""
_PELVIS = 0.07
"""What counts as the length of the pelvis, as a fraction of stature."""
_MOVED = (
    (("left_collar", "left_shoulder"), True),
    (("spine1", "spine2", "spine3", "neck", "head", "left_knee", "left_ankle", "left_elbow", "left_wrist"), False),
)
"""Joints whose placement varies: freely, or along their bone, so that angles are measured from the same directions."""
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
    mean, spread = (np.where(male, men, women) for men, women in zip(_STATURE_MEN, _STATURE_WOMEN, strict=True))
    age = population.age.min + draws[:, 2] * (population.age.max - population.age.min)
    energy = np.clip(sizes[:, 1] * _ENERGY_SPREAD - (age - _MIDDLE_AGE) * _ENERGY_LOST_PER_YEAR, -1.0, 1.0)

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
        rest=_placement(config, library, number),
        shape=_shape(sizes[:, 2:], age, male).astype(np.float32).reshape(*number.shape, len(SHAPE)),
    )


def _shape(draws: Array, age: Array, male: Array) -> Array:
    """Return the lengths of people relative to those of the average body, [n, SHAPE], for independent normal numbers."""
    shorter = np.minimum(age - _SHORT_LEGS[0], 0.0) * _SHORT_LEGS[1]
    shape = np.empty(draws.shape)
    for i, name in enumerate(SHAPE):
        spread, of_men, row = _VARIATION[name]
        # Sequential additions: the order in a NumPy reduction depends on the CPU.
        number = sum(weight * draws[:, k] for k, weight in enumerate(row))
        shape[:, i] = 1.0 + np.where(male, of_men, -of_men) + spread * np.clip(number, -_LIMIT, _LIMIT)
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
    most = _MOST_MOVED * np.where(lengths > 0, lengths, _PELVIS) * np.ones(3)
    # Nor do left and right change places.
    most[..., 0] = np.where(rest[..., 0] != 0, _MOST_MOVED * np.abs(rest[..., 0]), most[..., 0])
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
