"""Whether `posegen profile` tells the truth of a run many times as large, timed from the command's start to its end."""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen
from benchmarks.speed.wanted import COVERED, QUIET, WIDEST

TIMES = 20
SAMPLES, ROUNDS = 1000, 3
FEW_SAMPLES, FEW_ROUNDS = 200, 7
SMALL = ("--set", "store.shard=40")
"""Shards of which few samples have several, as many samples have of the usual ones."""


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


def measured(samples: int, times: int, folder: Path, *options: str, repeats: int | None = None) -> Accuracy:
    """Profile, then make what was asked about; `folder` is on the disk that is meant, `options` are for both commands."""
    target, figures = samples * times, folder / "figures"
    asked = ["--samples", samples, "--target", target, *([] if repeats is None else ["--repeats", repeats])]
    common = [*options, "--out", folder / "dataset", "--json", "--quiet"]
    document = json.loads(_output(figures, *posegen("profile", *map(str, asked), *common)))
    (told,) = document["targets"]
    started = time.monotonic()
    made = json.loads(
        _output(figures, *posegen("generate", "--samples", str(target), "--workers", str(told["workers"]), *common))
    )
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
    yield from _inside(found, f"a profile of {SAMPLES:,} samples, and a run of {SAMPLES * TIMES:,}")
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
    few = [measured(FEW_SAMPLES, TIMES, folder, *SMALL) for _ in range(FEW_ROUNDS)]
    yield from _inside([*found, *few], f"with those of {FEW_SAMPLES:,} and {FEW_SAMPLES * TIMES:,}, in small shards")


def _inside(found: Sequence[Accuracy], name: str) -> Iterator[Figure]:
    inside = sum(each.inside for each in found)
    # 9 of 10 are told: of few, all.
    least = math.ceil(COVERED * len(found))
    wanted = "all" if least == len(found) else f"at least {least}"
    detail = [asdict(each) for each in found]
    yield Figure(f"{name}: inside the interval", f"{inside} of {len(found)}", wanted, inside >= least, detail)


def _output(figures: Path, *command: str) -> str:
    environment = {**os.environ, "POSEGEN_PROFILE_CACHE": str(figures)}  # those of whoever measures stay as they are
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
