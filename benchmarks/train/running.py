"""Run ``posegen train`` by the command line and read its results."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen

__all__ = ["Run", "time_figures", "trained"]

MOST_WAITING = 0.05


@dataclass(frozen=True)
class Run:
    """A complete run: path, minutes of total time, and result."""

    place: Path
    minutes: float
    result: dict[str, Any]

    @property
    def measures(self) -> dict[str, float]:
        """Measures on the test split."""
        return dict(self.result["measures"])


def trained(dataset: Path, task: str, preset: str, place: Path, *options: str) -> Run:
    """Train with a preset."""
    begin = time.monotonic()
    given = ("--task", task, "--preset", preset, "--quiet", "--out", place, *options)
    subprocess.run(posegen("train", dataset, *given), cwd=ROOT, check=True)
    minutes = (time.monotonic() - begin) / 60
    return Run(place, minutes, dict(json.loads((place / "result.json").read_bytes())))


def time_figures(name: str, run: Run, most_minutes: float, kind: str) -> Iterator[Figure]:
    """Yield the duration of the command and the share of waiting for data, with their targets.

    Parameters
    ----------
    name : str
        What figures begin with.
    run : Run
    most_minutes : float
    kind : str
        Preset and task, as the page finds them.
    """
    value = f"{run.minutes:.1f} minutes"
    yield Figure(f"{name}: total time", value, f"{most_minutes:.0f}", run.minutes <= most_minutes, {kind: run.minutes})
    times = run.result["times"]
    shares = ", ".join(f"{phase} {100 * share:.1f} %" for phase, share in times["shares"].items())
    value = f"{shares} of {1000 * times['seconds']:.0f} ms"
    waits = times["shares"]["data"] < MOST_WAITING
    yield Figure(f"{name}: time split of a training step", value, f"data under {100 * MOST_WAITING:.0f} %", waits)
