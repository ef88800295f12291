"""Whether samples show what their quotas want of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.checks.evidence import STRIDE_SECONDS
from posegen.library import Library
from posegen.planning.quotas import Allotment
from posegen.scene import BOTH, NOTHING
from posegen.skeleton import JOINTS
from posegen.synthesis.seeing import Seen

__all__ = ["not_shown", "told_unmet"]

Array = NDArray[Any]

_PELVIS = JOINTS.index("pelvis")


def not_shown(asked: Allotment, seen: Seen, joints: Array, library: Library, fps: int) -> Array:
    """Find the samples whose base does not show the wanted action, truly told, with the wanted side and at a wanted speed.

    Or in which the first two do not do the wanted thing with one another.

    Parameters
    ----------
    asked : Allotment
        Of n samples.
    seen : Seen
        Of their bases first, then of other variants.
    joints : float32 [n, frames, 22, 3]
        Of the first actors in the base; metres.
    library : Library
    fps : int

    Returns
    -------
    bool [n]
    """
    n, told = len(asked.action), seen.told
    rows = np.flatnonzero((seen.owner % seen.actors == 0) & (seen.owner < n * seen.actors) & ~seen.false.any(axis=1))
    sample = seen.owner[rows] // seen.actors
    action, side, start, end = (column[rows] for column in (told.action, told.side, told.start, told.end))
    shown = action == asked.action[sample]
    shown &= (asked.side[sample] == BOTH) | (side == asked.side[sample])
    for i in np.flatnonzero(shown & (asked.fast[sample] > 0)).tolist():
        speed = _speed(joints[sample[i], start[i] : end[i], _PELVIS], fps)
        shown[i] = asked.slow[sample[i]] <= speed <= asked.fast[sample[i]]
    unmet: Array = asked.action != NOTHING
    unmet[sample[shown]] = False
    return unmet | _not_met(asked, seen, rows, sample, library)


def _not_met(asked: Allotment, seen: Seen, rows: Array, sample: Array, library: Library) -> Array:
    """Find the samples whose first two actors do not do with one another what they are to do."""
    unmet: Array = asked.meeting != NOTHING
    together = np.array(seen.told.together, bool)[rows]
    done = np.array(seen.told.action, np.int64)[rows]
    for number, interaction in enumerate(library.interactions.values()):
        of_it = np.isin(done, [library.index(name) for name in interaction.actions])
        unmet[sample[together & of_it & (asked.meeting[sample] == number)]] = False
    return unmet


def _speed(pelvis: Array, fps: int) -> float:
    """Median over about a step of the speed of a pelvis [frames, 3]; metres a second, 0 in less time than that."""
    stride = int(np.rint(STRIDE_SECONDS * fps))
    if len(pelvis) <= stride:
        return 0.0
    way = pelvis[stride:].astype(np.float64) - pelvis[:-stride]
    return float(np.median(np.sqrt(way[:, 0] * way[:, 0] + way[:, 2] * way[:, 2]))) * fps / stride


def told_unmet(seen: Seen, asked: Allotment, unmet: Array, library: Library) -> Seen:
    """Have the rows of all variants say that what the quota wants is not shown."""
    dropped = [list(rows) for rows in seen.dropped]
    for number in np.flatnonzero(np.resize(unmet, len(dropped))).tolist():
        place = number % len(unmet)
        wanted, meeting = int(asked.action[place]), int(asked.meeting[place])
        action = library.actions[wanted] if meeting == NOTHING else list(library.interactions)[meeting]
        dropped[number].append({"actor": 0, "kind": "quota", "segment": -1, "action": action, "value": ""})
    return replace(seen, dropped=dropped)
