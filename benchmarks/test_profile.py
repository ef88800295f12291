"""Guard of `posegen profile`: what it tells of a run five times as large comes true."""

from __future__ import annotations

from pathlib import Path

from benchmarks.guards import PROFILE_BYTES, PROFILE_WIDENED
from benchmarks.speed.profile_accuracy import measured


def test_a_profile_tells_the_truth(tmp_path: Path) -> None:
    found = measured(600, 5, tmp_path, repeats=3)
    low, high = found.widened(PROFILE_WIDENED)
    told = f"told {found.told:.1f} s ({found.low:.1f} to {found.high:.1f}), took {found.took:.1f}"
    print(f"\n{told}; others used {found.cores_of_others:.1f} cores")
    assert low <= found.took <= high
    assert abs(found.told_bytes / found.took_bytes - 1) < PROFILE_BYTES
