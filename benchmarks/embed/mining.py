"""Measure the time to mine pairs among 100,000 texts, and the recall of the inverted index.

The vectors are those of captions of default samples by the default encoder. The timed part is all of ``posegen embed --pairs``
except embedding: reading the labels of all samples, building the index, finding and judging neighbours, and writing the table.
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
"""Target from vectors in memory to a pair table on disk, on two cores."""
RECALL = 0.95
"""Least share of exact nearest neighbours that the index finds."""
SAMPLES = 19_000
"""They have slightly more than 100,000 distinct texts."""
QUERIES = 1000
"""Number of texts whose neighbours are compared with exact search."""


def measure(folder: Path) -> Iterator[Figure]:
    made = generate(folder / "dataset", "--samples", str(SAMPLES), "--workers", "2")
    subprocess.run(posegen("embed", made, "--quiet"), cwd=ROOT, check=True)
    yield from mined(made)


def mined(path: Path) -> Iterator[Figure]:
    """Yield the measures of a dataset whose captions are embedded."""
    found = mine_pairs(path)
    passed = found.seconds < SECONDS and found.texts >= TEXTS
    value = f"{found.seconds:.1f} s: {found.duplicates:,} near-duplicates, {found.negatives:,} hard negatives"
    yield Figure(f"pairs of {found.texts:,} texts", value, f"under {SECONDS:.0f} s for {TEXTS:,}", passed)
    again = mine_pairs(path)
    yield Figure("shards computed by repeating the command", f"{again.made}", "none", again.nothing_to_do)
    vectors = open_embeddings(path).vectors()
    neighbours = open_pairs(path).header.neighbours
    rows = np.arange(QUERIES) * len(vectors) // QUERIES
    index, exact = neighbour_index(vectors), neighbour_index(vectors, exact=sys.maxsize)
    for count in (10, neighbours):
        pairs = zip(index.neighbours(vectors, rows, count)[0], exact.neighbours(vectors, rows, count)[0], strict=True)
        recall = float(np.mean([np.isin(expected, got).mean() for got, expected in pairs]))
        yield Figure(f"recall of the {count} nearest", f"{recall:.4f}", f"at least {RECALL}", recall >= RECALL)
