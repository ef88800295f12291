"""Complete runs of ``fast`` for each task, with twice the steps and twice the frames of ``quick``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.balanced import MOST_MINUTES
from benchmarks.train.learning import LEAST_TOP1, action_figure
from benchmarks.train.retrieval import retrieval_figure
from benchmarks.train.running import time_figures, trained
from benchmarks.train.shared import SAMPLES, dataset, embedded


def measure(folder: Path) -> Iterator[Figure]:
    name = f"fast, task action, {SAMPLES:,} samples"
    run = trained(dataset(folder.parent), "action", "fast", folder / "action")
    yield from time_figures(name, run, MOST_MINUTES, "fast action")
    yield action_figure(name, run, LEAST_TOP1, "fast action")
    name = f"fast, task retrieval, {SAMPLES:,} samples"
    run = trained(embedded(folder.parent), "retrieval", "fast", folder / "retrieval")
    yield from time_figures(name, run, MOST_MINUTES, "fast retrieval")
    yield retrieval_figure(name, run, "fast retrieval")
