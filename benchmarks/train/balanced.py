"""``balanced`` of each task within half an hour: its measures, and its accuracy on mocap.

What is wanted of the measures is what is wanted of ``quick``: who waits longer must not get less.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.learning import LEAST_TOP1, action_figure
from benchmarks.train.real_clips import real_figures
from benchmarks.train.retrieval import retrieval_figure
from benchmarks.train.running import time_figures, trained
from benchmarks.train.shared import SAMPLES, dataset, embedded

MOST_MINUTES = 30.0


def measure(folder: Path) -> Iterator[Figure]:
    name = f"balanced, task action, {SAMPLES:,} samples"
    run = trained(dataset(folder.parent), "action", "balanced", folder / "action")
    yield from time_figures(name, run, MOST_MINUTES, "balanced action")
    yield action_figure(name, run, LEAST_TOP1, "balanced action")
    yield from real_figures(name, run.place)
    name = f"balanced, task retrieval, {SAMPLES:,} samples"
    run = trained(embedded(folder.parent), "retrieval", "balanced", folder / "retrieval")
    yield from time_figures(name, run, MOST_MINUTES, "balanced retrieval")
    yield retrieval_figure(name, run, "balanced retrieval")
