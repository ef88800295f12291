"""The mocap families with enough clips for a comparison with the actions of the same content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.motion.clips import Captured
from posegen.evaluation.families import ACTIONS

__all__ = ["FEWEST_CLIPS", "FEWEST_PERSONS", "first_half", "fit", "lacking"]

FEWEST_CLIPS, FEWEST_PERSONS = 10, 3


def fit(clips: Sequence[Captured]) -> dict[str, list[Captured]]:
    """Return the families with enough mocap clips of enough subjects, and a counterpart by name."""
    families: dict[str, list[Captured]] = {}
    for clip in clips:
        families.setdefault(clip.family, []).append(clip)
    return {
        family: of_it
        for family, of_it in sorted(families.items())
        if family in ACTIONS and len(of_it) >= FEWEST_CLIPS and len({clip.person for clip in of_it}) >= FEWEST_PERSONS
    }


def lacking(families: Mapping[str, object], library: Sequence[str]) -> list[str]:
    """Return the families without an action in the library."""
    return [family for family in families if not set(ACTIONS[family]) & set(library)]


def first_half(persons: Sequence[str], families: Sequence[str]) -> NDArray[np.bool_]:
    """Split clips into two halves without common subjects; both contain each family with at least two subjects.

    Parameters
    ----------
    persons, families : sequence of str
        Subject and family of each clip.

    Returns
    -------
    bool [clip]
        True for clips of the first half. Subjects are assigned by decreasing number of clips, each to the half with the smaller
        share of their families.
    """
    who, shown = np.array(persons), np.array(families)
    names, counts = np.unique(who, return_counts=True)
    total = {family: int((shown == family).sum()) for family in np.unique(shown)}
    held = [dict.fromkeys(total, 0), dict.fromkeys(total, 0)]
    first = []
    for position in np.argsort(-counts, kind="stable"):
        own = shown[who == names[position]]
        shares = [sum(half[family] / total[family] for family in own) for half in held]
        chosen = int(shares[1] < shares[0])
        for family in own:
            held[chosen][family] += 1
        if chosen == 0:
            first.append(names[position])
    return np.isin(who, first)
