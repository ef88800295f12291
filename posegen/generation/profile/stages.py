"""The stages of a shard: their times, and what limits the rate of a run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from posegen.generation.profile.estimate import Run
from posegen.generation.shard import ShardMeasures
from posegen.stopwatch import seconds_by_stage

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


@dataclass(frozen=True)
class StageTime:
    """Seconds of a stage in a shard: in the worker's main thread, and in the thread that writes in the background."""

    name: str
    seconds: float
    background: float


def usual_shards(runs: Sequence[Run]) -> list[ShardMeasures]:
    """Return the shards that are not the first of their worker; all shards if there are no others."""
    usual = []
    for run in runs:
        firsts: dict[int, ShardMeasures] = {}
        for shard in run.shards:
            firsts[shard.process] = min(firsts.get(shard.process, shard), shard, key=lambda each: each.started)
        usual += [shard for shard in run.shards if shard is not firsts[shard.process]]
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
