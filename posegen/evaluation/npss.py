"""The normalised power spectrum similarity (Gopalakrishnan et al. 2019): whether motion has the rhythms of other motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["npss", "power_spectrum"]


def power_spectrum(series: ArrayLike) -> NDArray[Any]:
    """Power of each feature at each frequency: float64 [frequency, feature] of [frame, feature]."""
    return np.asarray(np.abs(np.fft.rfft(np.asarray(series, np.float64), axis=0)) ** 2)


def npss(reference: ArrayLike, power: ArrayLike) -> float:
    """Earth mover's distance between normalised power spectra, each feature weighted by the reference's power in it.

    Parameters
    ----------
    reference, power : float [frequency, feature]
        Power spectra of series of the same length; for sets of clips their means, since generated clips have no partners
        among captured ones.

    Returns
    -------
    float
        0 for the same spectra, in steps of frequency.
    """
    first, second = np.asarray(reference, np.float64), np.asarray(power, np.float64)
    totals = first.sum(0)
    both = (totals > 0) & (second.sum(0) > 0)
    if not both.any():
        return float("nan")
    ahead = np.cumsum(first[:, both] / totals[both], axis=0) - np.cumsum(second[:, both] / second[:, both].sum(0), axis=0)
    return float((np.abs(ahead).sum(0) * totals[both]).sum() / totals[both].sum())
