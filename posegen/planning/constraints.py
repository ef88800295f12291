"""Constraints of a quota on one actor: an action, its speed and its side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.scene import BOTH, NOTHING

Array = NDArray[Any]


_MARGIN = 0.02
"""Margin in metres per second between drawn speeds and the limits of a constraint."""


@dataclass(frozen=True)
class Constraints:
    """Constraints on n actors; arrays [n].

    Attributes
    ----------
    action : index into the library's actions, or NOTHING
    segment : number of the base segment with this action
    slow, fast : limits of the speed in metres per second; 0 without limits
    side : LEFT or RIGHT; BOTH without a constraint
    """

    action: Array
    segment: Array
    slow: Array
    fast: Array
    side: Array

    def weights(self, weights: Array, number: int) -> Array:
        """Return the weights of actions for a base segment [n, actions], without the action of a later segment."""
        later = (self.action != NOTHING) & (number < self.segment)
        return np.where(later[:, None] & (np.arange(weights.shape[1]) == self.action[:, None]), 0.0, weights)

    def actions(self, drawn: Array, number: int) -> Array:
        """Return the actions of a base segment [n]: the required action in its segment, the drawn one in the others."""
        return np.where((self.action != NOTHING) & (number == self.segment), self.action, drawn)

    def speeds(self, action: Array, drawn: Array, draws: Array) -> Array:
        """Return the speeds of all segments [n, segments], drawn between the limits where there are any."""
        slow, fast = self.slow[:, None], self.fast[:, None]
        ranged = (action == self.action[:, None]) & (fast > 0)
        # Starts and curves make the measured speed slightly lower than the planned one.
        margin = np.minimum(_MARGIN, 0.25 * (fast - slow))
        slow, fast = slow + margin, fast - margin
        return np.where(ranged, slow + draws * (fast - slow), drawn)

    def sides(self, action: Array, drawn: Array) -> Array:
        """Return the sides of all segments [n, segments]."""
        side = self.side[:, None]
        required = (action == self.action[:, None]) & (action != NOTHING) & (side != BOTH)
        return np.where(required, side, drawn).astype(np.int8)
