"""How long the segments of a track last: target, repetitions, and a fit to the end of the clip."""

from __future__ import annotations

import numpy as np

from posegen.config.schema import Config
from posegen.foundations.arrays import Array
from posegen.foundations.randomness import integers
from posegen.planning.repertoire import STEP, Repertoire
from posegen.planning.rules import RULES
from posegen.variants.variant import longest_time

_SEGMENT = RULES.segment
BEFORE, AFTER = _SEGMENT.before, _SEGMENT.after
"""Seconds between the starts of a base segment and its layer, and between their ends."""


def target_of(remaining: Array, left: Array, usual: Array, draws: Array) -> Array:
    """Return the target duration of a segment, so that the remaining segments fill the clip.

    Parameters
    ----------
    remaining : float [n]
        Seconds from the start of the segment to the end of the clip.
    left : int [n]
        Number of segments that still start before the end.
    usual : float [n]
        Mean seconds of a segment, used after the end of the clip.
    draws : float [n]
        On [0, 1).
    """
    share = remaining / np.maximum(left, 1) * (0.7 + 0.6 * draws)
    # The last segment does not end exactly with the clip; the end of the clip cuts it.
    last = remaining * (1.05 + 0.3 * draws) + 0.3
    shown = np.where(left > 1, share, last)
    return np.where(remaining > 0, shown, usual * (0.6 + 0.8 * draws))


def span_of(known: Repertoire, action: Array, tempo: Array, target: Array, room: Array, draws: Array) -> tuple[Array, Array]:
    """Return the seconds and the repetitions of an action.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    tempo : float [n]
    target : float [n]
        Target seconds without repetitions; clipped to the action's range.
    room : float [n]
        Available seconds for repetitions; the fewest repetitions may exceed them.
    draws : float [n]
        On [0, 1), for the number of repetitions.

    Returns
    -------
    float [n], int [n]
        Repetitions are 0 for actions without a cycle.
    """
    around = known.enter[action] + known.exit[action]
    cycle, fewest = known.cycle[action], known.fewest[action]
    fitting = np.floor((room * tempo - around) / np.where(cycle > 0, cycle, 1.0)).astype(np.int64)
    counted = known.counted[action]
    # Drawing among the counts that fit, rather than clipping a drawn count, keeps all counts possible.
    most = np.clip(fitting, fewest, known.most[action])
    repetitions = np.where(counted, integers(draws, fewest, most), 0)
    longest = known.longest[action] * (0.85 + 0.15 * draws)
    held = np.maximum(np.minimum(target, longest), known.shortest[action])
    held = np.where(around > 0, np.maximum(held, around / tempo + _SEGMENT.hold), held)
    return np.where(counted, (around + repetitions * cycle) / tempo, held), repetitions


def turning_span(known: Repertoire, action: Array, degrees: Array, span: Array, style: Array, draws: Array) -> Array:
    """Return the seconds of each segment: those of turns on the spot depend on the angle, others keep `span`.

    `style` is the factor of the person's style on the pace.
    """
    slow, fast = _SEGMENT.turning_rate
    rate = (slow + draws * (fast - slow)) * style
    needed = np.maximum(np.abs(degrees) / rate, known.shortest[action])
    return np.where(known.gait[action] == STEP, needed, span)


def around_of(known: Repertoire, action: Array) -> Array:
    """Return the seconds of standing around actions of the arms, which are layers over standing; 0 for other actions."""
    return np.where(known.layered[action], BEFORE + AFTER, 0.0)


def filled(
    known: Repertoire, action: Array, tempo: Array, span: Array, repetitions: Array, remaining: Array, kept: Array
) -> tuple[Array, Array]:
    """Return the seconds and the repetitions of segments, with more repetitions where no time for a next segment is left.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    tempo, span : float [n]
        Factor on the pace, and seconds.
    repetitions : int [n]
    remaining : float [n]
        Seconds from the start of the segment to the end of the clip; not positive after the clip.
    kept : float [n]
        Seconds that a next segment needs.

    Returns
    -------
    float [n], int [n]
    """
    cycle = np.where(known.cycle[action] > 0, known.cycle[action], 1.0)
    left = remaining - span
    last = known.counted[action] & (remaining > 0) & (left > 0) & (left < kept)
    more = np.minimum(np.floor(left * tempo / cycle + 0.5).astype(np.int64), known.most[action] - repetitions)
    more = np.where(last, np.maximum(more, 0), 0)
    return span + more * cycle / tempo, repetitions + more


def shortened_turn(known: Repertoire, action: Array, degrees: Array, span: Array, remaining: Array) -> tuple[Array, Array]:
    """Return degrees and seconds of segments, smaller for turns on the spot that would last longer than `remaining`."""
    share = np.where(remaining > 0, remaining, span) / span
    # Some actions always turn by more, to one side only.
    free = (known.gait[action] == STEP) & (known.right[action] <= 0) & (known.left[action] >= 0)
    fits = free & (share < 1.0) & (np.abs(degrees) * share >= _SEGMENT.least_turn) & (remaining >= known.shortest[action])
    return np.where(fits, degrees * share, degrees), np.where(fits, remaining, span)


def ending_factor(known: Repertoire, action: Array, span: Array, remaining: Array, kept: Array) -> Array:
    """Return the factor on the seconds of each segment with which it ends with the clip, or well before; 1 where none does.

    Parameters
    ----------
    known : Repertoire
    action : int [n]
    span : float [n]
        Seconds of the segment.
    remaining : float [n]
        Seconds from its start to the end of the clip; not positive after the clip.
    kept : float [n]
        Seconds that a next segment needs.

    Returns
    -------
    float [n]
        Actions with repetitions change their tempo by it. Others may also last as long as the clip.
    """
    factor = np.where(remaining > 0, remaining / span, 1.0)
    counted, turns = known.counted[action], known.gait[action] == STEP
    near = (factor >= 1.0) & (remaining - span < kept)
    lengthened = near & ((factor <= _SEGMENT.most_stretch) | ~(counted | turns))
    hastened = (factor < 1.0) & counted & (factor >= 1.0 / _SEGMENT.most_haste)
    return np.where(lengthened | hastened, factor, 1.0)


def needed_seconds(config: Config) -> float:
    """Return the seconds that plans must cover, so that a faster variant does not run out of plan."""
    return float(config.frames / config.fps * longest_time(config) + _SEGMENT.spare)
