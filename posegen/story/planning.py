"""From a config to scenes: who does what when, for all samples of a shard at once.

What is planned for a sample depends on the config's content, the sample's number and the attempt alone. The number of
slots of the arrays is what the fullest sample needs; the others leave theirs unused.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.config import Config
from posegen.errors import UsageError
from posegen.library import Library
from posegen.randomness import Stream, choose, integers, uniform
from posegen.scene import DRAWS, Persons, Scenes, empty_scenes
from posegen.story.meeting import meet
from posegen.story.placing import places
from posegen.story.population import leg_height, persons, seat_height
from posegen.story.repertoire import Repertoire, action_weights, repertoire, theme_weights
from posegen.story.track import Actor, Slots, plan_track

__all__ = ["plan"]

Array = NDArray[Any]

_SPARE = 2.0
_PLACE_DRAWS = 4
_PHASE_STEPS = 1 << 16
_SINGLE_STEPS = 1 << 24


def plan(config: Config, library: Library, samples: ArrayLike, attempt: int = 0) -> Scenes:
    """Plan the scenes of samples.

    Parameters
    ----------
    config : Config
    library : Library
    samples : int64 [n]
    attempt : int
        0 at first; another number plans the samples anew.

    Returns
    -------
    Scenes
        Of the base variant; planned longer than shown, so that a faster variant does not run out.
    """
    index = np.asarray(samples, np.int64)
    most = config.story.actors.max
    if config.population.persons < most:
        msg = f"population.persons is {config.population.persons}; story.actors.max asks for {most} different ones"
        raise UsageError(msg)

    def single(stream: Stream) -> Array:
        return np.asarray(uniform(config.seed, index, stream, 1, attempt=attempt)[:, 0])

    known = repertoire(library)
    theme = choose(single(Stream.THEME), np.cumsum(theme_weights(config, library)))
    actors = integers(single(Stream.ACTORS), config.story.actors.min, most)
    shortest, longest = (config.frames,) * 2 if config.length is None else (config.length.min, config.length.max)
    length = integers(single(Stream.LENGTH), shortest, longest)
    people = persons(config, library, _cast(config, index, attempt))
    weights = action_weights(config, library)[theme]
    styles = list(library.styles.values())
    factors = {name: np.array([getattr(style, name) for style in styles]) for name in ("tempo", "amplitude", "speed")}
    tracks = []
    for number in range(most):
        there = np.flatnonzero(actors > number)
        person = Persons(**{f.name: getattr(people, f.name)[there, number] for f in fields(Persons)})
        draws = uniform(config.seed, index[there], Stream.SEGMENTS, 1, attempt=attempt, substream=number)[:, 0]
        actor = Actor(
            number=number,
            sample=index[there],
            attempt=attempt,
            weights=weights[there],
            shown=length[there] / config.fps,
            needed=_needed(config),
            segments=integers(draws, config.story.segments.min, config.story.segments.max),
            leg=leg_height(person),
            energy=person.energy,
            left_handed=person.left_handed,
            **{name: values[person.style] for name, values in factors.items()},
        )
        tracks.append((there, *plan_track(config, known, actor)))
    scenes = _assemble(len(index), most, tracks)
    scenes = replace(
        scenes,
        sample=index,
        theme=theme.astype(np.int16),
        actors=actors.astype(np.int16),
        length=length.astype(np.int32),
        persons=people,
    )
    return meet(config, library, known, _with_places(config, known, scenes, attempt), attempt)


def _needed(config: Config) -> float:
    speed = config.variants.speed
    fastest = 1.0 if speed is None else max(1.0, speed.max)
    return config.frames / config.fps * fastest + _SPARE


def _cast(config: Config, samples: Array, attempt: int) -> Array:
    """Numbers of different persons for the actors of each sample, [n, most actors]."""
    most, there = config.story.actors.max, config.population.persons
    draws = uniform(config.seed, samples, Stream.CAST, most, attempt=attempt)
    cast = np.empty((len(samples), most), np.int64)
    for actor in range(most):
        person = integers(draws[:, actor], 0, there - 1 - actor)
        # Count past those who are already cast, from the lowest number on.
        for other in np.sort(cast[:, :actor], axis=1).T:
            person = person + (person >= other)
        cast[:, actor] = person
    return cast


def _assemble(n: int, most: int, tracks: list[tuple[Array, Slots, Slots]]) -> Scenes:
    widest = max(base.action.shape[1] for _, base, _ in tracks)
    layers = max(layer.action.shape[1] for _, _, layer in tracks)
    scenes = empty_scenes(n, most, widest + layers)
    for actor, (there, base, layer) in enumerate(tracks):
        for slots, first in ((base, 0), (layer, widest)):
            where = (there, actor, slice(first, first + slots.action.shape[1]))
            for field in fields(Slots):
                getattr(scenes, field.name)[where] = getattr(slots, field.name)
            scenes.layered[where] = (slots.action >= 0) & (first > 0)
    return scenes


def _with_places(config: Config, known: Repertoire, scenes: Scenes, attempt: int) -> Scenes:
    most = scenes.origin.shape[1]
    place, motion, seat = (
        np.stack(
            [uniform(config.seed, scenes.sample, stream, count, attempt=attempt, substream=actor) for actor in range(most)],
            axis=1,
        )
        for stream, count in ((Stream.PLACE, _PLACE_DRAWS), (Stream.MOTION, DRAWS + 1), (Stream.SEAT, 1))
    )
    origin, heading = places(scenes.actors, place)
    present = np.arange(most) < scenes.actors[:, None]
    sits = ((scenes.action >= 0) & known.seated[scenes.action]).any(axis=2)
    return replace(
        scenes,
        origin=np.where(present[..., None], origin, np.float32(0.0)),
        heading=np.where(present, heading, np.float32(0.0)),
        seat_height=np.where(sits, seat_height(scenes.persons, seat[..., 0]), np.float32(0.0)),
        # Coarse enough that half a stride more is exact, as the mirror needs it.
        phase=(np.floor(motion[..., DRAWS] * _PHASE_STEPS) / _PHASE_STEPS).astype(np.float32),
        draws=(np.floor(motion[..., :DRAWS] * _SINGLE_STEPS) / _SINGLE_STEPS).astype(np.float32),
    )
