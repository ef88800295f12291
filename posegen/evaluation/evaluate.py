"""Evaluate a dataset: read it once, a few samples at a time, and keep some measures of each clip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from posegen.dataset.clip_files import resample
from posegen.dataset.read import Dataset, content_errors, open_dataset
from posegen.dataset.storage.address import AnyPath, to_path
from posegen.evaluation import captions
from posegen.evaluation.gait import Curve, GaitTally, Run, Walk
from posegen.evaluation.plausibility import MEASURES, measure_clip
from posegen.evaluation.realism import (
    Described,
    MeasuredReference,
    Realism,
    RealismTally,
    Reference,
    compare_with_reference,
    describe_clip,
    measure_reference,
)
from posegen.evaluation.recording import SAMPLES_PER_BLOCK, Recording, block_recordings, read_blocks
from posegen.evaluation.spread import Spread, SpreadTally
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import available_cores
from posegen.foundations.progress import Progress
from posegen.generation.jobs import LostJob, run_jobs
from posegen.library.load import Library

MAX_COMPARED_SAMPLES = 2000
"""Most samples whose base variant is compared with the reference; it bounds memory."""
SAMPLES_PER_JOB = 5 * SAMPLES_PER_BLOCK
_WORTH_A_PROCESS = 500
"""Number of samples that take longer to measure than another process takes to start."""


@dataclass(frozen=True)
class Evaluation:
    """All measures of a dataset.

    `measures` and `reference` are keyed by the names in :data:`posegen.evaluation.plausibility.MEASURES`, `statements` by
    kind of statement.
    """

    samples: int
    clips: int
    measures: dict[str, Spread]
    walks: list[Walk] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    statements: dict[str, captions.StatementCounts] | None = None
    uncaptioned: captions.Uncaptioned | None = None
    reference: dict[str, Spread] | None = None
    realism: Realism | None = None


@dataclass(frozen=True)
class _Job:
    """Samples to measure. The base variant of each sample that `compared` divides is also described for a reference."""

    path: AnyPath
    samples: range
    compared: int | None


@dataclass(frozen=True)
class _Measured:
    """Measures of some samples. Those of successive samples are added in their order, however many processes there are."""

    samples: range
    clips: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    described: list[Described] = field(default_factory=list)
    gait: GaitTally = field(default_factory=GaitTally)
    statements: captions.Checked = field(default_factory=Counter)
    uncaptioned: Counter[str] = field(default_factory=Counter)


def evaluate(
    path: str | AnyPath,
    reference: Reference | None = None,
    samples: int | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Evaluation:
    """Evaluate a dataset.

    Parameters
    ----------
    path : str, Path or BucketPath
    reference : Reference, optional
        Mocap to compare with.
    samples : int, optional
        Number of samples, from the first; all by default.
    progress : Progress, optional
    workers : int, optional
        Number of processes; by default one for each core, and fewer for few samples. The result does not depend on it.

    Raises
    ------
    UsageError
        If the reference cannot be read, has another frame rate, or is too short.
    """
    path = to_path(path)
    _open.cache_clear()
    dataset, library = _open(path)
    if samples is not None and samples < 1:
        raise UsageError(f"--samples must be at least 1 (got {samples})")
    chosen = range(min(samples or len(dataset), len(dataset)))
    if not chosen:
        raise PosegenError(f"{path}: has no samples yet. Run the generate command that made it again")
    compared = -(-len(chosen) // MAX_COMPARED_SAMPLES) if reference else None
    jobs = [_Job(path, chosen[first : first + SAMPLES_PER_JOB], compared) for first in range(0, len(chosen), SAMPLES_PER_JOB)]
    processes = min(workers or min(available_cores(), 1 + len(chosen) // _WORTH_A_PROCESS), len(jobs))
    mocap = measure_reference(reference, float(dataset.header.fps)) if reference else None
    measures, found = SpreadTally(tuple(MEASURES)), _Measured(chosen)
    motion = RealismTally(mocap.motions.performances if mocap else ())
    outcomes = run_jobs(_measure, jobs, processes)
    for measured in _in_order(outcomes, len(chosen), progress or Progress()):
        for name, own in measured.clips:
            measures.add(name, own)
        for described in measured.described:
            motion.add(described)
        found.gait.add_tally(measured.gait)
        found.statements.update(measured.statements)
        found.uncaptioned.update(measured.uncaptioned)
    return replace(
        _evaluation(measures, motion, mocap, path),
        samples=len(chosen),
        walks=found.gait.walks,
        runs=found.gait.runs,
        curves=found.gait.curves(),
        statements=captions.count_statements(found.statements) if library else None,
        uncaptioned=captions.uncaptioned_shares(found.uncaptioned),
    )


def _evaluation(measures: SpreadTally, motion: RealismTally, mocap: MeasuredReference | None, path: AnyPath) -> Evaluation:
    """Return the evaluation of the clips at a path, with a comparison if there is a reference."""
    realism = compare_with_reference(mocap, motion, path) if mocap else None
    reference = mocap.spread if mocap else None
    return Evaluation(len(measures), len(measures), measures.spreads(), reference=reference, realism=realism)


@lru_cache(1)
def _open(path: AnyPath) -> tuple[Dataset, Library | None]:
    """Open the dataset once for all jobs of this process."""
    dataset = open_dataset(path)
    return dataset, captions.library_of_dataset(dataset)


def _measure(job: _Job) -> _Measured:
    """Measure some samples, few at a time."""
    dataset, library = _open(job.path)
    base = dataset.header.variants[0]
    found = _Measured(job.samples)
    for block in read_blocks(dataset, job.samples):
        with content_errors(job.path):
            if library:
                found.statements.update(captions.check_rows(block.joints, block.rows, library, dataset.header.fps))
        for recording in block_recordings(dataset, block):
            found.clips.append((recording.name, measure_clip(recording)))
            found.gait.add(recording)
            found.uncaptioned.update(captions.find_uncaptioned(recording))
            if job.compared and recording.variant == base and int(recording.name.split()[1]) % job.compared == 0:
                found.described.append(describe_clip(recording))
    return found


def _in_order(outcomes: Iterator[_Measured | LostJob[_Job]], samples: int, progress: Progress) -> Iterator[_Measured]:
    """Yield the measures in the order of the samples, and display the number of measured samples."""
    early: dict[int, _Measured] = {}
    done = following = 0
    progress.start("evaluate", samples)
    try:
        for outcome in outcomes:
            if isinstance(outcome, LostJob):
                job = outcome.job
                raise PosegenError(f"{job.path}: samples from {job.samples.start} could not be measured ({outcome.reason})")
            early[outcome.samples.start] = outcome
            done += len(outcome.samples)
            while following in early:
                measured = early.pop(following)
                following = measured.samples.stop
                yield measured
            progress.update(done)
    finally:
        progress.stop()


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
    mocap = measure_reference(reference) if reference else None
    measures, motion = SpreadTally(tuple(MEASURES)), RealismTally(mocap.motions.performances if mocap else ())
    for clip in clips:
        measures.add(clip.name, measure_clip(clip))
        if mocap:
            joints = resample(clip.joints, clip.fps, mocap.fps)
            motion.add(describe_clip(replace(clip, joints=joints, fps=mocap.fps)))
    return _evaluation(measures, motion, mocap, Path(name))
