"""Kill the embed stage at random moments and resume it; compare the vectors with those of an uninterrupted run."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, killed, scaled

KILLS = scaled(20, 3)
NEAR = 1e-6
SHARD = 64
SAMPLES = 100
RUN = (
    "import sys; from posegen.embedding import embed; "
    f"embed(sys.argv[1], shard={SHARD}, cached=False, workers=int(sys.argv[2]))"
)


def measure(folder: Path) -> Iterator[Figure]:
    from posegen.embedding import open_embeddings

    dataset = generate(folder / "dataset", "--samples", str(SAMPLES))
    _run(dataset)
    whole = open_embeddings(dataset)
    expected, shards = whole.vectors(), whole.shards
    moments = random.Random(3)
    farthest, complete, wrong = 0.0, [], []
    for number in range(KILLS):
        shutil.rmtree(dataset / "embeddings")
        # From the numbering of captions to the last shard; the delay starts when a shard is complete.
        after, moment = moments.randrange(-1, shards), moments.uniform(0.0, 0.6)
        killed(_command(dataset, 1 + number % 2), lambda after=after: _begun(dataset, after), moment)
        complete.append(_complete(dataset))
        _run(dataset)
        found = open_embeddings(dataset)
        if list(found.texts) != list(whole.texts):
            wrong.append(f"kill {number}: other texts")
        farthest = max(farthest, float(np.abs(found.vectors() - expected).max()))
    value = f"largest difference {farthest:.1e}; killed with {', '.join(map(str, sorted(complete)))} of {shards} shards done"
    name, is_near = f"killed {KILLS} times and resumed, {len(expected)} texts", farthest <= NEAR and not wrong
    yield Figure(name, value, f"within {NEAR}", is_near, wrong)


def _command(dataset: Path, workers: int) -> list[str]:
    return [sys.executable, "-c", RUN, str(dataset), str(workers)]


def _run(dataset: Path) -> None:
    subprocess.run(_command(dataset, 1), cwd=ROOT, check=True, stderr=subprocess.DEVNULL, env=os.environ)


def _complete(dataset: Path) -> int:
    return len(list(dataset.glob("embeddings/*/receipts/vectors/*.json")))


def _begun(dataset: Path, shards: int) -> bool:
    """Return whether a number of shards is complete, or, for -1, whether the folder exists."""
    return (dataset / "embeddings").exists() if shards < 0 else _complete(dataset) >= shards
