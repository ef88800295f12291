"""What carries a body: its feet, the floor below a trunk that lies, or nothing while it falls freely."""

from __future__ import annotations

import numpy as np

from posegen.evaluation.body import centre_of_mass, point, true_intervals
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.errors import UsageError

LYING_HEIGHT, LYING_SLOPE = 0.4, 0.5
"""Leg lengths of the pelvis above the floor, and sine of the slope of the trunk, below which a body lies."""
NOTICED = 0.1
"""Seconds without a foot on the ground from which they are a flight; contacts are known to a frame or two."""
MEASURED = 0.18
"""Seconds of a flight from which its acceleration is known well enough to tell it from being carried."""
LONGEST_FLIGHT = 1.0
"""Seconds that a body falls freely at most."""
FALLING = 0.4
"""Share of the acceleration of free fall from which nothing carries the body."""


def lying(joints: Array, leg: float) -> Array:
    """Return whether the trunk lies more than it stands near the floor: bool [frame]; `leg` is the leg length in metres."""
    trunk = point(joints, "neck") - point(joints, "pelvis")
    flat = trunk[:, 1] < LYING_SLOPE * np.sqrt((trunk**2).sum(-1))
    return np.asarray(flat & (point(joints, "pelvis")[:, 1] < LYING_HEIGHT * leg))


def supported(joints: Array, contact: Array, lies: Array, fps: float, name: str) -> tuple[Array, list[slice]]:
    """Return the contacts of the feet, and the frames of each flight.

    Parameters
    ----------
    joints : float64 [frame, 22, 3]
        Metres, y up.
    contact : bool [2, frame]
    lies : bool [frame]
    fps : float
    name : str
        Of the clip, for messages.

    Raises
    ------
    UsageError
        If something else than the feet carries a body that does not lie.
    """
    contact, flights = contact.copy(), []
    for run in true_intervals(~(contact.any(axis=0) | lies)):
        if (run.stop - run.start) / fps < NOTICED:
            continue
        seconds = (run.stop - run.start) / fps
        share = -_acceleration(joints[run], fps) / GRAVITY
        if seconds > LONGEST_FLIGHT or (seconds >= MEASURED and share < FALLING):
            raise UsageError(
                f"{name}: has no foot on the ground for {seconds:.2f} s and does not fall freely; "
                "something else carries it, which no action does: cut the clip"
            )
        flights.append(run)
    return contact, flights


def _acceleration(joints: Array, fps: float) -> float:
    """Return the vertical acceleration of the centre of mass in m/s^2."""
    at = np.arange(len(joints)) / fps
    return 2 * float(np.polyfit(at, centre_of_mass(joints)[:, 1], 2)[0])
