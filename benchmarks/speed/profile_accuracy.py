"""Accuracy of `posegen profile` for a run many times as large, timed from the start of the command to its end."""

from __future__ import annotations

import math
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.figures import Figure
from benchmarks.measure import posegen, printed_by
from benchmarks.speed.targets import COVERED, QUIET, WIDEST
from posegen.foundations.machine import available_cores

TIMES = 20
SAMPLES, ROUNDS = 1000, 3
FEW_SAMPLES, FEW_ROUNDS = 200, 7
SMALL = ("--set", "store.shard=40")
"""Shard size with which few samples fill as many shards as many samples with the default."""


@dataclass(frozen=True)
class Accuracy:
    """An estimate and the run that it estimates, in seconds and bytes; `cores_of_others` were used before the profile."""

    estimate: float
    low: float
    high: float
    estimated_bytes: int
    cores_of_others: float
    seconds: float
    bytes: int

    @property
    def inside(self) -> bool:
        return self.low <= self.seconds <= self.high

    @property
    def width(self) -> float:
        """Relative half-width of the interval."""
        return max(self.high - self.estimate, self.estimate - self.low) / self.estimate

    def widened(self, times: float) -> tuple[float, float]:
        """Return the interval, `times` times as wide."""
        return self.estimate - times * (self.estimate - self.low), self.estimate + times * (self.high - self.estimate)


def measure_accuracy(samples: int, times: int, folder: Path, *options: str, repeats: int | None = None) -> Accuracy:
    """Profile a run and execute it, on the disk of `folder`; `options` are passed to both commands."""
    target, others = samples * times, psutil.cpu_percent(interval=1.0) / 100 * available_cores()
    profile = ["--samples", samples, "--target", target, *([] if repeats is None else ["--repeats", repeats])]
    common = [*options, "--out", folder / "dataset", "--json", "--quiet"]
    profiled = printed_by(posegen("profile", *profile, *common))
    (expected,) = profiled["targets"]
    started = time.monotonic()
    run = ["--samples", str(target), "--workers", str(profiled["workers"])]
    result = printed_by(posegen("generate", *run, *common))
    seconds = time.monotonic() - started
    shutil.rmtree(folder / "dataset")
    return Accuracy(
        estimate=expected["seconds"],
        low=expected["seconds_low"],
        high=expected["seconds_high"],
        estimated_bytes=expected["bytes"],
        cores_of_others=others,
        seconds=seconds,
        bytes=result["bytes"],
    )


def measure(folder: Path) -> Iterator[Figure]:
    found = [measure_accuracy(SAMPLES, TIMES, folder) for _ in range(ROUNDS)]
    yield from _inside(found, f"a profile of {SAMPLES:,} samples, and a run of {SAMPLES * TIMES:,}")
    error = statistics.median(each.seconds / each.estimate - 1 for each in found)
    yield Figure("duration / estimate - 1, median", f"{error:+.1%}")
    others, width = max(each.cores_of_others for each in found), max(each.width for each in found)
    # On a busy machine a wide interval is right.
    passed = width <= WIDEST if others <= QUIET else None
    target = f"at most {WIDEST:.0%} on an idle machine"
    yield Figure("half-width of the interval", f"{width:.1%}, {others:.1f} cores used by others", target, passed)
    sizes = max(abs(each.estimated_bytes / each.bytes - 1) for each in found)
    yield Figure("error of the estimated bytes", f"{sizes:.2%}", "at most 3%", sizes <= 0.03)
    few = [measure_accuracy(FEW_SAMPLES, TIMES, folder, *SMALL) for _ in range(FEW_ROUNDS)]
    yield from _inside([*found, *few], f"with those of {FEW_SAMPLES:,} and {FEW_SAMPLES * TIMES:,}, in small shards")


def _inside(found: Sequence[Accuracy], name: str) -> Iterator[Figure]:
    inside = sum(each.inside for each in found)
    least = math.ceil(COVERED * len(found))
    target = "all" if least == len(found) else f"at least {least}"
    detail = [asdict(each) for each in found]
    yield Figure(f"{name}: inside the interval", f"{inside} of {len(found)}", target, inside >= least, detail)
