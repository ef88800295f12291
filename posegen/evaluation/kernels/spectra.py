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
        At all frequencies, since the strongest may be beyond those that count; overwritten.
    frequencies : float64 [the first ones]
    threshold : float
        Share of the strongest frequency from which a frequency is strong.
    out : float64 [n]
        NaN with fewer than two frequencies.
    """
    for row in range(len(out)):
        spectrum = spectra[row]
        strongest = spectrum[0]
        for k in range(1, len(spectrum)):
            strongest = max(strongest, spectrum[k])
        for k in range(len(frequencies)):
            spectrum[k] /= strongest
        first, last = 0, len(frequencies) - 1
        while first <= last and spectrum[first] < threshold:
            first += 1
        while last > first and spectrum[last] < threshold:
            last -= 1
        out[row] = np.nan
        if last > first:
            span, length = frequencies[last] - frequencies[first], 0.0
            # Written first, since the processor computes several roots at once, but adds one number at a time.
            for k in range(first, last):
                across, up = (frequencies[k + 1] - frequencies[k]) / span, spectrum[k + 1] - spectrum[k]
                spectrum[k] = np.sqrt(across * across + up * up)
            for k in range(first, last):
                length += spectrum[k]
            out[row] = -length
