"""Interactions of the first two actors: which samples have one, and the segments before, during and after it.

The tracks of both actors are replaced: they approach, face each other at the same time, perform the beats of the interaction,
and leave. Where they stand is not decided here but in the motion, which knows the length of walks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.bodies import leg_height
from posegen.foundations.constants import RADIANS
from posegen.foundations.randomness import Stream, choose, uniform
from posegen.foundations.scene import BOTH, DRAWS, LEFT, NOTHING, RIGHT, UNUSED, Scenes
from posegen.foundations.skeleton import CAPSULES
from posegen.library.load import Library
from posegen.library.schema import Beat, Interaction
from posegen.planning.age_curves import WALKING, of_age
from posegen.planning.repertoire import Repertoire
from posegen.planning.track import Columns, needed_seconds, speed_of
from posegen.variants.variant import largest_bodies

WALK, TURN, WAVE = "walk", "turn", "wave"
_TURNING = 95.0
"""Turn rate on the spot, degrees per second."""
_CURVING = 20.0
"""Largest turn rate of a curve, degrees per second."""
_LEAST_WALK, _LEAST_TURN, _LEAST_WAVE = 1.5, 3.0, 3.4
"""Smallest numbers of seconds before the meeting for a walk, a turn or a wave."""
_SHORTEST_WAIT = 0.7
_AROUND = (115.0, 170.0)
"""Range of the turn of an actor who leaves, in degrees."""

_BEFORE, _AFTER = 0.4, 0.2
"""Seconds of standing before and after a layer of a beat."""
_LEAST = 1e-3
_WHETHER, _WHICH, _METRES, _MORE, _TEMPO, _SIZE, _SIDE, _WHEN, _ROUNDS, _HOLD, _COMES, _LEAVES = range(12)
_FIRST_OWN, _OWN = 12, 14
_SHARED = _FIRST_OWN + 2 * _OWN
_SINGLE_STEPS = 1 << 24
_LATEST = 5.0
"""Latest time of a meeting, in seconds."""
_SEEN_AFTER = 0.6
"""Seconds of the clip that should remain after an interaction."""
_LEAST_BEHIND = 3.0
"""Shortest clip for walking behind each other, in seconds."""
_TEMPO_RANGE = 0.9, 1.1
_TIMED = (10, 17, 24)
"""Indices of the draws that vary the times of repetitions; partners share them."""
_MOST_FLESH = 0.0675
"""Largest sum of the radii of two forearms, in metres, for which hands that meet overlap by at most 2 cm."""


def add_interactions(
    config: Config,
    library: Library,
    known: Repertoire,
    scenes: Scenes,
    attempt: ArrayLike,
    required: Array,
    allowed: Array,
) -> Scenes:
    """Replace the tracks of the first two actors of some samples by an interaction.

    Parameters
    ----------
    config : Config
    library : Library
    known : Repertoire
    scenes : Scenes
        Planned for each actor separately.
    attempt : int or int [n]
    required : int [n]
        Index of the interaction that each sample must have, or NOTHING.
    allowed : bool [n, interactions]
        Which interactions may be drawn otherwise.

    Returns
    -------
    Scenes
    """
    interactions = library.interactions
    if scenes.action.shape[1] < 2 or not interactions or (config.story.interactions.share == 0 and (required == NOTHING).all()):
        return scenes
    draws = uniform(config.seed, scenes.sample, Stream.MEETING, _SHARED + DRAWS, attempt=attempt)
    kinds = _kinds(config, library, known, scenes, draws, required, allowed)
    plans = []
    speeds = np.array([style.speed for style in library.styles.values()])
    for number, interaction in enumerate(interactions.values()):
        chosen = np.flatnonzero(kinds == number)
        if len(chosen):
            plans.append((chosen, *_plan(config, known, interaction, scenes, chosen, draws[chosen], speeds)))
    return _write_courses(scenes, plans, draws)


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
    fits = taller <= interaction.unlike * shorter
    if interaction.seen == "hands":
        fits &= CAPSULES["left_forearm"][2] * (shorter + taller) <= _MOST_FLESH
    return np.asarray(fits)


def longest_least(interaction: Interaction, known: Repertoire) -> float:
    """Return the seconds of a clip in which any two actors have time for the fewest repetitions of an interaction."""
    one, short = np.ones(1), np.full(1, interaction.rounds[0])
    slowest, held = np.full(1, _TEMPO_RANGE[0]), np.full(1, interaction.hold[1])
    hands = np.full((1, 2), RIGHT)
    slow = Shared(interaction.metres[1] * one, slowest, one, hands[:, 0], hands, 0.0 * one, short, held)
    return float(_least_seconds(interaction, known, slow)[0])


def _least_seconds(interaction: Interaction, known: Repertoire, shared: Shared) -> Array:
    """Return the seconds of a clip with the fewest repetitions and rounds of an interaction."""
    fewest = replace(shared, more=0.0 * shared.more, rounds=np.full(len(shared.rounds), interaction.rounds[0]))
    return np.where(interaction.behind, _LEAST_BEHIND, _seconds(interaction, known, fewest) + _SEEN_AFTER)


def _draw_shared(interaction: Interaction, left: Array, draws: Array) -> Shared:
    """Draw the shared properties of an interaction of actors who are left-handed or not, bool [n, 2]."""
    better = np.where(left.all(axis=1), LEFT, RIGHT)
    low, high = interaction.metres
    short, long = interaction.hold
    first, last = interaction.rounds
    rounds = np.minimum(first + np.floor(draws[:, _ROUNDS] * (last - first + 1)).astype(np.int64), last)
    return Shared(
        metres=low + draws[:, _METRES] * (high - low),
        tempo=_TEMPO_RANGE[0] + (_TEMPO_RANGE[1] - _TEMPO_RANGE[0]) * draws[:, _TEMPO],
        amplitude=0.85 + 0.25 * draws[:, _SIZE],
        side=np.where(draws[:, _SIDE] < 0.9, better, LEFT + RIGHT - better),
        own=np.where(left, LEFT, RIGHT),
        more=draws[:, _MORE],
        rounds=rounds,
        hold=short + draws[:, _HOLD] * (long - short),
    )


def _plan(
    config: Config, known: Repertoire, interaction: Interaction, scenes: Scenes, chosen: Array, draws: Array, speeds: Array
) -> tuple[list[Course], Array, Interaction, Shared]:
    """Return the courses of both actors, the time of the meeting, the interaction, and the shared properties."""
    shown, needed = scenes.length[chosen] / config.fps, needed_seconds(config)
    shared = _draw_shared(interaction, scenes.persons.left_handed[chosen, :2], draws)
    paces = [_pace(scenes, chosen, who, speeds) for who in range(2)]
    own = [draws[:, _FIRST_OWN + who * _OWN :][:, :_OWN] for who in range(2)]
    if interaction.behind:
        return _walk_behind(known, paces, shared, draws, own[0], needed), np.zeros(len(chosen)), interaction, shared
    # The drawn repetitions if there is time, otherwise the fewest.
    fits = _seconds(interaction, known, shared) + 1.6 <= shown
    rounds = np.where(fits, shared.rounds, interaction.rounds[0])
    shared = replace(shared, more=np.where(fits, shared.more, 0.0), rounds=rounds)
    room = shown - _SEEN_AFTER - _seconds(interaction, known, shared)
    until = np.minimum(room * (0.35 + 0.45 * draws[:, _WHEN]), _LATEST)
    comes = draws[:, _COMES]
    courses = [
        approach(known, paces[who], until, (comes < 0.45) | ((comes < 0.9) & ((comes < 0.68) == (who == 0))), own[who][:, :8])
        for who in range(2)
    ]
    courses = perform(interaction, shared, courses)
    goes, left = draws[:, _LEAVES], shown - courses[0].time
    leaves = [(goes < 0.45) | ((goes < 0.85) & ((goes < 0.65) == (who == 0))) | ((left > 2.5) & (who == 0)) for who in range(2)]
    courses = [leave(course, paces[who], needed, leaves[who], own[who][:, 8:]) for who, course in enumerate(courses)]
    return courses, until, interaction, shared


def _pace(scenes: Scenes, chosen: Array, who: int, speeds: Array) -> Pace:
    """Return the pace of one actor; `speeds` are the factors of the styles on speed."""
    person = scenes.persons.select((chosen, who))
    brisk = np.clip(1.0 + 0.08 * person.energy.astype(np.float64), 0.85, 1.15)
    return Pace(leg=leg_height(person), speed=speeds[person.style] * of_age(WALKING, person.age), brisk=brisk)


def _walk_behind(known: Repertoire, paces: list[Pace], shared: Shared, draws: Array, own: Array, needed: float) -> list[Course]:
    """Return the courses of an actor who walks and one who follows on the same path later."""
    n = len(own)
    # The shorter legs determine the speed.
    shorter = paces[0].leg < paces[1].leg
    pace = replace(paces[0], leg=np.where(shorter, paces[0].leg, paces[1].leg))
    wait = np.where(draws[:, _COMES] < 0.4, 0.9 + 1.2 * own[:, 0], 0.0)
    later = np.where(wait > 0, 0.2 + 0.3 * own[:, 1], 0.0)
    lead = Course(known, np.zeros(n)).append(known.standing, wait)
    lead = lead.walk(pace, 1.8 + 1.6 * own[:, 2], np.zeros(n), own[:, 3:5])
    speed = lead.base[-1]["speed"]
    follow = Course(known, np.zeros(n)).append(known.standing, wait + later)
    straight = lead.base[-1]["end"] - lead.base[-1]["start"] + shared.metres / speed
    follow = follow.walk(pace, straight, np.zeros(n), own[:, 3:5], speed=speed, together=True)
    sense = np.where(own[:, 5] < 0.5, 1.0, -1.0)
    number = 0
    while (lead.time < needed).any() or (follow.time < needed).any():
        curves = number % 2 == 0
        size = (35.0 + 45.0 * own[:, 6 + number % 4]) * (sense if number % 4 == 0 else -sense)
        span = np.where(curves, np.abs(size) / 18.0, 1.6 + 1.4 * own[:, 7 + number % 4])
        # The number of segments does not depend on the other samples.
        span = np.where((lead.time < needed) | (follow.time < needed), span, 0.0)
        degrees = np.where(curves, size, 0.0)
        lead = lead.walk(pace, span, degrees, own[:, 3:5], speed=speed)
        follow = follow.walk(pace, span, degrees, own[:, 3:5], speed=speed, together=True)
        number += 1
    return [lead, follow]


def _write_courses(scenes: Scenes, plans: list[Any], draws: Array) -> Scenes:
    """Write courses into the scenes, which grow to hold all of their segments."""
    if not plans:
        return scenes
    bases = max(len(course.base) for _, courses, *_ in plans for course in courses)
    layers = max(len(course.layers) for _, courses, *_ in plans for course in courses)
    scenes, behind = _enlarged(scenes, bases, layers)
    for chosen, courses, until, interaction, shared in plans:
        for who, course in enumerate(courses):
            for name, unused in UNUSED.items():
                getattr(scenes, name)[chosen, who] = unused
                for first, segments in ((0, course.base), (behind, course.layers)):
                    for k, segment in enumerate(segments):
                        getattr(scenes, name)[chosen, who, first + k] = segment[name]
        scenes.seat_height[chosen, :2] = 0.0
        scenes.meets[chosen], scenes.behind[chosen] = until, interaction.behind
        # With right hands, the partner is offset to the left.
        aside = np.where(shared.side == RIGHT, interaction.aside, 0.0 - interaction.aside)
        scenes.apart[chosen] = np.stack([shared.metres, np.full(len(chosen), interaction.arms), aside], axis=1)
        scenes.draws[np.ix_(chosen, [1], _TIMED)] = scenes.draws[np.ix_(chosen, [0], _TIMED)]
        scenes.shared[chosen] = np.floor(draws[chosen, _SHARED:] * _SINGLE_STEPS) / _SINGLE_STEPS
    return scenes


def _enlarged(scenes: Scenes, bases: int, layers: int) -> tuple[Scenes, int]:
    """Return copied scenes with at least the given numbers of base segments and layers, and the index of the first layer."""
    columns = np.flatnonzero(scenes.layered.any(axis=(0, 1)))
    first = int(columns[0]) if len(columns) else scenes.action.shape[2]
    more, behind = max(bases - first, 0), max(layers - (scenes.action.shape[2] - first), 0)
    arrays = {name: getattr(scenes, name).copy() for name in ("seat_height", "meets", "behind", "apart", "draws", "shared")}
    for name, unused in UNUSED.items():
        values = getattr(scenes, name)
        empty, last = (np.full((*scenes.heading.shape, count), unused, values.dtype) for count in (more, behind))
        arrays[name] = np.concatenate([values[..., :first], empty, values[..., first:], last], axis=2)
    return replace(scenes, **arrays), first + more


@dataclass(frozen=True)
class Course:
    """Segments of one actor in n samples so far, as dicts of arrays [n]; `time` is the end of the last one."""

    known: Repertoire
    time: Array
    base: tuple[Columns, ...] = ()
    layers: tuple[Columns, ...] = ()

    def append(self, action: int, span: Array, *, layered: tuple[float, float] | None = None, **more: Any) -> Course:
        """Append an action of `span` seconds in the samples in which that is above 0.

        Parameters
        ----------
        action : int
        span : float [n]
        layered : (float, float), optional
            Seconds without the action at either end of the span. The action is then a layer and does not advance the time.
        **more
            Columns of the segment, as :class:`posegen.foundations.scene.Scenes` names them.
        """
        used = span > 1e-6
        before, after = layered or (0.0, 0.0)
        more |= {"action": action, "layered": layered is not None}
        more |= {"start": self.time + before, "end": self.time + span - after}
        piece = {name: np.where(used, more.get(name, value), value) for name, value in UNUSED.items()}
        if layered is not None:
            return replace(self, layers=(*self.layers, piece))
        return replace(self, time=self.time + np.where(used, span, 0.0), base=(*self.base, piece))

    def walk(self, pace: Pace, span: Array, degrees: Array, draws: Array, **more: Any) -> Course:
        """Append a walk; `degrees` is its turn to the left, `draws` [n, 2] decide the speed and the first foot."""
        action = self.known.names.index(WALK)
        columns = {
            "speed": speed_of(self.known, np.full(len(span), action), pace.leg, pace.speed, draws[:, 0]),
            "turn": np.clip(degrees, -_CURVING * span, _CURVING * span) * RADIANS,
            "side": np.where(draws[:, 1] < 0.5, LEFT, RIGHT),
            "tempo": pace.brisk,
            "amplitude": pace.brisk,
        }
        return self.append(action, span, **(columns | more))

    def turn(self, pace: Pace, degrees: Array, draws: Array) -> Course:
        """Append a turn on the spot in the samples in which `degrees` is not 0."""
        span = np.where(degrees == 0, 0.0, np.maximum(np.abs(degrees) / (_TURNING * np.clip(pace.brisk, 0.8, 1.2)), 1.2))
        side = np.where(draws < 0.5, LEFT, RIGHT)
        return self.append(self.known.names.index(TURN), span, turn=degrees * RADIANS, side=side, tempo=pace.brisk)

    def stand(self, span: Array) -> Course:
        """Append standing; extend the last segment if it is standing."""
        if not self.base:
            return self.append(self.known.standing, np.where(span > _LEAST, span, 0.0))
        last = self.base[-1]
        extends = (last["action"] == self.known.standing) & (span > _LEAST)
        longer = last | {"end": np.where(extends, last["end"] + span, last["end"])}
        course = replace(self, base=(*self.base[:-1], longer), time=self.time + np.where(extends, span, 0.0))
        return course.append(self.known.standing, np.where(extends | (span <= _LEAST), 0.0, span))


@dataclass(frozen=True)
class Pace:
    """Properties of one actor, arrays [n]: hip height in metres, factors of the style on speed, and on tempo and amplitude."""

    leg: Array
    speed: Array
    brisk: Array


def approach(known: Repertoire, pace: Pace, until: Array, walks: Array, draws: Array) -> Course:
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
    walks = walks & (until >= _LEAST_WALK)
    wait = np.where(walks, until - np.minimum(until, 1.6 + 2.8 * draws[:, 0]), until)
    wait = np.where(walks & (wait < _SHORTEST_WAIT), 0.0, wait)
    curve = np.where(draws[:, 1] < 0.55, 0.0, np.where(draws[:, 2] < 0.5, 1.0, -1.0) * (25.0 + 35.0 * draws[:, 3]))
    turned = ~walks & (until >= _LEAST_TURN) & (draws[:, 1] < 0.3)
    degrees = np.where(turned, np.where(draws[:, 2] < 0.5, 1.0, -1.0) * (70.0 + 70.0 * draws[:, 3]), 0.0)
    waved = ~walks & ~turned & (until >= _LEAST_WAVE) & (draws[:, 1] > 0.72)
    course = Course(known, np.zeros(n))
    if WAVE in known.names:
        wave = known.names.index(WAVE)
        repetitions = np.full(n, known.fewest[wave])
        span = (known.enter[wave] + known.exit[wave] + repetitions * known.cycle[wave]) / pace.brisk + 0.5
        hand = np.where(draws[:, 6] < 0.8, RIGHT, LEFT)
        span = np.where(waved & (span < until), span, 0.0)
        course = course.append(wave, span, layered=(0.4, 0.1), side=hand, tempo=pace.brisk, repetitions=repetitions)
    turn = Course(known, np.zeros(n)).turn(pace, degrees, draws[:, 4])
    course = course.append(known.standing, wait - turn.time)
    course = course.walk(pace, np.where(walks, until - course.time, 0.0), curve, draws[:, 4:6])
    return course.turn(pace, degrees, draws[:, 4])


def leave(course: Course, pace: Pace, until: float, leaves: Array, draws: Array) -> Course:
    """Append the segments of an actor who turns away and leaves, or stays.

    Parameters
    ----------
    course : Course
    pace : Pace
    until : float
        Seconds that the course must cover.
    leaves : bool [n]
    draws : float [n, 6]
        On [0, 1).
    """
    away = _AROUND[0] + draws[:, 0] * (_AROUND[1] - _AROUND[0])
    course = course.append(course.known.standing, np.where(leaves, 0.0, np.maximum(until - course.time, 1.0)))
    course = course.turn(pace, np.where(leaves, np.where(draws[:, 1] < 0.5, away, -away), 0.0), draws[:, 2])
    curve = np.where(draws[:, 5] < 0.6, 0.0, 60.0 * (draws[:, 5] - 0.8))
    return course.walk(pace, np.where(leaves, np.maximum(until - course.time, 1.5), 0.0), curve, draws[:, 3:5])


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


def perform(interaction: Interaction, shared: Shared, courses: list[Course]) -> list[Course]:
    """Append an interaction to the courses of two actors, which end at the same time."""
    for number in range(int(shared.rounds.max(initial=0))):
        on = number < shared.rounds
        for beat in interaction.beats:
            times = _beat_times(beat, courses[0].known, shared)
            courses = [_append_action(course, shared, beat, times, who, on) for who, course in enumerate(courses)]
    return courses


def _seconds(interaction: Interaction, known: Repertoire, shared: Shared) -> Array:
    """Return the seconds of an interaction."""
    return perform(interaction, shared, [Course(known, np.zeros(len(shared.rounds)))] * 2)[0].time


class _BeatTimes(NamedTuple):
    """Of both actors in a beat: action, repetitions, seconds of the action, and delay in seconds."""

    actions: list[int]
    repetitions: list[Array]
    spans: list[Array]
    waits: list[Array]


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
        spans.append((around + cycles) / shared.tempo + (_BEFORE + _AFTER if known.layered[action] else 0.0))
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
    return _BeatTimes(actions, repetitions, spans, waits)


def _append_action(course: Course, shared: Shared, beat: Beat, times: _BeatTimes, who: int, on: Array) -> Course:
    """Append one actor's action of a beat where `on`, with standing before and after it."""
    known, action = course.known, times.actions[who]
    wait, span = times.waits[who], times.spans[who]
    whole = np.maximum(times.waits[0] + times.spans[0], times.waits[1] + times.spans[1])
    side = shared.own[:, who] if beat.thrown is not None else shared.side
    more: dict[str, Any] = {
        "side": side if known.sided[action] else BOTH,
        "tempo": shared.tempo,
        "amplitude": shared.amplitude,
        "repetitions": times.repetitions[who] if known.counted[action] else 0,
        "together": action != known.standing,
    }
    shown = np.where(on, span, 0.0)
    course = course.stand(np.where(on, wait, 0.0))
    if known.layered[action]:
        course = course.append(action, shown, layered=(_BEFORE, _AFTER), **more).stand(shown)
    else:
        course = course.append(action, shown, **more)
    return course.stand(np.where(on, whole - wait - span, 0.0))
