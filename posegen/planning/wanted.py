"""What a quota wants of one actor: an action, at a speed, with a side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.scene import BOTH, NOTHING

__all__ = ["Wanted"]

Array = NDArray[Any]


_MARGIN = 0.02
"""Metres a second by which demanded speeds keep away from the ends of their range."""


@dataclass(frozen=True)
class Wanted:
    """What n actors are wanted to do; arrays [n].

    Attributes
    ----------
    action : index into the library's actions, or NOTHING
    slot : in which base slot it is done
    slow, fast : metres a second; 0 where any speed will do
    side : LEFT or RIGHT; BOTH where either will do
    """

    action: Array
    slot: Array
    slow: Array
    fast: Array
    side: Array

    def weights(self, weights: Array, number: int) -> Array:
        """Weights of the actions for a base slot [n, actions], without the one that is wanted later."""
        later = (self.action != NOTHING) & (number < self.slot)
        return np.where(later[:, None] & (np.arange(weights.shape[1]) == self.action[:, None]), 0.0, weights)

    def actions(self, drawn: Array, number: int) -> Array:
        """Actions of a base slot [n]: the wanted ones where they are due."""
        return np.where((self.action != NOTHING) & (number == self.slot), self.action, drawn)

    def speeds(self, action: Array, drawn: Array, draws: Array) -> Array:
        """Speeds of all slots [n, slots], by numbers on [0, 1) where a range is wanted."""
        slow, fast = self.slow[:, None], self.fast[:, None]
        ranged = (action == self.action[:, None]) & (fast > 0)
        # Who sets out, or goes in a curve, is a little slower on the whole than demanded.
        margin = np.minimum(_MARGIN, 0.25 * (fast - slow))
        slow, fast = slow + margin, fast - margin
        return np.where(ranged, slow + draws * (fast - slow), drawn)

    def sides(self, action: Array, drawn: Array) -> Array:
        """Sides of all slots [n, slots]."""
        side = self.side[:, None]
        wanted = (action == self.action[:, None]) & (action != NOTHING) & (side != BOTH)
        return np.where(wanted, side, drawn).astype(np.int8)
