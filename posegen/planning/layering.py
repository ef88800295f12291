"""Arm actions over base actions: waving while walking, clapping on a seat, or pointing while standing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.planning.choosing import LayerDraw
from posegen.planning.repertoire import NO_GAIT, Repertoire
from posegen.planning.timing import span_of
from posegen.randomness import choose
from posegen.scene import NOTHING

__all__ = ["AFTER", "BEFORE", "Layer", "lay_over"]

Array = NDArray[Any]

BEFORE, AFTER = 0.4, 0.2
"""Seconds between the start of the base slot and of the layered one, and between their ends."""


@dataclass(frozen=True)
class Layer:
    """A layered slot for each base slot; arrays [n]. The action is NOTHING where there is none."""

    action: Array
    start: Array
    end: Array
    repetitions: Array


def lay_over(
    known: Repertoire,
    weights: Array,
    base: tuple[Array, Array, Array, Array],
    tempo: Array,
    chance: float,
    draws: Array,
) -> Layer:
    """Lay arm actions over base slots that leave the arms free.

    Parameters
    ----------
    known : Repertoire
    weights : float [n, actions]
        Only actions that may be layered are taken, and none that has just been done.
    base : int [n], float [n], float [n], float [n]
        Action, start, end and tempo of the base slot.
    tempo : float [n]
        Of the layered slot.
    chance : float
        Probability that a slot that leaves the arms free gets a layer.
    draws : float [n, LayerDraw]
    """
    action, start, end, base_tempo = base
    seated, walking = known.seated[action], known.gait[action] != NO_GAIT
    # Who sits down or gets up needs the arms for it; who walks may wave all the way.
    first = start + np.where(seated, known.enter[action] / base_tempo, np.where(walking, 0.0, BEFORE))
    last = end - np.where(seated, known.exit[action] / base_tempo, AFTER)
    window = last - first
    # Only these columns, and one that is always there.
    arms = np.flatnonzero(known.layered | (np.arange(len(known.names)) == known.standing))
    fits = known.layered[arms] & (known.shortest[arms] <= (window * tempo)[:, None])
    possible = np.cumsum(np.where(fits, weights[:, arms], 0.0), axis=1)
    wanted = known.host[action] & (draws[:, LayerDraw.WHETHER] < chance) & (possible[:, -1] > 0)
    chosen = arms[choose(draws[:, LayerDraw.ACTION], possible)]
    target = window * (0.4 + 0.7 * draws[:, LayerDraw.TARGET])
    span, repetitions = span_of(known, chosen, tempo, target, window, draws[:, LayerDraw.REPETITIONS])
    wanted &= span <= window
    begin = first + np.where(wanted, (window - span) * draws[:, LayerDraw.START], 0.0)
    # A layer that could begin with the base slot gives it a moment to get going, if there is time for that.
    begin = np.where(walking, np.maximum(begin, np.minimum(start + BEFORE, last - span)), begin)
    return Layer(
        action=np.where(wanted, chosen, NOTHING),
        start=begin,
        end=np.minimum(begin + span, last),
        repetitions=np.where(wanted, repetitions, 0),
    )
