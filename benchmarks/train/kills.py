"""A run that is killed at random steps and resumed with other numbers of loading processes ends with the same weights."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, kill_family, posegen

KILLS = {"action": 10, "retrieval": 3}
STEPS = 80
SETTINGS = (f"steps={STEPS}", "batch=16", "checks.times=4", "checks.clips=64", "saving.steps=5")
FIXED = ("machine.micro_batch=8", "machine.threads=1", "machine.precision=32-true")
WORKERS = (0, 2, 1)


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", "200")
    subprocess.run(posegen("embed", dataset, "--quiet"), cwd=ROOT, check=True)
    for task, kills in KILLS.items():
        yield killed_often(dataset, folder / task, task, kills)


def killed_often(dataset: Path, folder: Path, task: str, kills: int) -> Figure:
    """Compare the weights of an uninterrupted run with those of a run that is killed several times."""
    subprocess.run(_command(dataset, folder / "whole", task, 0), cwd=ROOT, check=True)
    place, steps = folder / "killed", []
    moments = random.Random(4)
    # All in one run: each session resumes where the one before was killed, at least one checkpoint further.
    for number, step in enumerate(sorted(moments.sample(range(1, STEPS - 5), kills))):
        command = _command(dataset, place, task, WORKERS[number % len(WORKERS)])
        steps.append(_killed(command, place, max(step, _last(place) + 1), moments.uniform(0, 0.3)))
    subprocess.run(_command(dataset, place, task, 1), cwd=ROOT, check=True)
    name = f"checkpoints/{STEPS:08d}.safetensors"
    equal = (folder / "whole" / name).read_bytes() == (place / name).read_bytes()
    dead = [step for step in steps if step is not None]
    value = (
        f"{'equal' if equal else 'other'} weights, averages and optimiser; {len(dead)} kills, "
        f"last checkpoints {', '.join(map(str, dead))}"
    )
    workers = "0, 2 and 1 processes that load in turns"
    return Figure(f"one run of {task} killed {kills} times, with {workers}", value, "equal", equal and len(dead) == kills)


def _command(dataset: Path, run: Path, task: str, workers: int) -> list[str]:
    settings = [f"--set={setting}" for setting in (*SETTINGS, *FIXED, f"machine.workers={workers}")]
    return posegen("train", str(dataset), "--task", task, "--quiet", "--out", str(run), *settings)


def _killed(command: list[str], run: Path, step: int, moment: float) -> int | None:
    """Kill a run and its children some time after a checkpoint of at least this step; return the last checkpoint.

    None if there was nothing to kill any more.
    """
    with subprocess.Popen(command, cwd=ROOT) as process:
        while process.poll() is None and _last(run) < step:
            time.sleep(0.005)
        time.sleep(moment)
        if process.poll() is None:
            kill_family(process)
    return _last(run) if process.returncode == -signal.SIGKILL else None


def _last(run: Path) -> int:
    return max((int(path.stem) for path in (run / "checkpoints").glob("*.json")), default=0)
