"""Whether `posegen profile` tells the truth of a run many times as large, timed from the command's start to its end."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen

SAMPLES, TIMES, ROUNDS = 1000, 20, 3
WIDEST = 0.15
"""Of the interval, either way, on a quiet machine."""

QUIET = 0.1
"""Cores that other processes may use on a quiet machine."""


@dataclass(frozen=True)
class Accuracy:
    """What was told of a run, in seconds and bytes, and what it was."""

    told: float
    low: float
    high: float
    told_bytes: int
    cores_of_others: float
    took: float
    took_bytes: int

    @property
    def inside(self) -> bool:
        return self.low <= self.took <= self.high

    @property
    def width(self) -> float:
        """How far the interval goes either way, relatively."""
        return max(self.high - self.told, self.told - self.low) / self.told

    def widened(self, times: float) -> tuple[float, float]:
        """The interval, so many times as wide."""
        return self.told - times * (self.told - self.low), self.told + times * (self.high - self.told)


def measured(samples: int, times: int, folder: Path) -> Accuracy:
    """Profile, then make what was asked about; `folder` is on the disk that is meant."""
    target = samples * times
    options = ["--samples", str(samples), "--target", str(target), "--out", folder / "dataset"]
    figures = folder / "figures"
    document = json.loads(_output(figures, *posegen("profile", *options, "--json", "--quiet")))
    (told,) = document["targets"]
    options = ["--samples", str(target), "--workers", str(told["workers"]), "--out", folder / "dataset"]
    started = time.monotonic()
    made = json.loads(_output(figures, *posegen("generate", *options, "--json", "--quiet")))
    took = time.monotonic() - started
    shutil.rmtree(folder / "dataset")
    return Accuracy(
        told=told["seconds"],
        low=told["seconds_low"],
        high=told["seconds_high"],
        told_bytes=told["bytes"],
        cores_of_others=document["cores_of_others"],
        took=took,
        took_bytes=made["bytes"],
    )


def measure(folder: Path) -> Iterator[Figure]:
    found = [measured(SAMPLES, TIMES, folder) for _ in range(ROUNDS)]
    inside = sum(each.inside for each in found)
    detail = [asdict(each) for each in found]
    asked = f"a profile of {SAMPLES:,} samples, and a run of {SAMPLES * TIMES:,}"
    yield Figure(f"{asked}: inside the interval", f"{inside} of {ROUNDS}", "all", inside == ROUNDS, detail)
    off = statistics.median(each.took / each.told - 1 for each in found)
    yield Figure("the run took longer than told by, in the median", f"{off:+.1%}")
    others = max(each.cores_of_others for each in found)
    width = max(each.width for each in found)
    wanted = f"at most {WIDEST:.0%} on a quiet machine"
    # On a busy machine the interval is wide because it ought to be.
    good = width <= WIDEST if others <= QUIET else None
    yield Figure("the interval goes either way", f"{width:.1%}, {others:.1f} cores used by others", wanted, good)
    sizes = max(abs(each.told_bytes / each.took_bytes - 1) for each in found)
    yield Figure("bytes differ from those told by", f"{sizes:.2%}", "at most 3%", sizes <= 0.03)


def _output(figures: Path, *command: str) -> str:
    environment = {**os.environ, "POSEGEN_PROFILE_CACHE": str(figures)}  # those of whoever measures stay as they are
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
