"""Demonstrations of single actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posegen.foundations.scene import BOTH, RIGHT, Scenes, empty_scenes
from posegen.library.load import Library
from posegen.motion.engine import animate
from posegen.planning.repertoire import NO_GAIT, STEP, Repertoire, repertoire
from posegen.viewing.clip import Clip, make_clip

FPS = 25
STANDING_SECONDS = 0.8
MOST_SECONDS = 5.0
STATURE, SEAT_HEIGHT = 1.7, 0.44


def demonstrate(library: Library, name: str) -> Clip:
    """Return the clip of one action: an average person stands, performs it once, and stands again.

    Parameters
    ----------
    library : Library
    name : str
        One of its actions. An action that has a side is performed with the right one.

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
    return make_clip(
        motion.joints[0],
        f"family {next(family for family, names in library.families.items() if name in names)}",
        FPS,
        title=name.replace("_", " "),
        action=motion.action[0],
        names=library.actions,
        contact=motion.contact[0],
        seat_heights=scenes.seat_height[0].tolist(),
    )


def demonstration(library: Library, name: str) -> Scenes:
    """Return the scene of :func:`demonstrate`, with the same parameters and errors."""
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
    """Return the duration of the action: the mean of its range, at most :data:`MOST_SECONDS`."""
    if known.gait[kind] not in (NO_GAIT, STEP):
        return MOST_SECONDS
    repetitions = (known.fewest[kind] + known.most[kind]) // 2
    if repetitions:
        return float(known.enter[kind] + repetitions * known.cycle[kind] + known.exit[kind])
    return float(min(0.5 * (known.shortest[kind] + known.longest[kind]), MOST_SECONDS))


def _scene(segments: tuple[Mapping[str, Any], ...], seconds: float) -> Scenes:
    scenes = empty_scenes(1, 1, len(segments))
    scenes.length[:], scenes.persons.stature[:], scenes.seat_height[:] = round(seconds * FPS), STATURE, SEAT_HEIGHT
    for k, segment in enumerate(segments):
        for name, value in segment.items():
            getattr(scenes, name)[0, 0, k] = value
    return scenes
