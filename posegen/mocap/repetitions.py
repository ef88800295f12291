"""Repetitions of a clip: the period after which its movement repeats, and the repetition that resembles the others most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.arrays import Array

SHORTEST, LONGEST = 0.4, 6.0
"""Seconds of a period."""
ALIKE = 0.35
"""Largest difference between two repetitions, relative to that of two frames at random."""


class Cycle(NamedTuple):
    """First and last frame of one repetition, and the number of repetitions in the clip."""

    first: int
    last: int
    repeated: int


def find_cycle(features: Array, fps: float) -> Cycle:
    """Return one repetition of a clip, or the whole clip if it does not repeat.

    Parameters
    ----------
    features : float64 [frame, feature]
        All in comparable units, such as degrees.
    fps : float

    Returns
    -------
    Cycle

    Examples
    --------
    >>> wave = np.sin(np.arange(240) * 2 * np.pi / 60)[:, None]
    >>> find_cycle(wave, 30.0).repeated
    4
    """
    frames = len(features)
    whole = Cycle(0, frames - 1, 1)
    centred = features - features.mean(axis=0)
    spread = float((centred**2).sum(-1).mean())
    if spread < 1e-6:
        return whole
    lags = np.arange(int(SHORTEST * fps), min(int(LONGEST * fps), int(frames / 1.9)) + 1)
    if len(lags) < 3:
        return whole
    unlike = np.array([_difference(features, int(lag)) for lag in lags]) / (2 * spread)
    dips = [
        k for k in range(1, len(lags) - 1) if unlike[k] < ALIKE**2 and unlike[k] <= unlike[k - 1] and unlike[k] < unlike[k + 1]
    ]
    if not dips:
        return whole
    # The shortest period that is nearly as good as the best one.
    best = min(unlike[k] for k in dips)
    period = int(lags[next(k for k in dips if unlike[k] <= 1.6 * best + 0.01)])
    count = round(frames / period)
    if count < 2:
        return whole
    # Repetitions begin in the pose in which the body rests: nearest to the first frame.
    starts = np.arange(0, frames - period)
    gap = ((features[starts] - features[starts + period]) ** 2).sum(-1)
    rest = ((features[starts] - features[0]) ** 2).sum(-1)
    first = int(starts[(gap + 0.5 * rest).argmin()])
    return Cycle(first, first + period, count)


def _difference(features: Array, lag: int) -> float:
    return float(((features[lag:] - features[:-lag]) ** 2).sum(-1).mean())
