"""Estimates: from the measured shards of small runs to the time, memory and disk of a run of any size, and stages of a shard.

The first shard of a worker loads the program and the kernels, and during the last ones other workers are idle. In a small run
these are most of the shards, in a large one almost none. So the time of a shard in the long run, the cycle, is measured on the
others.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from posegen.foundations.stopwatch import seconds_by_stage
from posegen.generation.plan import MARGIN
from posegen.generation.shard import ShardMeasures

STAGES = {
    "plan": "scenes: actors, actions, times",
    "motion": "joints of each distinct motion",
    "variants": "translated and mirrored copies",
    "checks": "statements and limits against joints",
    "captions": "captions, segments and rows",
    "attempt": "other work on samples",
    "fields": "derived fields",
    "encode": "compression, Parquet",
    "hash": "hashes of content and files",
    "write": "writing files",
    "sync": "waiting for the disk",
    "rest": "other work on a shard",
}
"""The stages of a shard, with a description."""

BOUND_BY_DISK = 0.35
"""Share of a worker's time spent waiting for the disk, above which the disk limits the rate."""

BUSY = 0.9
"""Share of a cycle in which all other workers must be at work, too."""

FLOOR = 0.07
"""Least relative uncertainty of a long run: clocks, caches and disks change within an hour, not within a minute."""

START_FLOOR = 0.25
"""Relative uncertainty of start-up times."""

ENOUGH = 1.03
"""Fewer workers are recommended if the run takes less than this many times as long."""

_STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81)
"""Quantiles of Student's t within which 90 % of its values lie, by degrees of freedom from 1 on."""


@dataclass(frozen=True)
class Run:
    """Measurements of one small run.

    Attributes
    ----------
    workers : int
        Number of processes.
    shard : int
        Samples in a full shard.
    called, ready, ended : float
        Seconds of the monotonic clock: start of the run, kernels loaded, end.
    shards : tuple of ShardMeasures
    fixed_bytes, sample_bytes : float
        Bytes on disk of an empty dataset, and of each sample.
    """

    workers: int
    shard: int
    called: float
    ready: float
    ended: float
    shards: tuple[ShardMeasures, ...]
    fixed_bytes: float
    sample_bytes: float

    @property
    def by_process(self) -> dict[int, list[ShardMeasures]]:
        """The shards of each worker, in order of time."""
        shards: dict[int, list[ShardMeasures]] = defaultdict(list)
        for shard in sorted(self.shards, key=lambda shard: shard.started):
            shards[shard.process].append(shard)
        return shards


@dataclass(frozen=True)
class Rate:
    """Seconds and memory with a number of workers.

    Attributes
    ----------
    workers, shard : int
        As for :class:`Run`.
    cycle : float
        Time of a worker for a full shard in the long run.
    uncertainty : float
        Relative uncertainty of `cycle`, which 9 of 10 runs do not exceed.
    first : float
        Time of a worker for its first shard.
    spawn : float
        From the loading of the kernels to the start of the first shards.
    finish : float
        From the end of the last shard to the end of the run.
    peak_bytes : float
        Largest memory of a worker.
    """

    workers: int
    shard: int
    cycle: float
    uncertainty: float
    first: float
    spawn: float
    finish: float
    peak_bytes: float

    @property
    def samples_per_second(self) -> float:
        """Rate in the long run."""
        return self.workers * self.shard / self.cycle


@dataclass(frozen=True)
class Costs:
    """Input of an estimate.

    Attributes
    ----------
    program, bare : float
        Seconds of a command that makes one sample, and of one that finds it made. With several workers, the workers load the
        kernels and the parent does not.
    rates : tuple of Rate
        In the order of the number of workers.
    sample_bytes, fixed_bytes : float
        As for :class:`Run`.
    chunk : int
        A shard is a multiple of it.
    memory : float
        Bytes that all processes together may use.
    parent_bytes : float
        Memory of the parent of the workers.
    """

    program: float
    bare: float
    rates: tuple[Rate, ...]
    sample_bytes: float
    fixed_bytes: float
    chunk: int
    memory: float
    parent_bytes: float

    def memory_bytes(self, rate: Rate) -> float:
        """Return the largest memory of all processes; one worker is its own parent."""
        return rate.workers * rate.peak_bytes + (self.parent_bytes if rate.workers > 1 else 0.0)

    def fits(self, rate: Rate) -> bool:
        """Return whether there is enough memory."""
        return self.memory_bytes(rate) <= self.memory


@dataclass(frozen=True)
class Estimate:
    """Seconds that a run takes, and the interval in which 9 of 10 runs lie."""

    seconds: float
    low: float
    high: float


