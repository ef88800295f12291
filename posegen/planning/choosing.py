"""What is drawn for one slot: which action, how fast, how far round, with which side."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import AVERAGE_LEG
from posegen.planning.repertoire import NO_GAIT, RUN, STEP, WALK, Repertoire
from posegen.randomness import choose
from posegen.scene import BOTH, LEFT, NOTHING, RIGHT

__all__ = ["LayerDraw", "SlotDraw", "action_of", "lessened", "side_of", "speed_limits", "speed_of", "turn_of"]

Array = NDArray[Any]

_DOMINANT = 0.8
_STRAIGHT = 0.38
_AGAIN = 0.3
_LEAST_CURVE, _LEAST_TURN = 30.0, 40.0
_CURVE_RATE = 45.0
"""Degrees a second of a curve at most."""
_WALKING, _RUNNING = (0.5, 1.9), (2.2, 7.0)
"""Metres a second of an average leg between which a style may bring walks and runs."""
_ELSE = (0.85, 1.15)
"""Shares of an action's own slowest and fastest speed between which it may bring all else."""


class SlotDraw(IntEnum):
    """Which of a base slot's numbers decides what. A new one goes last."""

    ACTION = 0
    TARGET = 1
    TEMPO = 2
    AMPLITUDE = 3
    SPEED = 4
    STRAIGHT = 5
    TURN = 6
    SIDE = 7
    REPETITIONS = 8
    RATE = 9
    LEFT_OR_RIGHT = 10


class LayerDraw(IntEnum):
    """Which of a layered slot's numbers decides what. A new one goes last."""

    WHETHER = 0
    ACTION = 1
    TEMPO = 2
    AMPLITUDE = 3
    SIDE = 4
    REPETITIONS = 5
    TARGET = 6
    START = 7


def action_of(known: Repertoire, weights: Array, previous: Array, layer: Array, room: Array, draws: Array) -> Array:
    """Choose an action for each slot.

    Parameters
    ----------
    known : Repertoire
    weights : float [n, actions]
    previous : int [n]
        The action before, which is not done again at once; only a gait may go on, with another path.
    layer : int [n]
        The action that lay over it, or NOTHING, which is not done again at once either.
    room : float [n]
        Seconds that it should fit into.
    draws : float [n]

    Returns
    -------
    int [n]
    """
    travelling = (known.gait != NO_GAIT) & (known.gait != STEP)
    fresh = lessened(lessened(weights, previous, np.where(travelling, _AGAIN, 0.0)[previous]), layer, 0.0)
    chosen = np.cumsum(fresh * (known.shortest <= room[:, None]), axis=1)
    # Where nothing fits, what is cut by the end of the clip will do; where all is repetition, so be it.
    for options in (fresh, weights):
        none = np.flatnonzero(chosen[:, -1] <= 0)
        if len(none):
            chosen[none] = np.cumsum(options[none], axis=1)
    return choose(draws, chosen)


def lessened(weights: Array, action: Array, factor: Array | float) -> Array:
    """Multiply the weight of one action in each row [n, actions]; of none where it is NOTHING."""
    rows, less = np.arange(len(weights)), weights.copy()
    less[rows, action] *= np.where(action == NOTHING, 1.0, factor)
    return less


def speed_of(known: Repertoire, action: Array, leg: Array, style: Array, draws: Array) -> Array:
    """Speed of locomotion in metres a second; shorter legs are slower by the root of their length (equal Froude number).

    Its distribution is a triangle: the middle of what an action ranges over is what people do most, its ends are rare. `style`
    is the factor of the person's style, which works as far as the gait allows.
    """
    slow, fast = known.slow[action], known.fast[action]
    least, most = speed_limits(known, action)
    share = np.where(draws < 0.5, np.sqrt(0.5 * draws), 1.0 - np.sqrt(np.maximum(0.5 * (1.0 - draws), 0.0)))
    speed = np.clip((slow + share * (fast - slow)) * style, least, most)
    return np.asarray(speed * np.sqrt(leg / AVERAGE_LEG))


def speed_limits(known: Repertoire, action: Array) -> tuple[Array, Array]:
    """Metres a second of an average leg between which a style, or a quota, may bring actions."""
    slow, fast, gait = known.slow[action], known.fast[action], known.gait[action]
    least, most = _ELSE[0] * slow, _ELSE[1] * fast
    for kind, (slowest, fastest) in ((WALK, _WALKING), (RUN, _RUNNING)):
        least = np.where(gait == kind, np.minimum(slow, slowest), least)
        most = np.where(gait == kind, np.maximum(fast, fastest), most)
    return least, most


def turn_of(known: Repertoire, action: Array, straight_before: Array, span: Array, draws: Array) -> tuple[Array, Array]:
    """Degrees that each slot turns, to the left positive, and whether it goes straight ahead.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    straight_before : bool [n]
        Whether the slot before was the same gait straight ahead, so that this one must differ.
    span : float [n]
        Seconds of the slot.
    draws : float [n, SlotDraw]

    Returns
    -------
    float [n], bool [n]
    """
    gait = known.gait[action]
    # Some actions turn to one side alone, and always.
    only_left, only_right = known.right[action] > 0, known.left[action] < 0
    left = (only_left | (draws[:, SlotDraw.LEFT_OR_RIGHT] < 0.5)) & ~only_right
    always = np.where(only_left, known.right[action], np.where(only_right, -known.left[action], 0.0))
    most = np.where(left, known.left[action], -known.right[action])
    least = np.maximum(np.minimum(np.where(gait == STEP, _LEAST_TURN, _LEAST_CURVE), most), always)
    size = least + draws[:, SlotDraw.TURN] * (most - least)
    size = np.where(gait == STEP, size, np.maximum(np.minimum(size, _CURVE_RATE * span), always))
    curved = (gait == STEP) | (draws[:, SlotDraw.STRAIGHT] >= _STRAIGHT) | straight_before | (always > 0)
    degrees = np.where((gait != NO_GAIT) & curved, np.where(left, size, 0.0 - size), 0.0)
    return degrees, degrees == 0.0


def side_of(known: Repertoire, action: Array, left_handed: Array, draws: Array) -> Array:
    """Side that each action is done with: mostly the better hand; gaits lead with either foot."""
    dominant = np.where(left_handed, LEFT, RIGHT)
    hand = np.where(draws < _DOMINANT, dominant, LEFT + RIGHT - dominant)
    foot = np.where(draws < 0.5, LEFT, RIGHT)
    side = np.where(known.sided[action], hand, np.where(known.gait[action] != NO_GAIT, foot, BOTH))
    return np.where(action == NOTHING, BOTH, side).astype(np.int8)
