"""Equality of datasets that were killed at random moments and resumed, or extended, with undisturbed ones."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import differences, generate
from benchmarks.figures import Figure
from benchmarks.measure import killed, posegen

KILLS = 10
RUN = ("--samples", "400", "--workers", "2", "--set", "store.shard=20", "--set", "store.chunk=20")
SHARDS = 20


def measure(folder: Path) -> Iterator[Figure]:
    whole = generate(folder / "whole", *RUN)
    moments = random.Random(2)  # a fixed seed
    unequal, receipts, path = [], [], folder / "killed"
    for number in range(KILLS):
        # Counted from a complete shard, because the start takes longer than all shards.
        shards, moment = moments.randrange(SHARDS - 1), moments.uniform(0.0, 0.15)
        # With all its workers.
        killed(posegen("generate", "--quiet", "--out", path, *RUN), lambda least=shards: _complete(path) >= least, moment)
        receipts.append(_complete(path))
        generate(path, *RUN)
        unequal += [f"kill {number}, {moment:.3f} s after shard {shards}: {found}" for found in differences(whole, path)]
        shutil.rmtree(path)
    value = f"{KILLS - len(unequal)} equal, killed with {', '.join(map(str, sorted(receipts)))} of {SHARDS} shards complete"
    yield Figure(f"killed at {KILLS} random moments and resumed", value, f"{KILLS} equal", not unequal, unequal)
    yield from _extensions(folder)


def _extensions(folder: Path) -> Iterator[Figure]:
    fresh = generate(folder / "fresh", "--samples", "400", "--workers", "2")
    for first in ("200", "250"):
        path = generate(folder / first, "--samples", first, "--workers", "2")
        generate(path, "--samples", "400", "--workers", "2")
        found = differences(fresh, path)
        yield Figure(f"400 samples after {first}, compared with a fresh 400", ", ".join(found) or "equal", "equal", not found)


def _complete(path: Path) -> int:
    return len(list((path / "receipts").glob("[0-9]*.json")))
