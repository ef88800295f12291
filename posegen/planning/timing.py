"""How long an action takes, how often it is repeated, and with what vigour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.planning.repertoire import STEP, Repertoire
from posegen.randomness import integers

__all__ = ["amplitude_of", "span_of", "target_of", "tempo_of", "turning_span"]

Array = NDArray[Any]

_TEMPO, _AMPLITUDE = (0.85, 1.2), (0.8, 1.2)
_STYLED_TEMPO, _STYLED_AMPLITUDE = (0.65, 1.25), (0.6, 1.2)
_HOLD = 0.8
_NEXT_SLOT = 1.3
_TURNING_RATE = (90.0, 120.0)


def tempo_of(energy: Array, style: Array, draws: Array) -> Array:
    """Factor on the pace: an energetic person is quicker; `style` is the factor of the person's style."""
    own = np.clip(1.02 + 0.08 * energy + 0.24 * (draws - 0.5), *_TEMPO)
    return np.asarray(np.clip(style * own, *_STYLED_TEMPO))


def amplitude_of(energy: Array, style: Array, draws: Array) -> Array:
    """Factor on the size of a movement: an energetic person makes larger ones; `style` is that of the person's style."""
    own = np.clip(1.0 + 0.1 * energy + 0.26 * (draws - 0.5), *_AMPLITUDE)
    return np.asarray(np.clip(style * own, *_STYLED_AMPLITUDE))


def target_of(remaining: Array, left: Array, usual: Array, draws: Array) -> Array:
    """Seconds that a slot should take, so that the slots that are left fill the time that is shown.

    Parameters
    ----------
    remaining : float [n]
        Seconds from the start of the slot to the end of the clip.
    left : int [n]
        How many slots are still to start before that.
    usual : float [n]
        Seconds that a slot takes on average, for those behind the end of the clip.
    draws : float [n]
        On [0, 1).
    """
    share = remaining / np.maximum(left, 1) * (0.7 + 0.6 * draws)
    # The last one is cut by the end of the clip rather than ending with it.
    last = remaining * (1.05 + 0.3 * draws) + 0.3
    shown = np.where(left > 1, share, last)
    return np.where(remaining > 0, shown, usual * (0.6 + 0.8 * draws))


def span_of(known: Repertoire, action: Array, tempo: Array, target: Array, room: Array, draws: Array) -> tuple[Array, Array]:
    """Seconds and repetitions of an action.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    tempo : float [n]
    target : float [n]
        Seconds that it should take, if it has no repetitions; within its range.
    room : float [n]
        Seconds that its repetitions should not run over, unless the fewest of them do.
    draws : float [n]
        On [0, 1): how many repetitions.

    Returns
    -------
    float [n], int [n]
        Repetitions are 0 for actions that have none.
    """
    around = known.enter[action] + known.exit[action]
    cycle, fewest = known.cycle[action], known.fewest[action]
    fitting = np.floor((room * tempo - around) / np.where(cycle > 0, cycle, 1.0)).astype(np.int64)
    counted = known.counted[action]
    # Drawing up to what fits, rather than cutting what was drawn, keeps all counts in play.
    most = np.clip(fitting, fewest, known.most[action])
    repetitions = np.where(counted, integers(draws, fewest, most), 0)
    longest = known.longest[action] * (0.85 + 0.15 * draws)
    held = np.maximum(np.minimum(target, longest), known.shortest[action])
    held = np.where(around > 0, np.maximum(held, around / tempo + _HOLD), held)
    return np.where(counted, (around + repetitions * cycle) / tempo, held), repetitions


def turning_span(known: Repertoire, action: Array, degrees: Array, span: Array, style: Array, draws: Array) -> Array:
    """Seconds of each slot, where turns on the spot take as long as their angle needs and others keep `span`.

    `style` is the factor of the person's style on the pace.
    """
    rate = (_TURNING_RATE[0] + draws * (_TURNING_RATE[1] - _TURNING_RATE[0])) * style
    needed = np.maximum(np.abs(degrees) / rate, known.shortest[action])
    return np.where(known.gait[action] == STEP, needed, span)


def room_of(remaining: Array, left: Array) -> Array:
    """Seconds that repetitions may take, so that the slots that are left still start before the end of the clip."""
    return np.where(remaining > 0, remaining - np.maximum(left - 1, 0) * _NEXT_SLOT, np.inf)
