"""The whole evaluation of a dataset: read once, few samples at a time, keeping some figures of each clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.errors import PosegenError, UsageError
from posegen.evaluation.gait_report import Walk, walks
from posegen.evaluation.plausible import FIGURES, LOWER_IS_WORSE, figures_of_clip
from posegen.evaluation.realism import Comparison, compare, halves
from posegen.evaluation.recording import Recording, recordings_of_dataset, recordings_of_reference
from posegen.evaluation.windows import Windows, describe_windows, joined
from posegen.randomness import Stream, normal
from posegen.store.read import open_dataset

__all__ = ["Evaluation", "Realism", "Spread", "evaluate"]

Array = NDArray[Any]

MOST_FOR_REALISM = 2000
"""Samples whose base variant is compared with the reference: enough for its figures, and as much as memory should hold."""
JITTER = 0.005
WORST = 0.01


@dataclass(frozen=True)
class Spread:
    """How a figure is spread over clips; NaN where no clip has it.

    Attributes
    ----------
    clips : int
        That have it.
    median, high, worst : float
        The middle, the 95th percentile and the mean of the worst 1 %; for figures of which less is worse, the 5th percentile.
    worst_clips : list of (str, float)
        The worst 1 %, the worst first.
    """

    clips: int
    median: float
    high: float
    worst: float
    worst_clips: list[tuple[str, float]]


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
    """

    dataset: Comparison
    split: Comparison | None
    spoiled: Comparison | None


@dataclass(frozen=True)
class Evaluation:
    """All of it: figures by name as in :data:`posegen.evaluation.plausible.FIGURES`."""

    samples: int
    clips: int
    figures: dict[str, Spread]
    walks: list[Walk]
    reference: dict[str, Spread] | None
    realism: Realism | None


def evaluate(
    path: Path, reference: Path | None = None, samples: int | None = None, progress: Callable[[int, int], None] | None = None
) -> Evaluation:
    """Evaluate a dataset.

    Parameters
    ----------
    path : Path
    reference : Path, optional
        Captured motion to compare with; see :func:`posegen.evaluation.recording.recordings_of_reference`.
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
    names: list[str] = []
    rows: list[Array] = []
    found: list[Walk] = []
    kept: list[Windows] = []
    step = -(-len(chosen) // MOST_FOR_REALISM)
    total = len(chosen) * len(dataset.header.variants)
    base = dataset.header.variants[0]
    for number, recording in enumerate(recordings_of_dataset(dataset, chosen)):
        names.append(recording.name)
        rows.append(_row(recording))
        found += walks(recording)
        if captured and recording.variant == base and int(recording.name.split()[1]) % step == 0:
            kept += describe_windows(recording)
        if progress:
            progress(number + 1, total)
    realism = _realism(captured, joined(kept), path) if captured else None
    spread = _spreads(names, rows)
    return Evaluation(len(chosen), len(names), spread, found, captured.spread if captured else None, realism)


@dataclass(frozen=True)
class _Reference:
    windows: Windows
    spoiled: Windows
    spread: dict[str, Spread]


def _reference(path: Path, fps: float) -> _Reference:
    names: list[str] = []
    rows: list[Array] = []
    windows: list[Windows] = []
    spoiled: list[Windows] = []
    for number, recording in enumerate(_at_rate(recordings_of_reference(path), fps, path)):
        names.append(recording.name)
        rows.append(_row(recording))
        windows += describe_windows(recording)
        spoiled += describe_windows(replace(recording, joints=_jittered(recording.joints, number)))
    there, off = joined(windows), joined(spoiled)
    if there is None or off is None or len(there) < 2:
        msg = f"{path}: holds too little to compare with: fewer than two windows of 1.6 s"
        raise UsageError(msg)
    return _Reference(there, off, _spreads(names, rows))


def _at_rate(recordings: Iterable[Recording], fps: float, path: Path) -> Iterator[Recording]:
    for recording in recordings:
        if abs(recording.fps - fps) > 1e-3 * fps:
            msg = f"{path}: has {recording.fps:g} frames a second, the dataset {fps:g}; resample it first"
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
    return Realism(compare(captured.windows, windows, captured.windows), split, spoiled)


def _row(recording: Recording) -> Array:
    figures = figures_of_clip(recording)
    return np.array([figures[name] for name in FIGURES], np.float32)


def _spreads(names: list[str], rows: list[Array]) -> dict[str, Spread]:
    columns = np.stack(rows).T if rows else np.zeros((len(FIGURES), 0))
    return {name: _spread(names, column, name in LOWER_IS_WORSE) for name, column in zip(FIGURES, columns, strict=True)}


def _spread(names: list[str], values: Array, lower_is_worse: bool) -> Spread:
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return Spread(0, np.nan, np.nan, np.nan, [])
    order = known[np.argsort(values[known] if lower_is_worse else -values[known], kind="stable")]
    worst = order[: max(1, round(WORST * len(known)))]
    high = np.percentile(values[known], 5 if lower_is_worse else 95)
    clips = [(names[i], float(values[i])) for i in worst]
    return Spread(len(known), float(np.median(values[known])), float(high), float(values[worst].mean()), clips)
