"""Interactions of the first two actors: which samples have one, and the segments before, during and after it.

The tracks of both actors are replaced: they approach, face each other at the same time, perform the beats of the interaction,
and leave. Where they stand is not decided here but in the motion, which knows the length of walks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import leg_height
from posegen.foundations.constants import RADIANS
from posegen.foundations.randomness import Stream, choose, uniform
from posegen.foundations.scene import BOTH, LEFT, NOTHING, RIGHT, Scenes
from posegen.foundations.skeleton import CAPSULES
from posegen.library.load import Library
from posegen.library.stories import Beat, Interaction
from posegen.planning.course import Steps
from posegen.planning.durations import AFTER, BEFORE, needed_seconds
from posegen.planning.repertoire import Repertoire
from posegen.planning.rules import RULES, of_age
from posegen.planning.track import speed_of
from posegen.variants.variant import largest_bodies

WALK, TURN, WAVE = "walk", "turn", "wave"
_MEETING = RULES.meeting
_LEAST = 1e-3
_WHETHER, _WHICH, _METRES, _MORE, _TEMPO, _SIZE, _SIDE, _WHEN, _ROUNDS, _HOLD, _COMES, _LEAVES = range(12)
_FIRST_OWN, _OWN = 12, 14


class Meeting(NamedTuple):
    """An interaction in some samples, int [n]: the segments of both actors, when they meet, and what they share."""

    samples: Array
    steps: list[Steps]
    until: Array
    interaction: Interaction
    shared: Shared


def plan_meetings(
    config: Config, library: Library, known: Repertoire, scenes: Scenes, attempt: Array, required: Array, allowed: Array
) -> list[Meeting]:
    """Plan the interactions of the first two actors of some samples.

    Parameters
    ----------
    config : Config
    library : Library
    known : Repertoire
    scenes : Scenes
        With people and lengths.
    attempt : int [n]
    required : int [n]
        Index of the interaction that each sample must have, or NOTHING.
    allowed : bool [n, interactions]
        Which interactions may be drawn otherwise.

    Returns
    -------
    list of Meeting
    """
    interactions = library.interactions
    drawn = config.story.interactions.share > 0 or (required != NOTHING).any()
    if scenes.heading.shape[1] < 2 or not interactions or not drawn:
        return []
    draws = uniform(config.seed, scenes.sample, Stream.MEETING, _FIRST_OWN + 2 * _OWN, attempt=attempt)
    kinds = _kinds(config, library, known, scenes, draws, required, allowed)
    speeds = np.array([style.speed for style in library.styles.values()])
    chosen = ((each, np.flatnonzero(kinds == number)) for number, each in enumerate(interactions.values()))
    return [_plan(config, known, each, scenes, rows, draws[rows], speeds) for each, rows in chosen if len(rows)]


def write_meetings(scenes: Scenes, meetings: Sequence[Meeting]) -> None:
    """Write where and when people meet into scenes."""
    for rows, _, until, interaction, shared in meetings:
        scenes.seat_height[rows, :2] = 0.0
        scenes.meets[rows], scenes.behind[rows] = until, interaction.behind
        # With right hands, the partner is offset to the left.
        aside = np.where(shared.side == RIGHT, interaction.aside, 0.0 - interaction.aside)
        scenes.apart[rows] = np.stack([shared.metres, np.full(len(rows), interaction.arms), aside], axis=1)


def _kinds(
    config: Config, library: Library, known: Repertoire, scenes: Scenes, draws: Array, required: Array, allowed: Array
) -> Array:
    """Return the interaction of each sample, or NOTHING."""
    factors = config.story.interactions.weights
    # Hands that meet overlap more in a variant with larger bodies.
    larger = largest_bodies(config, scenes.sample)
    sizes = larger[:, None] * (scenes.persons.stature * scenes.persons.legs)[:, :2]
    columns = []
    for name, interaction in library.interactions.items():
        shared = _draw_shared(interaction, scenes.persons.left_handed[:, :2], draws)
        fits = bodies_fit(interaction, sizes) & (_least_seconds(interaction, known, shared) <= scenes.length / config.fps)
        columns.append(np.where(fits, interaction.weight * factors.get(name, 1.0), 0.0))
    possible = np.stack(columns, axis=1)
    weights = np.cumsum(np.where(allowed, possible, 0.0), axis=1)
    drawn = (scenes.actors >= 2) & (draws[:, _WHETHER] < config.story.interactions.share) & (weights[:, -1] > 0)
    kinds = np.where(drawn, choose(draws[:, _WHICH], weights), NOTHING)
    # The next attempt casts other bodies where these do not fit.
    can = possible[np.arange(len(scenes)), np.maximum(required, 0)] > 0
    return np.where(required == NOTHING, kinds, np.where(can, required, NOTHING))


def bodies_fit(interaction: Interaction, sizes: Array) -> Array:
    """Return whether the bodies of two actors allow an interaction; `sizes` [..., 2] in metres scale the limbs' radii."""
    shorter, taller = sizes.min(axis=-1), sizes.max(axis=-1)
    fits = taller <= interaction.max_stature_ratio * shorter
    if interaction.checked_by == "hands":
        fits &= CAPSULES["left_forearm"][2] * (shorter + taller) <= _MEETING.most_flesh
    return np.asarray(fits)


