"""Measure the memory for a million captions with 50,000 distinct texts, and for a tenth of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import peak_memory
from tests.embedding.captioned import captioned

MAX_BYTES = 2_000_000_000
MAX_RATIO = 1.25
"""Largest ratio of the peak at a million rows to that at a hundred thousand with half as many texts."""
ROWS, DISTINCT = 1_000_000, 50_000
VARIANTS, EACH = 5, 3
RUN = "import sys; from posegen.embedding import embed; embed(sys.argv[1], 'hashing-for-tests', cached=False)"


def measure(folder: Path) -> Iterator[Figure]:
    peaks = {}
    for rows, distinct in ((ROWS // 10, DISTINCT // 2), (ROWS, DISTINCT)):
        path = _dataset(folder / f"{rows}", rows, distinct)
        peaks[rows] = peak_memory([sys.executable, "-c", RUN, str(path)], {**os.environ, "POSEGEN_EMBEDDING_CACHE": "off"})
        from posegen.embedding import open_embeddings

        found = open_embeddings(path)
        value = f"{found.rows.num_rows:,} rows, {found.count:,} texts, peak {peaks[rows].resident / 1e6:,.0f} MB"
        yield Figure(f"{rows:,} rows", value, "under 2 GB", peaks[rows].resident < MAX_BYTES)
    ratio = peaks[ROWS].resident / peaks[ROWS // 10].resident
    yield Figure("peak, relative to a tenth of the rows", f"{ratio:.2f}", f"at most {MAX_RATIO}", ratio <= MAX_RATIO)


def _dataset(path: Path, rows: int, distinct: int) -> Path:
    samples = -(-rows // (VARIANTS * EACH))
    numbers = np.random.default_rng(4).integers(0, distinct, (samples, VARIANTS, EACH))
    numbers.ravel()[:distinct] = np.arange(distinct)  # each number occurs

    def captions(sample: int, variant: int) -> Sequence[str]:
        return [
            f"person {number // 7} walks {number % 97} steps and waves {number} times" for number in numbers[sample, variant]
        ]

    return captioned(path, samples, captions, shard=200, variants=[f"variant{i}" for i in range(VARIANTS)])
