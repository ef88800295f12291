"""Filter and resample motion over time, and measure the smoothness and the spectrum of time series."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posegen.arrays import Array

CUT_OFF = 5.0
"""Hertz at which half of the power is left."""
REACH = 4
"""Frames that the filter removes at each end."""
_SPARC_CUT_OFF = 10.0
_SPARC_PADDING = 4
_SPARC_THRESHOLD = 0.05


def low_pass(values: ArrayLike, fps: float) -> Array:
    """Filter a series over time with a zero-phase Gaussian that halves the power at 5 Hz, truncated at 4 frames.

    Mocap contains noise that differentiation amplifies. Speed, acceleration and jerk of generated motion and of mocap are
    comparable only after the same filter.

    Parameters
    ----------
    values : float [frame, ...]
    fps : float
        Frames per second.

    Returns
    -------
    float64 [frame - 8, ...]
        The frames for which the filter needs no frame beyond an end; empty for shorter series.
    """
    series = np.asarray(values, np.float64)
    spread = np.sqrt(np.log(2)) / (2 * np.pi * CUT_OFF) * fps
    weights = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) / spread) ** 2)
    weights /= weights.sum()
    count = max(len(series) - 2 * REACH, 0)
    filtered = np.zeros((count, *series.shape[1:]))
    for shift, weight in enumerate(weights):
        filtered += weight * series[shift : shift + count]
    return filtered


def sparc(speed: ArrayLike, fps: float) -> float:
    """Return the spectral arc length of a speed profile up to 10 Hz (Balasubramanian et al. 2015).

    Parameters
    ----------
    speed : float [frame]
        In any unit.
    fps : float
        Frames per second.

    Returns
    -------
    float
        Negative; lower values are less smooth. NaN where nothing moves.
    """
    profile = np.asarray(speed, np.float64)
    if not _is_profile(profile, 2):
        return float("nan")
    length = 2 ** (int(np.ceil(np.log2(len(profile)))) + _SPARC_PADDING)
    spectrum = np.abs(np.fft.rfft(profile, length))
    frequency = np.fft.rfftfreq(length, 1 / fps)
    spectrum /= spectrum.max()
    kept = frequency <= _SPARC_CUT_OFF
    frequency, spectrum = frequency[kept], spectrum[kept]
    strong = np.flatnonzero(spectrum >= _SPARC_THRESHOLD)
    frequency, spectrum = frequency[strong[0] : strong[-1] + 1], spectrum[strong[0] : strong[-1] + 1]
    if len(frequency) < 2:
        return float("nan")
    across = np.diff(frequency) / (frequency[-1] - frequency[0])
    return float(-np.hypot(across, np.diff(spectrum)).sum())


def log_dimensionless_jerk(speed: ArrayLike, fps: float) -> float:
    """Return the log dimensionless jerk ``-ln(T^3 / peak^2 * integral of (d2v/dt2)^2)`` of a speed profile.

    Parameters
    ----------
    speed : float [frame]
        In any unit. The value depends on the duration, so compare profiles of the same length only.
    fps : float
        Frames per second.

    Returns
    -------
    float
        Lower values are less smooth. NaN where nothing moves or the speed changes linearly.
    """
    profile = np.asarray(speed, np.float64)
    if not _is_profile(profile, 3):
        return float("nan")
    jerk = np.diff(profile, 2) * fps**2
    total = (jerk * jerk).sum() / fps
    duration = (len(profile) - 1) / fps
    return float(-np.log(duration**3 / profile.max() ** 2 * total)) if total > 0 else float("nan")


def _is_profile(profile: Array, frames: int) -> bool:
    """Return whether a speed profile has enough frames, is finite, and is above 0 somewhere."""
    return len(profile) >= frames and bool(np.isfinite(profile).all() and (profile > 0).any())


def power_spectrum(series: ArrayLike) -> Array:
    """Return the power of each feature at each frequency: float64 [frequency, feature] of [frame, feature]."""
    return np.asarray(np.abs(np.fft.rfft(np.asarray(series, np.float64), axis=0)) ** 2)
