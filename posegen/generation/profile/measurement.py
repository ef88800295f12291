"""Measurements for a profile: small runs of the real pipeline and the start of the command, in a temporary folder."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posegen.config.schema import Config
from posegen.dataset.layout import MOTION, RECEIPTS, SEQUENCES
from posegen.dataset.runs import current_run, has_ended
from posegen.errors import PosegenError
from posegen.generation.profile.estimate import Run
from posegen.generation.run import generate
from posegen.generation.session import ignore_interrupts
from posegen.generation.shard import ShardMeasures, is_compiled, warm_up
from posegen.progress import Progress
from posegen.stopwatch import timing

LEAST_SHARDS = 6
"""Shards of each worker: its first one is slow, and during the last ones other workers are idle."""

MOST_COMMANDS = 3
_PREFIX = ".posegen-profile~"


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
        generate(config, samples=run_samples(config, samples, workers), workers=workers, out=path, on_shard=shards.append)
    ended = time.monotonic()
    fixed, stored = _dataset_bytes(path)
    shutil.rmtree(path)
    return Run(
        workers=workers,
        shard=config.store.shard,
        called=called,
        ready=next((span.stop for span in spans if span.stage == "start-up"), called),
        ended=ended,
        shards=tuple(shards),
        fixed_bytes=fixed,
        sample_bytes=stored / sum(shard.samples for shard in shards),
    )


def _dataset_bytes(path: Path) -> tuple[int, int]:
    """Return the bytes of a dataset that do not depend on its size, and those of its shards."""
    fixed = shards = 0
    for file in path.rglob("*"):
        if file.is_file():
            top = file.relative_to(path).parts[0]
            if top in (SEQUENCES, RECEIPTS) or (top == MOTION and file.name != "zarr.json"):
                shards += file.stat().st_size
            else:
                fixed += file.stat().st_size
    return fixed, shards


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
    command = [sys.executable, "-m", "posegen", "generate", *options]
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
                msg = f"a run of one sample failed: {done.stderr.strip()}"
                raise PosegenError(msg)
        shutil.rmtree(path)
    return statistics.fmean(program), statistics.fmean(bare)


def disk_folder(out: Path) -> Path:
    """Return a folder on the disk of a dataset at `out`; its parent, unless it is the root of another disk."""
    path = Path(os.path.abspath(out))
    parent = next(folder for folder in (*path.parents, path) if folder.is_dir())
    return path if path.is_dir() and path.stat().st_dev != parent.stat().st_dev else parent


@contextmanager
def temporary_folder(out: Path) -> Iterator[Path]:
    """Create an empty folder on the disk of `out`, and remove it at the end, with those that killed profiles left beside it.

    Raises
    ------
    OSError
        If it cannot be created.
    """
    parent, run = disk_folder(out), current_run()
    for left in parent.glob(f"{_PREFIX}*"):
        if has_ended(left.name.removeprefix(_PREFIX)) and left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
    folder = parent / f"{_PREFIX}{run}"
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        with ignore_interrupts():
            # A worker that is being stopped may still write: the second time removes what it adds.
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                shutil.rmtree(folder)
