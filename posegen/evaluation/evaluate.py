"""Evaluate a dataset: read it once, a few samples at a time, and keep some measures of each clip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from posegen.dataset.bucket import AnyPath
from posegen.dataset.clip_files import resample
from posegen.dataset.read import content_errors, open_dataset
from posegen.errors import PosegenError, UsageError
from posegen.evaluation.captions import StatementCounts, StatementTally, Variety, VarietyTally, library_of_dataset
from posegen.evaluation.gait import Curve, GaitTally, Run, Walk
from posegen.evaluation.people import People, PeopleTally
from posegen.evaluation.plausibility import LOWER_IS_WORSE, MEASURES, measure_clip
from posegen.evaluation.realism import (
    MAX_REFERENCE_WINDOWS,
    Realism,
    Reference,
    Windows,
    compare_with_reference,
    describe_windows,
    measure_reference,
)
from posegen.evaluation.recording import SAMPLES_PER_BLOCK, Block, Recording, block_recordings, read_blocks
from posegen.evaluation.spread import Spread, SpreadTally
from posegen.evaluation.uncaptioned import Uncaptioned, UncaptionedTally
from posegen.evaluation.variety import Evenly, MotionTally
from posegen.progress import Progress

MAX_COMPARED_SAMPLES = 2000
"""Most samples whose base variant is compared with the reference; it bounds memory."""


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
    uncaptioned: Uncaptioned | None
    reference: dict[str, Spread] | None
    realism: Realism | None


def evaluate(
    path: AnyPath,
    reference: Reference | None = None,
    samples: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a dataset.

    Parameters
    ----------
    path : Path or BucketPath
    reference : Reference, optional
        Mocap to compare with.
    samples : int, optional
        Number of samples, from the first; all by default.
    progress : Progress, optional

    Raises
    ------
    UsageError
        If the reference cannot be read, has another frame rate, or is too short.
    """
    dataset = open_dataset(path)
    if samples is not None and samples < 1:
        raise UsageError(f"--samples must be at least 1 (got {samples})")
    chosen = range(min(samples or len(dataset), len(dataset)))
    if not chosen:
        raise PosegenError(f"{path}: has no samples yet. Run the generate command that made it again")
    mocap = measure_reference(reference, float(dataset.header.fps)) if reference else None
    tally, gait = SpreadTally(tuple(MEASURES), LOWER_IS_WORSE), GaitTally()
    base, step = dataset.header.variants[0], -(-len(chosen) // MAX_COMPARED_SAMPLES)
    library = library_of_dataset(dataset)
    statements, variety, people = StatementTally(library, dataset.header.fps), VarietyTally(base), PeopleTally(library)
    windows: list[Windows] = []
    motions, uncaptioned = MotionTally(mocap.motions.performances if mocap else ()), UncaptionedTally()
    for block in _with_progress(read_blocks(dataset, chosen), len(chosen), progress or Progress()):
        with content_errors(path):
            statements.add(block.joints, block.rows)
            variety.add(block.rows)
            people.add(block.joints, block.rows)
        for recording in block_recordings(dataset, block):
            tally.add(recording.name, measure_clip(recording))
            gait.add(recording)
            uncaptioned.add(recording)
            if mocap and recording.variant == base and int(recording.name.split()[1]) % step == 0:
                windows += describe_windows(recording)
                motions.add(recording)
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
        uncaptioned=uncaptioned.uncaptioned(),
        reference=mocap.spread if mocap else None,
        realism=compare_with_reference(mocap, windows, motions, path) if mocap else None,
    )


def evaluate_clips(clips: Iterable[Recording], name: str, reference: Reference | None = None) -> Evaluation:
    """Evaluate clips that have joints alone, of any frame rates.

    Parameters
    ----------
    clips : iterable of Recording
        Read once.
    name : str
        For messages.
    reference : Reference, optional
        Mocap to compare with. Clips are resampled to the rate of its first clip.

    Returns
    -------
    Evaluation
        `samples` is the number of clips. Measures of contact labels are NaN, and those of captions and people None or empty.

    Raises
    ------
    UsageError
        If the reference cannot be read, or it or the clips are too short.
    """
    mocap, fps = None, 0.0
    if reference is not None:
        recordings = iter(reference.recordings)
        for first in islice(recordings, 1):
            fps = first.fps
            mocap = measure_reference(Reference(reference.name, chain([first], recordings)), fps)
    tally, windows = SpreadTally(tuple(MEASURES), LOWER_IS_WORSE), Evenly[Windows](MAX_REFERENCE_WINDOWS)
    motions = MotionTally(mocap.motions.performances if mocap else ())
    for clip in clips:
        tally.add(clip.name, measure_clip(clip))
        if mocap:
            same = replace(clip, joints=resample(clip.joints, clip.fps, fps), fps=fps)
            for window in describe_windows(same):
                windows.add(window)
            motions.add(same)
    return Evaluation(
        samples=len(tally),
        clips=len(tally),
        measures=tally.spreads(),
        walks=[],
        runs=[],
        curves=[],
        statements=None,
        people=PeopleTally(None).people(),
        variety=None,
        uncaptioned=None,
        reference=mocap.spread if mocap else None,
        realism=compare_with_reference(mocap, windows.items, motions, Path(name)) if mocap else None,
    )


def _with_progress(blocks: Iterator[Block], samples: int, progress: Progress) -> Iterator[Block]:
    """Yield blocks, and display the samples of those that are complete."""
    progress.start("evaluate", samples)
    try:
        for number, block in enumerate(blocks, 1):
            yield block
            progress.update(min(samples, number * SAMPLES_PER_BLOCK))
    finally:
        progress.stop()
