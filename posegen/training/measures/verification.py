"""Whether two belong together, told by a score: the area under the ROC curve, the error where both kinds are equal, and what is
taken where hardly any is taken wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Verification", "area_under_curve", "equal_error_rate", "true_accept_rate", "verify_pairs"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Verification:
    """How well scores tell pairs that belong together from pairs that do not.

    Attributes
    ----------
    area : float
        Under the ROC curve: how likely a pair that belongs together scores higher than one that does not; .5 by chance.
    equal_error : float
        Share of wrong decisions where as many are wrongly taken as wrongly refused; .5 by chance.
    together, apart : int
        Pairs of either kind.
    """

    area: float
    equal_error: float
    together: int
    apart: int


def verify_pairs(together: ArrayLike, apart: ArrayLike) -> Verification:
    """Measure both.

    Parameters
    ----------
    together, apart : float [n], float [m]
        Scores of pairs that belong together, and of those that do not; at least one of each.

    Returns
    -------
    Verification

    Examples
    --------
    >>> verify_pairs([0.9, 0.8, 0.3], [0.4, 0.2, 0.1])
    Verification(area=0.888..., equal_error=0.333..., together=3, apart=3)
    """
    right, wrong = np.ravel(np.asarray(together, np.float64)), np.ravel(np.asarray(apart, np.float64))
    if not right.size or not wrong.size or np.isnan(right).any() or np.isnan(wrong).any():
        msg = "needs scores of both kinds of pairs, and no NaN"
        raise ValueError(msg)
    return Verification(area_under_curve(right, wrong), equal_error_rate(right, wrong), right.size, wrong.size)


def area_under_curve(together: Array, apart: Array) -> float:
    """Share of all combinations of a pair of each kind in which the right one scores higher; equal scores count half.

    Parameters
    ----------
    together, apart : float [n], float [m]
    """
    wrong = np.sort(apart)
    below = np.searchsorted(wrong, together, side="left")
    up_to = np.searchsorted(wrong, together, side="right")
    return float((below + up_to).mean() / (2 * len(wrong)))


def equal_error_rate(together: Array, apart: Array) -> float:
    """Error where as large a share of the one kind is wrongly refused as of the other wrongly taken.

    Decisions are by a threshold on the score; between two neighbouring thresholds a coin decides, so that there always is such
    a place: the curve of the two errors is straight there.

    Parameters
    ----------
    together, apart : float [n], float [m]
    """
    thresholds = np.unique(np.concatenate([together, apart]))
    # What is taken scores at least the threshold. The last step takes nothing.
    taken = np.append(1 - np.searchsorted(np.sort(apart), thresholds, side="left") / len(apart), 0.0)
    refused = np.append(np.searchsorted(np.sort(together), thresholds, side="left") / len(together), 1.0)
    # The first threshold takes all: refused < taken there, and at the end the other way round.
    after = int(np.argmax(refused >= taken))
    gap, next_gap = taken[after - 1] - refused[after - 1], refused[after] - taken[after]
    share = gap / (gap + next_gap)
    return float(refused[after - 1] + share * (refused[after] - refused[after - 1]))


def true_accept_rate(together: ArrayLike, apart: ArrayLike, false_accept_rate: float = 0.01) -> float:
    """Share of pairs that belong together which are taken by the lowest threshold that wrongly takes at most a given share.

    Parameters
    ----------
    together, apart : float [n], float [m]
        Scores of pairs that belong together, and of those that do not; at least one of each.
    false_accept_rate : float
        Share of those apart that may be taken; 0 to below 1.

    Examples
    --------
    >>> true_accept_rate([0.9, 0.8, 0.3], [0.85, 0.4, 0.2, 0.1], 0.25)
    0.666...
    """
    right, wrong = np.ravel(np.asarray(together, np.float64)), np.sort(np.ravel(np.asarray(apart, np.float64)))
    # So many of those apart may be taken; who scores no higher than the next one is not.
    allowed = int(np.floor(false_accept_rate * len(wrong) + 1e-9))
    return float((right > wrong[len(wrong) - 1 - allowed]).mean())
