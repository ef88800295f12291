"""Duration of the command for ten samples from a wheel with kernels, and the rate of such kernels."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import copying
from benchmarks.figures import Figure
from benchmarks.measure import ROOT
from benchmarks.speed.startup import command_seconds
from benchmarks.speed.targets import COLD_SECONDS, START_SAMPLES
from posegen.portable_kernels import VARIABLE

STARTS, PAIRS = 3, 5
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def measure(folder: Path) -> Iterator[Figure]:
    installed, started = folder / "installed", time.monotonic()
    subprocess.run(["make", "wheel", f"DIST={folder}"], cwd=ROOT, check=True)
    built = time.monotonic() - started
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*PIP, "install", "--no-deps", "--target", str(installed), str(wheel)], check=True)
    seconds = [
        command_seconds(folder / "dataset", PYTHONPATH=str(installed), POSEGEN_KERNEL_CACHE=str(folder / f"{start}"))
        for start in range(STARTS)
    ]
    name, median = f"`posegen generate --samples {START_SAMPLES}`", statistics.median(seconds)
    size = f"{wheel.stat().st_size / 1e6:.1f} MB, built in {built:.0f} s"
    value = f"{median:.1f} s ({min(seconds):.1f} to {max(seconds):.1f}); {size}"
    yield Figure(
        f"{name} from a wheel with kernels, none in the cache",
        value,
        f"under {COLD_SECONDS:.0f} s",
        median < COLD_SECONDS,
        seconds,
    )
    yield _rate()


def _rate() -> Figure:
    rates: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(PAIRS):
        for is_portable in (False, True) if pair % 2 else (True, False):
            os.environ.pop(VARIABLE, None)
            os.environ.update({VARIABLE: "1"} if is_portable else {})
            rates[is_portable].append(copying.measured_apart(samples=200, pairs=7)["synthesizing_microseconds"])
    os.environ.pop(VARIABLE, None)
    own, portable = (statistics.median(microseconds) for microseconds in rates.values())
    ratio = statistics.median(one / other for one, other in zip(*rates.values(), strict=True))
    name = "rate of `synthesize` with portable kernels / kernels for this processor"
    value = f"{ratio:.2f}; {portable:.0f} and {own:.0f} us per sequence"
    return Figure(name, value, detail=[rates[False], rates[True]])
