"""Compare sets of clips by their features: Fréchet distance, spectra, diversity and percentile bands.

The features themselves are computed in :mod:`posegen.evaluation.realism`, or by a trained encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posegen.foundations.arrays import Array


def frechet_distance(one: ArrayLike, other: ArrayLike) -> float:
    """Return the Fréchet distance ``|m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2))`` of two sets (Heusel et al. 2017).

    Parameters
    ----------
    one, other : float [n, feature]
        At least two rows each. Each set is modelled as a normal distribution.
    """
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    apart = first.mean(0) - second.mean(0)
    spread, other_spread = (np.atleast_2d(np.cov(features, rowvar=False)) for features in (first, second))
    values, vectors = np.linalg.eigh(spread)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    # tr (C1 C2)^(1/2) equals that of (C1^(1/2) C2 C1^(1/2))^(1/2), which is symmetric.
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ other_spread @ root), 0)).sum()
    return float(max(apart @ apart + np.trace(spread) + np.trace(other_spread) - 2 * shared, 0.0))


def npss(reference: ArrayLike, power: ArrayLike) -> float:
    """Return the normalised power spectrum similarity (Gopalakrishnan et al. 2019).

    This is the earth mover's distance between normalised power spectra. Each feature is weighted by the power that the
    reference has in it.

    Parameters
    ----------
    reference, power : float [frequency, feature]
        Power spectra of series of the same length. For sets of clips, their means: generated clips have no counterparts
        among mocap clips.

    Returns
    -------
    float
        In frequency bins; 0 for equal spectra.
    """
    first, second = np.asarray(reference, np.float64), np.asarray(power, np.float64)
    totals = first.sum(0)
    both = (totals > 0) & (second.sum(0) > 0)
    if not both.any():
        return float("nan")
    ahead = np.cumsum(first[:, both] / totals[both], axis=0) - np.cumsum(second[:, both] / second[:, both].sum(0), axis=0)
    return float((np.abs(ahead).sum(0) * totals[both]).sum() / totals[both].sum())


def diversity(features: ArrayLike) -> float:
    """Return the mean distance between all pairs of clips.

    Parameters
    ----------
    features : float [n, feature]
        At least two clips; scaled so that the features have equal weight.
    """
    values = np.asarray(features, np.float64)
    squares = (values * values).sum(-1)
    distance = np.sqrt(np.maximum(squares[:, None] + squares - 2 * values @ values.T, 0))
    np.fill_diagonal(distance, 0)
    return float(distance.sum() / (len(values) * (len(values) - 1)))


def band(reference: ArrayLike) -> Array:
    """Return the 5th and 95th percentile of each statistic: float64 [2, statistic] of [n, statistic]; NaN are ignored."""
    values = np.asarray(reference, np.float64)
    columns = [column[np.isfinite(column)] for column in values.T]
    return np.array([np.percentile(c, [5, 95]) if len(c) else [np.nan, np.nan] for c in columns]).T


def share_inside(values: ArrayLike, limits: ArrayLike) -> Array:
    """Return the share of the windows [n, statistic] inside `limits` of :func:`band`; .9 is that of the reference itself."""
    measured, (low, high) = np.asarray(values, np.float64), np.asarray(limits)
    inside = (measured >= low) & (measured <= high)
    count = np.isfinite(measured).sum(0)
    return np.where(count > 0, inside.sum(0) / np.maximum(count, 1), np.nan)


@dataclass(frozen=True)
class EncodedSpread:
    """Diversity of a set of encoded motions, and its Fréchet distance to another set.

    Attributes
    ----------
    clips : int
    diversity : float
        Mean distance between two clips.
    halves : float or None
        Fréchet distance between the even and the odd clips; None for fewer than four clips. A small set has a large
        Fréchet distance even to an equal set; this gives the scale.
    reference_clips : int or None
        Clips of the other set, if there is one.
    reference_diversity : float or None
    frechet : float or None
        Fréchet distance to the other set.
    """

    clips: int
    diversity: float
    halves: float | None
    reference_clips: int | None = None
    reference_diversity: float | None = None
    frechet: float | None = None


def encoded_spread(features: ArrayLike, reference: ArrayLike | None = None) -> EncodedSpread:
    """Measure the diversity of a set of features, and its distance to a reference.

    Parameters
    ----------
    features, reference : float [n, feature]
        At least two clips each.

    Returns
    -------
    EncodedSpread

    Examples
    --------
    >>> round(encoded_spread([[0.0], [1.0], [0.0], [1.0]], [[2.0], [3.0], [2.0], [3.0]]).frechet, 6)
    4.0
    """
    own = np.asarray(features, np.float64)
    halves = frechet_distance(own[::2], own[1::2]) if len(own) > 3 else None
    if reference is None:
        return EncodedSpread(len(own), diversity(own), halves)
    other = np.asarray(reference, np.float64)
    return EncodedSpread(len(own), diversity(own), halves, len(other), diversity(other), frechet_distance(own, other))
