"""Where the actors of a scene stand in the first frame, and where they look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.scene import on_grid

__all__ = ["places"]

Array = NDArray[Any]

_SPACING, _LOOSENESS = 3.2, 0.3
_DRAWS = 4


def places(actors: Array, draws: Array) -> tuple[Array, Array]:
    """Origin and heading of each actor.

    The actors stand on the cells of a square grid in drawn order, a little off the middle of their cell, so that any two
    are at least 2.6 m apart; a single one stands near the origin.

    Parameters
    ----------
    actors : int [n]
        How many actors each sample has.
    draws : float [n, most actors, 4]
        On [0, 1).

    Returns
    -------
    float32 [n, most actors, 2], float32 [n, most actors]
        The origin on the grid; the heading in radians.
    """
    n, most = draws.shape[:2]
    side = np.ones(n, np.int64)
    for smaller in range(1, most):
        side = np.where(actors > smaller * smaller, smaller + 1, side)
    order = np.argsort(draws[:, :, 0], axis=1, kind="stable")
    # Only those who are there take part, so that the others do not leave holes.
    rank = np.empty((n, most), np.int64)
    np.put_along_axis(rank, order, np.arange(most)[None, :].repeat(n, axis=0), axis=1)
    present = np.arange(most) < actors[:, None]
    before = (rank[:, None, :] < rank[:, :, None]) & present[:, None, :]
    cell = before.sum(axis=2, dtype=np.int64)
    middle = (side - 1)[:, None] / 2.0
    across, along = cell % side[:, None] - middle, cell // side[:, None] - middle
    loose = _LOOSENESS * (2.0 * draws[:, :, 1:3] - 1.0)
    origin = on_grid(np.stack([across, along], axis=2) * _SPACING + loose)
    heading = ((2.0 * draws[:, :, 3] - 1.0) * math.pi).astype(np.float32)
    return origin, heading
