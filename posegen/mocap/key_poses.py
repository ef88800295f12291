"""Key poses of a sampled curve: the fewest samples through which the curve of the engine stays within a tolerance."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from posegen.foundations.arrays import Array


def curve_through(at: Array, values: Array, where: Array) -> Array:
    """Return the curve of the engine through moving key poses, at rest in the first and the last one.

    The rule is that of :func:`posegen.motion.key_poses.knot_speeds` and :func:`~posegen.motion.key_poses.fill_track`.

    Parameters
    ----------
    at, values : float64 [key]
    where : float64 [sample]
        Ascending, between the first and the last key.

    Examples
    --------
    >>> curve_through(np.array([0.0, 1.0]), np.array([0.0, 2.0]), np.array([0.0, 0.5, 1.0]))
    array([0., 1., 2.])
    """
    span = np.diff(at)
    slope = np.diff(values) / np.maximum(span, 1e-3)
    speed = np.zeros(len(at))
    before, after = slope[:-1], slope[1:]
    same = before * after > 0
    speed[1:-1][same] = 2 * before[same] * after[same] / (before[same] + after[same])
    k = np.clip(np.searchsorted(at, where, side="right") - 1, 0, len(span) - 1)
    x = (where - at[k]) / span[k]
    rise, v0, v1 = values[k + 1] - values[k], speed[k] * span[k], speed[k + 1] * span[k]
    a3, a4, a5 = 10 * rise - 6 * v0 - 4 * v1, -15 * rise + 8 * v0 + 7 * v1, 6 * rise - 3 * v0 - 3 * v1
    return np.asarray(values[k] + x * (v0 + x * x * (a3 + x * (a4 + x * a5))))


def thinned(at: Array, values: Array, tolerance: float, forced: Array) -> Array:
    """Return the indices of the samples that suffice as key poses.

    Samples are added where the curve differs most, until it differs nowhere by more than `tolerance`.

    Parameters
    ----------
    at, values : float64 [sample]
    tolerance : float
    forced : int [k]
        Samples that are key poses in any case; the first and the last one are.
    """
    chosen = sorted({0, len(at) - 1, *(int(i) for i in forced)})
    while True:
        error = np.abs(curve_through(at[chosen], values[chosen], at) - values)
        error[chosen] = 0.0
        worst = int(error.argmax())
        if error[worst] <= tolerance:
            return np.array(chosen)
        # One sample in each gap that is too far off, so that few passes suffice.
        for first, last in list(pairwise(chosen)):
            if last - first > 1 and error[first:last].max() > tolerance:
                chosen.append(first + int(error[first:last].argmax()))
        chosen.sort()
