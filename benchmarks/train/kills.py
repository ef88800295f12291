"""A run that is killed at random steps and resumed with other numbers of loading processes ends with the same weights."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import killed, posegen, run

KILLS = {"action": 10, "retrieval": 3, "identity": 3, "attribute": 3, "motion": 3}
STEPS = 80
SETTINGS = (f"steps={STEPS}", "batch=16", "checks.times=4", "checks.clips=64", "saving.steps=5")
FIXED = ("machine.micro_batch=8", "machine.threads=1", "machine.precision=32-true")
WORKERS = (0, 2, 1)


def measure(folder: Path) -> Iterator[Figure]:
    # Few identities, so that each has several clips.
    dataset = generate(folder / "dataset", "--samples", "240", "--set", "population.persons=60")
    run("embed", dataset)
    for task, kills in KILLS.items():
        yield killed_often(dataset, folder / task, task, kills)


def killed_often(dataset: Path, folder: Path, task: str, kills: int) -> Figure:
    """Compare the weights of an uninterrupted run with those of a run that is killed several times."""
    run(*_arguments(dataset, folder / "whole", task, 0))
    place, steps = folder / "killed", []
    moments = random.Random(4)
    # All in one run: each session resumes where the one before was killed, at least one checkpoint further.
    for number, step in enumerate(sorted(moments.sample(range(1, STEPS - 5), kills))):
        command = posegen(*_arguments(dataset, place, task, WORKERS[number % len(WORKERS)]), "--quiet")
        least = max(step, _last(place) + 1)
        if killed(command, lambda least=least: _last(place) >= least, moments.uniform(0, 0.3)):
            steps.append(_last(place))
    run(*_arguments(dataset, place, task, 1))
    name = f"checkpoints/{STEPS:08d}.safetensors"
    equal = (folder / "whole" / name).read_bytes() == (place / name).read_bytes()
    value = (
        f"{'equal' if equal else 'other'} weights, averages and optimiser; {len(steps)} kills, "
        f"last checkpoints {', '.join(map(str, steps))}"
    )
    workers = "0, 2 and 1 processes that load in turns"
    return Figure(f"one run of {task} killed {kills} times, with {workers}", value, "equal", equal and len(steps) == kills)


def _arguments(dataset: Path, place: Path, task: str, workers: int) -> list[object]:
    settings = [f"--set={setting}" for setting in (*SETTINGS, *FIXED, f"machine.workers={workers}")]
    return ["train", dataset, "--task", task, "--out", place, *settings]


def _last(run: Path) -> int:
    return max((int(path.stem) for path in (run / "checkpoints").glob("*.json")), default=0)
