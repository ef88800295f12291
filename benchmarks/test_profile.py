"""Guard of `posegen profile`: accuracy of the estimate of a run five times as large."""

from __future__ import annotations

from pathlib import Path

from benchmarks.guards import PROFILE_BYTES, PROFILE_WIDENED
from benchmarks.speed.profile_accuracy import measure_accuracy


def test_estimate_of_a_larger_run(tmp_path: Path) -> None:
    found = measure_accuracy(600, 5, tmp_path, repeats=3)
    low, high = found.widened(PROFILE_WIDENED)
    print(f"\nestimate {found.estimate:.1f} s ({found.low:.1f} to {found.high:.1f}), measured {found.seconds:.1f} s")
    assert low <= found.seconds <= high
    assert abs(found.estimated_bytes / found.bytes - 1) < PROFILE_BYTES
