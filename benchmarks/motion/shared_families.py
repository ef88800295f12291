"""Mocap families and actions of posegen with the same content, and the families with enough clips for a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.motion.clips import Captured

__all__ = ["ACTIONS", "FEWEST_CLIPS", "FEWEST_PERSONS", "first_half", "fit", "lacking"]

ACTIONS: Mapping[str, Sequence[str]] = {
    "walk": ("walk",),
    "run": ("run",),
    "jump": ("jump",),
    "dance": ("ballet", "dance", "salsa"),
    "kick": ("kick",),
    "crouch": ("squat",),
    "exercise": ("elbow_to_knee", "arm_circles", "jumping_jack", "lunge", "stretch"),
    "pick_up": ("put_down", "pick_up"),
    "reach": ("reach",),
    "lie": ("lie_down",),
    "sneak": ("sneak",),
    "throw": ("shooting",),
    "climb": ("climb", "climbing"),
    "dribble": ("dribble", "dribbling"),
    "punch": ("punch",),
    "swing": ("batting",),
}
"""Actions of the library for each class of the reference, as far as they exist.

Clips of the class crouch are quick, deep squats; pick_up puts an object on the floor; throw is a basketball shot; kick is a
front kick; jump hops with both legs; reach grasps an object overhead; exercise is elbows to knees, arm circles and a medley;
the dances are salsa and ballet. Acrobatics, balance, martial (whole kata) and wash have no counterpart in the library.
"""

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
