"""500 exits of Python programs that have read a dataset in a bucket, 12 at a time: none is aborted.

POSEGEN_JUDGE_SCALE=0.1 takes a tenth.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

import posegen
from benchmarks.figures import Figure
from benchmarks.measure import SCALE
from posegen.config.load import load_config
from posegen.dataset.storage.bucket import BucketPath
from tests.buckets.servers import Server
from tests.faults.forks import SETTINGS
from tests.faults.truth import copy

EXITS, AT_A_TIME, SAMPLES = 500, 12, 42
_BATCHES = "batches = posegen.open(sys.argv[1]).batches(4, fields=['joints', 'captions'])"
PROGRAMS = {
    name: f"import posegen, sys; {program}"
    for name, program in {
        "rows": "dataset = posegen.open(sys.argv[1]); rows = [dataset.rows(sample) for sample in (0, 9, 41)]",
        "samples": "joints = [sample.joints for sample in posegen.open(sys.argv[1])]",
        "batches, read to the end": f"{_BATCHES}; read = list(batches)",
        "batches, left while threads read ahead": f"{_BATCHES}; batch = next(iter(batches))",
    }.items()
}
"""Programs by what they read."""


def measure(folder: Path) -> Iterator[Figure]:
    """Run the programs in turn and count how they end."""
    exits = round(EXITS * SCALE)
    posegen.generate(load_config("smoke", SETTINGS), samples=SAMPLES, workers=1, out=folder / "dataset")
    server = Server.start()
    try:
        with patch.dict(os.environ, server.environment()):
            address = str(copy(folder / "dataset", BucketPath(f"s3://{server.make_bucket()}", "dataset")))
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                found = list(pool.map(partial(_ended, folder, address), range(exits)))
    finally:
        server.stop()
    wrong = [each for each in found if each[1] or each[2]]
    what = f"{exits} exits of programs that have read a bucket, {AT_A_TIME} at a time"
    detail = {"codes": {str(code): times for code, times in Counter(code for _, code, _ in found).items()}, "wrong": wrong}
    yield Figure(f"{what}: aborted", str(len(wrong)), "0", not wrong, detail)


def _ended(folder: Path, address: str, number: int) -> tuple[str, int, str]:
    """Run a program; return what it reads, its exit code, and what it has written to standard error."""
    name = list(PROGRAMS)[number % len(PROGRAMS)]
    cache = folder / ("cache" if number % 8 < 4 else f"cache-{number}")  # half of the programs have a filled cache
    environment = os.environ | {"POSEGEN_READ_CACHE": str(cache)}
    command = [sys.executable, "-c", PROGRAMS[name], address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return name, done.returncode, done.stderr.strip()