def longest_least(interaction: Interaction, known: Repertoire) -> float:
    """Return the seconds of a clip in which any two actors have time for the fewest repetitions of an interaction."""
    one, short = np.ones(1), np.full(1, interaction.rounds[0])
    slowest, held = np.full(1, _MEETING.tempo[0]), np.full(1, interaction.hold[1])
    hands = np.full((1, 2), RIGHT)
    slow = Shared(interaction.metres[1] * one, slowest, one, hands[:, 0], hands, 0.0 * one, short, held)
    return float(_least_seconds(interaction, known, slow)[0])


def _least_seconds(interaction: Interaction, known: Repertoire, shared: Shared) -> Array:
    """Return the seconds of a clip with the fewest repetitions and rounds of an interaction."""
    fewest = replace(shared, more=0.0 * shared.more, rounds=np.full(len(shared.rounds), interaction.rounds[0]))
    least: float = _MEETING.shortest_behind
    return np.where(interaction.behind, least, _seconds(interaction, known, fewest) + _MEETING.seen_after)


def _draw_shared(interaction: Interaction, left: Array, draws: Array) -> Shared:
    """Draw the shared properties of an interaction of actors who are left-handed or not, bool [n, 2]."""
    better = np.where(left.all(axis=1), LEFT, RIGHT)
    low, high = interaction.metres
    short, long = interaction.hold
    first, last = interaction.rounds
    rounds = np.minimum(first + np.floor(draws[:, _ROUNDS] * (last - first + 1)).astype(np.int64), last)
    return Shared(
        metres=low + draws[:, _METRES] * (high - low),
        tempo=_MEETING.tempo[0] + (_MEETING.tempo[1] - _MEETING.tempo[0]) * draws[:, _TEMPO],
        amplitude=0.85 + 0.25 * draws[:, _SIZE],
        side=np.where(draws[:, _SIDE] < _MEETING.better_side, better, LEFT + RIGHT - better),
        own=np.where(left, LEFT, RIGHT),
        more=draws[:, _MORE],
        rounds=rounds,
        hold=short + draws[:, _HOLD] * (long - short),
    )


def _plan(
    config: Config, known: Repertoire, interaction: Interaction, scenes: Scenes, chosen: Array, draws: Array, speeds: Array
) -> Meeting:
    """Plan one interaction in the samples `chosen`, with their draws; `speeds` are those of the styles."""
    shown, needed = scenes.length[chosen] / config.fps, needed_seconds(config)
    shared = _draw_shared(interaction, scenes.persons.left_handed[chosen, :2], draws)
    paces = [_pace(scenes, chosen, who, speeds) for who in range(2)]
    own = [draws[:, _FIRST_OWN + who * _OWN :][:, :_OWN] for who in range(2)]
    if interaction.behind:
        steps = _walk_behind(known, paces, shared, draws, own[0], needed)
        return Meeting(chosen, steps, np.zeros(len(chosen)), interaction, shared)
    # The drawn repetitions if there is time, otherwise the fewest.
    fits = _seconds(interaction, known, shared) + 1.6 <= shown
    rounds = np.where(fits, shared.rounds, interaction.rounds[0])
    shared = replace(shared, more=np.where(fits, shared.more, 0.0), rounds=rounds)
    room = shown - _MEETING.seen_after - _seconds(interaction, known, shared)
    until = np.minimum(room * (0.35 + 0.45 * draws[:, _WHEN]), _MEETING.latest)
    comes = [_moves(_MEETING.comes, draws[:, _COMES], who) for who in range(2)]
    steps = [approach(known, paces[who], until, comes[who], own[who][:, :8]) for who in range(2)]
    steps = perform(known, interaction, shared, steps)
    leaves = [_moves(_MEETING.leaves, draws[:, _LEAVES], who) for who in range(2)]
    leaves[0] |= shown - steps[0].time > 2.5
    steps = [leave(known, each, paces[who], needed, leaves[who], own[who][:, 8:]) for who, each in enumerate(steps)]
    return Meeting(chosen, steps, until, interaction, shared)


