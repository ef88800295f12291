"""Rate of one core with storing, hashing and syncing, and peak memory of two workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.guards import PEAK_BYTES
from benchmarks.lower_bounds import generation_by_storing
from benchmarks.measure import apart, peak_memory, posegen

SEQUENCES_PER_SECOND = 2000


def measure(folder: Path) -> Iterator[Figure]:
    found = apart(generation_by_storing, 1000, 5, folder)
    rate = found["generated_sequences_per_second"]
    target = f"at least {SEQUENCES_PER_SECOND:,}"
    yield Figure("sequences/s on one core, end to end", f"{rate:,.0f}", target, rate >= SEQUENCES_PER_SECOND, found)
    yield Figure("sequences/s of storing the same arrays from memory", f"{found['stored_sequences_per_second']:,.0f}")
    yield Figure("generation time / time of storing from memory", f"{found['ratio']:.2f}")
    peak = peak_memory(posegen("generate", "--quiet", "--samples", "4000", "--workers", "2", "--out", folder / "peak"))
    value = f"{peak.resident / 1e6:,.0f} MB resident, {peak.proportional / 1e6:,.0f} MB with shared memory counted once"
    yield Figure("peak memory with 2 workers", value, f"under {PEAK_BYTES / 1e6:,.0f} MB", peak.resident < PEAK_BYTES)
