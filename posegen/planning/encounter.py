"""How two people come together and part: stretches of slots, one after another, for all samples of one interaction at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import RADIANS
from posegen.planning.choosing import speed_of
from posegen.planning.repertoire import STANDING, Repertoire
from posegen.planning.track import UNUSED
from posegen.scene import LEFT, NOTHING, RIGHT

__all__ = ["Course", "Pace", "approach", "begin", "leave", "then", "walk_on"]

Array = NDArray[Any]
Piece = dict[str, Array]

WALK, TURN, WAVE = "walk", "turn", "wave"
_TURNING = 95.0
"""Degrees a second of turns on the spot."""
_CURVING = 20.0
"""Degrees a second of a curve at most."""
_LEAST_WALK, _LEAST_TURNED, _LEAST_WAVE = 1.5, 3.0, 3.4
"""Seconds before two meet from which one of them walks, turns or waves."""
_SHORTEST_WAIT = 0.7
_AROUND = (115.0, 170.0)
"""Degrees by which who leaves turns away."""

_UNUSED: dict[str, Any] = {name: value for name, value in UNUSED.items() if name != "action"} | {"together": False}


@dataclass(frozen=True)
class Course:
    """What one actor does so far in each of n samples; `time` is where it has come to, slots are dicts of arrays [n]."""

    time: Array
    base: tuple[Piece, ...] = ()
    layers: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Pace:
    """How one actor moves, arrays [n]: height of the hip in metres, factor of the style on speed, tempo and amplitude."""

    leg: Array
    speed: Array
    tempo: Array
    amplitude: Array


def begin(n: int) -> Course:
    """A course of which nothing is known yet."""
    return Course(np.zeros(n))


def then(course: Course, action: int, span: Array, *, layered: tuple[float, float] | None = None, **more: Any) -> Course:
    """Let an action follow that takes `span` seconds, where that is more than 0.

    Parameters
    ----------
    course : Course
    action : int
    span : float [n]
    layered : (float, float), optional
        Seconds of rest at either end of the span; the action then lies over what is or will be there, and no time passes.
    **more
        Numbers of the slot, as :class:`posegen.scene.Scenes` names them.
    """
    there = span > 1e-6
    before, after = layered or (0.0, 0.0)
    piece = {name: np.broadcast_to(np.asarray(more.get(name, value)), span.shape) for name, value in _UNUSED.items()}
    piece |= {"action": np.full(len(span), action), "start": course.time + before, "end": course.time + span - after}
    piece = {name: np.where(there, values, _UNUSED.get(name, NOTHING)) for name, values in piece.items()}
    if layered is not None:
        return Course(course.time, course.base, (*course.layers, piece))
    return Course(course.time + np.where(there, span, 0.0), (*course.base, piece), course.layers)


def walk_on(course: Course, known: Repertoire, pace: Pace, span: Array, degrees: Array, draws: Array, **more: Any) -> Course:
    """Let a walk follow; `degrees` is how far it curves to the left, `draws` [n, 2] decide speed and leading foot."""
    action = known.names.index(WALK)
    kinds = np.full(len(span), action)
    return then(
        course,
        action,
        span,
        speed=more.pop("speed", speed_of(known, kinds, pace.leg, pace.speed, draws[:, 0])),
        turn=np.clip(degrees, -_CURVING * span, _CURVING * span) * RADIANS,
        side=np.where(draws[:, 1] < 0.5, LEFT, RIGHT),
        tempo=pace.tempo,
        amplitude=pace.amplitude,
        **more,
    )


def _turn(course: Course, known: Repertoire, pace: Pace, degrees: Array, draws: Array) -> Course:
    """Let a turn on the spot follow, where `degrees` is not 0."""
    span = np.where(degrees == 0, 0.0, np.maximum(np.abs(degrees) / (_TURNING * np.clip(pace.tempo, 0.8, 1.2)), 1.2))
    side = np.where(draws < 0.5, LEFT, RIGHT)
    return then(course, known.names.index(TURN), span, turn=degrees * RADIANS, side=side, tempo=pace.tempo)


def approach(known: Repertoire, pace: Pace, until: Array, walks: Array, draws: Array) -> Course:
    """Let somebody come, or wait for who comes.

    Parameters
    ----------
    known : Repertoire
    pace : Pace
    until : float [n]
        Seconds at which the two have met.
    walks : bool [n]
        Whether this one comes.
    draws : float [n, 8]
        On [0, 1).
    """
    n = len(until)
    standing = known.names.index(STANDING)
    walks = walks & (until >= _LEAST_WALK)
    wait = np.where(walks, until - np.minimum(until, 1.6 + 2.8 * draws[:, 0]), until)
    wait = np.where(walks & (wait < _SHORTEST_WAIT), 0.0, wait)
    curve = np.where(draws[:, 1] < 0.55, 0.0, np.where(draws[:, 2] < 0.5, 1.0, -1.0) * (25.0 + 35.0 * draws[:, 3]))
    turned = ~walks & (until >= _LEAST_TURNED) & (draws[:, 1] < 0.3)
    degrees = np.where(turned, np.where(draws[:, 2] < 0.5, 1.0, -1.0) * (70.0 + 70.0 * draws[:, 3]), 0.0)
    waved = ~walks & ~turned & (until >= _LEAST_WAVE) & (draws[:, 1] > 0.72)
    course = begin(n)
    if WAVE in known.names:
        wave = known.names.index(WAVE)
        repetitions = np.full(n, known.fewest[wave])
        span = (known.enter[wave] + known.exit[wave] + repetitions * known.cycle[wave]) / pace.tempo + 0.5
        hand = np.where(draws[:, 6] < 0.8, RIGHT, LEFT)
        span = np.where(waved & (span < until), span, 0.0)
        course = then(course, wave, span, layered=(0.4, 0.1), side=hand, tempo=pace.tempo, repetitions=repetitions)
    turn = _turn(begin(n), known, pace, degrees, draws[:, 4])
    course = then(course, standing, wait - turn.time)
    course = walk_on(course, known, pace, np.where(walks, until - course.time, 0.0), curve, draws[:, 4:6])
    return _turn(course, known, pace, degrees, draws[:, 4])


def leave(course: Course, known: Repertoire, pace: Pace, until: Array, leaves: Array, draws: Array) -> Course:
    """Let somebody turn away and go, or stay where the other one has been.

    Parameters
    ----------
    course : Course
    known : Repertoire
    pace : Pace
    until : float [n]
        Seconds that must be filled.
    leaves : bool [n]
    draws : float [n, 6]
        On [0, 1).
    """
    standing = known.names.index(STANDING)
    away = _AROUND[0] + draws[:, 0] * (_AROUND[1] - _AROUND[0])
    course = then(course, standing, np.where(leaves, 0.0, np.maximum(until - course.time, 1.0)))
    course = _turn(course, known, pace, np.where(leaves, np.where(draws[:, 1] < 0.5, away, -away), 0.0), draws[:, 2])
    curve = np.where(draws[:, 5] < 0.6, 0.0, 60.0 * (draws[:, 5] - 0.8))
    return walk_on(course, known, pace, np.where(leaves, np.maximum(until - course.time, 1.5), 0.0), curve, draws[:, 3:5])
