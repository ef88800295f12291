"""Evaluate a dataset: read it once, a few samples at a time, and keep some measures of each clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.dataset.read import content_errors, open_dataset
from posegen.errors import PosegenError, UsageError
from posegen.evaluation.captions import StatementCounts, StatementTally, Variety, VarietyTally, library_of_dataset
from posegen.evaluation.gait import Curve, GaitTally, Run, Walk
from posegen.evaluation.people import People, PeopleTally
from posegen.evaluation.plausibility import LOWER_IS_WORSE, MEASURES, measure_clip
from posegen.evaluation.realism import (
    Comparison,
    FamilyComparison,
    Windows,
    compare,
    compare_families,
    concatenate_windows,
    describe_windows,
    split_by_person,
)
from posegen.evaluation.recording import Recording, block_recordings, read_blocks
from posegen.evaluation.spread import Spread, SpreadTally
from posegen.randomness import Stream, normal

Array = NDArray[Any]

MAX_COMPARED_SAMPLES = 2000
"""Most samples whose base variant is compared with the reference; it bounds memory."""
MAX_REFERENCE_WINDOWS = 20_000
"""Most windows of a reference that are kept."""
JITTER = 0.005
"""Standard deviation in metres of the noise that is added to the joints of the spoiled control."""


@dataclass(frozen=True)
class Reference:
    """Mocap to compare with: its name for messages, and its clips, which are read once."""

    name: str
    recordings: Iterable[Recording]


@dataclass(frozen=True)
class Realism:
    """Comparison with a reference, and the two controls that give it a scale.

    Attributes
    ----------
    dataset : Comparison
        Base variants against the whole reference.
    split, spoiled : Comparison or None
        Half of the reference's persons against the other half, unchanged and with joints displaced by 5 mm in every frame;
        None for a reference of one person.
    families : dict of str to FamilyComparison
        By action, for actions that both contain; empty if the reference does not name its actions.
    """

    dataset: Comparison
    split: Comparison | None
    spoiled: Comparison | None
    families: dict[str, FamilyComparison]


@dataclass(frozen=True)
class Evaluation:
    """All measures of a dataset.

    `measures` and `reference` are keyed by the names in :data:`posegen.evaluation.plausibility.MEASURES`, `statements` by
    kind of statement.
    """

    samples: int
    clips: int
    measures: dict[str, Spread]
    walks: list[Walk]
    runs: list[Run]
    curves: list[Curve]
    statements: dict[str, StatementCounts] | None
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
        Mocap to compare with.
    samples : int, optional
        Number of samples, from the first; all by default.
    progress : callable, optional
        Called with the number of measured clips and of all clips.

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
    mocap = _measure_reference(reference, float(dataset.header.fps)) if reference else None
    tally, gait = SpreadTally(tuple(MEASURES), LOWER_IS_WORSE), GaitTally()
    windows: list[Windows] = []
    step = -(-len(chosen) // MAX_COMPARED_SAMPLES)
    total = len(chosen) * len(dataset.header.variants)
    base = dataset.header.variants[0]
    statements, variety, people = StatementTally(dataset), VarietyTally(base), PeopleTally(library_of_dataset(dataset))
    for block in read_blocks(dataset, chosen):
        statements.add(block.joints, block.rows)
        variety.add(block.rows)
        with content_errors(path):
            people.add(block.joints, block.rows)
        for recording in block_recordings(dataset, block):
            tally.add(recording.name, _values(recording))
            gait.add(recording)
            if mocap and recording.variant == base and int(recording.name.split()[1]) % step == 0:
                windows += describe_windows(recording)
            if progress:
                progress(len(tally), total)
    return Evaluation(
        samples=len(chosen),
        clips=len(tally),
        measures=tally.spreads(),
        walks=gait.walks,
        runs=gait.runs,
        curves=gait.curves(),
        statements=statements.counts(),
        people=people.people(),
        variety=variety.variety(),
        reference=mocap.spread if mocap else None,
        realism=_compare_with(mocap, concatenate_windows(windows), path) if mocap else None,
    )


@dataclass(frozen=True)
class _MeasuredReference:
    windows: Windows
    spoiled: Windows
    spread: dict[str, Spread]


def _measure_reference(reference: Reference, fps: float) -> _MeasuredReference:
    tally = SpreadTally(tuple(MEASURES), LOWER_IS_WORSE)
    windows: list[Windows] = []
    spoiled: list[Windows] = []
    step = 1
    for number, recording in enumerate(_at_rate(reference, fps)):
        tally.add(recording.name, _values(recording))
        if number % step == 0:
            windows += describe_windows(recording)
            spoiled += describe_windows(replace(recording, joints=_jittered(recording.joints, number)))
        if len(windows) >= MAX_REFERENCE_WINDOWS:
            # Keep every second window, and every second of the clips that follow.
            windows, spoiled, step = windows[::2], spoiled[::2], 2 * step
    plain, jittered = concatenate_windows(windows), concatenate_windows(spoiled)
    if plain is None or jittered is None or len(plain) < 2:
        msg = f"{reference.name}: holds too little to compare with: fewer than two windows of 1.6 s"
        raise UsageError(msg)
    return _MeasuredReference(plain, jittered, tally.spreads())


def _at_rate(reference: Reference, fps: float) -> Iterator[Recording]:
    for recording in reference.recordings:
        if abs(recording.fps - fps) > 1e-3 * fps:
            msg = f"{reference.name}: has {recording.fps:g} frames a second, the dataset {fps:g}; resample it first"
            raise UsageError(msg)
        yield recording


def _jittered(joints: Array, number: int) -> Array:
    draws = normal(0, np.array([number]), Stream.AUGMENT, joints.size)
    return np.asarray(joints + JITTER * draws.reshape(joints.shape))


def _compare_with(mocap: _MeasuredReference, windows: Windows | None, path: Path) -> Realism:
    if windows is None or len(windows) < 2:
        msg = f"{path}: is too short to compare: its base variants have fewer than two windows of 1.6 s"
        raise UsageError(msg)
    first = split_by_person(mocap.windows.person)
    split = spoiled = None
    if 1 < first.sum() < len(first) - 1:
        split = compare(mocap.windows[first], mocap.windows[~first], mocap.windows)
        spoiled = compare(mocap.windows[first], mocap.spoiled[~first], mocap.windows)
    dataset = compare(mocap.windows, windows, mocap.windows)
    return Realism(dataset, split, spoiled, compare_families(mocap.windows, windows))


def _values(recording: Recording) -> list[float]:
    measured = measure_clip(recording)
    return [measured[name] for name in MEASURES]
