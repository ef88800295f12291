"""Steady straight walking of neutral adults at 1.03 to 1.8 m/s, compared with published values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import is_neutral_adult, made
from benchmarks.motion.scripted import steady
from posegen.evaluation.body import true_intervals
from posegen.evaluation.gait import ANGLES, WALKING, Curve, GaitTally, Walk, measure_walk, steady_stretches
from posegen.evaluation.recording import Recording
from posegen.foundations.skeleton import sole_points
from posegen.library.load import load_library

SAMPLES = 2600
FAVOURED = "story.actions={walk: 60}"
SPEEDS = (1.03, 1.2, 1.4, 1.6, 1.8)
"""Ends of the speed bands, m/s; each target must be met in each band."""
FEWEST = 5
HIGH_RATE, FREE, PEOPLE, SECONDS = 120, 1.3, 20, 6.0
STANCE_POINTS, RATIO, FLAT = 2.0, 0.05, 0.01
EXCURSIONS = {
    "rise": ((0.7, 0.027, 0.005), (1.6, 0.048, 0.009)),
    "sway": ((0.7, 0.070, 0.0134), (1.6, 0.039, 0.0141)),
}
"""Of the centre of mass at two speeds: speed in m/s, mean and standard deviation in metres (Orendurff et al. 2004)."""


def measure(folder: Path) -> Iterator[Figure]:
    tally = GaitTally()
    slides: list[tuple[float, str]] = []
    found: list[Walk] = []
    for config, recording in made([FAVOURED], scaled(SAMPLES, 60)):
        if not is_neutral_adult(config, recording):
            continue
        for stretch in steady_stretches(recording, WALKING):
            walk = measure_walk(stretch)
            if walk is not None and walk.labelled_stance is not None:
                found.append(walk)
                tally.add_cycles(stretch, walk)
                slides += [(slide, recording.name) for slide in flat_foot_slides(stretch)]
    people = f"walking, {len(found)} excerpts of neutral adults"
    yield Figure(people, f"{np.mean([w.speed for w in found]):.2f} m/s on average" if found else "none", "some", bool(found))
    yield from _curves(tally)
    yield from _laws(found)
    yield from _slides(slides)
    yield from _at_high_rate()


def _at_high_rate() -> Iterator[Figure]:
    """Report the curves of scripted scenes at 120 frames per second, for comparison with those of samples at 25."""
    tally = GaitTally()
    for recording in steady(load_library().index(WALKING[0]), FREE, scaled(PEOPLE, 2), SECONDS, HIGH_RATE):
        walk = measure_walk(recording)
        if walk is not None:
            tally.add_cycles(recording, walk)
    for curve in tally.curves():
        if curve.speed == "free":
            name = f"{curve.angle.replace('_', ' ')}, {FREE} m/s, made at {HIGH_RATE} frames a second"
            yield Figure(name, _farthest(curve), "", None, curve.mean)


def _curves(tally: GaitTally) -> Iterator[Figure]:
    curves = {(curve.angle, curve.speed): curve for curve in tally.curves()}
    for angle in ANGLES:
        words = angle.replace("_", " ")
        name, target = f"{words} at free speed, greatest deviation from the published curve", "within 1 SD at every phase"
        free = curves.get((angle, "free"))
        if free is None or free.farthest is None:
            yield Figure(name, "no walking at free speed", target, False)
            continue
        yield Figure(name, _farthest(free), target, free.farthest <= 1, free.mean)
        others = [c for c in curves.values() if c.angle == angle and c.speed != "free" and c.farthest is not None]
        for curve in sorted(others, key=lambda curve: curve.speed):
            yield Figure(f"{words}, {curve.speed}", _farthest(curve), "", None, curve.mean)


def _farthest(curve: Curve) -> str:
    return f"{curve.farthest:.2f} SD, at {100 * (curve.at or 0):.0f} % of {curve.cycles} cycles' mean"


def _laws(found: list[Walk]) -> Iterator[Figure]:
    for low, high in pairwise(SPEEDS):
        band = [walk for walk in found if low <= walk.speed < high]
        where = f"{low} to {high} m/s"
        if len(band) < FEWEST:
            yield Figure(f"walking at {where}", f"{len(band)} excerpts", f"at least {FEWEST}", False)
            continue
        stance = np.array([walk.stance_error for walk in band], np.float64)
        close = 100 * np.mean(np.abs(stance) <= STANCE_POINTS)
        measured = f"{stance.mean():+.2f} points; {close:.0f} % of {len(band)} excerpts within {STANCE_POINTS:g}"
        target = f"within {STANCE_POINTS:g} points"
        yield Figure(f"stance share less (64.2 - 3.5 v), {where}", measured, target, bool(abs(stance.mean()) <= STANCE_POINTS))
        both = np.mean([walk.double_support for walk in band if walk.double_support is not None])
        yield Figure(f"double support, {where}", f"{both:.1f} % of the cycle")
        yield from _ratio(band, where)
        yield from _mass(band, where)


def _ratio(band: list[Walk], where: str) -> Iterator[Figure]:
    errors = np.array([walk.ratio_error for walk in band])
    # At this speed, published cadence and step length scale with the square root of the walk ratio.
    cadence, step = 1 / np.sqrt(1 + errors) - 1, np.sqrt(1 + errors) - 1
    for name, values in (("walk ratio", errors), ("cadence", cadence), ("step length", step)):
        close = 100 * np.mean(np.abs(values) <= RATIO)
        measured = f"{100 * values.mean():+.1f} %; {close:.0f} % of {len(band)} excerpts within {100 * RATIO:.0f} %"
        good = bool(abs(values.mean()) <= RATIO)
        yield Figure(f"{name}, error against the leg-length law, {where}", measured, f"within {100 * RATIO:.0f} %", good)


def _mass(band: list[Walk], where: str) -> Iterator[Figure]:
    for name in ("rise", "sway"):
        mean, spread = mass_excursion(name, float(np.mean([walk.speed for walk in band])))
        found = float(np.nanmean([getattr(walk, name) for walk in band]))
        target = f"{100 * (mean - spread):.1f} to {100 * (mean + spread):.1f} cm"
        measured = f"{100 * found:.1f} cm"
        yield Figure(f"{name} of the centre of mass, {where}", measured, target, abs(found - mean) <= spread)


def mass_excursion(kind: str, speed: float) -> tuple[float, float]:
    """Return mean and standard deviation, in metres, of an excursion of the centre of mass at a walking speed.

    Parameters
    ----------
    kind : str
        rise: vertical; sway: lateral.
    speed : float
        m/s. The values are published at two speeds. The mean is extrapolated linearly, the standard deviation is not.
    """
    (slow, low, few), (fast, high, many) = EXCURSIONS[kind]
    share = (speed - slow) / (fast - slow)
    return low + share * (high - low), few + min(max(share, 0.0), 1.0) * (many - few)


def flat_foot_slides(stretch: Recording) -> list[float]:
    """Return the largest displacement of heel and toe while both are labelled as touching, in metres for each such stance."""
    if stretch.contact is None:
        return []
    soles = sole_points(stretch.joints)[..., [0, 2]]
    slides = []
    for side in (0, 2):
        flat = (stretch.contact[:, side : side + 2] == 1).all(-1)
        for interval in true_intervals(flat):
            places = soles[interval, side : side + 2]
            slides.append(float(np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1)).max()))
    return slides


def _slides(slides: list[tuple[float, str]]) -> Iterator[Figure]:
    if not slides:
        yield Figure("flat stance foot moves", "no flat foot", f"under {100 * FLAT:.0f} cm", False)
        return
    values = np.array([slide for slide, _ in slides])
    measured = f"{1000 * values.max():.1f} mm at most, 99th percentile {1000 * np.percentile(values, 99):.1f}"
    worst = [f"{name}: {1000 * slide:.1f} mm" for slide, name in sorted(slides, reverse=True)[: max(1, len(slides) // 100)]]
    target = f"under {1000 * FLAT:.0f} mm"
    yield Figure(f"flat stance foot moves, {len(slides)} stances", measured, target, bool(values.max() < FLAT), worst)
