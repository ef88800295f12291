"""Equality of datasets that were killed at random moments and resumed, or extended, with undisturbed ones."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.datasets import differences, generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen

KILLS = 10
RUN = ("--samples", "400", "--workers", "2", "--set", "store.shard=20", "--set", "store.chunk=20")
SHARDS = 20
POLL = 0.002


def measure(folder: Path) -> Iterator[Figure]:
    whole = generate(folder / "whole", *RUN)
    moments = random.Random(2)  # a fixed seed
    unequal, receipts = [], []
    for number in range(KILLS):
        path = folder / "killed"
        # Counted from a complete shard, because the start takes longer than all shards.
        shards, moment = moments.randrange(SHARDS - 1), moments.uniform(0.0, 0.15)
        _run_and_kill(path, shards, moment)
        receipts.append(_complete(path))
        generate(path, *RUN)
        unequal += [f"kill {number}, {moment:.3f} s after shard {shards}: {found}" for found in differences(whole, path)]
        shutil.rmtree(path)
    value = f"{KILLS - len(unequal)} equal, killed with {', '.join(map(str, sorted(receipts)))} of {SHARDS} shards complete"
    yield Figure(f"killed at {KILLS} random moments and resumed", value, f"{KILLS} equal", not unequal, unequal)
    yield from _extensions(folder)


def _extensions(folder: Path) -> Iterator[Figure]:
    fresh = generate(folder / "fresh", "--samples", "400", "--workers", "2")
    for first in ("200", "250"):
        path = generate(folder / first, "--samples", first, "--workers", "2")
        generate(path, "--samples", "400", "--workers", "2")
        found = differences(fresh, path)
        yield Figure(f"400 samples after {first}, compared with a fresh 400", ", ".join(found) or "equal", "equal", not found)


def _complete(path: Path) -> int:
    return len(list((path / "receipts").glob("[0-9]*.json")))


def _run_and_kill(path: Path, shards: int, moment: float) -> None:
    """Start the run, and kill it with all its workers `moment` seconds after a number of shards is complete."""
    with subprocess.Popen(posegen("generate", "--quiet", "--out", path, *RUN), cwd=ROOT, stderr=subprocess.DEVNULL) as run:
        while run.poll() is None and _complete(path) < shards:
            time.sleep(POLL)
        with suppress(subprocess.TimeoutExpired):
            run.wait(moment)
        if run.poll() is None:
            family = psutil.Process(run.pid)
            for process in [family, *family.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
