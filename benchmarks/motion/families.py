"""Acceleration and jerk of generated excerpts, compared with mocap, for each family with enough mocap clips.

Acceleration and jerk are root mean squares over joints and frames, after the same low pass (5 Hz) on both sides. Clips and
excerpts longer than 4 s are cut into equal pieces, so that durations are comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import FEWEST_CLIPS, FEWEST_PERSONS, Captured, captured, fit, lacking
from benchmarks.motion.scripted import excerpts, themes_with
from posegen.evaluation.performances import ACTIONS
from posegen.evaluation.plausibility import low_pass
from posegen.foundations.arrays import Array
from posegen.library.load import Library, load_library

LONGEST = 4.0
SAMPLES = 200
MOST = 300
"""Number of excerpts of a family, the same for each of its actions."""
FEWEST = 10
MEASURES = ("acceleration", "jerk")
UNITS = {"acceleration": "m/s^2", "jerk": "m/s^3"}


def measure(folder: Path) -> Iterator[Figure]:
    clips = captured()
    if clips is None:
        yield Figure("families against mocap", "not measured: POSEGEN_REFERENCE is not set", "inside the band of mocap")
        return
    families = fit(clips)
    library = load_library()
    measured = f"{len(families)}: {', '.join(families)}"
    yield Figure(f"families with {FEWEST_CLIPS} mocap clips of {FEWEST_PERSONS} persons", measured)
    missing = lacking(families, library.actions)
    yield Figure("mocap families without an action in the library", ", ".join(missing) or "none", "none", not missing)
    alone = [a for family in families for a in ACTIONS[family] if a in library.actions and not themes_with(library, a)]
    yield Figure("actions of these families that no theme contains", ", ".join(alone) or "none", "none", not alone)
    for family, of_it in families.items():
        if family not in missing:
            yield from _family(family, of_it, library)


def _family(family: str, clips: Sequence[Captured], library: Library) -> Iterator[Figure]:
    actions = [name for name in ACTIONS[family] if name in library.actions]
    real = _liveliness((clip.joints, clip.fps) for clip in clips)
    each = MOST // len(actions)
    shown = (s for action in actions for s in islice(excerpts(library, action, scaled(SAMPLES, 20)), each))
    ours = _liveliness((stretch.joints, stretch.fps) for stretch in shown)
    if len(ours) < FEWEST:
        yield Figure(f"{family} ({', '.join(actions)})", f"{len(ours)} pieces in the samples", f"at least {FEWEST}", False)
        return
    for k, name in enumerate(MEASURES):
        (low, high), median = np.percentile(real[:, k], [5, 95]), float(np.median(ours[:, k]))
        measured = f"{median:.3g} {UNITS[name]}, median of {len(ours)} pieces; mocap {np.median(real[:, k]):.3g} of {len(real)}"
        target = f"{low:.3g} to {high:.3g}"
        yield Figure(f"{name} of {family} ({', '.join(actions)})", measured, target, bool(low <= median <= high))


def _liveliness(clips: Iterator[tuple[Array, float]]) -> Array:
    found = []
    for joints, fps in clips:
        for piece in np.array_split(joints, -(-len(joints) // round(LONGEST * fps))):
            figures = liveliness(piece, fps)
            if figures is not None:
                found.append(figures)
    return np.array(found).reshape(-1, len(MEASURES))


def liveliness(joints: Array, fps: float) -> tuple[float, float] | None:
    """Return filtered acceleration and jerk of a clip; None if it is too short for the filter."""
    filtered = low_pass(joints, fps)
    if len(filtered) < 4:
        return None
    acceleration, jerk = (np.diff(filtered, order, axis=0) * fps**order for order in (2, 3))
    return tuple(float(np.sqrt((motion**2).sum(-1).mean())) for motion in (acceleration, jerk))  # type: ignore[return-value]
