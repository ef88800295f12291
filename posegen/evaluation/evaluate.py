"""The whole evaluation of a dataset: read once, few samples at a time, keeping some figures of each clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.read import open_dataset, strange
from posegen.errors import PosegenError, UsageError
from posegen.evaluation.claims import Claims, ClaimsTally, library_of
from posegen.evaluation.gait_report import Run, Walk
from posegen.evaluation.gait_tally import Curve, GaitTally
from posegen.evaluation.people import People, PeopleTally
from posegen.evaluation.plausible import FIGURES, LOWER_IS_WORSE, figures_of_clip
from posegen.evaluation.realism import Comparison, FamilyComparison, compare, compare_families, halves
from posegen.evaluation.recording import Recording, blocks_of_dataset, recordings_of_block
from posegen.evaluation.spread import Spread, SpreadTally
from posegen.evaluation.variety import Variety, VarietyTally
from posegen.evaluation.windows import Windows, describe_windows, joined
from posegen.randomness import Stream, normal

__all__ = ["Evaluation", "Realism", "Reference", "evaluate"]

Array = NDArray[Any]

MOST_FOR_REALISM = 2000
"""Samples whose base variant is compared with the reference: enough for its figures, and as much as memory should hold."""
MOST_WINDOWS = 20_000
"""Windows of a reference that are kept."""
JITTER = 0.005


@dataclass(frozen=True)
class Reference:
    """Captured motion: where it is from, for messages, and its clips, which are read once, one by one."""

    name: str
    recordings: Iterable[Recording]


@dataclass(frozen=True)
class Realism:
    """Closeness to a reference, with the controls between which it is to be read.

    Attributes
    ----------
    dataset : Comparison
        Base variants against the whole reference.
    split, spoiled : Comparison or None
        Half of the reference's persons against the other half, as it is and with joints 5 mm off in every frame; None for a
        reference of one person.
    families : dict of str to FamilyComparison
        For what goes by the same name in both, where the reference says what its clips show.
    """

    dataset: Comparison
    split: Comparison | None
    spoiled: Comparison | None
    families: dict[str, FamilyComparison]


@dataclass(frozen=True)
class Evaluation:
    """All of it: figures by name as in :data:`posegen.evaluation.plausible.FIGURES`, claims of captions by kind, people beside
    each other, variety.
    """

    samples: int
    clips: int
    figures: dict[str, Spread]
    walks: list[Walk]
    runs: list[Run]
    curves: list[Curve]
    claims: dict[str, Claims] | None
    people: People
    variety: Variety | None
    reference: dict[str, Spread] | None
    realism: Realism | None


def evaluate(
    path: Path,
    reference: Reference | None = None,
    samples: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Evaluate a dataset.

    Parameters
    ----------
    path : Path
    reference : Reference, optional
        Captured motion to compare with.
    samples : int, optional
        How many samples, from the first; all unless given.
    progress : callable, optional
        Told clips done and clips in all.

    Raises
    ------
    UsageError
        If the reference cannot be read, has another frame rate, or is too short.
    """
    dataset = open_dataset(path)
    if samples is not None and samples < 1:
        msg = f"--samples must be at least 1 (got {samples})"
        raise UsageError(msg)
    chosen = range(min(samples or len(dataset), len(dataset)))
    if not chosen:
        msg = f"{path}: has no samples yet. Run the generate command that made it again"
        raise PosegenError(msg)
    captured = _reference(reference, float(dataset.header.fps)) if reference else None
    figures = SpreadTally(tuple(FIGURES), LOWER_IS_WORSE)
    gait = GaitTally()
    kept: list[Windows] = []
    step = -(-len(chosen) // MOST_FOR_REALISM)
    total = len(chosen) * len(dataset.header.variants)
    base = dataset.header.variants[0]
    claims, variety, people = ClaimsTally(dataset), VarietyTally(base), PeopleTally(library_of(dataset))
    for block in blocks_of_dataset(dataset, chosen):
        claims.add(block.joints, block.rows)
        variety.add(block.rows)
        with strange(path):
            people.add(block.joints, block.rows)
        for recording in recordings_of_block(dataset, block):
            figures.add(recording.name, _row(recording))
            gait.add(recording)
            if captured and recording.variant == base and int(recording.name.split()[1]) % step == 0:
                kept += describe_windows(recording)
            if progress:
                progress(len(figures), total)
    realism = _realism(captured, joined(kept), path) if captured else None
    spread = captured.spread if captured else None
    walked = (gait.walks, gait.runs, gait.curves())
    return Evaluation(
        len(chosen),
        len(figures),
        figures.spreads(),
        *walked,
        claims.claims(),
        people.people(),
        variety.variety(),
        spread,
        realism,
    )


@dataclass(frozen=True)
class _Reference:
    windows: Windows
    spoiled: Windows
    spread: dict[str, Spread]


def _reference(reference: Reference, fps: float) -> _Reference:
    figures = SpreadTally(tuple(FIGURES), LOWER_IS_WORSE)
    windows: list[Windows] = []
    spoiled: list[Windows] = []
    step = 1
    for number, recording in enumerate(_at_rate(reference, fps)):
        figures.add(recording.name, _row(recording))
        if number % step == 0:
            windows += describe_windows(recording)
            spoiled += describe_windows(replace(recording, joints=_jittered(recording.joints, number)))
        if len(windows) >= MOST_WINDOWS:
            # Every second is dropped, evenly, and from here on every second clip.
            windows, spoiled, step = windows[::2], spoiled[::2], 2 * step
    there, off = joined(windows), joined(spoiled)
    if there is None or off is None or len(there) < 2:
        msg = f"{reference.name}: holds too little to compare with: fewer than two windows of 1.6 s"
        raise UsageError(msg)
    return _Reference(there, off, figures.spreads())


def _at_rate(reference: Reference, fps: float) -> Iterator[Recording]:
    for recording in reference.recordings:
        if abs(recording.fps - fps) > 1e-3 * fps:
            msg = f"{reference.name}: has {recording.fps:g} frames a second, the dataset {fps:g}; resample it first"
            raise UsageError(msg)
        yield recording


def _jittered(joints: Array, number: int) -> Array:
    draws = normal(0, np.array([number]), Stream.AUGMENT, joints.size)
    return np.asarray(joints + JITTER * draws.reshape(joints.shape))


def _realism(captured: _Reference, windows: Windows | None, path: Path) -> Realism:
    if windows is None or len(windows) < 2:
        msg = f"{path}: is too short to compare: its base variants have fewer than two windows of 1.6 s"
        raise UsageError(msg)
    first = halves(captured.windows.person)
    split = spoiled = None
    if 1 < first.sum() < len(first) - 1:
        split = compare(captured.windows[first], captured.windows[~first], captured.windows)
        spoiled = compare(captured.windows[first], captured.spoiled[~first], captured.windows)
    dataset = compare(captured.windows, windows, captured.windows)
    return Realism(dataset, split, spoiled, compare_families(captured.windows, windows))


def _row(recording: Recording) -> list[float]:
    figures = figures_of_clip(recording)
    return [figures[name] for name in FIGURES]
