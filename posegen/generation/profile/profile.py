"""``posegen.profile``: estimate time, memory and disk of a dataset from small runs of the real pipeline."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from posegen import __version__
from posegen.config.schema import MOST_SAMPLES, Config
from posegen.dataset.layout import RECEIPTS
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import available_cores, available_memory, free_disk, most_workers, process_memory
from posegen.foundations.progress import Progress
from posegen.foundations.stopwatch import timing
from posegen.generation.profile.estimate import Costs, Run, StageTime, Target, estimate_target, measure_rates, measure_stages
from posegen.generation.run import default_path, generate
from posegen.generation.session import disk_folder, explain_disk_errors, interruptible, temporary_folder
from posegen.generation.shard import ShardMeasures, is_compiled, warm_up

DEFAULT_SAMPLES, DEFAULT_REPEATS = 1000, 5
MOST_REPEATS, MOST_WORKERS = 100, 1024
LEAST_SHARDS = 6
"""Shards of each worker: its first one is slow, and during the last ones other workers are idle."""

MOST_COMMANDS = 3


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
    run : Run
        The last run with the most workers.
    disk_free : int
        Bytes.
    limited_by : str
        What limits the rate.
    recommended : bool
        Whether the number of workers is the recommended one, because none was requested.
    targets : tuple of Target
    """

    config: Config
    folder: Path
    samples: int
    repeats: int
    costs: Costs
    compile_seconds: float | None
    stages: tuple[StageTime, ...]
    run: Run
    disk_free: int
    limited_by: str
    recommended: bool
    targets: tuple[Target, ...] = ()

    def estimate(self, samples: int) -> Target:
        """Estimate a dataset of another number of samples."""
        return estimate_target(self.costs, samples, self.disk_free, self.limited_by, recommended=self.recommended)

    @property
    def shard_seconds(self) -> float:
        """Duration of a shard with the most workers."""
        return sum(stage.seconds for stage in self.stages)

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
            "targets": [
                asdict(target) | {"sequences": target.samples * variants, "fits": target.fits(budget)}
                for target in self.targets
            ],
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
        for count in schedule(min(requested or available_cores(), most_workers()), repeats):
            made = run_samples(config, samples, count)
            progress.log(f"measuring {made:,} samples in shards of {config.store.shard} with {count} worker{'s' * (count > 1)}")
            runs.append(measure_run(config, samples, count, folder))
        progress.log("measuring the start of the program")
        costs = Costs(
            *command_seconds(config, folder, repeats),
            rates=measure_rates(runs),
            sample_bytes=sum(run.sample_bytes for run in runs) / len(runs),
            fixed_bytes=runs[-1].fixed_bytes,
            chunk=config.store.chunk,
            memory=available_memory().free + process_memory(),
            parent_bytes=process_memory(),
        )
        disk_free = free_disk(folder)
    largest = [run for run in runs if run.workers == costs.rates[-1].workers]
    stages, limited_by = measure_stages(largest, fits_memory=costs.fits(costs.rates[-1]))
    found = Profile(
        config=config,
        folder=folder.parent,
        samples=samples,
        repeats=repeats,
        costs=costs,
        compile_seconds=compiling,
        stages=stages,
        run=largest[-1],
        disk_free=disk_free,
        limited_by=limited_by,
        recommended=requested is None,
    )
    return replace(found, targets=tuple(map(found.estimate, targets)))


def schedule(most: int, repeats: int) -> tuple[int, ...]:
    """Return the number of workers of each run: 1 and `most` are repeated, numbers between are run once.

    Equal numbers are not adjacent, so that changes of the machine's speed show. One worker alone is repeated twice as often.

    Examples
    --------
    >>> schedule(8, 2), schedule(1, 2)
    ((1, 2, 4, 8, 1, 8), (1, 1, 1, 1))
    """
    if most == 1:
        return (1,) * (2 * repeats if repeats > 1 else 1)
    between = tuple(2**power for power in range(1, 11) if 2**power < most)
    return (1, *between, most) + (1, most) * (repeats - 1)


def run_samples(config: Config, samples: int, workers: int) -> int:
    """Return the number of samples of a run: at least six shards per worker, at most those of the quotas."""
    enough = max(samples, LEAST_SHARDS * workers * config.store.shard)
    return min(enough, config.quotas.total) if config.quotas is not None else enough


def measure_run(config: Config, samples: int, workers: int, folder: Path) -> Run:
    """Generate a dataset in `folder`, measure it and remove it."""
    shards: list[ShardMeasures] = []
    path, called = folder / "dataset", time.monotonic()
    with timing() as spans:
        count = run_samples(config, samples, workers)
        result = generate(config, samples=count, workers=workers, out=path, on_shard=shards.append)
    ended = time.monotonic()
    # What does not grow with the number of samples.
    fixed = sum(file.stat().st_size for file in path.rglob("*.json") if RECEIPTS not in file.relative_to(path).parts)
    shutil.rmtree(path)
    return Run(
        workers=workers,
        shard=config.store.shard,
        called=called,
        ready=next((span.stop for span in spans if span.stage == "start-up"), called),
        ended=ended,
        shards=tuple(shards),
        fixed_bytes=fixed,
        sample_bytes=(result.bytes - fixed) / result.samples,
    )


def compile_seconds(config: Config, progress: Progress) -> float | None:
    """Load the kernels, and return the seconds that took if they had to be compiled."""
    compiled, started = is_compiled(), time.monotonic()
    warm_up(config, 0, progress)
    return None if compiled else time.monotonic() - started


def command_seconds(config: Config, folder: Path, repeats: int) -> tuple[float, float]:
    """Return the mean seconds of a command that makes one sample, and of one that finds it made."""
    file, path = folder / "config.yaml", folder / "one"
    file.write_text(json.dumps(config.as_data()), encoding="utf-8")  # JSON is YAML
    # This posegen, whatever the current folder is.
    package = os.pathsep.join([str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ["--config", str(file), "--samples", "1", "--workers", "1", "--out", str(path), "--quiet"]
    command = [sys.executable, "-P", "-m", "posegen", "generate", *options]
    program: list[float] = []
    bare: list[float] = []
    for _ in range(min(repeats, MOST_COMMANDS)):
        for seconds in (program, bare):
            started = time.monotonic()
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": package}, capture_output=True, text=True, check=False
            )
            seconds.append(time.monotonic() - started)
            if done.returncode:
                raise PosegenError(f"a run of one sample failed: {done.stderr.strip()}")
        shutil.rmtree(path)
    return statistics.fmean(program), statistics.fmean(bare)


def _check_numbers(config: Config, samples: int, targets: Sequence[int], workers: int | None, repeats: int) -> None:
    most = MOST_SAMPLES if config.quotas is None else config.quotas.total
    limits = [("samples", samples, MOST_SAMPLES), ("repeats", repeats, MOST_REPEATS)]
    limits += [("a target", target, most) for target in targets]
    limits += [] if workers is None else [("workers", workers, MOST_WORKERS)]
    for name, value, largest in limits:
        if not 1 <= value <= largest:
            raise UsageError(f"{name} must be from 1 to {largest:,}, not {value:,}")


def _machine() -> dict[str, Any]:
    """Describe this machine."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    return {"name": platform.node(), "processor": processor, "cores": available_cores(), "python": platform.python_version()}
