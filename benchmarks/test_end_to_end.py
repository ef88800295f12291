"""Guards of generation: time compared with storing, and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.end_to_end import measured_apart
from benchmarks.guards import END_TO_END, PEAK_BYTES, WORDS_SHARE_GUARD, Guard
from benchmarks.measure import ROOT, peak_memory, posegen


def test_generation_compared_with_storing(benchmark: BenchmarkFixture, tmp_path: Path, guard: Guard) -> None:
    result = benchmark.pedantic(measured_apart, kwargs={"samples": 400, "pairs": 3, "folder": tmp_path}, rounds=1)
    benchmark.extra_info.update(result)
    print(
        f"\none core: {result['generated_sequences_per_second']:,.0f} sequences/s, "
        f"storing alone {result['stored_sequences_per_second']:,.0f}, ratio {result['ratio']:.2f}"
    )
    guard("generating, by storing", result["ratio"], most=END_TO_END)


SHARE = """
import sys
from pathlib import Path
from benchmarks.story.share import timed_run, words_share
from posegen import load_config
print(words_share(*timed_run(load_config("default"), Path(sys.argv[1]), 8)))
"""


def test_share_of_planning_captions_and_checks(tmp_path: Path, guard: Guard) -> None:
    # Clauses are cached from shard to shard, so that the first shards take longer: of 8 shards the share is .19, of 24 .18.
    # A worker is a fresh process; what other benchmarks left in this one would make Python objects, and so captions, slower
    # than motion.
    shares = []
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        command = [sys.executable, "-c", SHARE, str(tmp_path / str(number))]
        shares.append(float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))
    share = median(shares)
    print(f"\nplanning, captions and checks: {100 * share:.1f} % of the time of a run")
    guard("planning, captions and checks, share of all", share, most=WORDS_SHARE_GUARD)


def test_peak_memory_of_two_workers(tmp_path: Path) -> None:
    peak = peak_memory(posegen("generate", "--samples", "800", "--workers", "2", "--quiet", "--out", tmp_path / "dataset"))
    print(f"\ntwo workers: {peak.resident / 1e6:,.0f} MB resident, {peak.proportional / 1e6:,.0f} MB proportional")
    assert peak.resident < PEAK_BYTES
