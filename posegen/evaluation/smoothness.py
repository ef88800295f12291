"""How smooth a movement is: SPARC and the log dimensionless jerk of a speed profile (Balasubramanian et al. 2015)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["log_dimensionless_jerk", "sparc"]

HIGHEST = 10.0
PADDING = 4
THRESHOLD = 0.05


def sparc(speed: ArrayLike, fps: float) -> float:
    """Spectral arc length: how far the spectrum of a speed winds up to 10 Hz, its height and breadth scaled to 1.

    Parameters
    ----------
    speed : float [frame]
        Of any unit.
    fps : float
        Frames a second.

    Returns
    -------
    float
        Below 0, the lower the less smooth; NaN where nothing moves.
    """
    profile = np.asarray(speed, np.float64)
    if len(profile) < 2 or not np.isfinite(profile).all() or not (profile > 0).any():
        return float("nan")
    length = 2 ** (int(np.ceil(np.log2(len(profile)))) + PADDING)
    spectrum = np.abs(np.fft.rfft(profile, length))
    frequency = np.fft.rfftfreq(length, 1 / fps)
    spectrum /= spectrum.max()
    kept = frequency <= HIGHEST
    frequency, spectrum = frequency[kept], spectrum[kept]
    strong = np.flatnonzero(spectrum >= THRESHOLD)
    frequency, spectrum = frequency[strong[0] : strong[-1] + 1], spectrum[strong[0] : strong[-1] + 1]
    if len(frequency) < 2:
        return float("nan")
    across = np.diff(frequency) / (frequency[-1] - frequency[0])
    return float(-np.hypot(across, np.diff(spectrum)).sum())


def log_dimensionless_jerk(speed: ArrayLike, fps: float) -> float:
    """Log dimensionless jerk of a speed: ``-ln(T^3 / peak^2 * integral of (d2v/dt2)^2)``.

    Parameters
    ----------
    speed : float [frame]
        Of any unit; it grows with the duration, so compare profiles of the same length only.
    fps : float
        Frames a second.

    Returns
    -------
    float
        The lower the less smooth; NaN where nothing moves or the speed changes evenly.
    """
    profile = np.asarray(speed, np.float64)
    if len(profile) < 3 or not np.isfinite(profile).all() or not (profile > 0).any():
        return float("nan")
    jerk = np.diff(profile, 2) * fps**2
    total = (jerk * jerk).sum() / fps
    duration = (len(profile) - 1) / fps
    return float(-np.log(duration**3 / profile.max() ** 2 * total)) if total > 0 else float("nan")
