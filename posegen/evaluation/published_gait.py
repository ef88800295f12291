"""Published reference values of human gait: angle curves of the leg, and relations between speed, step and stance.

The generator has tables of its own. A table that both used could not reveal an error in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.constants import AVERAGE_LEG, GRAVITY

SPREAD: Mapping[str, float] = {"hip_flexion": 6.1, "knee_flexion": 6.3, "ankle_dorsiflexion": 5.3}
"""Degrees: standard deviation between people at free speed (Schwartz et al. 2008)."""
ANGLES = tuple(SPREAD)

BINS = (("very slow", 0.227), ("slow", 0.363), ("free", 0.5), ("fast", 0.636), ("very fast", np.inf))
"""Bins of speed with their upper bounds of v / sqrt(g L)."""

# Angle, bin: a0, a1, ... and b1, b2, ... of a0 + sum a_k cos(2 pi k x) + b_k sin(2 pi k x) in degrees, x = 0 at touch-down of
# the same foot (fitted to Schwartz et al. 2008). No curve of the ankle at slow speed is available.
_CURVES: Mapping[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...]]] = {
    ("hip_flexion", "very slow"): ((16.78, 14.20, -0.09, -0.49, 0.02), (-1.13, -3.08, 0.46, -0.07)),
    ("hip_flexion", "slow"): ((17.70, 17.41, -2.16, -0.07, 0.09), (-3.32, -2.44, 1.48, -0.17)),
    ("hip_flexion", "free"): ((18.45, 20.87, -3.14, -0.10, -0.10, -0.27), (-3.19, -1.54, 1.62, -0.09, 0.27)),
    ("hip_flexion", "fast"): ((20.01, 24.01, -3.90, -0.08, -0.12), (-3.32, -0.89, 1.71, -0.05)),
    ("hip_flexion", "very fast"): ((22.44, 25.71, -4.29, -0.31, -0.19), (-4.96, -1.22, 1.48, 0.03)),
    ("knee_flexion", "very slow"): ((16.13, -0.35, -9.39, -1.68, 0.20), (-15.44, -0.36, 3.65, 0.70)),
    ("knee_flexion", "slow"): ((20.02, -2.94, -12.21, -0.04, -0.17), (-18.26, 4.51, 4.59, 0.30)),
    ("knee_flexion", "free"): ((22.87, -1.91, -13.63, -0.70, -0.87, -0.54), (-18.75, 7.00, 4.31, 0.63, 0.73)),
    ("knee_flexion", "fast"): ((24.00, -0.39, -14.04, -0.73, -1.12), (-18.99, 9.08, 4.20, 0.52)),
    ("knee_flexion", "very fast"): ((23.43, 1.13, -13.81, -0.82, -1.29), (-21.48, 9.22, 3.69, 0.38)),
    ("ankle_dorsiflexion", "very slow"): ((3.15, -6.09, 1.83, -2.73, -0.14), (1.22, -3.30, -1.73, 0.94)),
    ("ankle_dorsiflexion", "free"): (
        (0.75, -2.05, 0.82, -4.60, 2.20, -0.52, 0.26, 0.53, -0.08),
        (7.09, -7.22, 0.86, 0.24, -1.38, 0.55, -0.49, -0.04),
    ),
    ("ankle_dorsiflexion", "fast"): ((-0.62, 0.16, -1.13, -4.15, 2.09), (7.49, -7.48, 1.72, -0.76)),
    ("ankle_dorsiflexion", "very fast"): ((-1.29, 2.52, -3.35, -2.97, 1.38), (6.80, -7.57, 2.03, -1.27)),
}

_WALK_RATIO = 0.0065

# Speed in m/s, mean and standard deviation in metres (Orendurff et al. 2004).
_MASS = {
    "rise": ((0.7, 0.027, 0.005), (1.6, 0.048, 0.009)),
    "sway": ((0.7, 0.070, 0.0134), (1.6, 0.039, 0.0141)),
}


def speed_bin(speed: float, leg: float) -> str:
    """Return the name of the speed bin of a walk at `speed` m/s with legs of `leg` metres."""
    relative = speed / np.sqrt(GRAVITY * leg)
    return next(name for name, high in BINS if relative <= high)


def published_curve(angle: str, speed: str, phases: ArrayLike) -> Array | None:
    """Return a published angle curve.

    Parameters
    ----------
    angle : str
        One of :data:`ANGLES`.
    speed : str
        A name that :func:`speed_bin` returns.
    phases : float [n]
        Shares of the cycle, 0 at touch-down of the same foot.

    Returns
    -------
    float64 [n] or None
        Degrees; None where none is published.
    """
    if (angle, speed) not in _CURVES:
        return None
    cosines, sines = _CURVES[angle, speed]
    turns = 2 * np.pi * np.outer(np.arange(len(cosines)), np.asarray(phases, np.float64))
    return np.asarray(cosines @ np.cos(turns) + sines @ np.sin(turns[1:]))


def stance_share(speed: float) -> float:
    """Return the stance in % of the cycle at a walking speed in m/s (Kirtley et al. 1985)."""
    return 64.2 - 3.5 * speed


def walk_ratio(leg: float) -> float:
    """Return step length divided by cadence, in metres per (step per minute), for a leg of `leg` metres."""
    return _WALK_RATIO * leg / AVERAGE_LEG


def mass_excursion(kind: str, speed: float) -> tuple[float, float]:
    """Return mean and standard deviation, in metres, of an excursion of the centre of mass at a walking speed.

    Parameters
    ----------
    kind : str
        rise: vertical; sway: lateral.
    speed : float
        m/s. The values are published at two speeds. The mean is extrapolated linearly, the standard deviation is not.
    """
    (slow, low, few), (fast, high, many) = _MASS[kind]
    share = (speed - slow) / (fast - slow)
    return low + share * (high - low), few + min(max(share, 0.0), 1.0) * (many - few)
