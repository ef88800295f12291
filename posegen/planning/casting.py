"""Casting: different persons of the population for the actors of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.randomness import Stream, integers, uniform

__all__ = ["People", "cast"]

Array = NDArray[Any]
People = list[tuple[Array, Array, Array]]
"""For samples at the same places: numbers of the persons who may be the first actor, and any actor; both in order."""


def cast(config: Config, samples: Array, attempt: int, people: People | None) -> Array:
    """Numbers of different persons for the actors of each sample, [n, most actors].

    `people` tells who may play in which sample; everybody may where it is None.
    """
    most, there = config.story.actors.max, config.population.persons
    draws = uniform(config.seed, samples, Stream.CAST, most, attempt=attempt)
    if people is None:
        return _of_all(draws, there)
    chosen = np.empty((len(samples), most), np.int64)
    for rows, first, others in people:
        chosen[rows] = _of_some(draws[rows], first, others)
    return chosen


def _of_all(draws: Array, there: int) -> Array:
    chosen = np.empty(draws.shape, np.int64)
    for actor in range(draws.shape[1]):
        person = integers(draws[:, actor], 0, there - 1 - actor)
        chosen[:, actor] = _past(person, chosen[:, :actor])
    return chosen


def _past(place: Array, taken: Array) -> Array:
    """Count past those who are already cast, from the lowest on."""
    for other in np.sort(taken, axis=1).T:
        place = place + (place >= other)
    return place


def _of_some(draws: Array, first: Array, others: Array) -> Array:
    chosen = np.empty(draws.shape, np.int64)
    chosen[:, 0] = first[integers(draws[:, 0], 0, len(first) - 1)]
    for actor in range(1, draws.shape[1]):
        # The first actor is one of the others, too: their places in the list are counted past.
        taken = np.searchsorted(others, chosen[:, :actor])
        chosen[:, actor] = others[_past(integers(draws[:, actor], 0, len(others) - 1 - actor), taken)]
    return chosen
