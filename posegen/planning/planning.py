"""From a config to scenes: who does what when, for all samples of a shard at once.

What is planned for a sample depends on the config's content, the sample's number and the attempt alone. The number of
slots of the arrays is what the fullest sample needs; the others leave theirs unused.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library import Library
from posegen.planning.casting import cast
from posegen.planning.meeting import meet
from posegen.planning.placing import places
from posegen.planning.population import leg_height, persons, seat_height
from posegen.planning.quotas import Allotment, allot
from posegen.planning.repertoire import Repertoire, action_weights, repertoire, theme_weights
from posegen.planning.track import Actor, Slots, plan_track
from posegen.planning.wanted import Wanted
from posegen.randomness import Stream, choose, integers, uniform
from posegen.scene import DRAWS, NOTHING, Persons, Scenes, empty_scenes
from posegen.variants.variant import longest_time

__all__ = ["plan"]

Array = NDArray[Any]

_SPARE = 2.0
_PLACE_DRAWS = 4
_PHASE_STEPS = 1 << 16
_SINGLE_STEPS = 1 << 24
_SURE_ATTEMPT = 2


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
    _check_population(config)
    known, asked = repertoire(library), allot(config, library, index)
    actors = integers(_single(config, index, Stream.ACTORS, attempt), config.story.actors.min, most)
    if asked is not None:
        actors = np.where(asked.meeting == NOTHING, actors, np.maximum(actors, 2))
    shortest, longest = (config.frames,) * 2 if config.length is None else (config.length.min, config.length.max)
    length = integers(_single(config, index, Stream.LENGTH, attempt), shortest, longest)
    people = persons(config, library, cast(config, index, attempt, None if asked is None else asked.people))
    theme, weights = _themes(config, library, index, attempt, asked)
    tracks = []
    for number in range(most):
        there = np.flatnonzero(actors > number)
        actor = _actor(config, library, (index, length, people, weights), attempt, number, there)
        if asked is not None and number == 0:
            actor = _as_wanted(config, actor, asked)
        tracks.append((there, *plan_track(config, known, actor)))
    scenes = replace(
        _assemble(len(index), most, tracks),
        sample=index,
        theme=theme.astype(np.int16),
        actors=actors.astype(np.int16),
        length=length.astype(np.int32),
        persons=people,
    )
    scenes = _with_places(config, known, scenes, attempt)
    wanted = None
    if asked is not None:
        # Where a quota says what the first actor does, that one meets nobody.
        wanted = asked.meeting, asked.meetings & (asked.action == NOTHING)[:, None]
    return meet(config, library, known, scenes, attempt, wanted)


def _check_population(config: Config) -> None:
    there, most = config.population.persons, config.story.actors.max
    if there < most:
        msg = f"population.persons is {there}; story.actors.max asks for {most} different ones"
        raise UsageError(msg)


def _single(config: Config, samples: Array, stream: Stream, attempt: int, actor: int = 0) -> Array:
    return np.asarray(uniform(config.seed, samples, stream, 1, attempt=attempt, substream=actor)[:, 0])


def _themes(config: Config, library: Library, samples: Array, attempt: int, asked: Allotment | None) -> tuple[Array, Array]:
    """Theme of each sample, and the weights of its actions there."""
    weights, actions = theme_weights(config, library), action_weights(config, library)
    draws = _single(config, samples, Stream.THEME, attempt)
    if asked is None:
        theme = choose(draws, np.cumsum(weights))
        return theme, actions[theme]
    possible = np.where(asked.themes, weights, 0.0)
    possible = np.where((asked.action[:, None] == NOTHING) | (actions.T[asked.action] > 0), possible, 0.0)
    numbers = np.arange(len(weights))
    possible = np.where((asked.theme[:, None] < 0) | (asked.theme[:, None] == numbers), possible, 0.0)
    theme = choose(draws, np.cumsum(possible, axis=1))
    return theme, np.where(asked.actions, actions[theme], 0.0)


def _actor(
    config: Config, library: Library, scenes: tuple[Array, Array, Persons, Array], attempt: int, number: int, there: Array
) -> Actor:
    """What decides the track of an actor in the samples that have it."""
    index, length, people, weights = scenes
    person = Persons(**{f.name: getattr(people, f.name)[there, number] for f in fields(Persons)})
    draws = _single(config, index[there], Stream.SEGMENTS, attempt, number)
    styles = list(library.styles.values())
    return Actor(
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
        tempo=np.array([style.tempo for style in styles])[person.style],
        amplitude=np.array([style.amplitude for style in styles])[person.style],
        speed=np.array([style.speed for style in styles])[person.style],
    )


def _as_wanted(config: Config, actor: Actor, asked: Allotment) -> Actor:
    """Let the first actor do what a quota wants: in some slot but the last, which the end of the clip cuts.

    Where that was not shown twice, it is the first of as few slots as may be.
    """
    unsure = actor.attempt < _SURE_ATTEMPT
    segments = actor.segments if unsure else np.where(asked.action == NOTHING, actor.segments, config.story.segments.min)
    draws = uniform(config.seed, actor.sample, Stream.SEGMENTS, 1, attempt=actor.attempt, first=1)[:, 0]
    slot = integers(draws, 0, np.maximum(segments - 2, 0)) * unsure
    return replace(actor, segments=segments, wanted=Wanted(asked.action, slot, asked.slow, asked.fast, asked.side))


def _needed(config: Config) -> float:
    return config.frames / config.fps * longest_time(config) + _SPARE


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
