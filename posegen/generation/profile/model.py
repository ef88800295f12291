"""What a run of any size takes, from what small ones took.

A run is: the program's start with the kernels' loading; the workers' start; the first shard of each; all other shards at the
rate of the long run; at the end, workers that find no more shard; and what the run does when all shards are there. Only the
fourth grows with the number of samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from posegen.generation.profile.rates import Level

__all__ = ["Costs", "Estimate", "estimate", "recommended_shard", "recommended_workers"]

FLOOR = 0.07
"""By how much, relatively, a long run may differ from small ones at least: clocks, caches and disks do in an hour what they
do not do in a minute, and no repetition within a minute shows it."""

START_FLOOR = 0.15
"""The same of what is done once: on a quiet machine, starts a minute apart differed by 8 % in the standard deviation."""

ENOUGH = 1.03
"""Fewer workers are as good if the run takes less than that many times as long."""

LARGEST_SHARD_BYTES = 100e6
"""Objects larger than that are no longer quick to fetch or to make again."""


@dataclass(frozen=True)
class Costs:
    """All that an estimate needs.

    Attributes
    ----------
    program, bare : float
        Seconds of a command that makes one sample, and of one that finds it made: where there are workers, they load the
        kernels, and the program that started them does not.
    program_doubt : float
        Seconds by which these may differ in another run.
    levels : tuple of Level
        By the number of workers, the fewest first.
    other : Level or None
        The most workers, at another shard size.
    sample_bytes, fixed_bytes : float
    chunk : int
        That a shard is a multiple of.
    memory : float
        Bytes that may be used, by all processes together.
    parent_bytes : float
        That the parent of the workers holds.
    others : float
        Share of the cores that other processes used meanwhile.
    """

    program: float
    bare: float
    program_doubt: float
    levels: tuple[Level, ...]
    other: Level | None
    sample_bytes: float
    fixed_bytes: float
    chunk: int
    memory: float
    parent_bytes: float
    others: float = 0.0

    def fits(self, level: Level) -> bool:
        """Tell whether memory suffices for so many workers."""
        return self.memory_bytes(level.workers, level.peak_bytes) <= self.memory

    def memory_bytes(self, workers: int, peak_bytes: float) -> float:
        """Bytes that the workers and their parent hold at most; one worker is its own parent."""
        return workers * peak_bytes + (self.parent_bytes if workers > 1 else 0.0)


@dataclass(frozen=True)
class Estimate:
    """How long a run takes, in seconds: in all likelihood, and in 9 of 10 runs at least and at most."""

    seconds: float
    low: float
    high: float


def estimate(costs: Costs, level: Level, samples: int) -> Estimate:
    """Tell how long a run of `samples` takes.

    Parameters
    ----------
    costs : Costs
    level : Level
        The workers to make them with.
    samples : int
    """
    shards = samples / level.shard
    workers = min(level.workers, math.ceil(shards))
    # The only shard of a run is made without workers.
    spawn = level.spawn if workers > 1 else 0.0
    first = (level.first - level.cycle) + level.cycle * min(shards, 1.0)
    steady = max(shards / workers - 1.0, 0.0) * level.cycle
    # How workers stand to each other at the end is chance: on average, half of them wait half a shard.
    tail = level.cycle * (workers - 1) / (2 * workers) if shards > workers else 0.0
    once = (costs.bare if workers > 1 else costs.program) + spawn + first + level.finish
    seconds = once + steady + tail
    doubts = (
        level.doubt(steady + level.cycle) * (steady + level.cycle),
        FLOOR * seconds,
        max(START_FLOOR * once, math.hypot(costs.program_doubt, level.start_doubt)),
        tail,
    )
    # As many times less as more: a run that may take twice as long may take half as long, and none takes no time.
    alone = math.hypot(*doubts) / seconds
    # What others use they may leave to us then, or as much again may be wanted.
    left, more = costs.others / (1 - costs.others), costs.others
    return Estimate(seconds, seconds / (1 + math.hypot(alone, left)), seconds * (1 + math.hypot(alone, more)))


def recommended_workers(costs: Costs, samples: int) -> Level:
    """Choose the fewest workers that are about as quick as any for which memory suffices."""
    fitting = [level for level in costs.levels if costs.fits(level)] or [costs.levels[0]]
    quickest = min(estimate(costs, level, samples).seconds for level in fitting)
    return next(level for level in fitting if estimate(costs, level, samples).seconds <= ENOUGH * quickest)


def recommended_shard(costs: Costs, level: Level, samples: int) -> int:
    """Choose how many samples a shard should have: the present ones, unless others are notably quicker.

    A small shard pays more often for what each shard costs, a large one takes memory and leaves workers idle at the end.
    """
    sizes = [size for size in _sizes(costs.chunk) if size * costs.sample_bytes <= LARGEST_SHARD_BYTES]
    fitting = [(resized(costs, level, size), size) for size in sizes]
    fitting = [(other, size) for other, size in fitting if costs.fits(other)]
    now = estimate(costs, level, samples).seconds
    quickest = min(((estimate(costs, other, samples).seconds, size) for other, size in fitting), default=(now, level.shard))
    # What is quicker by less than these figures are sure of is no reason to change.
    is_better = now > max(ENOUGH, 1 + level.doubt(now)) * quickest[0]
    return quickest[1] if is_better or not costs.fits(level) else level.shard


def resized(costs: Costs, level: Level, size: int) -> Level:
    """Tell what shards of another size would take, on the straight line through the two sizes that were measured."""
    known = [each for each in costs.levels if each.workers == (costs.other.workers if costs.other else -1)]
    share = size / level.shard
    fixed = base = 0.0
    if costs.other is not None and known:
        here, there = known[0], costs.other
        each = (here.cycle - there.cycle) / (here.shard - there.shard)
        fixed = min(max(here.cycle - each * here.shard, 0.0), here.cycle)
        bytes_each = (here.peak_bytes - there.peak_bytes) / (here.shard - there.shard)
        base = min(max(here.peak_bytes - bytes_each * here.shard, 0.0), here.peak_bytes)
    cycle = min(fixed, level.cycle) * (1 - share) + level.cycle * share
    first, peak_bytes = level.first - level.cycle + cycle, base + (level.peak_bytes - base) * share
    return replace(level, shard=size, cycle=cycle, first=first, peak_bytes=peak_bytes)


def _sizes(chunk: int) -> Sequence[int]:
    return [chunk * times for times in (1, 2, 5, 10, 20, 50, 100)]
