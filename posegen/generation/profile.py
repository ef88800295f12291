"""``posegen.profile``: estimate time, memory and disk of a dataset from small runs of ``posegen generate``.

The long-run rate is measured after the first shard of each worker and before its last: in a small run most time is spent on
starting and on idle workers, in a large one almost none.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from posegen.config.load import ConfigSource, load_config
from posegen.config.schema import MOST_SAMPLES, Config
from posegen.dataset.layout import RECEIPTS
from posegen.foundations import machine
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import Progress
from posegen.foundations.wording import counted
from posegen.generation.plan import MARGIN
from posegen.generation.run import default_path
from posegen.generation.session import explain_disk_errors, interruptible

DEFAULT_SAMPLES, DEFAULT_REPEATS = 1000, 3
MOST_REPEATS, MOST_WORKERS = 100, 1024
LEAST_SHARDS = 6
"""Shards of each worker: the first and the last do not count for its rate."""

UNCERTAINTY = 0.1
"""Relative uncertainty beyond the spread of the runs: clocks, caches and disks change within an hour, not within a minute."""


@dataclass(frozen=True)
class Target:
    """Estimated costs of a dataset.

    Attributes
    ----------
    samples : int
    seconds, seconds_low, seconds_high : float
        Duration of the command, and its interval.
    bytes : int
        On disk.
    fits_disk : bool
    """

    samples: int
    seconds: float
    seconds_low: float
    seconds_high: float
    bytes: int
    fits_disk: bool


@dataclass(frozen=True)
class Profile:
    """Measurements, and the estimate for each target.

    Attributes
    ----------
    folder : Path
        Folder on the measured disk.
    samples, workers : int
        Of each measured run.
    startup_seconds, samples_per_second : float
        Means over the runs: what does not depend on the number of samples, and the rate in the long run.
    bytes_per_sample : float
    disk_free : int
        Bytes.
    memory, memory_free : int
        Bytes that all processes together hold, and that they may use.
    targets : tuple of Target
    """

    folder: Path
    samples: int
    workers: int
    startup_seconds: float
    samples_per_second: float
    bytes_per_sample: float
    disk_free: int
    memory: int
    memory_free: int
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Run:
    """Measurements of one run: seconds apart from those at the long-run `rate`, samples a second, bytes, and memory."""

    startup: float
    rate: float
    sample_bytes: float
    fixed_bytes: int
    memory: int


def profile(
    config: Config | ConfigSource,
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
    config : Config, str, Path or mapping
        A config, or what :func:`posegen.load_config` takes.
    samples : int
        Samples of a run. More are made so that each worker has six shards; quotas may allow fewer.
    targets : sequence of int
        Numbers of samples to estimate; by default that of the config.
    workers : int, optional
        Number of processes; by default that of the config, or one for each core.
    repeats : int
        Number of runs.
    out : str or Path, optional
        Folder of the future dataset, whose disk is measured.
    progress : Progress, optional
        Nothing is shown by default.

    Raises
    ------
    UsageError
        If the disk cannot be written, or a number is out of range.
    PosegenError
        If a run fails.
    """
    config = load_config(config)
    targets = tuple(dict.fromkeys(targets)) or (config.samples,)
    _check_numbers(config, samples, targets, workers, repeats)
    progress = progress or Progress()
    parent = _disk_folder(default_path(config) if out is None else Path(out))
    workers = min(workers or config.workers or machine.available_cores(), machine.most_workers())
    samples = max(samples, LEAST_SHARDS * workers * config.store.shard)
    samples = samples if config.quotas is None else min(samples, config.quotas.total)
    with (
        interruptible(),
        explain_disk_errors(parent),
        TemporaryDirectory(prefix=".posegen-profile~", dir=parent, ignore_cleanup_errors=True) as folder,
    ):
        progress.log("starting the program, which compiles kernels the first time")
        _measure(config, 1, 1, Path(folder))
        runs = []
        for number in range(1, repeats + 1):
            progress.log(f"run {number} of {repeats}: {counted(samples, 'sample')}, {counted(workers, 'worker')}")
            runs.append(_measure(config, samples, workers, Path(folder)))
        disk_free = machine.free_disk(Path(folder))
    return _summarise(runs, parent, samples, workers, disk_free, targets)


