"""Whether a body in the air falls as bodies do: its centre of mass follows a parabola of 9.81 m/s^2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posegen.constants import GRAVITY
from posegen.evaluation.body import centre_of_mass
from posegen.skeleton import sole_points

__all__ = ["flight_errors", "flights"]

CLEAR = 0.03
"""Metres above the floor that every joint and sole point must be for a body to be in flight."""
FEWEST = 6
"""Frames that a flight must last: over fewer a parabola says little."""


def flights(joints: ArrayLike, contact: ArrayLike | None = None, longest: int | None = None) -> list[slice]:
    """Find the stretches in which a body touches nothing, by labels where there are any and by heights.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, floor at height 0.
    contact : int [frame, point], optional
        1 where a point touches.
    longest : int, optional
        Frames beyond which nobody flies, but is held up by what is not seen: a rope, water. Then stretches that a clip's begin
        or end cuts off are left out, too, since how long they are is not known.
    """
    places = np.asarray(joints, np.float64)
    heights = np.concatenate([places[..., 1], sole_points(places)[..., 1]], axis=-1)
    in_air = (heights > CLEAR).all(-1)
    if contact is not None:
        in_air &= ~(np.asarray(contact) == 1).any(-1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], in_air, [False]]).astype(np.int8)))
    stretches = zip(edges[::2], edges[1::2], strict=True)
    found = [slice(int(start), int(stop)) for start, stop in stretches if stop - start >= FEWEST]
    if longest is None:
        return found
    return [
        flight for flight in found if flight.stop - flight.start <= longest and flight.start > 0 and flight.stop < len(places)
    ]


def flight_errors(joints: ArrayLike, fps: float, contact: ArrayLike | None = None, longest: int | None = None) -> NDArray[Any]:
    """How far the fall in each flight is from 9.81 m/s^2.

    Parameters
    ----------
    joints, contact, longest : see :func:`flights`
    fps : float
        Frames a second.

    Returns
    -------
    float64 [flight]
        ``|a + 9.81| / 9.81`` with the acceleration of the parabola that fits the height of the centre of mass best.
    """
    height = centre_of_mass(joints)[:, 1]
    errors = []
    for flight in flights(joints, contact, longest):
        times = np.arange(flight.stop - flight.start) / fps
        errors.append(abs(2 * np.polyfit(times, height[flight], 2)[0] + GRAVITY) / GRAVITY)
    return np.array(errors)
