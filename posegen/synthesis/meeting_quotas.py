"""Whether samples show what their quotas want of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.library import Library
from posegen.scene import BOTH, NOTHING
from posegen.story.quotas import Allotment
from posegen.synthesis.seeing import Seen

__all__ = ["not_shown", "told_unmet"]

Array = NDArray[Any]

_ROUNDING = 1e-5
"""Metres a second by which a speed may leave its range, as it is stored as float32."""


def not_shown(asked: Allotment, seen: Seen) -> Array:
    """Find the samples whose base does not show the wanted action, truly told, with the wanted side and speed.

    Parameters
    ----------
    asked : Allotment
        Of n samples.
    seen : Seen
        Of their bases first, then of other variants.

    Returns
    -------
    bool [n]
    """
    n, told = len(asked.action), seen.told
    rows = np.flatnonzero((seen.owner % seen.actors == 0) & (seen.owner < n * seen.actors) & ~seen.false.any(axis=1))
    sample = seen.owner[rows] // seen.actors
    action, side, speed = (np.array(column)[rows] for column in (told.action, told.side, told.speed))
    shown = action == asked.action[sample]
    shown &= (asked.side[sample] == BOTH) | (side == asked.side[sample])
    slow, fast = asked.slow[sample], asked.fast[sample]
    shown &= (fast == 0) | ((speed >= slow - _ROUNDING) & (speed <= fast + _ROUNDING))
    unmet: Array = asked.action != NOTHING
    unmet[sample[shown]] = False
    return unmet


def told_unmet(seen: Seen, asked: Allotment, unmet: Array, library: Library) -> Seen:
    """Have the rows of all variants say that what the quota wants is not shown."""
    dropped = [list(rows) for rows in seen.dropped]
    for number in np.flatnonzero(np.resize(unmet, len(dropped))).tolist():
        action = library.actions[asked.action[number % len(unmet)]]
        dropped[number].append({"actor": 0, "kind": "quota", "segment": -1, "action": action, "value": ""})
    return replace(seen, dropped=dropped)
