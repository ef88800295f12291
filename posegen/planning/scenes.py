"""Plan the scenes of samples from a config: theme, actors, lengths, tracks, start positions and interactions.

The plan of a sample depends on the config's content, the index of the sample and the attempt only. The arrays have as many
segments as the fullest sample needs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import seat_height
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, choose, integers, stream_keys, uniform
from posegen.foundations.scene import NOTHING, Persons, Scenes, empty_scenes, on_grid
from posegen.library.load import Library
from posegen.planning.course import write_courses
from posegen.planning.durations import needed_seconds
from posegen.planning.interactions import plan_meetings, write_meetings
from posegen.planning.population import cast, persons
from posegen.planning.quotas import Allotment, allot
from posegen.planning.repertoire import Repertoire, action_weights, repertoire, theme_weights
from posegen.planning.rules import RULES, of_age
from posegen.planning.track import Actor, Requirement, plan_track

_POSITION_DRAWS = 4
_PHASE_STEPS = 1 << 16
_CONSTRAINED_ATTEMPT = 2
_SPACING, _LOOSENESS = 3.2, 0.3


def plan_scenes(config: Config, library: Library, samples: ArrayLike, attempt: ArrayLike = 0) -> Scenes:
    """Plan the base scenes of samples.

    Parameters
    ----------
    config : Config
    library : Library
    samples : int64 [n]
    attempt : int or int [n]
        Number of the attempt; each has its own random numbers.

    Returns
    -------
    Scenes
        Planned longer than shown, so that a faster variant does not run out of plan.
    """
    index = np.asarray(samples, np.int64)
    attempts = np.broadcast_to(np.asarray(attempt, np.int64), index.shape)
    most = config.story.actors.max
    if config.population.persons < most:
        raise UsageError(f"population.persons is {config.population.persons}; story.actors.max asks for {most} different ones")
    known, allotment = repertoire(library), allot(config, library, index)
    actors = integers(_single(config, index, Stream.ACTORS, attempts), config.story.actors.min, most)
    actors = np.where(allotment.interaction == NOTHING, actors, np.maximum(actors, 2))
    shortest, longest = (config.frames,) * 2 if config.length is None else (config.length.min, config.length.max)
    length = integers(_single(config, index, Stream.LENGTH, attempts), shortest, longest)
    people = persons(config, library, cast(config, index, attempts, allotment.candidates))
    theme, weights = _themes(config, library, index, attempts, allotment)
    scenes = replace(
        empty_scenes(len(index), most, 0),
        sample=index,
        theme=theme.astype(np.int16),
        actors=actors.astype(np.int16),
        length=length.astype(np.int32),
        persons=people,
    )
    courses = []
    for number in range(most):
        rows = np.flatnonzero(actors > number)
        person = people.select((rows, number))
        actor = _actor(config, library, index[rows], length[rows], person, weights[rows], attempts[rows], number)
        if number == 0:
            actor = _constrain(config, actor, allotment)
        courses.append((rows, number, plan_track(config, known, actor)))
    # An actor with an action of a quota takes part in no interaction.
    allowed = allotment.interactions & (allotment.action == NOTHING)[:, None]
    meetings = plan_meetings(config, library, known, scenes, attempts, allotment.interaction, allowed)
    courses += [(meeting.samples, who, steps.course()) for meeting in meetings for who, steps in enumerate(meeting.steps)]
    scenes = _with_positions(config, known, write_courses(scenes, courses), attempts)
    write_meetings(scenes, meetings)
    return scenes


def _single(config: Config, samples: Array, stream: Stream, attempt: Array, actor: int = 0) -> Array:
    return np.asarray(uniform(config.seed, samples, stream, 1, attempt=attempt, substream=actor)[:, 0])


def _themes(config: Config, library: Library, samples: Array, attempt: Array, allotment: Allotment) -> tuple[Array, Array]:
    """Draw the theme of each sample; return it and the weights of the actions."""
    weights, actions = theme_weights(config, library), action_weights(config, library)
    draws = _single(config, samples, Stream.THEME, attempt)
    possible = np.where(allotment.themes, weights, 0.0)
    possible = np.where((allotment.action[:, None] == NOTHING) | (actions.T[allotment.action] > 0), possible, 0.0)
    numbers = np.arange(len(weights))
    possible = np.where((allotment.theme[:, None] < 0) | (allotment.theme[:, None] == numbers), possible, 0.0)
    theme = choose(draws, np.cumsum(possible, axis=1))
    return theme, np.where(allotment.actions, actions[theme], 0.0)


def _actor(
    config: Config, library: Library, sample: Array, length: Array, person: Persons, weights: Array, attempt: Array, number: int
) -> Actor:
    """Return the input of the track of one actor in the samples in which it is present, without requirements of a quota."""
    draws = _single(config, sample, Stream.SEGMENT_COUNT, attempt, number)
    styles = list(library.styles.values())
    return Actor(
        number=number,
        sample=sample,
        attempt=attempt,
        weights=weights,
        shown=length / config.fps,
        needed=needed_seconds(config),
        segments=integers(draws, config.story.segments.min, config.story.segments.max),
        person=person,
        tempo=np.array([style.tempo for style in styles])[person.style] * of_age(RULES.age.tempo, person.age),
        amplitude=np.array([style.amplitude for style in styles])[person.style],
        speed=np.array([style.speed for style in styles])[person.style],
    )


def _constrain(config: Config, actor: Actor, allotment: Allotment) -> Actor:
    """Add the requirements of a quota to the first actor.

    Its action is in any segment but the last, which the end of the clip cuts. After two failed attempts it is in the first of
    as few segments as possible.
    """
    is_free = actor.attempt < _CONSTRAINED_ATTEMPT
    segments = np.where(is_free | (allotment.action == NOTHING), actor.segments, config.story.segments.min)
    draws = uniform(config.seed, actor.sample, Stream.SEGMENT_COUNT, 1, attempt=actor.attempt, first=1)[:, 0]
    at = integers(draws, 0, np.maximum(segments - 2, 0)) * is_free
    required = Requirement(allotment.action, at, allotment.slow, allotment.fast, allotment.side)
    return replace(actor, segments=segments, required=required)


def _with_positions(config: Config, known: Repertoire, scenes: Scenes, attempt: Array) -> Scenes:
    most = scenes.origin.shape[1]
    position, motion, seat = (
        np.stack([uniform(config.seed, scenes.sample, stream, count, attempt=attempt, substream=k) for k in range(most)], 1)
        for stream, count in ((Stream.POSITION, _POSITION_DRAWS), (Stream.MOTION, 1), (Stream.SEAT, 1))
    )
    keys = [stream_keys(config.seed, scenes.sample, Stream.MOMENT, attempt=attempt, substream=k) for k in range(most)]
    origin, heading = start_positions(scenes.actors, position)
    present = np.arange(most) < scenes.actors[:, None]
    sits = ((scenes.action >= 0) & known.seated[scenes.action]).any(axis=2)
    return replace(
        scenes,
        origin=np.where(present[..., None], origin, np.float32(0.0)),
        heading=np.where(present, heading, np.float32(0.0)),
        seat_height=np.where(sits, seat_height(scenes.persons, seat[..., 0]), np.float32(0.0)),
        # Rounded so that adding half a stride is exact, which the mirror variant needs.
        phase=(np.floor(motion[..., 0] * _PHASE_STEPS) / _PHASE_STEPS).astype(np.float32),
        key=np.stack(keys, axis=1),
        shared=stream_keys(config.seed, scenes.sample, Stream.CONTACT, attempt=attempt),
    )


def start_positions(actors: Array, draws: Array) -> tuple[Array, Array]:
    """Return the position and the heading of each actor in the first frame.

    The actors stand in the cells of a square lattice in random order, with a random offset, so that any two are at least 2.6 m
    apart. A single actor stands near the origin.

    Parameters
    ----------
    actors : int [n]
        Number of actors of each sample.
    draws : float [n, most actors, 4]
        On [0, 1).

    Returns
    -------
    float32 [n, most actors, 2], float32 [n, most actors]
        Position on the grid of :func:`posegen.foundations.scene.on_grid`; heading in radians.
    """
    n, most = draws.shape[:2]
    side = np.ones(n, np.int64)
    for smaller in range(1, most):
        side = np.where(actors > smaller * smaller, smaller + 1, side)
    order = np.argsort(draws[:, :, 0], axis=1, kind="stable")
    # Ranks among the actors that are present.
    rank = np.empty((n, most), np.int64)
    np.put_along_axis(rank, order, np.arange(most)[None, :].repeat(n, axis=0), axis=1)
    present = np.arange(most) < actors[:, None]
    before = (rank[:, None, :] < rank[:, :, None]) & present[:, None, :]
    cell = before.sum(axis=2, dtype=np.int64)
    middle = (side - 1)[:, None] / 2.0
    across, along = cell % side[:, None] - middle, cell // side[:, None] - middle
    loose = _LOOSENESS * (2.0 * draws[:, :, 1:3] - 1.0)
    origin = on_grid(np.stack([across, along], axis=2) * _SPACING + loose)
    heading = ((2.0 * draws[:, :, 3] - 1.0) * math.pi).astype(np.float32)
    return origin, heading