def _moves(rule: Any, draws: Array, who: int) -> Array:
    """Return whether an actor comes, or leaves: both do, or one of them."""
    return np.asarray((draws < rule.both) | ((draws < rule.one) & ((draws < rule.first) == (who == 0))))


def _pace(scenes: Scenes, chosen: Array, who: int, speeds: Array) -> Pace:
    """Return the pace of one actor; `speeds` are the factors of the styles on speed."""
    person = scenes.persons.select((chosen, who))
    brisk = np.clip(1.0 + 0.08 * person.energy.astype(np.float64), 0.85, 1.15)
    return Pace(leg=leg_height(person), speed=speeds[person.style] * of_age(RULES.age.walking, person.age), brisk=brisk)


def _walk_behind(known: Repertoire, paces: list[Pace], shared: Shared, draws: Array, own: Array, needed: float) -> list[Steps]:
    """Return the courses of an actor who walks and one who follows on the same path later."""
    n = len(own)
    # The shorter legs determine the speed.
    shorter = paces[0].leg < paces[1].leg
    pace = replace(paces[0], leg=np.where(shorter, paces[0].leg, paces[1].leg))
    wait = np.where(draws[:, _COMES] < _MEETING.waits_behind, 0.9 + 1.2 * own[:, 0], 0.0)
    later = np.where(wait > 0, 0.2 + 0.3 * own[:, 1], 0.0)
    lead = Steps(np.zeros(n)).append(known.standing, wait)
    lead = _walk(known, lead, pace, 1.8 + 1.6 * own[:, 2], np.zeros(n), own[:, 3:5])
    speed = lead.base[-1]["speed"]
    follow = Steps(np.zeros(n)).append(known.standing, wait + later)
    straight = lead.base[-1]["end"] - lead.base[-1]["start"] + shared.metres / speed
    follow = _walk(known, follow, pace, straight, np.zeros(n), own[:, 3:5], speed=speed, together=True)
    sense = np.where(own[:, 5] < 0.5, 1.0, -1.0)
    number = 0
    while (lead.time < needed).any() or (follow.time < needed).any():
        curves = number % 2 == 0
        size = (35.0 + 45.0 * own[:, 6 + number % 4]) * (sense if number % 4 == 0 else -sense)
        span = np.where(curves, np.abs(size) / 18.0, 1.6 + 1.4 * own[:, 7 + number % 4])
        # The number of segments does not depend on the other samples.
        span = np.where((lead.time < needed) | (follow.time < needed), span, 0.0)
        degrees = np.where(curves, size, 0.0)
        lead = _walk(known, lead, pace, span, degrees, own[:, 3:5], speed=speed)
        follow = _walk(known, follow, pace, span, degrees, own[:, 3:5], speed=speed, together=True)
        number += 1
    return [lead, follow]


@dataclass(frozen=True)
class Pace:
    """Properties of one actor, arrays [n]: hip height in metres, factors of the style on speed, and on tempo and amplitude."""

    leg: Array
    speed: Array
    brisk: Array


def _walk(known: Repertoire, steps: Steps, pace: Pace, span: Array, degrees: Array, draws: Array, **more: Any) -> Steps:
    """Append a walk; `degrees` is its turn to the left, `draws` [n, 2] decide the speed and the first foot."""
    action = known.names.index(WALK)
    columns = {
        "speed": speed_of(known, np.full(len(span), action), pace.leg, pace.speed, draws[:, 0]),
        "turn": np.clip(degrees, -_MEETING.curving * span, _MEETING.curving * span) * RADIANS,
        "side": np.where(draws[:, 1] < 0.5, LEFT, RIGHT),
        "tempo": pace.brisk,
        "amplitude": pace.brisk,
    }
    return steps.append(action, span, **(columns | more))


def _turn(known: Repertoire, steps: Steps, pace: Pace, degrees: Array, draws: Array) -> Steps:
    """Append a turn on the spot in the samples in which `degrees` is not 0."""
    needed = np.maximum(np.abs(degrees) / (_MEETING.turning * np.clip(pace.brisk, 0.8, 1.2)), 1.2)
    side, span = np.where(draws < 0.5, LEFT, RIGHT), np.where(degrees == 0, 0.0, needed)
    return steps.append(known.names.index(TURN), span, turn=degrees * RADIANS, side=side, tempo=pace.brisk)


