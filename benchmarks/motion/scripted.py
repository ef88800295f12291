"""Scripted scenes for conditions that are rare in samples, such as a frame rate; excerpts of actions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.motion.clips import JOINTS_OF_MOCAP, NEUTRAL, OLDEST, made, segments
from posegen import load_config
from posegen.evaluation.recording import Recording
from posegen.foundations.bodies import seat_height
from posegen.foundations.constants import STANDING
from posegen.foundations.scene import BOTH, LEFT, RIGHT, Persons, Scenes, empty_scenes
from posegen.library.load import Library, load_library
from posegen.motion.engine import animate
from posegen.planning.population import persons
from posegen.planning.repertoire import repertoire

BEFORE, AFTER = 0.5, 1.0
"""Seconds of standing before and after an action."""
LONGEST = 5.0
SEED = 4
FAVOUR, FPS = 1000, 25
"""Weight of an action in samples that prefer it, and the frame rate of scenes of actions without a theme."""


def people(count: int, buffers: int, *, neutral: bool = False) -> Scenes:
    """Return scenes with one person of the default population each, optionally neutral adults only."""
    config = load_config("default")
    everybody = persons(config, load_library(), np.arange(config.population.persons))
    calm = (np.abs(everybody.energy) <= NEUTRAL) & (everybody.age <= OLDEST) & (everybody.style == 0)
    chosen = calm if neutral else np.isfinite(everybody.age)
    numbers = np.resize(np.flatnonzero(chosen), count)[:, None]
    draws = np.random.default_rng(SEED)
    scenes = empty_scenes(count, 1, buffers)
    for name in Persons.__dataclass_fields__:
        getattr(scenes.persons, name)[:] = getattr(everybody, name)[numbers]
    scenes.phase[:, 0] = draws.random(count)
    scenes.key[:] = draws.integers(1, 2**63, scenes.key.shape)
    scenes.seat_height[:] = seat_height(scenes.persons, draws.random((count, 1)))
    return scenes


def shown(library: Library, name: str, count: int, fps: int, *, neutral: bool = False) -> Scenes:
    """Return scenes of standing, an action, and standing, with parameters drawn from the ranges of the action."""
    known, kind, draws = repertoire(library), library.index(name), np.random.default_rng(SEED)
    scenes = people(count, 3, neutral=neutral)
    stand = library.index(STANDING)

    def between(low: float, high: float) -> NDArray[np.float64]:
        return low + (high - low) * draws.random(count)

    repetitions = draws.integers(known.fewest[kind], known.most[kind] + 1, count)
    counted = known.enter[kind] + repetitions * known.cycle[kind] + known.exit[kind]
    free = between(float(known.shortest[kind]), float(max(min(known.longest[kind], LONGEST), known.shortest[kind])))
    end = BEFORE + np.where(repetitions > 0, counted, free)
    last = float(end.max()) + 10.0
    for k, (what, start, stop) in enumerate(((stand, -2.0, BEFORE), (kind, BEFORE, end), (stand, end, last))):
        scenes.action[:, 0, k], scenes.start[:, 0, k], scenes.end[:, 0, k] = what, start, stop
    if not known.base[kind]:
        # A layer: standing continues below it.
        scenes.action[:, 0, 0], scenes.end[:, 0, 0] = stand, last
        scenes.action[:, 0, 2] = -1
        scenes.layered[:, 0, 1] = True
    scenes.speed[:, 0, 1], scenes.repetitions[:, 0, 1] = between(known.slow[kind], known.fast[kind]), repetitions
    scenes.side[:, 0, 1] = np.where(draws.random(count) < 0.3, LEFT, RIGHT) if known.sided[kind] else BOTH
    scenes.amplitude[:, 0, 1] = between(0.85, 1.15)
    scenes.length[:] = np.ceil((end + AFTER) * fps).astype(np.int32)
    return scenes


def animated(scenes: Scenes, library: Library, fps: int) -> list[Recording]:
    """Animate scenes; the second segment is listed as the segment of the recording."""
    motion = animate(scenes, library, int(scenes.length.max()), fps)
    slot = min(1, scenes.action.shape[-1] - 1)
    recordings = []
    for i, joints in enumerate(motion.joints[:, 0].astype(np.float64)):
        there = slice(0, int(scenes.length[i]))
        start, end = (round(float(edge[i, 0, slot]) * fps) for edge in (scenes.start, scenes.end))
        name = library.actions[scenes.action[i, 0, slot]]
        segment = {"action": name, "parts": ["legs"], "start": max(start, 0), "end": min(end, there.stop), "turn": 0.0}
        who = str(scenes.persons.index[i, 0])
        recordings.append(Recording(f"person {who}", who, joints[there], fps, motion.contact[i, 0, there], [segment]))
    return recordings


def steady(kind: int, speed: float, count: int, seconds: float, fps: int) -> list[Recording]:
    """Return recordings of neutral adults who do nothing but walk or run at a speed in m/s."""
    scenes = people(count, 1, neutral=True)
    scenes.length[:], scenes.action[:], scenes.speed[:] = round(seconds * fps), kind, speed
    scenes.start[:], scenes.end[:] = -3.0, seconds + 3.0
    return animated(scenes, load_library(), fps)


def themes_with(library: Library, action: str) -> list[str]:
    """Return the themes that contain an action."""
    return [name for name, theme in library.themes.items() if theme.actions.get(action, 0.0) > 0]


def excerpts(library: Library, action: str, samples: int) -> Iterator[Recording]:
    """Yield excerpts of an action: from default samples that prefer it, or from scripted scenes if no theme contains it."""
    themes = themes_with(library, action)
    if themes:
        where = ", ".join(f"{name}: 1" for name in themes)
        overrides = [JOINTS_OF_MOCAP, f"story.actions={{{action}: {FAVOUR}}}", f"story.themes={{{where}}}"]
        for _config, recording in made(overrides, samples):
            yield from segments(recording, [action])
    else:
        for recording in animated(shown(library, action, samples, FPS), library, FPS):
            yield from segments(recording, [action])
