"""Killed at random steps and run again with other numbers of processes that load, a run ends with the same weights."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen

KILLS = 10
STEPS = 80
SETTINGS = (f"steps={STEPS}", "batch=16", "checks.times=4", "checks.clips=64", "saving.steps=5")
FIXED = ("machine.micro_batch=8", "machine.threads=1", "machine.precision=32-true")
WORKERS = (0, 2, 1)


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", "200")
    whole = _command(dataset, folder / "whole", 0)
    subprocess.run(whole, cwd=ROOT, check=True)
    killed, steps = folder / "killed", []
    moments = random.Random(4)
    for number in range(KILLS):
        # Two kills and more in one run: each goes on where the last one was killed.
        wanted = (number + 1) * STEPS // (KILLS + 1) + moments.randrange(-3, 4)
        steps.append(
            _killed(_command(dataset, killed, WORKERS[number % len(WORKERS)]), killed, wanted, moments.uniform(0, 0.3))
        )
    subprocess.run(_command(dataset, killed, 1), cwd=ROOT, check=True)
    name = f"checkpoints/{STEPS:08d}.safetensors"
    equal = (folder / "whole" / name).read_bytes() == (killed / name).read_bytes()
    told = f"{'equal' if equal else 'other'} weights, averages and optimiser; last checkpoints {', '.join(map(str, steps))}"
    workers = "0, 2 and 1 processes that load in turns"
    yield Figure(f"one run killed {KILLS} times, with {workers}", told, "equal", equal)


def _command(dataset: Path, run: Path, workers: int) -> list[str]:
    settings = [f"--set={setting}" for setting in (*SETTINGS, *FIXED, f"machine.workers={workers}")]
    return posegen("train", str(dataset), "--task", "action", "--quiet", "--out", str(run), *settings)


def _killed(command: list[str], run: Path, step: int, moment: float) -> int:
    """Kill a run and its children some time after a checkpoint of at least this step; tell which was the last one."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        while process.poll() is None and _last(run) < step:
            time.sleep(0.005)
        time.sleep(moment)
        for one in [*psutil.Process(process.pid).children(recursive=True), process]:
            one.kill()
    return _last(run)


def _last(run: Path) -> int:
    return max((int(path.stem) for path in (run / "checkpoints").glob("*.json")), default=0)