def measure_rates(runs: Sequence[Run]) -> tuple[Rate, ...]:
    """Return the rate of each number of workers, in ascending order."""
    groups: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.workers].append(run)
    cycles = {workers: [_cycles(run) for run in group] for workers, group in sorted(groups.items())}
    means = {workers: [statistics.fmean(seconds) for seconds in group] for workers, group in cycles.items()}
    # The relative spread of repeated runs, pooled over the numbers of workers.
    deviations = [mean / statistics.fmean(group) - 1 for group in means.values() for mean in group]
    freedom = len(deviations) - len(means)
    spread = math.sqrt(math.fsum(each * each for each in deviations) / freedom) if freedom else 0.0
    rates = []
    for workers, group in cycles.items():
        uncertainty = _student(freedom) * spread * math.sqrt(1 + 1 / len(group))
        rates.append(_rate(groups[workers], group, max(uncertainty, _uncertainty_of_mean(group))))
    return tuple(rates)


def _rate(runs: Sequence[Run], cycles: Sequence[Sequence[float]], uncertainty: float) -> Rate:
    cycle = statistics.fmean(seconds for group in cycles for seconds in group)
    firsts = [_first(shards, cycle) for run in runs for shards in run.by_process.values()]
    starts = [statistics.fmean(shards[0].started for shards in run.by_process.values()) - run.ready for run in runs]
    return Rate(
        workers=runs[0].workers,
        shard=runs[0].shard,
        cycle=cycle,
        uncertainty=uncertainty,
        first=max(statistics.fmean(firsts), cycle),
        spawn=max(statistics.fmean(starts), 0.0),
        finish=statistics.fmean(run.ended - max(shard.stopped for shard in run.shards) for run in runs),
        peak_bytes=max(shard.peak_bytes for run in runs for shard in run.shards),
    )


def _uncertainty_of_mean(cycles: Sequence[Sequence[float]]) -> float:
    """Return the relative uncertainty of the mean of shards, which differ among themselves."""
    seconds = [each for group in cycles for each in group]
    if len(seconds) < 2:
        return 0.0
    return _student(len(seconds) - 1) * statistics.stdev(seconds) / statistics.fmean(seconds) / math.sqrt(len(seconds))


def _student(freedom: int) -> float:
    return _STUDENT[min(max(freedom, 1), len(_STUDENT)) - 1]


def _cycles(run: Run) -> list[float]:
    """Return the seconds of full shards with the pause before them, made while all workers were busy if there are such."""
    workers = run.by_process
    for busy in (BUSY, 0.0):
        cycles = [
            after.stopped - before.stopped
            for process, shards in workers.items()
            # The pause behind the first shard is longer than others.
            for before, after in pairwise(shards[1:] if len(shards) > 2 else shards)
            if after.samples == run.shard and _busy_share(before.stopped, after.stopped, process, workers, run.workers) >= busy
        ]
        if cycles:
            return cycles
    return [shard.seconds * run.shard / shard.samples for shard in run.shards]


def _first(shards: Sequence[ShardMeasures], cycle: float) -> float:
    """Return the seconds of a worker for its first shard and the pause behind it."""
    return shards[1].stopped - shards[0].started - cycle if len(shards) > 1 else shards[0].seconds


def _busy_share(started: float, stopped: float, process: int, workers: dict[int, list[ShardMeasures]], count: int) -> float:
    """Return the share of a time in which the other workers are at work."""
    others = [
        max(0.0, min(stopped, shards[-1].stopped) - max(started, shards[0].started))
        for other, shards in workers.items()
        if other != process
    ]
    return sum(others) / ((count - 1) * (stopped - started)) if count > 1 else 1.0


def estimate(costs: Costs, rate: Rate, samples: int) -> Estimate:
    """Estimate the duration of a command that generates `samples` samples.

    Parameters
    ----------
    costs : Costs
    rate : Rate
        Rate of the workers that make them.
    samples : int
    """
    shards = samples / rate.shard
    workers = min(rate.workers, math.ceil(shards))
    # The only shard of a run is made without workers.
    start = costs.bare + rate.spawn if workers > 1 else costs.program
    once = start + rate.first - rate.cycle + rate.cycle * min(shards, 1.0) + rate.finish
    steady = max(shards / workers - 1.0, 0.0) * rate.cycle
    # At the end, half of the workers wait half a shard on average.
    tail = rate.cycle * (workers - 1) / (2 * workers) if shards > workers else 0.0
    seconds = once + steady + tail
    errors = (rate.uncertainty * (steady + rate.cycle), FLOOR * seconds, START_FLOOR * once, tail)
    relative = math.hypot(*errors) / seconds
    return Estimate(seconds, seconds / (1 + relative), seconds * (1 + relative))


def recommended_workers(costs: Costs, samples: int) -> Rate:
    """Return the rate of the fewest workers that are about as fast as any for which there is memory."""
    fitting = [rate for rate in costs.rates if costs.fits(rate)] or [costs.rates[0]]
    fastest = min(estimate(costs, rate, samples).seconds for rate in fitting)
    return next(rate for rate in fitting if estimate(costs, rate, samples).seconds <= ENOUGH * fastest)


def recommended_shard(costs: Costs, rate: Rate) -> int:
    """Return the shard size: that of the config, or the largest for which there is memory."""
    if costs.fits(rate):
        return rate.shard
    # The memory of a worker grows about in proportion to its shard.
    sizes = list(range(rate.shard - costs.chunk, 0, -costs.chunk))
    fitting = (size for size in sizes if costs.fits(replace(rate, peak_bytes=rate.peak_bytes * size / rate.shard)))
    return next(fitting, costs.chunk)


