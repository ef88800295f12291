"""Each task is killed and resumed with the same result."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen
from benchmarks.train.kills import killed_often

KILLS = {"identity": 3, "attribute": 3, "text": 2, "motion": 3}


def measure(folder: Path) -> Iterator[Figure]:
    # Few identities, so that each has several clips.
    dataset = generate(folder / "dataset", "--samples", "240", "--set", "population.persons=60")
    subprocess.run(posegen("embed", dataset, "--quiet"), cwd=ROOT, check=True)
    for task, kills in KILLS.items():
        yield killed_often(dataset, folder / task, task, kills)
