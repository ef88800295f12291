"""Steady running and jumping at 120 frames per second, compared with published times and vertical movement."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.scripted import animated, shown, steady
from posegen.evaluation.body import centre_of_mass, frames_last, soles_of_body
from posegen.evaluation.gait import Run, foot_contacts, measure_run
from posegen.evaluation.plausibility import flights
from posegen.evaluation.recording import Recording
from posegen.foundations.constants import GRAVITY
from posegen.library.load import Library, load_library
from posegen.planning.repertoire import RUN, repertoire

FPS = 120
PEOPLE = 20
SECONDS = 5.0
TIMES = {3.0: (0.280, 0.098), 4.5: (0.209, 0.143), 6.0: (0.168, 0.139)}
"""Speed, m/s: seconds of contact and of flight."""
CLOSE = 0.15
RISE = (0.065, 0.13)
FALL = 0.01
AMPLITUDES = (0.8, 1.0, 1.2)


def measure(folder: Path) -> Iterator[Figure]:
    library = load_library()
    for speed in TIMES:
        yield from _running(library, speed)
    yield from _jumping(library)


def _running(library: Library, speed: float) -> Iterator[Figure]:
    known = repertoire(library)
    able = [k for k in np.flatnonzero(known.gait == RUN) if known.slow[k] - 1e-6 <= speed <= known.fast[k] + 1e-6]
    names = ", ".join(known.names[k] for k in able) or "none"
    yield Figure(f"actions that run at {speed} m/s", names, "at least one", bool(able))
    kind = able[0] if able else max(np.flatnonzero(known.gait == RUN), key=lambda k: known.fast[k])
    recordings = steady(int(kind), speed, scaled(PEOPLE, 2), SECONDS, FPS)
    runs = [run for run in map(measure_run, recordings) if run is not None]
    if not runs:
        yield Figure(f"running at {speed} m/s", "no flight", "flight", False)
        return
    yield from _times(runs, speed)
    rises = np.array([run.rise for run in runs])
    measured = f"{100 * rises.mean():.1f} cm, {100 * rises.min():.1f} to {100 * rises.max():.1f} over {len(runs)} people"
    good = bool(RISE[0] <= rises.mean() <= RISE[1])
    yield Figure(f"oscillation of the centre of mass, {speed} m/s", measured, "6.5 to 13 cm", good)
    falls = np.array([fall for recording in recordings for fall in early_falls(recording)])
    measured = f"{100 * falls.mean():.1f} cm on average, {100 * falls.min():.1f} at least, in {len(falls)} stances"
    yield Figure(f"centre of mass falls in early stance, {speed} m/s", measured, "over 0 in each", bool(falls.min() > 0))


def _times(runs: list[Run], speed: float) -> Iterator[Figure]:
    yield Figure(f"mean speed at a demand of {speed} m/s", f"{np.mean([run.speed for run in runs]):.2f} m/s")
    yield Figure(f"cadence at {speed} m/s", f"{np.mean([run.cadence for run in runs]):.0f} steps per minute")
    for name, target, values in (
        ("contact", TIMES[speed][0], [run.contact for run in runs]),
        ("flight", TIMES[speed][1], [run.flight for run in runs]),
    ):
        found = float(np.mean(values))
        spread = f"{1000 * min(values):.0f} to {1000 * max(values):.0f}"
        measured = f"{1000 * found:.0f} ms, {100 * (found / target - 1):+.0f} %; {spread}"
        allowed = f"{1000 * target:.0f} ms, within {100 * CLOSE:.0f} %"
        yield Figure(f"{name} time at {speed} m/s", measured, allowed, bool(abs(found / target - 1) <= CLOSE))


def early_falls(recording: Recording) -> Iterator[float]:
    """Return the fall of the centre of mass from each touch-down to its lowest point in that stance, in metres."""
    assert recording.contact is not None
    height = centre_of_mass(recording.joints)[:, 1]
    down = foot_contacts(recording.contact)
    for side in (0, 1):
        edges = np.flatnonzero(np.diff(down[:, side].astype(np.int8)))
        for start, stop in pairwise(edges):
            if not down[start, side]:
                yield float(height[start + 1] - height[start + 1 : stop + 1].min())


def _jumping(library: Library) -> Iterator[Figure]:
    known = repertoire(library)
    jumps = [name for name in known.names if library.action(name).support == "flight"]
    if not jumps:
        yield Figure("actions that jump", "none", "at least one", False)
    for name in jumps:
        falls, off, heights = [], [], []
        for recording in _jumpers(library, name):
            height = centre_of_mass(recording.joints)[:, 1]
            body = frames_last(recording.joints)
            for flight in flights(body, soles_of_body(body), recording.contact == 1):
                times = np.arange(flight.stop - flight.start) / FPS
                fitted = np.polyfit(times, height[flight], 2)
                falls.append(abs(2 * fitted[0] + GRAVITY) / GRAVITY)
                off.append(float(np.abs(np.polyval(fitted, times) - height[flight]).max()))
                heights.append(GRAVITY * (times[-1] / 2) ** 2 / 2)
        target = f"within {100 * FALL:.0f} %"
        if not falls:
            yield Figure(f"fall in the flight of {name}", "no flight found", target, False)
            continue
        measured = f"{100 * max(falls):.2f} % off at most in {len(falls)} flights, {1000 * max(off):.1f} mm off the parabola"
        yield Figure(f"fall in the flight of {name}", measured, f"9.81 m/s^2 {target}", max(falls) <= FALL)
        measured = f"{100 * min(heights):.0f} to {100 * max(heights):.0f} cm"
        yield Figure(f"height of {name}, by time in the air", measured)


def _jumpers(library: Library, name: str) -> list[Recording]:
    scenes = shown(library, name, scaled(PEOPLE, 3), FPS, neutral=True)
    scenes.amplitude[:, 0, 1] = np.resize(AMPLITUDES, len(scenes))
    return animated(scenes, library, FPS)
