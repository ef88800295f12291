"""Verification: decide whether two clips, two texts or two rows of a table belong together, by the score of their pair.

A threshold at a false accept rate is calibrated on pairs of one split and measured on those of another. Pairs that are alike
without belonging together ("twins") are hard, and are measured apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score, roc_curve

from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, uniform

FALSE_ACCEPT_RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_RESAMPLINGS = 200
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs: float score [pair], and int64 person [pair, 2], the numbers of the persons or other things that are compared."""

    score: Array
    person: Array


def verify_pairs(together: ArrayLike, apart: ArrayLike) -> dict[str, float]:
    """Measure how well scores separate matching pairs from others.

    Parameters
    ----------
    together, apart : float [n], float [m]
        Scores of matching pairs and of other pairs; at least one of each.

    Returns
    -------
    dict of str to float
        ``auc``, the area under the ROC curve: the probability that a matching pair scores higher than another one, where equal
        scores count half; and ``equal_error``, the error rate at the threshold where false accepts and false rejects are
        equally frequent. Both are .5 by chance.

    Examples
    --------
    >>> verify_pairs([0.9, 0.8, 0.3], [0.4, 0.2, 0.1])
    {'auc': 0.888..., 'equal_error': 0.333...}
    """
    right, wrong = np.array(together, np.float64).ravel(), np.array(apart, np.float64).ravel()
    if not right.size or not wrong.size or np.isnan(right).any() or np.isnan(wrong).any():
        raise ValueError("needs scores of matching and of other pairs, without NaN")
    is_right = np.repeat([True, False], [right.size, wrong.size])
    scores = np.concatenate([right, wrong])
    accepted, kept, _ = roc_curve(is_right, scores, drop_intermediate=False)
    # Between neighbouring thresholds both rates are interpolated, so that they are equal at some point.
    return {"auc": float(roc_auc_score(is_right, scores)), "equal_error": float(np.interp(0, accepted + kept - 1, 1 - kept))}


def true_accept_rate(together: ArrayLike, apart: ArrayLike, false_accept_rate: float = 0.01) -> float:
    """Return the share of matching pairs that the lowest threshold with at most a given false accept rate accepts.

    Parameters
    ----------
    together, apart : float [n], float [m]
        Scores of matching pairs and of other pairs; at least one of each.
    false_accept_rate : float
        From 0 to below 1.

    Examples
    --------
    >>> true_accept_rate([0.9, 0.8, 0.3], [0.85, 0.4, 0.2, 0.1], 0.25)
    0.666...
    """
    wrong = np.ravel(np.asarray(apart, np.float64))
    return float((np.ravel(together) > threshold(wrong, np.ones(len(wrong)), false_accept_rate)).mean())


def verification_rates(
    same: ScoredPairs, other: ScoredPairs, test_same: Array, test_other: Array, test_hard: Array
) -> list[dict[str, Any]]:
    """Return the threshold at each of :data:`FALSE_ACCEPT_RATES` that some pairs determine, and its rates of other pairs.

    The interval is computed by resampling persons twice, since pairs that share a person are not independent: the threshold is
    that of the first resampling, the rate that of the second.

    Parameters
    ----------
    same, other : ScoredPairs
        Pairs of one person, and of two, that calibrate the thresholds.
    test_same, test_other, test_hard : float [pair]
        Scores of other pairs, which the thresholds are applied to: matching, not matching, and hard ones of the latter.

    Returns
    -------
    list of dict
        What :func:`measured_rates` returns, and ``tar``, the true accept rate: the share of `same` above the threshold;
        ``tar_low`` and ``tar_high``, the 95 % prediction interval of this rate for another group of as many unseen persons;
        ``persons``, the number of persons on which the threshold was calibrated.
    """
    persons = np.unique(np.concatenate([same.person.ravel(), other.person.ravel()]))
    drawn = uniform(0, np.arange(2 * _RESAMPLINGS), Stream.AUGMENT, len(persons))
    counts = np.stack([np.bincount((row * len(persons)).astype(np.int64), minlength=len(persons)) for row in drawn])
    of_same = counts[:, np.searchsorted(persons, same.person[:, 0])]
    first, second = np.searchsorted(persons, other.person).T
    of_other = counts[:, first] * counts[:, second]
    rates = measured_rates(other.score, test_same, test_other, test_hard)
    for rate in rates:
        resampled = [
            float(right[same.score > threshold(other.score, wrong, rate["far"])].sum() / right.sum())
            for wrong, right in zip(of_other[:_RESAMPLINGS], of_same[_RESAMPLINGS:], strict=True)
            if wrong.any() and right.any()
        ]
        low, high = np.quantile(resampled, _INTERVAL).tolist() if resampled else (0.0, 1.0)
        rate |= {"tar": float((same.score > rate["threshold"]).mean()), "tar_low": low, "tar_high": high}
        rate["persons"] = len(persons)
    return rates


def measured_rates(
    calibration: Array, same: Array, other: Array, hard: Array, at: Sequence[float] = FALSE_ACCEPT_RATES
) -> list[dict[str, Any]]:
    """Return the threshold at each false accept rate that allows a false accept, and the shares that exceed it.

    Parameters
    ----------
    calibration : float [pair]
        Scores of pairs that do not match, from which the thresholds follow.
    same, other, hard : float [pair]
        Scores of test pairs: matching, not matching, and hard ones of the latter, maybe none.
    at : sequence of float
        False accept rates.

    Returns
    -------
    list of dict
        ``far``, the false accept rate, and its ``threshold``; the shares ``test_far`` of `other`, ``test_tar`` of `same` and
        ``hard_far`` of `hard`, None without any.
    """
    rates = []
    for far in at:
        if far * len(calibration) >= 1:
            limit = threshold(calibration, np.ones(len(calibration)), far)
            rows = (("test_far", other), ("test_tar", same), ("hard_far", hard))
            shares = {name: float((scores > limit).mean()) if len(scores) else None for name, scores in rows}
            rates.append({"far": far, "threshold": limit, **shares})
    return rates


def threshold(scores: Array, weights: Array, far: float) -> float:
    """Return the lowest of some scores that at most a share `far` of their weight exceeds.

    Examples
    --------
    >>> threshold(np.array([0.1, 0.5, 0.3, 0.2]), np.ones(4), 0.25)
    0.3
    """
    order = np.argsort(scores)[::-1]
    above = np.cumsum(weights[order]) - weights[order]
    exceeding = above <= far * weights.sum() + 1e-9
    return float(scores[order[np.flatnonzero(exceeding)[-1]]])
