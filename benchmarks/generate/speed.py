"""How fast one core makes sequences, storing, hashing and syncing included, and what memory two workers hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.end_to_end import measured_apart
from benchmarks.figures import Figure
from benchmarks.guards import PEAK_BYTES
from benchmarks.measure import peak_memory, posegen

SEQUENCES_PER_SECOND = 2000


def measure(folder: Path) -> Iterator[Figure]:
    found = measured_apart(samples=1000, pairs=5, folder=folder)
    rate = found["generated_sequences_per_second"]
    wanted = f"at least {SEQUENCES_PER_SECOND:,}"
    yield Figure("sequences a second on one core, all included", f"{rate:,.0f}", wanted, rate >= SEQUENCES_PER_SECOND, found)
    yield Figure("storing the same arrays from memory, sequences a second", f"{found['stored_sequences_per_second']:,.0f}")
    yield Figure("generating, by storing from memory", f"{found['ratio']:.2f}")
    peak = peak_memory(posegen("generate", "--quiet", "--samples", "4000", "--workers", "2", "--out", folder / "peak"))
    told = f"{peak.resident / 1e6:,.0f} MB resident, {peak.proportional / 1e6:,.0f} MB with shared memory counted once"
    yield Figure("peak memory with 2 workers", told, f"under {PEAK_BYTES / 1e6:,.0f} MB", peak.resident < PEAK_BYTES)
