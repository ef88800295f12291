"""Facts against joints, for all segments at once: what :mod:`posegen.checks.check` finds of one statement after another.

Captions tell some of a segment's facts, so what holds for each fact holds for each statement that is made of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.checks.check import CURVE, FACING, MOST
from posegen.checks.evidence import UNSEEN, Evidence
from posegen.library import Library
from posegen.library.terms import AROUND, DIRECTIONS, PATHS, SPEED_BOUNDS, SPEEDS
from posegen.scene import BOTH, LEFT, RIGHT

__all__ = ["KINDS", "Claims", "Known", "directions_seen", "false_claims", "known_signs", "paths_seen", "speeds_seen"]

Array = NDArray[Any]

KINDS = ("action", "side", "count", "speed", "direction", "path")
"""Kinds of the claims that are checked, in the order of the columns of :func:`false_claims`.

What an order claims is that both actions show, one begun before the other; they are told in that order.
"""
_STRAIGHT, _LEFT, _RIGHT = (PATHS.index(word) for word in ("straight", "left", "right"))
_TO_LEFT, _TO_RIGHT, _AROUND = (DIRECTIONS.index(word) for word in ("left", "right", "around"))


class Claims(NamedTuple):
    """What is told of segments; arrays [n].

    Attributes
    ----------
    action : index into the library's actions
    side : LEFT, RIGHT, or BOTH where no side is told
    repetitions : 0 where they are not told
    speed, direction, path : index into SPEEDS, DIRECTIONS and PATHS of :mod:`posegen.library.terms`; 0 where it is not told
    """

    action: Array
    side: Array
    repetitions: Array
    speed: Array
    direction: Array
    path: Array


class Known(NamedTuple):
    """How actions show; arrays [actions].

    Attributes
    ----------
    travels, turns : whether it goes along, whether it turns on the spot
    sided : whether a sign tells its side
    bound : which of the bounds of speed is the lower one of its gait; -1 where its speed has no words
    """

    travels: Array
    turns: Array
    sided: Array
    bound: Array


def known_signs(library: Library) -> Known:
    """Find how each action shows."""
    actions = [library.action(name) for name in library.actions]
    gaits = list(SPEED_BOUNDS)
    return Known(
        travels=np.array([action.gait not in (None, "step") for action in actions]),
        turns=np.array([action.gait == "step" for action in actions]),
        sided=np.array([action.signs.side is not None for action in actions]),
        bound=np.array([2 * gaits.index(action.gait) if action.gait in gaits else -1 for action in actions]),
    )


def directions_seen(turn: Array) -> Array:
    """Direction of turns in degrees, as index into :data:`posegen.library.terms.DIRECTIONS`."""
    aside = np.where(turn > FACING, _TO_LEFT, np.where(turn < -FACING, _TO_RIGHT, 0))
    return np.where(np.abs(turn) > AROUND, _AROUND, aside)


def paths_seen(turn: Array) -> Array:
    """Path of who turns by so many degrees on the way, as index into :data:`posegen.library.terms.PATHS`."""
    return np.where(turn > CURVE, _LEFT, np.where(turn < -CURVE, _RIGHT, _STRAIGHT))


def speeds_seen(evidence: Evidence, bound: Array, share: float = MOST) -> Array:
    """Return the speed kept for `share` of the time, as index into :data:`posegen.library.terms.SPEEDS`; 0 if there is none.

    Parameters
    ----------
    evidence : Evidence
        Of n stretches.
    bound : int [n]
        Which bound is the lower one of the gait; see :class:`Known`.
    share : float
    """
    rows = np.arange(len(bound))
    slow, fast = evidence.slower[rows, bound], evidence.faster[rows, bound + 1]
    kept = np.stack([slow, 1.0 - slow - fast, fast])
    word = kept.argmax(axis=0)
    return np.where((bound >= 0) & (kept[word, rows] > share), word + SPEEDS.index("slow"), 0)


def false_claims(claims: Claims, evidence: Evidence, known: Known) -> Array:
    """Hold what is told of segments against what is seen of them.

    Parameters
    ----------
    claims : Claims
        Of n segments.
    evidence : Evidence
        What is seen in their frames, by :data:`posegen.checks.check.BOUNDS`.
    known : Known

    Returns
    -------
    bool [n, kinds]
        Whether the claim of each of :data:`KINDS` is false; what is not told or cannot be measured is not.
    """
    travels, turns, sided, bound = (column[claims.action] for column in known)
    one_side = (evidence.side == LEFT) | (evidence.side == RIGHT)
    seen = np.where(sided, one_side, evidence.repetitions != 0)
    seen = np.where(turns, directions_seen(evidence.turn) != 0, seen)
    return np.stack(
        [
            ~np.where(travels, evidence.faster[:, -1] > MOST, seen),
            sided & (claims.side != BOTH) & (evidence.side != claims.side),
            (claims.repetitions > 0) & (evidence.repetitions != UNSEEN) & (evidence.repetitions != claims.repetitions),
            (claims.speed > 0) & (bound >= 0) & (speeds_seen(evidence, bound) != claims.speed),
            (claims.direction > 0) & (directions_seen(evidence.turn) != claims.direction),
            (claims.path > 0) & (paths_seen(evidence.turn) != claims.path),
        ],
        axis=1,
    )
