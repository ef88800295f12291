"""Rate of shuffled batches, compared with other libraries: same arrays, same window, alternating, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import module, printed_by

SAMPLES = "2000"
ROUNDS = "7"
GOAL = 30_000
RIVALS = ("webdataset", "streaming", "litdata", "h5py")
"""Libraries that posegen must be faster than; others are listed for information."""


def measure(folder: Path) -> Iterator[Figure]:
    found = printed_by(module("benchmarks.reading", "--samples", SAMPLES, "--rounds", ROUNDS, "--folder", folder))
    own = found["readers"]["posegen"]["sequences_per_second"]
    value = f"{own:,.0f} (goal {GOAL:,})"
    yield Figure("posegen: sequences/s in shuffled batches of 64", value, detail=found)
    for name, reader in found["readers"].items():
        if name == "posegen":
            continue
        value = f"{reader['sequences_per_second']:,.0f}; posegen is {reader['posegen_by_it']:.2f} times as fast"
        value += f"; {reader['megabytes']:,.0f} MB on disk, {reader['reported']}"
        is_rival = name in RIVALS
        is_faster = reader["posegen_by_it"] > 1 if is_rival else None
        yield Figure(f"{name}, sequences/s", value, "posegen faster" if is_rival else "", is_faster)
    for name, reason in found["absent"].items():
        yield Figure(f"{name}, sequences/s", f"not measured: {reason}", "posegen faster" if name in RIVALS else "")
