"""A profile as one plain document: what ``posegen profile --json`` prints."""

from __future__ import annotations

from typing import Any

from posegen.generation.profile.figures import machine
from posegen.generation.profile.profile import Profile, Target
from posegen.generation.profile.rates import Level
from posegen.version import __version__

__all__ = ["document", "fits"]


def document(found: Profile, budget: float | None = None) -> dict[str, Any]:
    """Write a profile as plain data; all times are in seconds.

    Parameters
    ----------
    found : Profile
    budget : float, optional
        Seconds that a target may take.
    """
    config, costs, most = found.config, found.costs, found.costs.levels[-1]
    variants = len(config.variants.names)
    return {
        "config": config.name,
        "seed": config.seed,
        "version": __version__,
        "machine": machine(),
        "place": str(found.place),
        "samples": found.samples,
        "repeats": found.repeats,
        "variants": variants,
        "shard": config.store.shard,
        "targets": [_target(found, target, budget) for target in found.targets],
        "budget": budget,
        "stages": _stages(found),
        "shard_seconds": found.shard_seconds,
        "rates": [_rate(level, variants) for level in costs.levels],
        "bytes_per_sample": costs.sample_bytes,
        "peak_memory_per_worker": round(most.peak_bytes),
        "memory": round(costs.memory),
        "disk_free": found.disk_free,
        "cores_of_others": found.others,
    }


def fits(found: Profile, target: Target, budget: float | None) -> bool:
    """Tell whether a target fits: its time the budget, surely, and its bytes the disk and the memory."""
    in_time = budget is None or target.estimate.high <= budget
    return in_time and target.disk_suffices and target.memory_suffices


def _target(found: Profile, target: Target, budget: float | None) -> dict[str, Any]:
    return {
        "samples": target.samples,
        "sequences": target.samples * len(found.config.variants.names),
        "seconds": target.estimate.seconds,
        "seconds_low": target.estimate.low,
        "seconds_high": target.estimate.high,
        "bytes": target.bytes,
        "workers": target.workers,
        "recommended_workers": target.recommended_workers,
        "recommended_shard": target.recommended_shard,
        "disk_suffices": target.disk_suffices,
        "memory_suffices": target.memory_suffices,
        "memory_bytes": target.memory_bytes,
        "binds": target.binds,
        "fits": fits(found, target, budget),
    }


def _stages(found: Profile) -> dict[str, Any]:
    """Each stage of a shard, and the start, which a run pays once."""
    most = found.costs.levels[-1]
    shard = {stage.name: {"per": "shard", "seconds": stage.seconds, "seconds_behind": stage.behind} for stage in found.stages}
    start = {
        "per": "run",
        "seconds": found.costs.bare + most.spawn + most.first - most.cycle,
        "program": found.costs.bare,
        "program_with_kernels": found.costs.program,
        "workers": most.spawn,
        "first_shard": most.first - most.cycle,
        "compiling": found.compile_seconds,
    }
    return {**shard, "start-up": start}


def _rate(level: Level, variants: int) -> dict[str, Any]:
    return {
        "workers": level.workers,
        "samples_per_second": level.samples_per_second,
        "sequences_per_second": variants * level.samples_per_second,
        "peak_memory_per_worker": round(level.peak_bytes),
    }
