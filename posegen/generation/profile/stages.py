"""Where the time of a shard goes, and what a run is bound by."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.rates import Run
from posegen.stopwatch import seconds_by_stage

__all__ = ["STAGES", "StageTime", "binding", "shard_seconds", "stage_times", "usual_shards"]

STAGES = {
    "plan": "who does what when",
    "motion": "joints, where a variant moves differently",
    "variants": "copies, shifted or mirrored",
    "checks": "statements held against the joints",
    "captions": "sentences, segments and rows",
    "attempt": "else of making samples",
    "fields": "arrays beside the motion",
    "encode": "compressing, Parquet",
    "hash": "of content and of bytes",
    "write": "handing bytes to the system",
    "sync": "waiting until the disk has them",
    "rest": "else of a shard",
}
"""The stages of a shard, with what they are."""

BOUND_BY_DISK = 0.35
"""Share of a worker's time that it waits for the disk, from which on the disk binds."""


@dataclass(frozen=True)
class StageTime:
    """Seconds of a stage in a shard: those that the worker spends on it, and those that pass behind its work."""

    name: str
    seconds: float
    behind: float


def usual_shards(runs: Sequence[Run]) -> list[ShardMeasures]:
    """Take the shards that are not the first of their workers; all, where there are no others."""
    usual = []
    for run in runs:
        firsts: dict[int, ShardMeasures] = {}
        for shard in run.shards:
            firsts[shard.process] = min(firsts.get(shard.process, shard), shard, key=lambda each: each.started)
        usual += [shard for shard in run.shards if shard is not firsts[shard.process]]
    return usual or [shard for run in runs for shard in run.shards]


def shard_seconds(shards: Sequence[ShardMeasures]) -> float:
    """How long a shard takes, in the mean."""
    return statistics.fmean(shard.seconds for shard in shards)


def stage_times(shards: Sequence[ShardMeasures]) -> tuple[StageTime, ...]:
    """Divide what a shard takes, in the mean, by stages; `rest` is what no stage tells of."""
    own: dict[str, float] = {}
    behind: dict[str, float] = {}
    for shard in shards:
        for seconds, is_behind in ((own, False), (behind, True)):
            for name, spent in seconds_by_stage(span for span in shard.spans if span.behind == is_behind).items():
                seconds[name] = seconds.get(name, 0.0) + spent / len(shards)
    own["rest"] = max(shard_seconds(shards) - sum(own.values()), 0.0)
    return tuple(StageTime(name, own.get(name, 0.0), behind.get(name, 0.0)) for name in (*STAGES, *sorted({*own} - {*STAGES})))


def binding(shards: Sequence[ShardMeasures], fits_memory: bool) -> str:
    """Say what keeps a run from being faster: processor, disk write, sync or memory."""
    if not fits_memory:
        return "memory"
    waited = sum(stage.seconds for stage in stage_times(shards) if stage.name == "sync")
    if waited < BOUND_BY_DISK * shard_seconds(shards):
        return "processor"
    syncs = [span.stop - span.start for shard in shards for span in shard.spans if span.stage == "sync" and span.behind]
    # Most of what is synced is small: the median is what a sync takes whatever there is to write.
    by_number = statistics.median(syncs) * len(syncs) if syncs else 0.0
    return "sync" if 2 * by_number > sum(syncs) else "disk write"
