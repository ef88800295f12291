"""With ``--set memory.limit=4GB`` a run trains, and its peak stays under that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import peak_memory, posegen

LIMIT = 4_000_000_000
STEPS = 100


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", "2000")
    options = ("--preset", "balanced", "--set", "memory.limit=4GB", "--set", f"steps={STEPS}", "--quiet")
    peak = peak_memory(posegen("train", str(dataset), "--task", "action", "--out", str(folder / "run"), *options)).resident
    done = (folder / "run" / "result.json").is_file()
    told = f"{peak / 1e9:.2f} GB at its peak, {STEPS} steps of balanced {'done' if done else 'not done'}"
    yield Figure("memory.limit=4GB", told, "under 4 GB, done", done and peak < LIMIT)
