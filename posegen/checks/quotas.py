"""Quotas against joints: find the samples that do not show what their quota asks for."""

from __future__ import annotations

import numpy as np

from posegen.arrays import Array
from posegen.captions.statements import make_statement
from posegen.checks.evidence import PELVIS, STRIDE_SECONDS
from posegen.checks.segments import CheckedSegments, Row
from posegen.library.load import Library
from posegen.planning.quotas import Allotment
from posegen.scene import BOTH, NOTHING


def unmet_quotas(asked: Allotment, checked: CheckedSegments, joints: Array, library: Library, fps: int) -> Array:
    """Return which samples do not show what their quota asks for in the base variant.

    They lack a true segment of the action with the side and within the speeds that are asked for, or the interaction of the
    first two actors.

    Parameters
    ----------
    asked : Allotment
        Of n samples.
    checked : CheckedSegments
        Of their bases first, then of other variants.
    joints : float32 [n, frames, 22, 3]
        Of the first actors in the base; metres.
    library : Library
    fps : int

    Returns
    -------
    bool [n]
    """
    n, segments, owner = len(asked.action), checked.segments, checked.segments.owner
    rows = np.flatnonzero((owner % checked.actors == 0) & (owner < n * checked.actors) & ~checked.false.any(axis=1))
    sample = owner[rows] // checked.actors
    action, side, start, end = (column[rows] for column in (segments.action, segments.side, segments.start, segments.end))
    shown = action == asked.action[sample]
    shown &= (asked.side[sample] == BOTH) | (side == asked.side[sample])
    for i in np.flatnonzero(shown & (asked.fast[sample] > 0)).tolist():
        speed = _speed(joints[sample[i], start[i] : end[i], PELVIS], fps)
        shown[i] = asked.slow[sample[i]] <= speed <= asked.fast[sample[i]]
    unmet: Array = asked.action != NOTHING
    unmet[sample[shown]] = False
    no_meeting: Array = asked.interaction != NOTHING
    for number, interaction in enumerate(library.interactions.values()):
        own = np.isin(action, [library.index(name) for name in interaction.actions])
        no_meeting[sample[segments.together[rows].astype(bool) & own & (asked.interaction[sample] == number)]] = False
    return unmet | no_meeting


def _speed(pelvis: Array, fps: int) -> float:
    """Return the median speed of a pelvis [frames, 3] over about a step, metres per second; 0 for a shorter interval."""
    stride = int(np.rint(STRIDE_SECONDS * fps))
    if len(pelvis) <= stride:
        return 0.0
    way = pelvis[stride:].astype(np.float64) - pelvis[:-stride]
    return float(np.median(np.sqrt(way[:, 0] * way[:, 0] + way[:, 2] * way[:, 2]))) * fps / stride


def quota_rows(asked: Allotment, unmet: Array, sequences: int, library: Library) -> list[list[Row]]:
    """Return the entries of the column `dropped` for unmet quotas.

    Parameters
    ----------
    asked : Allotment
        Of n samples.
    unmet : bool [n]
    sequences : int
        Of all samples in one variant, then of all in the next one.
    library : Library

    Returns
    -------
    list, for each sequence, of dicts
    """
    rows: list[list[Row]] = [[] for _ in range(sequences)]
    for number in np.flatnonzero(np.resize(unmet, sequences)).tolist():
        sample = number % len(unmet)
        action, meeting = int(asked.action[sample]), int(asked.interaction[sample])
        name = library.actions[action] if meeting == NOTHING else list(library.interactions)[meeting]
        rows[number].append(make_statement(0, "quota", -1, name, ""))
    return rows
