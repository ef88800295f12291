"""From what was measured of each shard to how long a shard takes: when a worker is new, and in the long run.

The first shard of a worker loads the program and the kernels, and the last ones of a run leave other workers idle. In a small
run these are most of the shards, in a large one nearly none: so what a shard takes in the long run is measured on the others
only, with what lies between two shards of a worker.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.noise import Noise, Stretch, of_stretches, uncertainty

__all__ = ["Level", "Run", "levels_of"]

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
    measured : float
        Seconds that the shards took from which `cycle` is known.
    noise : Noise
        Of the machine, by all runs with whatever workers.
    first : float
        That a worker takes for its first shard, and to settle behind it.
    spawn : float
        From the kernels' being loaded until a worker begins.
    start_doubt : float
        By how much these two together may differ in another run, in 9 of 10.
    finish : float
        From the last shard's end to the run's.
    peak_bytes : float
        The most memory that a worker held.
    """

    workers: int
    shard: int
    cycle: float
    measured: float
    noise: Noise
    first: float
    spawn: float
    start_doubt: float
    finish: float
    peak_bytes: float

    @property
    def samples_per_second(self) -> float:
        """In the long run."""
        return self.workers * self.shard / self.cycle

    def doubt(self, seconds: float) -> float:
        """Tell by how much, relatively, shards that take so many seconds in all may differ from `cycle`, in 9 of 10 runs."""
        return self.noise.doubt(self.measured, max(seconds, self.cycle))


def levels_of(runs: Sequence[Run]) -> tuple[Level, ...]:
    """Put runs with the same workers together, the fewest workers first."""
    by_workers: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        by_workers[run.workers].append(run)
    stretches = {workers: [_stretch(run) for run in alike] for workers, alike in sorted(by_workers.items())}
    noise = of_stretches([*stretches.values()])
    return tuple(_level(by_workers[workers], alike, noise) for workers, alike in stretches.items())


def _level(runs: Sequence[Run], stretches: Sequence[Stretch], noise: Noise) -> Level:
    cycle = statistics.fmean(seconds for stretch in stretches for seconds in stretch.cycles)
    firsts = [statistics.fmean(shard.seconds for shard in _first_shards(run)) + _settling(run) for run in runs]
    waits = [max(statistics.fmean(shard.started for shard in _first_shards(run)) - run.ready, 0.0) for run in runs]
    return Level(
        workers=runs[0].workers,
        shard=runs[0].shard,
        cycle=cycle,
        measured=sum(stretch.seconds for stretch in stretches),
        noise=noise,
        first=max(statistics.fmean(firsts), cycle),
        spawn=statistics.fmean(waits),
        start_doubt=uncertainty([first + wait for first, wait in zip(firsts, waits, strict=True)]),
        finish=statistics.fmean(run.ended - max(shard.stopped for shard in run.shards) for run in runs),
        peak_bytes=max(shard.peak_bytes for run in runs for shard in run.shards),
    )


def _stretch(run: Run) -> Stretch:
    return Stretch(tuple(_cycles(run)), run.workers)


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
