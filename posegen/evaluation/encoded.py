"""How a set of motions looks to a trained encoder: how varied it is, and how far from another set.

The features are an encoder's vectors, as plain arrays; whose, does not matter here. The smaller a set, the larger its Fréchet
distance even from its like, so it stands beside that of one half of the set from the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.evaluation.diversity import diversity
from posegen.evaluation.frechet import frechet_distance

__all__ = ["EncodedSpread", "encoded_spread"]

Array = NDArray[Any]

_LEAST = 4


@dataclass(frozen=True)
class EncodedSpread:
    """What features tell of a set.

    Attributes
    ----------
    clips : int
    diversity : float
        Mean distance between two clips.
    halves : float or None
        Fréchet distance between every second clip and the others; None for fewer than four clips.
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
    """Measure a set, and how far it is from another one.

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
    halves = frechet_distance(own[::2], own[1::2]) if len(own) >= _LEAST else None
    if reference is None:
        return EncodedSpread(len(own), diversity(own), halves)
    other = np.asarray(reference, np.float64)
    return EncodedSpread(len(own), diversity(own), halves, len(other), diversity(other), frechet_distance(own, other))
