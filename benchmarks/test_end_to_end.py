"""Guards of generation: time compared with storing, and memory."""

from __future__ import annotations

from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.guards import END_TO_END, PEAK_BYTES, WORDS_SHARE_GUARD, Guard
from benchmarks.lower_bounds import generation_by_storing
from benchmarks.measure import apart, peak_memory, posegen
from benchmarks.story.share import processor_share


def test_generation_compared_with_storing(benchmark: BenchmarkFixture, tmp_path: Path, guard: Guard) -> None:
    result = benchmark.pedantic(apart, args=(generation_by_storing, 400, 5, tmp_path))
    print(
        f"\none core: {result['generated_sequences_per_second']:,.0f} sequences/s, "
        f"storing alone {result['stored_sequences_per_second']:,.0f}, ratio {result['ratio']:.2f}"
    )
    guard("generating, by storing", result["ratio"], most=END_TO_END)


def test_share_of_planning_captions_and_checks(tmp_path: Path, guard: Guard) -> None:
    # A worker is a fresh process; what other benchmarks left in this one would make Python objects, and so captions, slower
    # than motion. So does whatever shares caches and memory with it: five runs within minutes gave .25 to .33, so that the
    # least counts.
    shares = []
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        shares.append(apart(processor_share, tmp_path / str(number), 8))
    share = min(shares)
    print(f"\nplanning, captions and checks: {100 * share:.1f} % of the time of a run")
    guard("planning, captions and checks, share of all", share, most=WORDS_SHARE_GUARD)


def test_peak_memory_of_two_workers(tmp_path: Path) -> None:
    peak = peak_memory(posegen("generate", "--samples", "800", "--workers", "2", "--quiet", "--out", tmp_path / "dataset"))
    print(f"\ntwo workers: {peak.resident / 1e6:,.0f} MB resident, {peak.proportional / 1e6:,.0f} MB proportional")
    assert peak.resident < PEAK_BYTES
