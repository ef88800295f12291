"""Duration of the command for ten samples: with kernels in the cache, without, and from a wheel with kernels; their rate."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, compare, posegen
from benchmarks.speed.targets import COLD_SECONDS, START_SAMPLES, WARM_SECONDS
from posegen.foundations.kernels import PORTABLE_VARIABLE as VARIABLE

ROUNDS = 7
STARTS, PAIRS = 3, 100
SAMPLES, SEQUENCES = 200, 1000
"""Of a shard."""
PROGRAM = f"""
import sys
from posegen import load_config
from posegen.synthesis.synthesize import synthesize

config = load_config("default")
for _ in sys.stdin:
    synthesize(config, range({SAMPLES}))
    print("done", flush=True)
"""
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


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
    yield from _from_wheel(folder)


def _from_wheel(folder: Path) -> Iterator[Figure]:
    installed, started = folder / "installed", time.monotonic()
    subprocess.run(["make", "wheel", f"VENV={sys.prefix}", f"DIST={folder}"], cwd=ROOT, check=True)
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
    """Two processes take turns, since the machine is faster in one minute than in the next."""
    with _synthesizer() as own, _synthesizer(**{VARIABLE: "1"}) as portable:
        turns = partial(_synthesize, own), partial(_synthesize, portable)
        compare(*turns, 1)  # loads the library, and compiles
        comparison = compare(*turns, PAIRS)
    each = [1e6 * statistics.median(seconds) / SEQUENCES for seconds in (comparison.second, comparison.first)]
    value = f"{comparison.ratio:.2f}; {each[0]:.0f} and {each[1]:.0f} us per sequence"
    name = "rate of `synthesize` with portable kernels / kernels for this processor"
    return Figure(name, value, detail=[comparison.first, comparison.second])


def _synthesizer(**variables: str) -> Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | variables
    return Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, stdin=PIPE, stdout=PIPE, text=True)


def _synthesize(process: Popen[str]) -> None:
    print(file=process.stdin, flush=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
