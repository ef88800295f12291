"""Kill the embed stage at random moments and resume it; compare the vectors with those of an uninterrupted run."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT

KILLS = max(3, int(20 * float(os.environ.get("POSEGEN_JUDGE_SCALE", "1"))))
NEAR = 1e-6
SHARD = 64
SAMPLES = 100
RUN = (
    "import sys; from posegen.embedding import embed; "
    f"embed(sys.argv[1], precision='float32', shard={SHARD}, cached=False, workers=int(sys.argv[2]))"
)
POLL = 0.005


def measure(folder: Path) -> Iterator[Figure]:
    from posegen.embedding import open_embeddings

    dataset = generate(folder / "dataset", "--samples", str(SAMPLES))
    _run(dataset)
    whole = open_embeddings(dataset)
    expected, shards = whole.vectors(), whole.shards
    moments = random.Random(3)
    farthest, complete = 0.0, []
    wrong = []
    for number in range(KILLS):
        shutil.rmtree(dataset / "embeddings")
        # From the numbering of captions to the last shard; the delay starts when a shard is complete.
        after, moment = moments.randrange(-1, shards), moments.uniform(0.0, 0.6)
        _kill(dataset, after, moment, workers=1 + number % 2)
        complete.append(_complete(dataset))
        _run(dataset)
        found = open_embeddings(dataset)
        if list(found.texts) != list(whole.texts):
            wrong.append(f"kill {number}: other texts")
        farthest = max(farthest, float(np.abs(found.vectors() - expected).max()))
    value = f"largest difference {farthest:.1e}; killed with {', '.join(map(str, sorted(complete)))} of {shards} shards done"
    yield Figure(
        f"killed {KILLS} times and resumed, {len(expected)} texts",
        value,
        f"within {NEAR}",
        farthest <= NEAR and not wrong,
        wrong,
    )


def _command(dataset: Path, workers: int) -> list[str]:
    return [sys.executable, "-c", RUN, str(dataset), str(workers)]


def _run(dataset: Path) -> None:
    subprocess.run(_command(dataset, 1), cwd=ROOT, check=True, stderr=subprocess.DEVNULL, env=os.environ)


def _complete(dataset: Path) -> int:
    return len(list(dataset.glob("embeddings/*/receipts/vectors/*.json")))


def _kill(dataset: Path, after: int, moment: float, workers: int) -> None:
    """Start a run, and kill it `moment` seconds after `after` shards are complete, or after its folder exists for -1."""
    with subprocess.Popen(_command(dataset, workers), cwd=ROOT, stderr=subprocess.DEVNULL) as run:
        while run.poll() is None and (not (dataset / "embeddings").exists() if after < 0 else _complete(dataset) < after):
            time.sleep(POLL)
        with suppress(subprocess.TimeoutExpired):
            run.wait(moment)
        run.kill()
