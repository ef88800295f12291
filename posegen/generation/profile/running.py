"""Small runs of the real pipeline, measured: the very function that makes datasets, into a folder that is removed."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from posegen.config.schema import Config
from posegen.dataset.layout import MOTION, RECEIPTS, SEQUENCES
from posegen.errors import PosegenError
from posegen.generation.measures import ShardMeasures
from posegen.generation.profile.load import Load
from posegen.generation.profile.noise import uncertainty
from posegen.generation.profile.rates import Run
from posegen.generation.progress import Reporter
from posegen.generation.run import generate
from posegen.generation.worker import is_compiled, warm_up
from posegen.stopwatch import timing

__all__ = [
    "CommandSeconds",
    "Schedule",
    "command_seconds",
    "compile_seconds",
    "measured_run",
    "other_shard",
    "samples_of",
    "schedule",
    "with_shard",
]

LEAST_SHARDS = 6
"""Shards that each worker makes at least: its first is slower, and while the last are made others are idle. What is left
must be long enough to tell the speed from its noise."""

MOST_COMMANDS = 3


@dataclass(frozen=True)
class Schedule:
    """Which runs are measured.

    Attributes
    ----------
    workers : tuple of int
        Each number of workers that is measured, the fewest first.
    runs : tuple of int
        The workers of each run, in order: those of equal workers are apart, so that what changes meanwhile shows.
    """

    workers: tuple[int, ...]
    runs: tuple[int, ...]


def schedule(most: int, repeats: int) -> Schedule:
    """Plan the runs: one worker and the most as often as asked for, what lies between once; one alone twice as often.

    By how much runs differ is known from those that are repeated, with however many workers: it takes some of them.

    >>> schedule(8, 2)
    Schedule(workers=(1, 2, 4, 8), runs=(1, 2, 4, 8, 1, 8))
    >>> schedule(1, 2)
    Schedule(workers=(1,), runs=(1, 1, 1, 1))
    """
    between = tuple(2**power for power in range(1, 11) if 2**power < most)
    workers = tuple(dict.fromkeys((1, *between, most)))
    ends = tuple(dict.fromkeys((1, most)))
    if most == 1 and repeats > 1:
        return Schedule(workers, ends * (2 * repeats))
    return Schedule(workers, workers + ends * (repeats - 1))


def samples_of(config: Config, samples: int, workers: int) -> int:
    """Tell how many samples a run makes: enough that each worker makes its first shard and some more."""
    enough = max(samples, LEAST_SHARDS * workers * config.store.shard)
    return min(enough, config.quotas.total) if config.quotas is not None else enough


def with_shard(config: Config, shard: int) -> Config:
    """Give the config with another shard size, which changes no sample."""
    return config.model_copy(update={"store": config.store.model_copy(update={"shard": shard})})


def other_shard(config: Config) -> int:
    """Choose a shard size to compare with: half of the config's, or twice where that is a single chunk.

    >>> from posegen import load_config
    >>> other_shard(load_config("default"))
    100
    """
    store = config.store
    return store.shard // 2 // store.chunk * store.chunk or 2 * store.shard


def measured_run(config: Config, samples: int, workers: int, folder: Path) -> Run:
    """Make a dataset in `folder`, take its measure and remove it."""
    shards: list[ShardMeasures] = []
    load, called = Load(), time.monotonic()
    place = folder / "dataset"
    with timing() as spans:
        generate(config, samples=samples_of(config, samples, workers), workers=workers, out=place, measured=shards.append)
    ended = time.monotonic()
    others = load.others()
    fixed, each = _bytes(place)
    shutil.rmtree(place)
    if not shards:
        msg = "nothing was measured: no shard was made"
        raise PosegenError(msg)
    return Run(
        workers=workers,
        shard=config.store.shard,
        called=called,
        ready=next((span.stop for span in spans if span.stage == "start-up"), called),
        ended=ended,
        shards=tuple(shards),
        fixed_bytes=fixed,
        sample_bytes=each / sum(shard.samples for shard in shards),
        others=others,
    )


def _bytes(place: Path) -> tuple[int, int]:
    """Count what a dataset takes on the disk whatever its size, and what its shards take."""
    fixed = shards = 0
    for file in place.rglob("*"):
        if not file.is_file():
            continue
        top = file.relative_to(place).parts[0]
        if top in (SEQUENCES, RECEIPTS) or (top == MOTION and file.name != "zarr.json"):
            shards += file.stat().st_size
        else:
            fixed += file.stat().st_size
    return fixed, shards


def compile_seconds(config: Config, reporter: Reporter) -> float | None:
    """Load the kernels of this process; tell how long it took if they had to be compiled."""
    compiled, started = is_compiled(), time.monotonic()
    warm_up(config, 0, reporter)
    return None if compiled else time.monotonic() - started


class CommandSeconds(NamedTuple):
    """Seconds in the mean of a command that makes one sample, of one that finds it made, and what others may differ by."""

    program: float
    bare: float
    doubt: float


def command_seconds(config: Config, folder: Path, repeats: int) -> CommandSeconds:
    """Time the command that makes one sample: the program's start, its kernels, and its end; and again, when it is made."""
    written = folder / "config.yaml"
    written.write_text(json.dumps(config.as_data()), encoding="utf-8")  # which is YAML, too
    # This very posegen, wherever the user stands.
    path = os.pathsep.join([str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "POSEGEN_PROFILE_CACHE": str(folder / "figures")}
    place = folder / "one"
    options = ["--config", str(written), "--samples", "1", "--workers", "1", "--out", str(place), "--quiet"]
    command = [sys.executable, "-m", "posegen", "generate", *options]
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(min(repeats, MOST_COMMANDS)):
        for which in seconds:
            started = time.monotonic()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            which.append(time.monotonic() - started)
            if done.returncode:
                msg = f"a run of one sample failed: {done.stderr.strip()}"
                raise PosegenError(msg)
        shutil.rmtree(place)
    doubt = max(uncertainty(which) for which in seconds)
    program, bare = (statistics.fmean(which) for which in seconds)
    return CommandSeconds(program, bare, doubt)
