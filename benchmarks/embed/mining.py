"""How long near-duplicates and hard negatives take to be mined among 100,000 texts, and how many neighbours are missed.

The vectors are those of real captions: of as many default samples as have 100,000 different texts, by the default encoder.
What is timed is all of ``posegen embed --pairs`` but the embedding itself: reading the labels of all samples, making the index,
finding neighbours, judging them, and writing the table.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen
from posegen.embedding import open_embeddings
from posegen.embedding.neighbours import neighbour_index
from posegen.embedding.pairs import mine_pairs, open_pairs

TEXTS = 100_000
SECONDS = 60.0
"""From vectors in memory to a pair table on the disk, at most, on two cores."""
RECALL = 0.95
"""Share of the nearest neighbours of exact search that are found, at least."""
SAMPLES = 19_000
"""They have 100,000 different texts, and some more."""
ASKED = 1000
"""Texts whose neighbours are compared with those of exact search."""


def measure(folder: Path) -> Iterator[Figure]:
    made = generate(folder / "dataset", "--samples", str(SAMPLES), "--workers", "2")
    subprocess.run(posegen("embed", made, "--quiet"), cwd=ROOT, check=True)
    yield from mined(made)


def mined(path: Path) -> Iterator[Figure]:
    """Give the figures of a dataset whose captions are embedded."""
    found = mine_pairs(path)
    good = found.seconds < SECONDS and found.texts >= TEXTS
    told = f"{found.seconds:.1f} s: {found.duplicates:,} near-duplicates, {found.negatives:,} hard negatives"
    yield Figure(f"pairs of {found.texts:,} texts", told, f"under {SECONDS:.0f} s for {TEXTS:,}", good)
    again = mine_pairs(path)
    yield Figure("the same command run again", f"{again.made} shards made", "none", again.nothing_to_do)
    vectors = open_embeddings(path).vectors()
    neighbours = open_pairs(path).header.neighbours
    rows = np.arange(ASKED) * len(vectors) // ASKED
    index, exact = neighbour_index(vectors), neighbour_index(vectors, exact=sys.maxsize)
    for most in (10, neighbours):
        pairs = zip(index.neighbours(vectors, rows, most)[0], exact.neighbours(vectors, rows, most)[0], strict=True)
        recall = float(np.mean([np.isin(wanted, got).mean() for got, wanted in pairs]))
        yield Figure(f"of the {most} nearest, found", f"{recall:.4f}", f"at least {RECALL}", recall >= RECALL)
