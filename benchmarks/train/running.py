"""Run ``posegen train`` by the command line on a dataset that all measures share, and read its results."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import run, scaled

MOST_WAITING = 0.05
SAMPLES = scaled(6000, 600)

_places: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that are removed when Python exits."""


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


@cache
def dataset(beside: Path) -> Path:
    """Generate the dataset of all measures at first use, in a folder next to that of a measure, on the same disk."""
    place = tempfile.TemporaryDirectory(dir=beside)
    _places.append(place)
    return generate(Path(place.name) / "dataset", "--samples", str(SAMPLES))


@cache
def embedded(beside: Path) -> Path:
    """Return the dataset with embedded captions."""
    path = dataset(beside)
    run("embed", path)
    return path


def trained(dataset: Path, task: str, preset: str, place: Path, *options: str) -> Run:
    """Train with a preset."""
    begin = time.monotonic()
    run("train", dataset, "--task", task, "--preset", preset, "--out", place, *options)
    minutes = (time.monotonic() - begin) / 60
    return Run(place, minutes, dict(json.loads((place / "result.json").read_bytes())))


def time_figures(name: str, done: Run, most_minutes: float, kind: str) -> Iterator[Figure]:
    """Yield the duration of the command and the share of waiting for data, with their targets.

    Parameters
    ----------
    name : str
        What figures begin with.
    done : Run
    most_minutes : float
    kind : str
        Preset and task, as the page finds them.
    """
    value = f"{done.minutes:.1f} minutes"
    yield Figure(f"{name}: total time", value, f"{most_minutes:.0f}", done.minutes <= most_minutes, {kind: done.minutes})
    times = done.result["times"]
    shares = ", ".join(f"{phase} {100 * share:.1f} %" for phase, share in times["shares"].items())
    value = f"{shares} of {1000 * times['seconds']:.0f} ms"
    waits = times["shares"]["data"] < MOST_WAITING
    yield Figure(f"{name}: time split of a training step", value, f"data under {100 * MOST_WAITING:.0f} %", waits)
