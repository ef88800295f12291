"""From what was measured of each shard to how long a shard takes: when a worker is new, and in the long run.

The first shard of a worker loads the program and the kernels, and the last ones of a run leave other workers idle. In a small
run these are most of the shards, in a large one nearly none: so what a shard takes in the long run is measured on the others
only, with what lies between two shards of a worker.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from posegen.generation.measures import ShardMeasures

__all__ = ["Level", "Run", "level"]

BUSY = 0.9
"""Share of a shard's time in which all other workers must be at work, too."""


@dataclass(frozen=True)
class Run:
    """One run of the pipeline, as it was measured.

    Attributes
    ----------
    workers : int
        That worked at once.
    shard : int
        Samples in a full shard.
    called, ready, ended : float
        Of the monotonic clock: when the run was asked for, when its kernels were loaded, when it was over.
    shards : tuple of ShardMeasures
    fixed_bytes, sample_bytes : float
        On disk, whatever the number of samples, and for each.
    others : float
        Cores that other processes used meanwhile.
    """

    workers: int
    shard: int
    called: float
    ready: float
    ended: float
    shards: tuple[ShardMeasures, ...]
    fixed_bytes: float
    sample_bytes: float
    others: float


@dataclass(frozen=True)
class Level:
    """What all runs with the same workers have in common; seconds.

    Attributes
    ----------
    workers, shard : int
        As for :class:`Run`.
    cycle : float
        That a worker takes for a full shard in the long run.
    doubt : float
        Of the cycle, by which it may be off for another run, in 9 of 10 runs, as far as these runs tell.
    first : float
        That a worker takes for its first shard, and to settle behind it.
    spawn : float
        From the kernels' being loaded until a worker begins.
    finish : float
        From the last shard's end to the run's.
    peak_bytes : float
        The most memory that a worker held.
    """

    workers: int
    shard: int
    cycle: float
    doubt: float
    first: float
    spawn: float
    finish: float
    peak_bytes: float

    @property
    def samples_per_second(self) -> float:
        """In the long run."""
        return self.workers * self.shard / self.cycle


def level(runs: Sequence[Run]) -> Level:
    """Put runs with the same workers together."""
    cycles = [[*_cycles(run)] for run in runs]
    cycle = statistics.fmean(seconds for run in cycles for seconds in run)
    firsts = [shard.seconds for run in runs for shard in _first_shards(run)]
    waits = [shard.started - run.ready for run in runs for shard in _first_shards(run)]
    return Level(
        workers=runs[0].workers,
        shard=runs[0].shard,
        cycle=cycle,
        doubt=_doubt(cycles),
        first=max(statistics.fmean(firsts) + statistics.fmean(map(_settling, runs)), cycle),
        spawn=max(statistics.fmean(waits), 0.0),
        finish=statistics.fmean(run.ended - max(shard.stopped for shard in run.shards) for run in runs),
        peak_bytes=max(shard.peak_bytes for run in runs for shard in run.shards),
    )


def _first_shards(run: Run) -> list[ShardMeasures]:
    return [shards[0] for shards in _by_process(run).values()]


def _by_process(run: Run) -> dict[int, list[ShardMeasures]]:
    made: dict[int, list[ShardMeasures]] = defaultdict(list)
    for shard in sorted(run.shards, key=lambda shard: shard.started):
        made[shard.process].append(shard)
    return made


def _cycles(run: Run) -> list[float]:
    """Seconds for a full shard: of those made while all were at work; if there are none, of what there is."""
    made = _by_process(run)
    gap = _gap(made)
    for busy in (BUSY, 0.0):
        cycles = [
            shard.seconds + gap
            for process, shards in made.items()
            for shard in shards[1:]
            if shard.samples == run.shard and _busy_share(shard, process, made, run) >= busy
        ]
        if cycles:
            return cycles
    return [shard.seconds * run.shard / shard.samples for shard in run.shards]


def _gap(made: dict[int, list[ShardMeasures]]) -> float:
    """Seconds between the shards of a worker; behind its first one, there are others, once."""
    gaps = [after.started - before.stopped for shards in made.values() for before, after in pairwise(shards[1:])]
    return statistics.median(gaps) if gaps else 0.0


def _settling(run: Run) -> float:
    """Seconds that a worker takes behind its first shard, more than behind others."""
    made = _by_process(run)
    gaps = [shards[1].started - shards[0].stopped for shards in made.values() if len(shards) > 1]
    return max(statistics.median(gaps) - _gap(made), 0.0) if gaps else 0.0


def _busy_share(shard: ShardMeasures, process: int, made: dict[int, list[ShardMeasures]], run: Run) -> float:
    """Share of a shard's time in which the other workers are at work."""
    others = [
        max(0.0, min(shard.stopped, shards[-1].stopped) - max(shard.started, shards[0].started))
        for other, shards in made.items()
        if other != process
    ]
    return sum(others) / ((run.workers - 1) * shard.seconds) if run.workers > 1 else 1.0


def _doubt(cycles: Sequence[Sequence[float]]) -> float:
    """Estimate by how much, relatively, the mean cycle of another long run may differ from that of these runs.

    Shards differ within a run, and runs from each other; a long run averages the former away, never the latter. A t-interval
    of 90 % of each, with the variance between runs as one-way analysis of variance has it.
    """
    everything = [seconds for run in cycles for seconds in run]
    mean, count = statistics.fmean(everything), len(everything)
    within = _variance([seconds - statistics.fmean(run) for run in cycles for seconds in run], count - len(cycles))
    means = [statistics.fmean(run) for run in cycles]
    shards = count / len(cycles)
    between = max(_variance([each - statistics.fmean(means) for each in means], len(means) - 1) - within / shards, 0.0)
    by_shards = student(count - len(cycles)) * math.sqrt(within / count)
    by_runs = student(len(means) - 1) * math.sqrt(between * (1 + 1 / len(means)))
    return math.hypot(by_shards, by_runs) / mean


def _variance(deviations: Sequence[float], freedom: int) -> float:
    return sum(each * each for each in deviations) / freedom if freedom > 0 else 0.0


_STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81)


def student(freedom: int) -> float:
    """Quantile of Student's t that 90 % of its values lie within, either way.

    >>> student(2), student(10), round(student(30), 2)
    (2.92, 1.81, 1.7)
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[max(freedom, 1) - 1]
    # From the normal quantile 1.645 on, the first term of Cornish and Fisher's expansion.
    return 1.645 + (1.645**3 + 1.645) / (4 * freedom)
