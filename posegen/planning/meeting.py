"""Two who meet: which samples, what the first two actors of each do with one another, and what they do before and behind it.

Their tracks are written anew: they come together, face each other at the same time, do it, and go on. Where they are for it,
the motion finds out; it knows how far walks lead.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.library import Library
from posegen.library.interactions import Interaction
from posegen.planning.encounter import Course, Pace, approach, begin, leave, then, walk_on
from posegen.planning.performing import Together, perform
from posegen.planning.population import leg_height
from posegen.planning.repertoire import STANDING, Repertoire
from posegen.planning.track import UNUSED
from posegen.randomness import Stream, choose, uniform
from posegen.scene import DRAWS, LEFT, NOTHING, RIGHT, Persons, Scenes
from posegen.skeleton import CAPSULES
from posegen.variants.variant import largest_bodies, longest_time

__all__ = ["bodies_fit", "longest_least", "meet"]

Array = NDArray[Any]
Piece = dict[str, Array]

_WHETHER, _WHICH, _METRES, _MORE, _TEMPO, _SIZE, _SIDE, _WHEN, _ROUNDS, _HOLD, _COMES, _LEAVES = range(12)
_FIRST_OWN, _OWN = 12, 14
_SHARED = _FIRST_OWN + 2 * _OWN
_SINGLE_STEPS = 1 << 24
_LATEST = 5.0
"""Seconds until two have met at the latest."""
_SEEN_AFTER = 0.6
"""Seconds behind an interaction that should be left of a clip."""
_LEAST_BEHIND = 3.0
"""Seconds that a clip must have for one to walk behind the other."""
_TEMPO_RANGE = 0.9, 1.1
_TIMED = (10, 17, 24)
"""Draws by which the times of repetitions vary, which two who meet have in common."""
_MOST_FLESH = 0.0675
"""Metres: radii of two forearms together with which hands can still meet without going into one another by more than 2 cm."""


def meet(
    config: Config,
    library: Library,
    known: Repertoire,
    scenes: Scenes,
    attempt: int,
    wanted: tuple[Array, Array] | None = None,
) -> Scenes:
    """Let the first two actors of some samples meet.

    Parameters
    ----------
    config : Config
    library : Library
    known : Repertoire
    scenes : Scenes
        Planned with each actor by itself.
    attempt : int
    wanted : (int [n], bool [n, interactions]), optional
        Number of the interaction that each sample is to have, or NOTHING; and those that it may have otherwise.

    Returns
    -------
    Scenes
    """
    interactions = library.interactions
    if scenes.action.shape[1] < 2 or not interactions or (config.story.interactions.share == 0 and wanted is None):
        return scenes
    draws = uniform(config.seed, scenes.sample, Stream.MEETING, _SHARED + DRAWS, attempt=attempt)
    if wanted is None:
        wanted = np.full(len(scenes), NOTHING), np.ones((len(scenes), len(interactions)), bool)
    kinds = _kinds(config, library, known, scenes, draws, wanted)
    plans = []
    speeds = np.array([style.speed for style in library.styles.values()])
    for number, interaction in enumerate(interactions.values()):
        chosen = np.flatnonzero(kinds == number)
        if len(chosen):
            plans.append((chosen, *_plan(config, known, interaction, scenes, chosen, draws[chosen], speeds)))
    return _written(scenes, plans, draws)


def _seconds(config: Config, scenes: Scenes) -> tuple[Array, float]:
    """Seconds that each clip shows, and that plans must cover."""
    return scenes.length / config.fps, config.frames / config.fps * longest_time(config) + 2.0


def _kinds(
    config: Config, library: Library, known: Repertoire, scenes: Scenes, draws: Array, asked: tuple[Array, Array]
) -> Array:
    """Which interaction each sample has, or NOTHING."""
    factors = config.story.interactions.weights
    shown, _ = _seconds(config, scenes)
    # The larger the bodies of a variant, the deeper hands that meet are in one another.
    larger = largest_bodies(config, scenes.sample)
    sizes = larger[:, None] * (scenes.persons.stature * scenes.persons.legs)[:, :2]
    columns = []
    for name, interaction in library.interactions.items():
        fewest = _together(interaction, known, scenes, np.arange(len(scenes)), draws, fewest=True)
        course = perform(interaction, known, fewest, (begin(len(scenes)), begin(len(scenes))))[0]
        fits = bodies_fit(interaction, sizes)
        fits &= np.where(interaction.behind, _LEAST_BEHIND, course.time + _SEEN_AFTER) <= shown
        columns.append(np.where(fits, interaction.weight * factors.get(name, 1.0), 0.0))
    possible = np.stack(columns, axis=1)
    weights = np.cumsum(np.where(asked[1], possible, 0.0), axis=1)
    drawn = (scenes.actors >= 2) & (draws[:, _WHETHER] < config.story.interactions.share) & (weights[:, -1] > 0)
    kinds = np.where(drawn, choose(draws[:, _WHICH], weights), NOTHING)
    # Bodies that do not fit are others at the next attempt.
    can = possible[np.arange(len(scenes)), np.maximum(asked[0], 0)] > 0
    return np.where(asked[0] == NOTHING, kinds, np.where(can, asked[0], NOTHING))


def bodies_fit(interaction: Interaction, sizes: Array) -> Array:
    """Whether the bodies of two can do something with one another; `sizes` are statures [..., 2] as flesh goes with them."""
    shorter, taller = sizes.min(axis=-1), sizes.max(axis=-1)
    fits = taller <= interaction.unlike * shorter
    if interaction.seen == "hands":
        fits &= CAPSULES["left_forearm"][2] * (shorter + taller) <= _MOST_FLESH
    return np.asarray(fits)


def longest_least(interaction: Interaction, known: Repertoire) -> float:
    """Seconds that a clip must have so that any two have time for an interaction, done as few times as can be."""
    one, short = np.ones(1), np.full(1, interaction.rounds[0])
    slowest, held = np.full(1, _TEMPO_RANGE[0]), np.full(1, interaction.hold[1])
    hands = np.full((1, 2), RIGHT)
    slow = Together(interaction.metres[1] * one, slowest, one, hands[:, 0], hands, 0.0 * one, short, held)
    course = perform(interaction, known, slow, (begin(1), begin(1)))[0]
    return _LEAST_BEHIND if interaction.behind else float(course.time[0]) + _SEEN_AFTER


def _together(
    interaction: Interaction, known: Repertoire, scenes: Scenes, chosen: Array, draws: Array, *, fewest: bool = False
) -> Together:
    """Draw what the two do alike; the `fewest` repetitions and rounds, or as many as come."""
    left = scenes.persons.left_handed[chosen, :2]
    better = np.where(left.all(axis=1), LEFT, RIGHT)
    low, high = interaction.metres
    short, long = interaction.hold
    first, last = interaction.rounds
    rounds = np.minimum(first + np.floor(draws[:, _ROUNDS] * (last - first + 1)).astype(np.int64), last)
    return Together(
        metres=low + draws[:, _METRES] * (high - low),
        tempo=_TEMPO_RANGE[0] + (_TEMPO_RANGE[1] - _TEMPO_RANGE[0]) * draws[:, _TEMPO],
        amplitude=0.85 + 0.25 * draws[:, _SIZE],
        side=np.where(draws[:, _SIDE] < 0.9, better, LEFT + RIGHT - better),
        own=np.where(left, LEFT, RIGHT),
        more=np.zeros(len(chosen)) if fewest else draws[:, _MORE],
        rounds=np.full(len(chosen), first) if fewest else rounds,
        hold=short + draws[:, _HOLD] * (long - short),
    )


def _plan(
    config: Config, known: Repertoire, interaction: Interaction, scenes: Scenes, chosen: Array, draws: Array, speeds: Array
) -> tuple[tuple[Course, Course], Array, Interaction, Together]:
    """Courses of the two, when they have met, what they do, and how."""
    shown, needed = _seconds(config, scenes)
    shown = shown[chosen]
    together = _together(interaction, known, scenes, chosen, draws)
    paces = [_pace(scenes, chosen, who, speeds) for who in range(2)]
    own = [draws[:, _FIRST_OWN + who * _OWN :][:, :_OWN] for who in range(2)]
    if interaction.behind:
        return _walk_behind(known, paces, together, draws, own[0], needed), np.zeros(len(chosen)), interaction, together
    fewest = _together(interaction, known, scenes, chosen, draws, fewest=True)
    empty = (begin(len(chosen)), begin(len(chosen)))
    # As much as there is time for, or as little as can be.
    fits = perform(interaction, known, together, empty)[0].time + 1.6 <= shown
    together = replace(together, more=np.where(fits, together.more, 0.0), rounds=np.where(fits, together.rounds, fewest.rounds))
    room = shown - _SEEN_AFTER - perform(interaction, known, together, empty)[0].time
    until = np.minimum(room * (0.35 + 0.45 * draws[:, _WHEN]), _LATEST)
    comes = draws[:, _COMES]
    courses = [
        approach(known, paces[who], until, (comes < 0.45) | ((comes < 0.9) & ((comes < 0.68) == (who == 0))), own[who][:, :8])
        for who in range(2)
    ]
    one, other = perform(interaction, known, together, (courses[0], courses[1]))
    goes = draws[:, _LEAVES]
    left = shown - one.time
    leaves = [(goes < 0.45) | ((goes < 0.85) & ((goes < 0.65) == (who == 0))) | ((left > 2.5) & (who == 0)) for who in range(2)]
    one, other = (
        leave(course, known, paces[who], np.full(len(chosen), needed), leaves[who], own[who][:, 8:])
        for who, course in enumerate((one, other))
    )
    return (one, other), until, interaction, together


def _pace(scenes: Scenes, chosen: Array, who: int, speeds: Array) -> Pace:
    """How one of the two moves; `speeds` are the factors of the styles on speed."""
    person = Persons(**{f.name: getattr(scenes.persons, f.name)[chosen, who] for f in fields(Persons)})
    brisk = np.clip(1.0 + 0.08 * person.energy.astype(np.float64), 0.85, 1.15)
    return Pace(leg=leg_height(person), speed=speeds[person.style], tempo=brisk, amplitude=brisk)


def _walk_behind(
    known: Repertoire, paces: list[Pace], together: Together, draws: Array, own: Array, needed: float
) -> tuple[Course, Course]:
    """Courses of one who walks and of one who walks the same way behind: over the same ground, so much later."""
    n = len(own)
    # So fast as suits the shorter legs.
    shorter = paces[0].leg < paces[1].leg
    pace = replace(paces[0], leg=np.where(shorter, paces[0].leg, paces[1].leg))
    standing = known.names.index(STANDING)
    wait = np.where(draws[:, _COMES] < 0.4, 0.9 + 1.2 * own[:, 0], 0.0)
    later = np.where(wait > 0, 0.2 + 0.3 * own[:, 1], 0.0)
    lead = then(begin(n), standing, wait)
    lead = walk_on(lead, known, pace, 1.8 + 1.6 * own[:, 2], np.zeros(n), own[:, 3:5])
    speed = lead.base[-1]["speed"]
    follow = then(begin(n), standing, wait + later)
    straight = lead.base[-1]["end"] - lead.base[-1]["start"] + together.metres / speed
    follow = walk_on(follow, known, pace, straight, np.zeros(n), own[:, 3:5], speed=speed, together=True)
    sense = np.where(own[:, 5] < 0.5, 1.0, -1.0)
    number = 0
    while (lead.time < needed).any() or (follow.time < needed).any():
        curves = number % 2 == 0
        size = (35.0 + 45.0 * own[:, 6 + number % 4]) * (sense if number % 4 == 0 else -sense)
        span = np.where(curves, np.abs(size) / 18.0, 1.6 + 1.4 * own[:, 7 + number % 4])
        # No more slots than this sample needs, whatever the others do.
        span = np.where((lead.time < needed) | (follow.time < needed), span, 0.0)
        degrees = np.where(curves, size, 0.0)
        lead = walk_on(lead, known, pace, span, degrees, own[:, 3:5], speed=speed)
        follow = walk_on(follow, known, pace, span, degrees, own[:, 3:5], speed=speed, together=True)
        number += 1
    return lead, follow


def _written(scenes: Scenes, plans: list[Any], draws: Array) -> Scenes:
    """Write the courses into the scenes, with room for all of their slots."""
    if not plans:
        return scenes
    bases = max(len(course.base) for _, courses, *_ in plans for course in courses)
    layers = max(len(course.layers) for _, courses, *_ in plans for course in courses)
    scenes, behind = _with_room(scenes, bases, layers)
    for chosen, courses, until, interaction, together in plans:
        for who, course in enumerate(courses):
            for name, unused in _UNUSED.items():
                getattr(scenes, name)[chosen, who] = unused
            for k, piece in enumerate((*course.base, *course.layers)):
                at = k if k < len(course.base) else behind + k - len(course.base)
                for name, values in piece.items():
                    getattr(scenes, name)[chosen, who, at] = values
                scenes.layered[chosen, who, at] = (piece["action"] >= 0) & (k >= len(course.base))
        scenes.seat_height[chosen, :2] = 0.0
        scenes.meets[chosen], scenes.behind[chosen] = until, interaction.behind
        # Whose near hand is the right one has the other to the left of it.
        aside = np.where(together.side == RIGHT, interaction.aside, 0.0 - interaction.aside)
        scenes.apart[chosen] = np.stack([together.metres, np.full(len(chosen), interaction.arms), aside], axis=1)
        scenes.draws[np.ix_(chosen, [1], _TIMED)] = scenes.draws[np.ix_(chosen, [0], _TIMED)]
        scenes.shared[chosen] = np.floor(draws[chosen, _SHARED:] * _SINGLE_STEPS) / _SINGLE_STEPS
    return scenes


_UNUSED: dict[str, Any] = UNUSED | {"layered": False, "together": False}


def _with_room(scenes: Scenes, bases: int, layers: int) -> tuple[Scenes, int]:
    """Copy scenes, with room for so many base slots and, behind them, layered ones; gives where the latter begin."""
    columns = np.flatnonzero(scenes.layered.any(axis=(0, 1)))
    first = int(columns[0]) if len(columns) else scenes.action.shape[2]
    more, behind = max(bases - first, 0), max(layers - (scenes.action.shape[2] - first), 0)
    arrays: dict[str, Any] = {}
    for name, unused in _UNUSED.items():
        there = getattr(scenes, name)
        empty, last = (np.full((*scenes.heading.shape, count), unused, there.dtype) for count in (more, behind))
        arrays[name] = np.concatenate([there[..., :first], empty, there[..., first:], last], axis=2)
    copied = ("seat_height", "meets", "behind", "apart", "draws", "shared")
    return replace(scenes, **arrays, **{name: getattr(scenes, name).copy() for name in copied}), first + more
