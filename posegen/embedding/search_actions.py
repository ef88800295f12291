"""What tells actions apart: directions among vectors along which texts of one action lie, and those of others do not.

The nearest phrase may be near for what does not matter, its subject or its place. Logistic regression over all phrases of all
actions finds what does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["directions"]

Array = NDArray[Any]

MOST_SAID = 40
"""So many texts of a dataset are taken for an action: it may have thousands, which would drown the related phrases."""
FREEDOM = 10.0
"""How little directions are held back, as scikit-learn's `C`."""
ROUNDS = 300


def directions(vectors: Array, numbers: Array, related: Array) -> Array:
    """Find for each action the direction that tells it from the others.

    Parameters
    ----------
    vectors : float32 [phrases, dimension]
        Of unit length.
    numbers : int64 [phrases]
        The action of each, from 0, none of them left out.
    related : bool [phrases]
        Whether each is a phrase related to its action; the others are what a dataset says of it.

    Returns
    -------
    float32 [actions, dimension + 1]
        By the first columns and the constant in the last one, the logarithms of how probable each action is, but for a number
        that all share; their mean over actions is 0.
    """
    from sklearn.linear_model import LogisticRegression

    count = int(numbers.max()) + 1
    if count == 1:
        return np.zeros((1, vectors.shape[1] + 1), np.float32)
    taken = np.concatenate([_taken(np.flatnonzero(numbers == action), related) for action in range(count)])
    model = LogisticRegression(C=FREEDOM, max_iter=ROUNDS, tol=1e-3).fit(vectors[taken].astype(np.float64), numbers[taken])
    found = np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)
    if count == 2:  # of two, scikit-learn tells of the second only
        found = np.concatenate([-found, found]) / 2
    centred: Array = (found - found.mean(axis=0)).astype(np.float32)
    return centred


def _taken(own: Array, related: Array) -> Array:
    said = own[~related[own]]
    return np.concatenate([own[related[own]], said[:: max(1, -(-len(said) // MOST_SAID))]])