def _summarise(
    runs: Sequence[Run], folder: Path, samples: int, workers: int, disk_free: int, targets: Sequence[int]
) -> Profile:
    return Profile(
        folder=folder,
        samples=samples,
        workers=workers,
        startup_seconds=statistics.fmean(run.startup for run in runs),
        samples_per_second=statistics.harmonic_mean([run.rate for run in runs]),
        bytes_per_sample=statistics.fmean(run.sample_bytes for run in runs),
        disk_free=disk_free,
        memory=max(run.memory for run in runs),
        memory_free=machine.available_memory().free,
        targets=tuple(estimate(runs, target, disk_free) for target in targets),
    )


def estimate(runs: Sequence[Run], samples: int, disk_free: int) -> Target:
    """Return the costs of a dataset by those of small runs: its interval is from the fastest to the slowest, and beyond."""
    seconds = [run.startup + samples / run.rate for run in runs]
    size = round(runs[-1].fixed_bytes + samples * statistics.fmean(run.sample_bytes for run in runs))
    return Target(
        samples=samples,
        seconds=statistics.fmean(seconds),
        seconds_low=min(seconds) / (1 + UNCERTAINTY),
        seconds_high=max(seconds) * (1 + UNCERTAINTY),
        bytes=size,
        fits_disk=size + MARGIN <= disk_free,
    )


def long_run_rate(ends: Sequence[tuple[float, int]], workers: int) -> float:
    """Return samples per second while all workers were busy, by the time and the samples of each shard.

    Parameters
    ----------
    ends : sequence of (float, int)
        When each shard was complete, in seconds, and its number of samples.
    workers : int

    Examples
    --------
    >>> long_run_rate([(5.0, 10), (5.0, 10), (6.0, 10), (6.0, 10), (7.0, 10), (7.1, 5)], workers=2)
    20.0
    """
    times = sorted(ends)
    first, last = (workers - 1, len(times) - workers - 1) if len(times) > 2 * workers else (0, len(times) - 1)
    made = sum(samples for _, samples in times[first + 1 : last + 1])
    return made / max(times[last][0] - times[first][0], 1e-9)


def _measure(config: Config, samples: int, workers: int, folder: Path) -> Run:
    """Run ``posegen generate`` in `folder`, measure it, and remove its dataset."""
    file, path, before = folder / "config.yaml", folder / "dataset", machine.process_memory()
    file.write_text(json.dumps(config.as_data()), encoding="utf-8")  # JSON is YAML
    # This posegen, whatever the current folder is.
    package = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = [f"--config={file}", f"--samples={samples}", f"--workers={workers}", f"--out={path}", "--json", "--quiet"]
    command = [sys.executable, "-P", "-m", "posegen", "generate", "--part=all", *options]
    began = time.monotonic()
    with machine.PeakMemory() as memory:
        environment = {**os.environ, "PYTHONPATH": package}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode:
        raise PosegenError(f"a run of {samples:,} samples failed: {done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout)
    shard, receipts = config.store.shard, sorted((path / RECEIPTS).iterdir())
    ends = [(file.stat().st_mtime, min(shard, samples - number * shard)) for number, file in enumerate(receipts)]
    # What does not grow with the number of samples.
    fixed = sum(file.stat().st_size for file in path.rglob("*.json") if RECEIPTS not in file.relative_to(path).parts)
    shutil.rmtree(path)
    rate = long_run_rate(ends, workers) if len(ends) > 1 else samples / seconds
    return Run(max(0.0, seconds - samples / rate), rate, (result["bytes"] - fixed) / samples, fixed, memory.peak - before)


def _disk_folder(out: Path) -> Path:
    """Return a folder on the disk of a dataset at `out`; its parent, unless it is the root of another disk."""
    path = Path(os.path.abspath(out))
    parent = next(folder for folder in (*path.parents, path) if folder.is_dir())
    return path if path.is_dir() and path.stat().st_dev != parent.stat().st_dev else parent


def _check_numbers(config: Config, samples: int, targets: Sequence[int], workers: int | None, repeats: int) -> None:
    most = MOST_SAMPLES if config.quotas is None else config.quotas.total
    limits = [("samples", samples, MOST_SAMPLES), ("repeats", repeats, MOST_REPEATS), ("workers", workers or 1, MOST_WORKERS)]
    for name, value, largest in [*limits, *(("a target", target, most) for target in targets)]:
        if not 1 <= value <= largest:
            raise UsageError(f"{name} must be from 1 to {largest:,}, not {value:,}")
