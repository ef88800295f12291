"""How long the command takes that makes ten samples: with compiled kernels in the cache, and with none."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen
from benchmarks.speed.wanted import COLD_SECONDS, START_SAMPLES, WARM_SECONDS

ROUNDS = 7


def seconds(place: Path, **variables: str) -> float:
    """Time the command from its start to its end; what it made is taken away again."""
    command = posegen("generate", "--samples", str(START_SAMPLES), "--quiet", "--out", place)
    started = time.monotonic()
    subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=True)
    took = time.monotonic() - started
    shutil.rmtree(place)
    return took


def measure(folder: Path) -> Iterator[Figure]:
    cold = seconds(folder / "dataset", POSEGEN_KERNEL_CACHE=str(folder / "kernels"))
    # With the kernels that were just compiled: whoever measures may have none yet.
    warm = [seconds(folder / "dataset", POSEGEN_KERNEL_CACHE=str(folder / "kernels")) for _ in range(ROUNDS)]
    name, median = f"`posegen generate --samples {START_SAMPLES}`", statistics.median(warm)
    told = f"{median:.2f} s ({min(warm):.2f} to {max(warm):.2f})"
    yield Figure(f"{name}, kernels in the cache", told, f"under {WARM_SECONDS:.0f} s", median < WARM_SECONDS, warm)
    yield Figure(f"{name}, no kernels in the cache", f"{cold:.1f} s", f"under {COLD_SECONDS:.0f} s", cold < COLD_SECONDS)
