"""Published reference values of human gait: angle curves of the leg, and relations between speed, step and stance.

The generator has tables of its own. A table that both used could not reveal an error in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array
from posegen.constants import AVERAGE_LEG, GRAVITY
from posegen.yaml_files import read_yaml

_LEG: Mapping[str, Any] = read_yaml(Path(__file__).with_name("published_gait.yaml"))
SPREAD: Mapping[str, float] = {angle: published["spread"] for angle, published in _LEG.items()}
"""Degrees: standard deviation between people at free speed (Schwartz et al. 2008)."""
ANGLES = tuple(SPREAD)

BINS = (("very slow", 0.227), ("slow", 0.363), ("free", 0.5), ("fast", 0.636), ("very fast", np.inf))
"""Bins of speed with their upper bounds of v / sqrt(g L)."""

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
    curve = _LEG[angle]["curves"].get(speed)
    if curve is None:
        return None
    cosines, sines = curve["cosines"], curve["sines"]
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
