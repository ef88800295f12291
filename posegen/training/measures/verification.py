"""Measures of how well a score separates matching pairs from others: ROC area, equal error rate, true accept rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


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
        msg = "needs scores of matching and of other pairs, without NaN"
        raise ValueError(msg)
    wrong.sort()
    below, up_to = np.searchsorted(wrong, right, side="left"), np.searchsorted(wrong, right, side="right")
    thresholds = np.unique(np.concatenate([right, wrong]))
    # Pairs that score at least the threshold are accepted. The last entry accepts none.
    taken = np.append(1 - np.searchsorted(wrong, thresholds) / len(wrong), 0.0)
    refused = np.append(np.searchsorted(np.sort(right), thresholds) / len(right), 1.0)
    return {
        "auc": float((below + up_to).mean() / (2 * len(wrong))),
        # Between neighbouring thresholds both rates are interpolated, so that they are equal at some point.
        "equal_error": float(np.interp(0, refused - taken, refused)),
    }


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
    right, wrong = np.ravel(np.asarray(together, np.float64)), np.sort(np.ravel(np.asarray(apart, np.float64)))
    # `allowed` other pairs may be accepted; scores that do not exceed that of the next one are rejected.
    allowed = int(np.floor(false_accept_rate * len(wrong) + 1e-9))
    return float((right > wrong[len(wrong) - 1 - allowed]).mean())
