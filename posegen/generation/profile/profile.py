"""``posegen.profile``: what a dataset will cost, measured by making a small part of it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from posegen.config.schema import MOST_SAMPLES, Config
from posegen.errors import UsageError
from posegen.generation.fields import array_fields
from posegen.generation.measures import disk_seconds_a_byte
from posegen.generation.plan import MARGIN, new_header
from posegen.generation.profile.figures import Figures, keep_figures
from posegen.generation.profile.model import Costs, Estimate, estimate, recommended_shard, recommended_workers
from posegen.generation.profile.place import disk_folder, temporary_folder
from posegen.generation.profile.rates import Level, Run, levels_of
from posegen.generation.profile.running import (
    CommandSeconds,
    command_seconds,
    compile_seconds,
    measured_run,
    other_shard,
    samples_of,
    schedule,
    with_shard,
)
from posegen.generation.profile.stages import StageTime, binding, shard_seconds, stage_times, usual_shards
from posegen.generation.progress import Reporter, Silence
from posegen.generation.run import default_place, told_plainly
from posegen.generation.stopping import stoppable
from posegen.library.load import load_library
from posegen.machine import available_cores, available_memory, free_disk

__all__ = ["Profile", "Target", "profile"]

DEFAULT_SAMPLES, DEFAULT_REPEATS = 1000, 5
UNNOTICED, MOST_OTHERS = 0.1, 0.75
"""Cores that others use on any machine, and the largest share of all that is taken to be theirs."""
MOST_REPEATS = 100


@dataclass(frozen=True)
class Target:
    """What a dataset of so many samples costs.

    Attributes
    ----------
    samples : int
    estimate : Estimate
        Seconds, with `workers`.
    bytes : int
        On disk.
    workers : int
        Those that were asked for, else those that are recommended.
    recommended_workers, recommended_shard : int
        The fewest workers that are about as quick as any for which memory suffices, and samples in a shard.
    disk_suffices, memory_suffices : bool
    memory_bytes : int
        That all processes together hold at most.
    binds : str
        What keeps it from being faster: processor, disk write, sync or memory.
    """

    samples: int
    estimate: Estimate
    bytes: int
    workers: int
    recommended_workers: int
    recommended_shard: int
    disk_suffices: bool
    memory_suffices: bool
    memory_bytes: int
    binds: str


@dataclass(frozen=True)
class Profile:
    """What was measured, and what follows for each target.

    Attributes
    ----------
    config : Config
    place : Path
        The folder on whose disk it was measured.
    samples, repeats : int
        That were asked for.
    costs : Costs
    compile_seconds : float or None
        That compiling took, which is done once; None where it had been done before.
    stages : tuple of StageTime
        Of a shard, with the most workers.
    shard_seconds : float
        That a shard takes in these.
    run : Run
        The last run, with the most workers.
    others : float
        Cores that other processes used meanwhile.
    disk_free : int
        Bytes.
    targets : tuple of Target
    """

    config: Config
    place: Path
    samples: int
    repeats: int
    costs: Costs
    compile_seconds: float | None
    stages: tuple[StageTime, ...]
    shard_seconds: float
    run: Run
    others: float
    disk_free: int
    targets: tuple[Target, ...]


def profile(
    config: Config,
    *,
    samples: int = DEFAULT_SAMPLES,
    targets: Sequence[int] = (),
    workers: int | None = None,
    repeats: int = DEFAULT_REPEATS,
    out: str | Path | None = None,
    progress: Reporter | None = None,
) -> Profile:
    """Measure what a dataset costs: the real pipeline makes a small one, again and again, in a folder that is removed.

    Parameters
    ----------
    config : Config
    samples : int
        That a run makes; more where each worker would not have four shards, fewer where quotas have no more.
    targets : sequence of int
        Numbers of samples to tell the cost of; as many as the config has unless given.
    workers : int, optional
        The most processes at once; as the config says unless given, and otherwise one for each core.
    repeats : int
        Runs with one worker, and with the most.
    out : str or Path, optional
        Where the dataset would go; its disk is the one that is measured.
    progress : Reporter, optional

    Returns
    -------
    Profile

    Raises
    ------
    UsageError
        If nothing can be written there, or a number is out of range.
    PosegenError
        If a run fails.
    KeyboardInterrupt
        On Ctrl-C or SIGTERM. Nothing is left behind.
    """
    targets = tuple(dict.fromkeys(targets)) or (config.samples,)
    _check_numbers(config, samples, targets, workers, repeats)
    place = default_place(config) if out is None else Path(out)
    asked = workers or config.workers
    reporter = progress or Silence()
    with stoppable(), told_plainly(disk_folder(place)), temporary_folder(place) as folder:
        return _profile(config, samples, targets, asked, repeats, folder, reporter)


def _check_numbers(config: Config, samples: int, targets: Sequence[int], workers: int | None, repeats: int) -> None:
    most = MOST_SAMPLES if config.quotas is None else config.quotas.total
    limits = [("samples", samples, MOST_SAMPLES), ("repeats", repeats, MOST_REPEATS)]
    limits += [("a target", target, most) for target in targets] + ([] if workers is None else [("workers", workers, 1024)])
    for name, value, largest in limits:
        if not 1 <= value <= largest:
            msg = f"{name} must be from 1 to {largest:,}, not {value:,}"
            raise UsageError(msg)


def _profile(
    config: Config, samples: int, targets: tuple[int, ...], asked: int | None, repeats: int, folder: Path, reporter: Reporter
) -> Profile:
    compiling = compile_seconds(config, reporter)
    plan = schedule(asked or available_cores(), repeats)
    most = plan.workers[-1]
    other = _run(with_shard(config, other_shard(config)), samples, most, folder, reporter)
    runs = [_run(config, samples, workers, folder, reporter) for workers in plan.runs]
    reporter.say("measuring the start of the program")
    others = sum(run.others for run in runs) / len(runs)
    costs = _costs(runs, other, command_seconds(config, folder, repeats), config.store.chunk, others)
    shards = usual_shards([run for run in runs if run.workers == most])
    free = free_disk(folder)
    found = Profile(
        config=config,
        place=folder.parent,
        samples=samples,
        repeats=repeats,
        costs=costs,
        compile_seconds=compiling,
        stages=stage_times(shards),
        shard_seconds=shard_seconds(shards),
        run=[run for run in runs if run.workers == most][-1],
        others=others,
        disk_free=free,
        targets=tuple(_target(costs, target, asked, free, binding(shards, fits_memory=True)) for target in targets),
    )
    _keep(found, folder)
    return found


def _costs(runs: Sequence[Run], other: Run, command: CommandSeconds, chunk: int, others: float) -> Costs:
    return Costs(
        program=command.program,
        bare=command.bare,
        program_doubt=command.doubt,
        levels=levels_of(runs),
        other=levels_of([other])[0],
        sample_bytes=sum(run.sample_bytes for run in runs) / len(runs),
        fixed_bytes=runs[-1].fixed_bytes,
        chunk=chunk,
        memory=available_memory().free + psutil.Process().memory_info().rss,
        parent_bytes=psutil.Process().memory_info().rss,
        others=min(max(others - UNNOTICED, 0.0) / available_cores(), MOST_OTHERS),
    )


def _run(config: Config, samples: int, workers: int, folder: Path, reporter: Reporter) -> Run:
    shard = config.store.shard
    count = samples_of(config, samples, workers)
    reporter.say(f"measuring {count:,} samples in shards of {shard} on {workers} worker{'s' * (workers > 1)}")
    return measured_run(config, samples, workers, folder)


def _target(costs: Costs, samples: int, asked: int | None, free: int, binds: str) -> Target:
    best = recommended_workers(costs, samples)
    used: Level = best if asked is None else costs.levels[-1]
    stored = round(costs.fixed_bytes + samples * costs.sample_bytes)
    return Target(
        samples=samples,
        estimate=estimate(costs, used, samples),
        bytes=stored,
        workers=used.workers,
        recommended_workers=best.workers,
        recommended_shard=recommended_shard(costs, best, samples),
        disk_suffices=stored + MARGIN <= free,
        memory_suffices=costs.fits(used),
        memory_bytes=round(costs.memory_bytes(used.workers, used.peak_bytes)),
        binds=binds if costs.fits(costs.levels[-1]) else "memory",
    )


def _keep(found: Profile, folder: Path) -> None:
    """Keep what later runs are compared with; where the cache cannot be written, they are not."""
    config, library = found.config, load_library(found.config.story.library)
    shards = usual_shards([found.run])
    figures = Figures(
        rates={level.workers: level.samples_per_second for level in found.costs.levels},
        processor_seconds=sum(shard.processor_seconds for shard in shards) / sum(shard.samples for shard in shards),
        disk_seconds=disk_seconds_a_byte(shards),
        others=found.others,
        device=folder.stat().st_dev,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    with suppress(OSError):
        keep_figures(new_header(config, library, array_fields(config, library)), figures)