@dataclass(frozen=True)
class Target:
    """Estimated costs of a dataset.

    Attributes
    ----------
    samples : int
    seconds, seconds_low, seconds_high : float
        With `workers`, and the interval in which 9 of 10 runs lie.
    bytes : int
        On disk.
    workers : int
        Requested number, or the recommended one.
    recommended_workers, recommended_shard : int
        The fewest workers that are about as fast as any for which there is memory, and samples in a shard.
    disk_suffices, memory_suffices : bool
    memory_bytes : int
        Largest memory of all processes together.
    limited_by : str
        What limits the rate: processor, disk write, sync or memory.
    """

    samples: int
    seconds: float
    seconds_low: float
    seconds_high: float
    bytes: int
    workers: int
    recommended_workers: int
    recommended_shard: int
    disk_suffices: bool
    memory_suffices: bool
    memory_bytes: int
    limited_by: str

    def fits(self, budget: float | None) -> bool:
        """Return whether disk and memory suffice and the upper end of the interval is within `budget` seconds."""
        return self.disk_suffices and self.memory_suffices and (budget is None or self.seconds_high <= budget)


def estimate_target(costs: Costs, samples: int, disk_free: int, limited_by: str, *, recommended: bool) -> Target:
    """Estimate a dataset, made by the recommended number of workers or by the largest measured one."""
    best = recommended_workers(costs, samples)
    used: Rate = best if recommended else costs.rates[-1]
    stored, time = round(costs.fixed_bytes + samples * costs.sample_bytes), estimate(costs, used, samples)
    return Target(
        samples=samples,
        seconds=time.seconds,
        seconds_low=time.low,
        seconds_high=time.high,
        bytes=stored,
        workers=used.workers,
        recommended_workers=best.workers,
        recommended_shard=recommended_shard(costs, best),
        disk_suffices=stored + MARGIN <= disk_free,
        memory_suffices=costs.fits(used),
        memory_bytes=round(costs.memory_bytes(used)),
        limited_by=limited_by,
    )


def most_samples(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number of samples, at most `most`, that fits; 0 if not even one does.

    Parameters
    ----------
    fits : callable
        True up to some number of samples, and false above it.
    most : int

    Examples
    --------
    >>> most_samples(lambda samples: samples <= 1234, 10**9), most_samples(lambda samples: False, 10)
    (1234, 0)
    """
    return bisect_left(range(1, most + 1), True, key=lambda samples: not fits(samples))


@dataclass(frozen=True)
class StageTime:
    """Seconds of a stage in a shard: in the worker's main thread, and in the thread that writes in the background."""

    name: str
    seconds: float
    background: float


def usual_shards(runs: Sequence[Run]) -> list[ShardMeasures]:
    """Return the shards that are not the first of their worker; all shards if there are no others."""
    usual = [shard for run in runs for shards in run.by_process.values() for shard in shards[1:]]
    return usual or [shard for run in runs for shard in run.shards]


def mean_seconds(shards: Sequence[ShardMeasures]) -> float:
    """Return the mean duration of a shard."""
    return statistics.fmean(shard.seconds for shard in shards)


def stage_times(shards: Sequence[ShardMeasures]) -> tuple[StageTime, ...]:
    """Return the mean time of each stage in a shard; `rest` is the time outside any stage."""
    main: dict[str, float] = {}
    background: dict[str, float] = {}
    for shard in shards:
        for totals, behind in ((main, False), (background, True)):
            for name, seconds in seconds_by_stage(span for span in shard.spans if span.behind == behind).items():
                totals[name] = totals.get(name, 0.0) + seconds / len(shards)
    main["rest"] = max(mean_seconds(shards) - sum(main.values()), 0.0)
    names = (*STAGES, *sorted({*main} - {*STAGES}))
    return tuple(StageTime(name, main.get(name, 0.0), background.get(name, 0.0)) for name in names)


def limiting_resource(shards: Sequence[ShardMeasures], *, fits_memory: bool) -> str:
    """Return what limits the rate of a run: processor, disk write, sync or memory."""
    if not fits_memory:
        return "memory"
    waited = sum(stage.seconds for stage in stage_times(shards) if stage.name == "sync")
    if waited < BOUND_BY_DISK * mean_seconds(shards):
        return "processor"
    syncs = [span.stop - span.start for shard in shards for span in shard.spans if span.stage == "sync" and span.behind]
    # Most synced files are small: the median is the time of a sync whatever its size.
    by_count = statistics.median(syncs) * len(syncs) if syncs else 0.0
    return "sync" if 2 * by_count > sum(syncs) else "disk write"


def measure_stages(runs: Sequence[Run], *, fits_memory: bool) -> tuple[tuple[StageTime, ...], str]:
    """Return the mean time of each stage in a shard of some runs, and what limits their rate."""
    shards = usual_shards(runs)
    return stage_times(shards), limiting_resource(shards, fits_memory=fits_memory)
