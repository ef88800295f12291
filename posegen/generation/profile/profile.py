"""``posegen.profile``: estimate time, memory and disk of a dataset from small runs of the real pipeline."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posegen import __version__
from posegen.config.schema import MOST_SAMPLES, Config
from posegen.errors import UsageError
from posegen.generation.plan import MARGIN
from posegen.generation.profile.estimate import (
    Costs,
    Estimate,
    Rate,
    Run,
    estimate,
    measure_rates,
    recommended_shard,
    recommended_workers,
)
from posegen.generation.profile.measurement import (
    command_seconds,
    compile_seconds,
    disk_folder,
    measure_run,
    run_samples,
    schedule,
    temporary_folder,
)
from posegen.generation.profile.stages import StageTime, limiting_resource, mean_seconds, stage_times, usual_shards
from posegen.generation.run import default_path
from posegen.generation.session import explain_disk_errors, interruptible
from posegen.machine import available_cores, available_memory, free_disk, process_memory
from posegen.progress import Progress

DEFAULT_SAMPLES, DEFAULT_REPEATS = 1000, 5
MOST_REPEATS, MOST_WORKERS = 100, 1024


@dataclass(frozen=True)
class Target:
    """Estimated costs of a dataset.

    Attributes
    ----------
    samples : int
    estimate : Estimate
        Seconds with `workers`.
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
    estimate: Estimate
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
        return self.disk_suffices and self.memory_suffices and (budget is None or self.estimate.high <= budget)


@dataclass(frozen=True)
class Profile:
    """Measurements, and the estimate for each target.

    Attributes
    ----------
    config : Config
    folder : Path
        Folder on the measured disk.
    samples, repeats : int
        As requested.
    costs : Costs
    compile_seconds : float or None
        Duration of compiling; None if the kernels were compiled before.
    stages : tuple of StageTime
        Of a shard, with the most workers.
    shard_seconds : float
        Duration of a shard with the most workers.
    run : Run
        The last run with the most workers.
    disk_free : int
        Bytes.
    targets : tuple of Target
    """

    config: Config
    folder: Path
    samples: int
    repeats: int
    costs: Costs
    compile_seconds: float | None
    stages: tuple[StageTime, ...]
    shard_seconds: float
    run: Run
    disk_free: int
    targets: tuple[Target, ...]

    @property
    def startup(self) -> dict[str, float]:
        """Seconds of the start of a run by part: the program, its workers, and the longer duration of their first shards."""
        rate, costs = self.costs.rates[-1], self.costs
        program = costs.bare if rate.workers > 1 else costs.program
        return {"program": program, "workers": rate.spawn, "first_shard": rate.first - rate.cycle}

    def to_dict(self, budget: float | None = None) -> dict[str, Any]:
        """Return the profile as plain data, all times in seconds: the output of ``posegen profile --json``.

        Parameters
        ----------
        budget : float, optional
            Seconds that a target may take.
        """
        variants, stages = len(self.config.variants.names), {}
        for stage in self.stages:
            stages[stage.name] = {"per": "shard", "seconds": stage.seconds, "background_seconds": stage.background}
        startup = {"per": "run", "seconds": sum(self.startup.values()), **self.startup, "compiling": self.compile_seconds}
        return {
            "config": self.config.name,
            "seed": self.config.seed,
            "version": __version__,
            "machine": _machine(),
            "folder": str(self.folder),
            "samples": self.samples,
            "repeats": self.repeats,
            "variants": variants,
            "shard": self.config.store.shard,
            "targets": [_target_data(target, variants, budget) for target in self.targets],
            "budget": budget,
            "stages": {**stages, "start-up": startup},
            "shard_seconds": self.shard_seconds,
            "rates": [
                {
                    "workers": rate.workers,
                    "samples_per_second": rate.samples_per_second,
                    "sequences_per_second": variants * rate.samples_per_second,
                    "peak_memory_per_worker": round(rate.peak_bytes),
                }
                for rate in self.costs.rates
            ],
            "bytes_per_sample": self.costs.sample_bytes,
            "peak_memory_per_worker": round(self.costs.rates[-1].peak_bytes),
            "memory": round(self.costs.memory),
            "disk_free": self.disk_free,
        }


