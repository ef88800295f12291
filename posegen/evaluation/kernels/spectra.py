"""Kernel of the spectral arc length; :mod:`posegen.evaluation.plausibility` computes the spectra."""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, kernel


@kernel
def fill_arc_lengths(spectra: Array, frequencies: Array, threshold: float, out: Array) -> None:
    """Write the negative arc lengths of spectra, between the first and the last frequency that is strong.

    Parameters
    ----------
    spectra : float64 [n, frequency]
        At all frequencies, since the strongest may be beyond those that count.
    frequencies : float64 [the first ones]
    threshold : float
        Share of the strongest frequency from which a frequency is strong.
    out : float64 [n]
        NaN with fewer than two frequencies.
    """
    for row in range(len(out)):
        strongest = spectra[row, 0]
        for k in range(1, spectra.shape[1]):
            strongest = max(strongest, spectra[row, k])
        first, last = len(frequencies), -1
        for k in range(len(frequencies)):
            if spectra[row, k] / strongest >= threshold:
                first, last = min(first, k), k
        out[row] = np.nan
        if last > first:
            span, length = frequencies[last] - frequencies[first], 0.0
            for k in range(first, last):
                across = (frequencies[k + 1] - frequencies[k]) / span
                up = spectra[row, k + 1] / strongest - spectra[row, k] / strongest
                length += np.sqrt(across * across + up * up)
            out[row] = -length
