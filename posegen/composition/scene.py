"""From a script to a planned scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.composition.script import Script
from posegen.composition.timing import Slot, Timed, fitted, timed
from posegen.config.schema import Config
from posegen.errors import UsageError
from posegen.library import Library
from posegen.planning.population import leg_height, persons, seat_height
from posegen.planning.repertoire import STANDING, repertoire
from posegen.randomness import Stream, uniform
from posegen.scene import DRAWS, LEFT, RIGHT, Persons, Scenes, empty_scenes

__all__ = ["AGES", "GROWN", "Scene", "scene_of"]

AGES = {"boy": (6, 15), "girl": (6, 15), "older_man": (60, 75), "older_woman": (60, 75)}
GROWN, _OLD = (18, 59), (60, 75)
_CANDIDATES = 64
_LAST, _SPARE = 0.6, 3.0
"""Seconds of standing at the end that are shown, and how much longer than shown everything goes on."""
_MOST_FRAMES = 10_000
_SINGLE_STEPS = 1 << 24


@dataclass(frozen=True)
class Scene:
    """A scene of one person, and for each of its slots the number of the segment that the text tells of it, or -1."""

    scenes: Scenes
    numbers: tuple[int, ...]


def scene_of(script: Script, library: Library, fps: int, seed: int, seconds: float | None) -> Scene:
    """Plan the scene of a script.

    Parameters
    ----------
    script : Script
    library : Library
    fps : int
    seed : int
        Of all that the script leaves open: who it is, and how that one moves.
    seconds : float or None
        How long it is to be; None as long as it takes.

    Raises
    ------
    UsageError
        If it does not go into so many seconds, or takes too many frames.
    """
    who = _person(script, library, seed)
    style = list(library.styles.values())[int(who.style[0])]
    leg, side = float(leg_height(who)[0]), LEFT if who.left_handed[0] else RIGHT
    parts = [timed(part, library, style, leg, side) for part in script.parts]
    ends = not (parts[-1].stays or parts[-1].slot.number < 0)
    parts, left = fitted(parts, None if seconds is None else seconds - (_LAST if ends else 0.0))
    base, over, length = _laid_out(parts, library, left, ends)
    frames = round(length * fps)
    if frames > _MOST_FRAMES:
        msg = f"that takes {length:.0f} seconds; ask for at most {_MOST_FRAMES // fps}"
        raise UsageError(msg)
    scenes = empty_scenes(1, 1, len(base) + len(over))
    scenes.length[:], scenes.persons.index[:] = frames, who.index
    for k, (start, end, slot) in enumerate((*base, *over)):
        values = {"start": start, "end": end, "action": slot.action, "side": slot.side, "speed": slot.speed}
        values |= {"turn": slot.turn * np.pi / 180.0, "repetitions": slot.repetitions, "layered": k >= len(base)}
        values |= {"tempo": style.tempo, "amplitude": style.amplitude}
        for name, value in values.items():
            getattr(scenes, name)[0, 0, k] = value
    scene = replace(
        scenes,
        theme=np.array([list(library.themes).index(script.place) if script.place in library.themes else 0], np.int16),
        persons=Persons(**{name: getattr(who, name)[None] for name in Persons.__dataclass_fields__}),
        seat_height=seat_height(who, np.array([0.5]))[None],
        draws=_draws(seed),
    )
    return Scene(scene, tuple(slot.number for _, _, slot in (*base, *over)))


def _person(script: Script, library: Library, seed: int) -> Persons:
    """Find somebody in the population of whom the script is true."""
    low, high = _OLD if script.style == "old" else AGES.get(script.who, GROWN)
    style = {script.style or "neutral": 1.0}
    config = Config.model_validate({"seed": seed, "population": {"age": {"min": low, "max": high}, "styles": style}})
    people = persons(config, library, np.arange(_CANDIDATES))
    fits = np.ones(_CANDIDATES, bool)
    if script.who:
        fits = people.male == script.who.endswith(("man", "boy")) & (not script.who.endswith("woman"))
    chosen = np.flatnonzero(fits)[:1]
    return Persons(**{name: getattr(people, name)[chosen] for name in Persons.__dataclass_fields__})


def _laid_out(
    parts: list[Timed], library: Library, left: float, ends: bool
) -> tuple[list[tuple[float, float, Slot]], list[tuple[float, float, Slot]], float]:
    """Put everything one after another, and go on longer than is shown: start, end and slot of each, and the shown seconds."""
    known = repertoire(library)
    base: list[tuple[float, float, Slot]] = []
    over: list[tuple[float, float, Slot]] = []
    now = 0.0
    for part in parts:
        begin = now + part.lead
        for slot in part.over:
            over.append((begin, begin + slot.seconds, slot))
            begin += slot.seconds + 0.3
        base.append((now, now + part.slot.seconds, part.slot))
        now += part.slot.seconds
    length = now + left + (_LAST if ends else 0.0)
    start, end, slot = base[-1]
    if parts[-1].stays:
        # Who sat down at the end is still seated there.
        rest = float(known.exit[slot.action]) + 0.5
        base[-1] = (start, end + left + rest, slot)
        now = end + left + rest
    elif slot.action == known.standing:
        base[-1] = (start, end + left + _SPARE, slot)
        return base, over, length
    base.append((now, max(now, length) + _SPARE, Slot(library.index(STANDING), -1, 0.0)))
    return base, over, length


def _draws(seed: int) -> NDArray[Any]:
    drawn = uniform(seed, np.zeros(1, np.int64), Stream.MOTION, DRAWS)[:, None, :]
    return np.asarray(np.floor(drawn * _SINGLE_STEPS) / _SINGLE_STEPS, np.float32)
