"""Guard of the start: the command that makes ten samples, beside importing what it needs of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.guards import START, Guard
from benchmarks.measure import ROOT, compare
from benchmarks.speed.startup import seconds

NEEDED = "import click, joblib, numba, numpy, psutil, pyarrow.parquet, pydantic, rich, xxhash, yaml, zarr"
PAIRS = 3


def test_the_start_takes_little_longer_than_its_imports(benchmark: BenchmarkFixture, tmp_path: Path, guard: Guard) -> None:
    def starting() -> None:
        seconds(tmp_path / "dataset")

    def importing() -> None:
        subprocess.run([sys.executable, "-c", NEEDED], cwd=ROOT, check=True)

    compare(starting, importing, 1)  # kernels are compiled, files are read for the first time
    comparison = benchmark.pedantic(compare, args=(starting, importing, PAIRS), rounds=1)
    benchmark.extra_info["ratio"] = comparison.ratio
    guard("start of a run", comparison.ratio, most=START)
