"""How the steps of an action differ from plain walking or running: a row of numbers for each action and side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.models import Action, Manner
from posegen.motion.gait import HOP, RUN, SKIP, STEP, run_contact_seconds, warp_of
from posegen.motion.rows import (
    APART,
    ASIDE_SPEED,
    BEATS,
    LIFT,
    LIMPING,
    LONE_FOOT,
    RISING,
    RUN_CONTACT,
    RUN_PERIOD,
    WARP,
)

__all__ = [
    "AHEAD",
    "ASIDE",
    "BOUNCES",
    "CADENCE",
    "CLEARANCE",
    "LIMP",
    "LONE",
    "MANNERS",
    "RISE",
    "STANCE",
    "STANDING_LIFT",
    "STEP_LENGTH",
    "WIDTH",
    "add_manner",
    "half_cycle_later",
    "manner_row",
    "stance_share",
]

Array = NDArray[Any]

(
    AHEAD,  # share of the speed along the heading; negative is backward
    ASIDE,  # share of the speed to the left
    CADENCE,  # factor on strides a second
    STEP_LENGTH,  # m; 0 where the gait's own law decides
    STANCE,  # share of the stride; 0 where the gait's own law decides
    CLEARANCE,  # m
    WIDTH,  # m
    LIMP,  # share of the stride; positive where the left leg is the bad one
    LONE,  # 1 hopping on the left foot, -1 on the right one
    BOUNCES,  # contacts a stride that the body flies between; 0 where it does not fly
    RISE,  # m that each step leads up
) = range(11)
MANNERS = 11
"""Columns of :attr:`posegen.motion.tables.ActionTables.manner`."""
STANDING_LIFT = 0.034
"""Metres between the ball of the foot and the floor in the middle of a plain swing, at least. Toes, which reach some 5 cm
beyond the ball and point down by 15 to 20 degrees then, are 1 to 2.5 cm above it (Winter 1992)."""

_AHEAD = {"forward": 1.0, "backward": -1.0, "sideways": 0.0}
_BOUNCES = {RUN: 2.0, HOP: 1.0, SKIP: 4.0}


def manner_row(action: Action, gait: int, near: str) -> tuple[float, ...]:
    """Numbers of an action done with the side `near`; `gait` is its number."""
    manner, to_near = action.manner or Manner(), 1.0 if near == "left" else -1.0
    return (
        _AHEAD[manner.direction],
        to_near if manner.direction == "sideways" else 0.0,
        manner.cadence,
        manner.step or 0.0,
        manner.stance or 0.0,
        manner.clearance,
        manner.width,
        to_near * manner.limp,
        to_near if gait == HOP else 0.0,
        _BOUNCES.get(gait, 0.0),
        manner.rise,
    )


def half_cycle_later(cosines: Array, sines: Array) -> tuple[Array, Array]:
    """Return the same series half a cycle later: its odd harmonics change their sign."""
    signs = np.where(np.arange(len(cosines)) % 2 == 0, -1.0, 1.0)
    return cosines * signs, sines * signs


@kernel
def stance_share(gait: int, speed: Scalar, rate: Scalar, manner: Array) -> Scalar:
    """Share of the stride that a foot is on the ground each time."""
    if manner[STANCE] > 0:
        return manner[STANCE]
    if gait == RUN:
        return run_contact_seconds(speed) * rate
    return 0.66 if gait == STEP else 0.642 - 0.035 * speed


@kernel
def add_manner(root: Array, weight: Array, manner: Array, speed: Scalar, rate: Scalar, duty: Scalar) -> None:
    """Add by its weight how one slot's steps differ from plain ones; rows as in :func:`course`, numbers in m/s, Hz, strides.

    Sideways the feet must not cross: each is a quarter of a stride further out, so that they close up to a usual step width.
    """
    period = 1.0 / (rate * manner[BOUNCES]) if manner[BOUNCES] > 0 else 0.0
    contact = min(duty / rate, 0.96 * period)
    apart = 0.5 * manner[WIDTH] + 0.25 * abs(manner[ASIDE]) * speed / rate
    warp = warp_of(duty) if manner[BOUNCES] == 2 else 0.0
    rows = (ASIDE_SPEED, LIMPING, LONE_FOOT, LIFT, APART, RUN_PERIOD, RUN_CONTACT, WARP)
    values = (
        speed * manner[ASIDE],
        manner[LIMP],
        manner[LONE],
        manner[CLEARANCE] - STANDING_LIFT,
        apart,
        period,
        contact,
        warp,
    )
    for i in range(len(rows)):
        value = np.float32(values[i])
        if value != 0:
            row = root[rows[i]]
            for f in range(len(weight)):
                row[f] += weight[f] * value
    # These do not pass from one slot to the next by degrees.
    if manner[RISE] != 0 or (manner[BOUNCES] > 0 and manner[BOUNCES] != 2):
        for f in range(len(weight)):
            if weight[f] > 0:
                root[RISING, f] = np.float32(manner[RISE])
                root[BEATS, f] = np.float32(manner[BOUNCES])