def _stand(known: Repertoire, steps: Steps, span: Array) -> Steps:
    """Append standing; extend the last segment if it is standing."""
    span, extends = np.where(span > _LEAST, span, 0.0), np.zeros(len(span), bool)
    if steps.base:
        last = steps.base[-1]
        extends = (last["action"] == known.standing) & (span > 0)
        longer = last | {"end": np.where(extends, last["end"] + span, last["end"])}
        steps = Steps(steps.time + np.where(extends, span, 0.0), (*steps.base[:-1], longer), steps.layers)
    return steps.append(known.standing, np.where(extends, 0.0, span))


def approach(known: Repertoire, pace: Pace, until: Array, walks: Array, draws: Array) -> Steps:
    """Return the course of an actor who walks up to the other one, or waits.

    Parameters
    ----------
    known : Repertoire
    pace : Pace
    until : float [n]
        Time of the meeting in seconds.
    walks : bool [n]
        Whether this actor walks.
    draws : float [n, 8]
        On [0, 1).
    """
    n = len(until)
    walks = walks & (until >= _MEETING.least_walk)
    wait = np.where(walks, until - np.minimum(until, 1.6 + 2.8 * draws[:, 0]), until)
    wait = np.where(walks & (wait < _MEETING.shortest_wait), 0.0, wait)
    curve = np.where(draws[:, 1] < _MEETING.straight, 0.0, np.where(draws[:, 2] < 0.5, 1.0, -1.0) * (25.0 + 35.0 * draws[:, 3]))
    turned = ~walks & (until >= _MEETING.least_turn) & (draws[:, 1] < _MEETING.turn)
    degrees = np.where(turned, np.where(draws[:, 2] < 0.5, 1.0, -1.0) * (70.0 + 70.0 * draws[:, 3]), 0.0)
    waved = ~walks & ~turned & (until >= _MEETING.least_wave) & (draws[:, 1] > 1.0 - _MEETING.wave)
    steps = Steps(np.zeros(n))
    if WAVE in known.names:
        wave = known.names.index(WAVE)
        repetitions = np.full(n, known.fewest[wave])
        span = (known.enter[wave] + known.exit[wave] + repetitions * known.cycle[wave]) / pace.brisk + 0.5
        hand = np.where(draws[:, 6] < _MEETING.wave_right, RIGHT, LEFT)
        span = np.where(waved & (span < until), span, 0.0)
        steps = steps.append(wave, span, layered=(0.4, 0.1), side=hand, tempo=pace.brisk, repetitions=repetitions)
    turn = _turn(known, Steps(np.zeros(n)), pace, degrees, draws[:, 4])
    steps = steps.append(known.standing, wait - turn.time)
    steps = _walk(known, steps, pace, np.where(walks, until - steps.time, 0.0), curve, draws[:, 4:6])
    return _turn(known, steps, pace, degrees, draws[:, 4])


def leave(known: Repertoire, steps: Steps, pace: Pace, until: float, leaves: Array, draws: Array) -> Steps:
    """Append the segments of an actor who turns away and leaves, or stays.

    Parameters
    ----------
    known : Repertoire
    steps : Steps
    pace : Pace
    until : float
        Seconds that the course must cover.
    leaves : bool [n]
    draws : float [n, 6]
        On [0, 1).
    """
    least, most = _MEETING.away
    away = least + draws[:, 0] * (most - least)
    steps = steps.append(known.standing, np.where(leaves, 0.0, np.maximum(until - steps.time, 1.0)))
    steps = _turn(known, steps, pace, np.where(leaves, np.where(draws[:, 1] < 0.5, away, -away), 0.0), draws[:, 2])
    straight = _MEETING.away_straight
    curve = np.where(draws[:, 5] < straight, 0.0, 60.0 * (draws[:, 5] - 0.5 * (1.0 + straight)))
    return _walk(known, steps, pace, np.where(leaves, np.maximum(until - steps.time, 1.5), 0.0), curve, draws[:, 3:5])


