"""One action, shown by itself: somebody of average build stands, does it once, and stands again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posegen.library import Library
from posegen.motion.engine import animate
from posegen.planning.repertoire import NO_GAIT, STEP, Repertoire, repertoire
from posegen.scene import BOTH, RIGHT, Scenes, empty_scenes
from posegen.viewing.clip import Clip, make_clip
from posegen.viewing.samples import seats_of, tracks_of, treads_of

__all__ = ["demonstrate", "demonstration"]

FPS = 25
STANDING_SECONDS = 0.8
MOST_SECONDS = 5.0
STATURE, SEAT_HEIGHT = 1.7, 0.44


def demonstrate(library: Library, name: str) -> Clip:
    """Animate one action.

    Parameters
    ----------
    library : Library
    name : str
        One of its actions. What may be done with either side is done with the right one.

    Returns
    -------
    Clip

    Raises
    ------
    UsageError
        If the library has no such action.
    """
    scenes = demonstration(library, name)
    motion = animate(scenes, library, int(scenes.length[0]), FPS)
    joints, contact = motion.joints[0], motion.contact[0]
    return make_clip(
        joints,
        f"family {next(family for family, names in library.families.items() if name in names)}",
        FPS,
        title=name.replace("_", " "),
        actions=tracks_of(motion.action[0], library.actions),
        contacts=contact,
        seats=seats_of(joints, contact, scenes.seat_height[0].tolist()) + treads_of(joints, contact),
    )


def demonstration(library: Library, name: str) -> Scenes:
    """Write the scene in which one action is shown; for parameters and errors see :func:`demonstrate`."""
    known, kind = repertoire(library), library.index(name)
    seconds = _seconds(known, kind)
    end = STANDING_SECONDS + seconds
    action = {
        "action": kind,
        "start": STANDING_SECONDS,
        "end": end,
        "repetitions": (known.fewest[kind] + known.most[kind]) // 2,
        "speed": 0.5 * (known.slow[kind] + known.fast[kind]),
        "turn": np.radians(known.left[kind]) if known.gait[kind] == STEP or known.right[kind] > 0 else 0.0,
        "side": RIGHT if known.sided[kind] else BOTH,
        "layered": not known.base[kind],
    }
    before = {"action": known.standing, "start": 0.0, "end": STANDING_SECONDS}
    after = {"action": known.standing, "start": end, "end": end + STANDING_SECONDS}
    throughout = {"action": known.standing, "start": 0.0, "end": end + STANDING_SECONDS}
    return _scene((before, action, after) if known.base[kind] else (throughout, action), end + STANDING_SECONDS)


def _seconds(known: Repertoire, kind: int) -> float:
    """How long the action takes: the mean of its slots, but no longer than is amusing."""
    if known.gait[kind] not in (NO_GAIT, STEP):
        return MOST_SECONDS
    repetitions = (known.fewest[kind] + known.most[kind]) // 2
    if repetitions:
        return float(known.enter[kind] + repetitions * known.cycle[kind] + known.exit[kind])
    return float(min(0.5 * (known.shortest[kind] + known.longest[kind]), MOST_SECONDS))


def _scene(slots: tuple[Mapping[str, Any], ...], seconds: float) -> Scenes:
    scenes = empty_scenes(1, 1, len(slots))
    scenes.length[:], scenes.persons.stature[:], scenes.seat_height[:] = round(seconds * FPS), STATURE, SEAT_HEIGHT
    for k, slot in enumerate(slots):
        for name, value in slot.items():
            getattr(scenes, name)[0, 0, k] = value
    return scenes
