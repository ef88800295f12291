"""Measure the time to mine pairs of 100,000 texts with vectors, and the recall of the inverted index.

The texts are captions of default samples, with vectors by the default encoder. The timed part is all of ``posegen pairs`` on
their table: reading it, building the index, finding neighbours, and writing the pairs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import run
from posegen.embedding import open_embeddings
from posegen.embedding.own_pairs import NEIGHBOURS, mine_table, neighbour_index

TEXTS = 100_000
SECONDS = 60.0
"""Target from vectors on the disk to a table of pairs on the disk, on two cores."""
RECALL = 0.95
"""Least share of exact nearest neighbours that the index finds."""
SAMPLES = 19_000
"""They have slightly more than 100,000 distinct texts."""
QUERIES = 1000
"""Number of texts whose neighbours are compared with exact search."""


def measure(folder: Path) -> Iterator[Figure]:
    made = generate(folder / "dataset", "--samples", str(SAMPLES), "--workers", "2")
    run("embed", made)
    yield from mined(made, folder)


def mined(path: Path, folder: Path) -> Iterator[Figure]:
    """Yield the measures of a dataset whose captions are embedded."""
    embeddings = open_embeddings(path)
    vectors = embeddings.vectors()
    stored = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    pq.write_table(pa.table({"text": list(embeddings.texts), "vector": stored}), folder / "texts.parquet")
    found = mine_table(folder / "texts.parquet", folder / "pairs.parquet", ["text"])
    passed = found.seconds < SECONDS and found.rows >= TEXTS
    value = f"{found.seconds:.1f} s: {found.pairs:,} pairs"
    yield Figure(f"pairs of {found.rows:,} texts", value, f"under {SECONDS:.0f} s for {TEXTS:,}", passed)
    rows = np.arange(QUERIES) * len(vectors) // QUERIES
    index, exact = neighbour_index(vectors), neighbour_index(vectors, exact=sys.maxsize)
    for count in (10, NEIGHBOURS):
        pairs = zip(*(each.search(vectors[rows], count)[1] for each in (index, exact)), strict=True)
        recall = float(np.mean([np.isin(expected, got).mean() for got, expected in pairs]))
        yield Figure(f"recall of the {count} nearest", f"{recall:.4f}", f"at least {RECALL}", recall >= RECALL)