@dataclass(frozen=True)
class Shared:
    """Properties of an interaction that both actors share; arrays [n].

    Attributes
    ----------
    metres : distance between the actors
    tempo, amplitude : factors
    side : LEFT or RIGHT, of both
    own : dominant hands of both, [n, 2], which throw
    more : position in the range of repetitions, 0 to 1
    rounds : number of times that all beats are performed
    hold : seconds at tempo 1 of actions without repetitions
    """

    metres: Array
    tempo: Array
    amplitude: Array
    side: Array
    own: Array
    more: Array
    rounds: Array
    hold: Array


def perform(known: Repertoire, interaction: Interaction, shared: Shared, steps: list[Steps]) -> list[Steps]:
    """Append an interaction to the segments of two actors, which end at the same time."""
    for number in range(int(shared.rounds.max(initial=0))):
        on = number < shared.rounds
        for beat in interaction.beats:
            times = _beat_times(beat, known, shared)
            steps = [_append_action(known, each, shared, beat, times, who, on) for who, each in enumerate(steps)]
    return steps


def _seconds(interaction: Interaction, known: Repertoire, shared: Shared) -> Array:
    """Return the seconds of an interaction."""
    return perform(known, interaction, shared, [Steps(np.zeros(len(shared.rounds)))] * 2)[0].time


_BeatTimes: TypeAlias = tuple[list[int], list[Array], list[Array], list[Array]]
"""Of both actors in a beat: action, repetitions, seconds of the action, and delay in seconds."""


def _beat_times(beat: Beat, known: Repertoire, shared: Shared) -> _BeatTimes:
    n, thrown = len(shared.tempo), beat.thrown
    actions = [known.names.index(name) for name in (beat.first, beat.second)]
    spans, repetitions = [], []
    for action in actions:
        counted = bool(known.counted[action])
        count = np.full(n, int(counted))
        if counted and thrown is None:
            fewest, most = int(known.fewest[action]), int(known.most[action])
            count = np.minimum(fewest + np.floor(shared.more * (most - fewest + 1)).astype(np.int64), most)
        cycles = count * known.cycle[action] if counted else shared.hold
        around = known.enter[action] + known.exit[action]
        spans.append((around + cycles) / shared.tempo + (BEFORE + AFTER if known.layered[action] else 0.0))
        repetitions.append(count)
    # The action beside a layer, such as listening, lasts as long as the layer, such as talking.
    leads = int(known.layered[actions[1]] and not known.layered[actions[0]])
    follows = 1 - leads
    action = actions[follows]
    if known.layered[actions[leads]] and not known.layered[action]:
        spans[follows] = spans[leads]
        if known.counted[action]:
            cycles = (spans[leads] * shared.tempo - known.enter[action] - known.exit[action]) / known.cycle[action]
            repetitions[follows] = np.clip(np.rint(cycles), known.fewest[action], known.most[action]).astype(np.int64)
    waits = [np.zeros(n), beat.later / shared.tempo]
    if thrown is not None:
        thrower = int(thrown.by == "second")
        moments = [0.0, 0.0]
        for who, share in ((thrower, thrown.release), (1 - thrower, thrown.caught)):
            moments[who] = known.enter[actions[who]] + share * known.cycle[actions[who]]
        # The object is caught one flight after the release.
        late = moments[thrower] / shared.tempo + shared.metres / thrown.speed - moments[1 - thrower] / shared.tempo
        waits[thrower], waits[1 - thrower] = np.maximum(-late, 0.0), np.maximum(late, 0.0)
    return actions, repetitions, spans, waits


def _append_action(
    known: Repertoire, steps: Steps, shared: Shared, beat: Beat, times: _BeatTimes, who: int, on: Array
) -> Steps:
    """Append one actor's action of a beat where `on`, with standing before and after it."""
    actions, repetitions, spans, waits = times
    action, wait, span = actions[who], waits[who], spans[who]
    whole = np.maximum(waits[0] + spans[0], waits[1] + spans[1])
    side = shared.own[:, who] if beat.thrown is not None else shared.side
    more: dict[str, Any] = {
        "side": side if known.sided[action] else BOTH,
        "tempo": shared.tempo,
        "amplitude": shared.amplitude,
        "repetitions": repetitions[who] if known.counted[action] else 0,
        "together": action != known.standing,
    }
    shown = np.where(on, span, 0.0)
    steps = _stand(known, steps, np.where(on, wait, 0.0))
    if known.layered[action]:
        steps = _stand(known, steps.append(action, shown, layered=(BEFORE, AFTER), **more), shown)
    else:
        steps = steps.append(action, shown, **more)
    return _stand(known, steps, np.where(on, whole - wait - span, 0.0))
