"""Motion at another frame rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["resampled"]


def resampled(joints: ArrayLike, fps: float, wanted: float) -> NDArray[Any]:
    """Take places at another frame rate, on the straight line between the two frames around each moment.

    Parameters
    ----------
    joints : float [frame, ...]
    fps, wanted : float
        Frames a second, of these and of those that are given back.

    Returns
    -------
    float64 [frame, ...]
        From the first frame on, as far as the last one reaches.

    Examples
    --------
    >>> resampled([0.0, 1.0, 2.0, 3.0], 30, 20)
    array([0. , 1.5, 3. ])
    """
    places = np.asarray(joints, np.float64)
    count = int((len(places) - 1) * wanted / fps + 1e-9) + 1 if len(places) else 0
    at = np.arange(count) * fps / wanted
    before = np.minimum(at.astype(np.int64), max(len(places) - 2, 0))
    after = np.minimum(before + 1, max(len(places) - 1, 0))
    share = (at - before).reshape(-1, *[1] * (places.ndim - 1))
    return np.asarray(places[before] * (1 - share) + places[after] * share)