def profile(
    config: Config,
    *,
    samples: int = DEFAULT_SAMPLES,
    targets: Sequence[int] = (),
    workers: int | None = None,
    repeats: int = DEFAULT_REPEATS,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Profile:
    """Estimate the costs of a dataset: generate small ones, several times, in a folder that is removed.

    Parameters
    ----------
    config : Config
    samples : int
        Samples of a run. More are made so that each worker has six shards; quotas may allow fewer.
    targets : sequence of int
        Numbers of samples to estimate; by default that of the config.
    workers : int, optional
        Largest number of processes; by default that of the config, or one for each core.
    repeats : int
        Number of runs with one worker, and with the most.
    out : str or Path, optional
        Folder of the future dataset, whose disk is measured.
    progress : Progress, optional
        Nothing is shown by default.

    Returns
    -------
    Profile

    Raises
    ------
    UsageError
        If the disk cannot be written, or a number is out of range.
    PosegenError
        If a run fails.
    KeyboardInterrupt
        On Ctrl-C or SIGTERM. Nothing is left on the disk.
    """
    targets = tuple(dict.fromkeys(targets)) or (config.samples,)
    _check_numbers(config, samples, targets, workers, repeats)
    path, requested = default_path(config) if out is None else Path(out), workers or config.workers
    progress = progress or Progress()
    with interruptible(), explain_disk_errors(disk_folder(path)), temporary_folder(path) as folder:
        compiling = compile_seconds(config, progress)
        runs = []
        for count in schedule(requested or available_cores(), repeats):
            made = run_samples(config, samples, count)
            progress.log(f"measuring {made:,} samples in shards of {config.store.shard} with {count} worker{'s' * (count > 1)}")
            runs.append(measure_run(config, samples, count, folder))
        progress.log("measuring the start of the program")
        program, bare = command_seconds(config, folder, repeats)
        disk_free = free_disk(folder)
    rates = measure_rates(runs)
    costs = Costs(
        program=program,
        bare=bare,
        rates=rates,
        sample_bytes=sum(run.sample_bytes for run in runs) / len(runs),
        fixed_bytes=runs[-1].fixed_bytes,
        chunk=config.store.chunk,
        memory=available_memory().free + process_memory(),
        parent_bytes=process_memory(),
    )
    largest = [run for run in runs if run.workers == rates[-1].workers]
    shards = usual_shards(largest)
    limited_by = limiting_resource(shards, fits_memory=costs.fits(rates[-1]))
    return Profile(
        config=config,
        folder=folder.parent,
        samples=samples,
        repeats=repeats,
        costs=costs,
        compile_seconds=compiling,
        stages=stage_times(shards),
        shard_seconds=mean_seconds(shards),
        run=largest[-1],
        disk_free=disk_free,
        targets=tuple(_target(costs, target, requested, disk_free, limited_by) for target in targets),
    )


def _check_numbers(config: Config, samples: int, targets: Sequence[int], workers: int | None, repeats: int) -> None:
    most = MOST_SAMPLES if config.quotas is None else config.quotas.total
    limits = [("samples", samples, MOST_SAMPLES), ("repeats", repeats, MOST_REPEATS)]
    limits += [("a target", target, most) for target in targets]
    limits += [] if workers is None else [("workers", workers, MOST_WORKERS)]
    for name, value, largest in limits:
        if not 1 <= value <= largest:
            msg = f"{name} must be from 1 to {largest:,}, not {value:,}"
            raise UsageError(msg)


def _target(costs: Costs, samples: int, requested: int | None, disk_free: int, limited_by: str) -> Target:
    best = recommended_workers(costs, samples)
    used: Rate = best if requested is None else costs.rates[-1]
    stored = round(costs.fixed_bytes + samples * costs.sample_bytes)
    return Target(
        samples=samples,
        estimate=estimate(costs, used, samples),
        bytes=stored,
        workers=used.workers,
        recommended_workers=best.workers,
        recommended_shard=recommended_shard(costs, best),
        disk_suffices=stored + MARGIN <= disk_free,
        memory_suffices=costs.fits(used),
        memory_bytes=round(costs.memory_bytes(used)),
        limited_by=limited_by,
    )


def _target_data(target: Target, variants: int, budget: float | None) -> dict[str, Any]:
    data = asdict(target)
    times: dict[str, float] = data.pop("estimate")
    seconds = {"seconds": times["seconds"], "seconds_low": times["low"], "seconds_high": times["high"]}
    return data | seconds | {"sequences": target.samples * variants, "fits": target.fits(budget)}


def _machine() -> dict[str, Any]:
    """Describe this machine."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    return {"name": platform.node(), "processor": processor, "cores": available_cores(), "python": platform.python_version()}
