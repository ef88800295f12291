"""What two people do together, beat by beat, as slots that are timed together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.library.interactions import Beat, Interaction
from posegen.planning.encounter import Course, then
from posegen.planning.repertoire import STANDING, Repertoire
from posegen.scene import BOTH

__all__ = ["Together", "perform", "repetitions_of"]

Array = NDArray[Any]

_BEFORE, _AFTER = 0.4, 0.2
"""Seconds for which who speaks only stands, before and after."""
_LEAST = 1e-3


@dataclass(frozen=True)
class Together:
    """What both do alike; arrays [n].

    Attributes
    ----------
    metres : how far apart they are
    tempo, amplitude : factors
    side : LEFT or RIGHT, of both
    own : the better hands of both, [n, 2], by which something is thrown
    more : share of the range of repetitions, 0 to 1
    rounds : how often they do all of it
    hold : seconds at tempo 1 for which actions without repetitions are held
    """

    metres: Array
    tempo: Array
    amplitude: Array
    side: Array
    own: Array
    more: Array
    rounds: Array
    hold: Array


def repetitions_of(known: Repertoire, action: int, together: Together) -> Array:
    """How often an action's cycle is repeated, int [n]."""
    fewest, most = int(known.fewest[action]), int(known.most[action])
    return np.asarray(np.minimum(fewest + np.floor(together.more * (most - fewest + 1)).astype(np.int64), most))


def perform(
    interaction: Interaction, known: Repertoire, together: Together, courses: tuple[Course, Course]
) -> tuple[Course, Course]:
    """Let two people, who have come to the same time, do an interaction."""
    for number in range(int(together.rounds.max(initial=0))):
        on = number < together.rounds
        for beat in interaction.beats:
            courses = _beat(beat, known, together, courses, on)
    return courses


def _beat(
    beat: Beat, known: Repertoire, together: Together, courses: tuple[Course, Course], on: Array
) -> tuple[Course, Course]:
    actions = [known.names.index(name) for name in (beat.first, beat.second)]
    spans, repetitions = _spans(beat, known, together, actions)
    waits = _waits(beat, known, together, actions, spans)
    whole = np.maximum(waits[0] + spans[0], waits[1] + spans[1])
    one, other = (
        _do(courses[who], known, together, actions[who], who, beat, (waits[who], spans[who], whole, repetitions[who]), on)
        for who in range(2)
    )
    return one, other


def _spans(beat: Beat, known: Repertoire, together: Together, actions: list[int]) -> tuple[list[Array], list[Array]]:
    """Seconds and repetitions of what the two do."""
    spans, repetitions = [], []
    for action in actions:
        around = known.enter[action] + known.exit[action]
        count = repetitions_of(known, action, together) if known.counted[action] and beat.thrown is None else None
        if count is None:
            count = np.full(len(together.tempo), int(known.counted[action]))
        cycles = count * known.cycle[action] if known.counted[action] else together.hold
        spans.append((around + cycles) / together.tempo + (_BEFORE + _AFTER if known.layered[action] else 0.0))
        repetitions.append(count)
    # Who listens does so as long as the other one talks.
    leads = int(known.layered[actions[1]] and not known.layered[actions[0]])
    follows = 1 - leads
    action = actions[follows]
    if known.layered[actions[leads]] and not known.layered[action]:
        spans[follows] = spans[leads]
        if known.counted[action]:
            cycles = (spans[leads] * together.tempo - known.enter[action] - known.exit[action]) / known.cycle[action]
            repetitions[follows] = np.clip(np.rint(cycles), known.fewest[action], known.most[action]).astype(np.int64)
    return spans, repetitions


def _waits(beat: Beat, known: Repertoire, together: Together, actions: list[int], spans: list[Array]) -> list[Array]:
    """Seconds from the begin of a beat until each of the two begins."""
    waits = [np.zeros(len(together.tempo)), beat.later / together.tempo]
    thrown = beat.thrown
    if thrown is not None:
        thrower = int(thrown.by == "second")
        moments = [0.0, 0.0]
        for who, share in ((thrower, thrown.release), (1 - thrower, thrown.caught)):
            moments[who] = known.enter[actions[who]] + share * known.cycle[actions[who]]
        flight = together.metres / thrown.speed
        # The catcher's moment comes a flight behind the thrower's.
        late = moments[thrower] / together.tempo + flight - moments[1 - thrower] / together.tempo
        waits[thrower], waits[1 - thrower] = np.maximum(-late, 0.0), np.maximum(late, 0.0)
    return waits


def _do(
    course: Course,
    known: Repertoire,
    together: Together,
    action: int,
    who: int,
    beat: Beat,
    times: tuple[Array, Array, Array, Array],
    on: Array,
) -> Course:
    """Let one of the two do its part of a beat, and wait for the other one before and behind it."""
    wait, span, whole, repetitions = times
    standing = known.names.index(STANDING)
    side = together.own[:, who] if beat.thrown is not None else together.side
    more: dict[str, Any] = {
        "side": side if known.sided[action] else BOTH,
        "tempo": together.tempo,
        "amplitude": together.amplitude,
        "repetitions": repetitions if known.counted[action] else 0,
        "together": action != standing,
    }
    course = _wait(course, standing, np.where(on, wait, 0.0))
    if known.layered[action]:
        course = then(course, action, np.where(on, span, 0.0), layered=(_BEFORE, _AFTER), **more)
        course = _wait(course, standing, np.where(on, span, 0.0))
    else:
        course = then(course, action, np.where(on, span, 0.0), **more)
    return _wait(course, standing, np.where(on, whole - wait - span, 0.0))


def _wait(course: Course, standing: int, span: Array) -> Course:
    """Let somebody stand; who stands already goes on standing."""
    if course.base:
        last = course.base[-1]
        goes_on = (last["action"] == standing) & (span > _LEAST)
        longer = last | {"end": np.where(goes_on, last["end"] + span, last["end"])}
        course = replace(course, base=(*course.base[:-1], longer), time=course.time + np.where(goes_on, span, 0.0))
        span = np.where(goes_on, 0.0, span)
    return then(course, standing, np.where(span > _LEAST, span, 0.0))
