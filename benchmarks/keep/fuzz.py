"""100,000 fuzzed configs, libraries and dataset files: each is accepted or clearly refused, in bounded time and memory."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.keep.inputs import kinds
from benchmarks.keep.mutations import changed_bytes, changed_documents
from benchmarks.keep.tally import SECONDS, Kind, Tally, read, time_limit, written

__all__ = ["fuzz", "measure"]

INPUTS = 100_000
SEED = 3
MORE_BYTES = 400_000_000
"""Largest growth of this process over all inputs, in bytes."""


def measure(folder: Path) -> Iterator[Figure]:
    scale = float(os.environ.get("POSEGEN_JUDGE_SCALE", "1"))
    tallies = []
    (folder / "files").mkdir()
    all_kinds = kinds(folder / "files")
    before = _memory()
    for number, kind in enumerate(all_kinds):
        tallies.append(fuzz(kind, round(INPUTS * scale) * kind.share // 100, SEED + number))
        yield _figure(f"fuzzed {kind.name}", tallies[-1])
    more = _memory() - before
    slowest = max(tally.slowest for tally in tallies)
    yield Figure("longest time to read one input", f"{slowest:.2f} s", f"below {SECONDS:.0f} s", slowest < SECONDS)
    value, target = f"{more / 1e6:.0f} MB", f"below {MORE_BYTES / 1e6:.0f} MB"
    yield Figure("memory growth while reading them", value, target, more < MORE_BYTES)


def fuzz(kind: Kind, inputs: int, chance: int) -> Tally:
    """Read fuzzed files of a kind: half of them changed as documents, half as bytes.

    Parameters
    ----------
    kind : Kind
    inputs : int
        How many.
    chance : int
        Seed of what is changed how.
    """
    tally = Tally()
    draw = random.Random(chance)
    good = [written(kind, document, draw) for document in kind.documents]
    with time_limit():
        changed_documents(kind.documents, inputs // 2, chance, lambda changed: read(kind, written(kind, changed, draw), tally))
        while tally.inputs < inputs:
            read(kind, changed_bytes(good, draw), tally)
    return tally


def _figure(name: str, tally: Tally) -> Figure:
    value = f"{tally.taken:,} accepted, {tally.refused:,} refused, {len(tally.crashes)} crashes"
    return Figure(f"{tally.inputs:,} {name}", value, "0 crashes", not tally.crashes, tally.crashes[:20])


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
