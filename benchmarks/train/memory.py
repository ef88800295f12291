"""Peak memory of a run of each task with ``--set memory.limit=4GB``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import peak_memory, posegen, run

LIMIT = 4_000_000_000
STEPS = 100


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", "2000")
    run("embed", dataset)
    options = ("--preset", "balanced", "--set", "memory.limit=4GB", "--set", f"steps={STEPS}", "--quiet")
    for task in ("action", "retrieval"):
        place = folder / task
        peak = peak_memory(posegen("train", str(dataset), "--task", task, "--out", str(place), *options)).resident
        done = json.loads((place / "result.json").read_bytes())["steps"] == STEPS
        value = f"{peak / 1e9:.2f} GB at its peak, {STEPS} steps of balanced {'done' if done else 'not done'}"
        yield Figure(f"memory.limit=4GB, task {task}", value, "under 4 GB, done", done and peak < LIMIT)
