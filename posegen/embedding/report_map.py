"""Texts as points of a plane: alike ones near each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["POINTS", "places_of", "spread"]

Array = NDArray[Any]

POINTS = 2500
"""Texts on a map at most: more would hide one another, and t-SNE takes its time."""
_PERPLEXITY = 30.0


def spread(count: int, most: int) -> Array:
    """Choose some of so many texts, at even distances.

    >>> spread(10, 4).tolist()
    [0, 2, 5, 7]
    """
    return np.arange(min(count, most)) * count // max(1, min(count, most))


def places_of(vectors: Array) -> tuple[Array, str]:
    """Lay vectors out in a plane.

    By t-SNE, if scikit-learn is installed and there are enough of them, which keeps near ones near; else along the two
    directions in which they differ most.

    Parameters
    ----------
    vectors : float32 [n, dimension]

    Returns
    -------
    places : float64 [n, 2]
        From 0 to 1.
    how : str
        ``t-SNE`` or ``principal components``.
    """
    flat = _principal(vectors)
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError:
        return _scaled(flat), "principal components"
    if len(vectors) <= 3 * _PERPLEXITY:
        return _scaled(flat), "principal components"
    start = flat / max(float(flat[:, 0].std()), 1e-12) * 1e-4
    layout = TSNE(2, perplexity=_PERPLEXITY, init=start.astype(np.float32), metric="cosine", random_state=1, max_iter=500)
    # Its threads wait for one another at every step: with others at work on the machine, one is quicker than several.
    with threadpool_limits(1):
        return _scaled(layout.fit_transform(vectors)), "t-SNE"


def _principal(vectors: Array) -> Array:
    centred = np.asarray(vectors, np.float64) - vectors.mean(axis=0, dtype=np.float64)
    values, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, np.argsort(-values, kind="stable")[:2]]
    # An axis may as well point the other way: its largest part is positive.
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    flat: Array = np.zeros((len(vectors), 2))
    flat[:, : axes.shape[1]] = centred @ axes
    return flat


def _scaled(places: Array) -> Array:
    low, high = places.min(axis=0, initial=np.inf), places.max(axis=0, initial=-np.inf)
    scaled: Array = (places - low) / np.maximum(high - low, 1e-12)
    return scaled
