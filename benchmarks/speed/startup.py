"""Duration of the command for ten samples, with compiled kernels in the cache and without."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import posegen
from benchmarks.speed.targets import COLD_SECONDS, START_SAMPLES, WARM_SECONDS

ROUNDS = 7


def command_seconds(path: Path, **variables: str) -> float:
    """Return the duration of the command; its output is removed."""
    command = posegen("generate", "--samples", str(START_SAMPLES), "--quiet", "--out", path)
    started = time.monotonic()
    subprocess.run(command, cwd=path.parent, env={**os.environ, **variables}, check=True)
    seconds = time.monotonic() - started
    shutil.rmtree(path)
    return seconds


def measure(folder: Path) -> Iterator[Figure]:
    cold = command_seconds(folder / "dataset", POSEGEN_KERNEL_CACHE=str(folder / "kernels"))
    # With the kernels that were just compiled: the user's cache may be empty.
    warm = [command_seconds(folder / "dataset", POSEGEN_KERNEL_CACHE=str(folder / "kernels")) for _ in range(ROUNDS)]
    name, median = f"`posegen generate --samples {START_SAMPLES}`", statistics.median(warm)
    value = f"{median:.2f} s ({min(warm):.2f} to {max(warm):.2f})"
    yield Figure(f"{name}, kernels in the cache", value, f"under {WARM_SECONDS:.0f} s", median < WARM_SECONDS, warm)
    yield Figure(f"{name}, no kernels in the cache", f"{cold:.1f} s", f"under {COLD_SECONDS:.0f} s", cold < COLD_SECONDS)
