"""Which captured families and which actions of posegen show the same thing, and which of them are fit to be compared."""

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
"""Class of the reference: the actions that show what its clips show, as far as the library has them.

Its clips called crouch are quick, deep squats, pick_up sets something down on the floor, throw is a shot at a basket, kick is
a kick to the front, jump hops with both legs, reach grabs something high up, exercise is elbows to knees, turning arms and a
medley, and its dances are salsa and ballet.
Acrobatics, balance, martial (whole kata) and wash have no counterpart in the list of actions that is asked for.
"""

FEWEST_CLIPS, FEWEST_PERSONS = 10, 3


def fit(clips: Sequence[Captured]) -> dict[str, list[Captured]]:
    """Families with enough captured clips of enough persons, and a counterpart by name."""
    families: dict[str, list[Captured]] = {}
    for clip in clips:
        families.setdefault(clip.family, []).append(clip)
    return {
        family: of_it
        for family, of_it in sorted(families.items())
        if family in ACTIONS and len(of_it) >= FEWEST_CLIPS and len({clip.person for clip in of_it}) >= FEWEST_PERSONS
    }


def lacking(families: Mapping[str, object], library: Sequence[str]) -> list[str]:
    """Families of which the library has no action."""
    return [family for family in families if not set(ACTIONS[family]) & set(library)]


def first_half(persons: Sequence[str], families: Sequence[str]) -> NDArray[np.bool_]:
    """Part clips into two halves that share no person, and both have some of each family where two persons have.

    Parameters
    ----------
    persons, families : sequence of str
        Who moves in each clip, and what it shows.

    Returns
    -------
    bool [clip]
        True for clips of the first half. Persons of many clips are put first, each into the half that has the smaller share of
        what they show.
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
