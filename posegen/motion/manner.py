"""How the steps of an action differ from plain walking or running: a row of numbers for each action and side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.library.models import Action, Manner
from posegen.motion.gait import HOP, RUN, SKIP

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
    "STEP_LENGTH",
    "WIDTH",
    "half_cycle_later",
    "manner_row",
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
