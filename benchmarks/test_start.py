"""Guard of the start: the command for ten samples, compared with importing its dependencies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.guards import START, Guard
from benchmarks.measure import ROOT, compare
from benchmarks.speed.startup import command_seconds

DEPENDENCIES = "import click, numba, numpy, psutil, pyarrow.parquet, pydantic, rich, xxhash, yaml, zarr"
PAIRS = 3


def test_start_compared_with_imports(benchmark: BenchmarkFixture, tmp_path: Path, guard: Guard) -> None:
    def starting() -> None:
        command_seconds(tmp_path / "dataset")

    def importing() -> None:
        subprocess.run([sys.executable, "-c", DEPENDENCIES], cwd=ROOT, check=True)

    compare(starting, importing, 1)  # kernels are compiled, files are read for the first time
    comparison = benchmark.pedantic(compare, args=(starting, importing, PAIRS), rounds=1)
    benchmark.extra_info["ratio"] = comparison.ratio
    guard("start of a run", comparison.ratio, most=START)
