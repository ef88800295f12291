"""Results of the experiment, their file, and the measures that the page shows."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, described_machine

PRETRAINING, AMPLIFICATION = "usefulness", "amplification"
"""Names of the files of results: of generated motion, then real clips; and of datasets generated from clips."""


@dataclass(frozen=True)
class Result:
    """Measures of one model in one repetition.

    `count` is the real clips of a class that it was trained on, None for all, 0 for none; `clips` how many these are together.
    """

    task: str
    way: str
    count: int | None
    clips: int
    repetition: int
    measures: Mapping[str, float]


def write(section: str, results: Sequence[Result], facts: Mapping[str, Any], seconds: float, folder: Path = RESULTS) -> Path:
    """Save results as JSON; `seconds` is processor time."""
    document = {
        "section": section,
        "machine": {**described_machine(), "torch": version("torch")},
        "seconds": round(seconds),
        "facts": dict(facts),
    }
    path = folder / f"{section}.json"
    path.write_text(as_text(document, [asdict(result) for result in results]), encoding="utf-8")
    return path


def as_text(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> str:
    """Return JSON with a line for each result, so that the table of a run is as long as its results are many."""
    head = json.dumps(document).removesuffix("}")
    return head + ', "results": [\n' + ",\n".join(map(json.dumps, results)) + "\n]}\n"


def read(section: str, folder: Path = RESULTS) -> tuple[dict[str, Any], list[Result]]:
    """Return the saved document and its results."""
    document = json.loads((folder / f"{section}.json").read_text("utf-8"))
    return document, [Result(**result) for result in document["results"]]


def values_of(results: Sequence[Result], task: str, way: str, count: int | None, measure: str) -> dict[int, float]:
    """Return a measure by repetition."""
    return {r.repetition: r.measures[measure] for r in results if (r.task, r.way, r.count) == (task, way, count)}


def have(results: Sequence[Result], task: str) -> set[tuple[str, int | None, int]]:
    """Return the methods, counts and repetitions that a task has."""
    return {(r.way, r.count, r.repetition) for r in results if r.task == task}


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """Return the difference in each repetition that both have."""
    return [one[repetition] - other[repetition] for repetition in sorted(one.keys() & other.keys())]


def summed_up(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample standard deviation over repetitions."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


@dataclass(frozen=True)
class Measure:
    """A measure.

    `key` is its name in the results, `sign` 1 where more is better and -1 where less is, `times` what makes the unit of it.
    """

    name: str
    task: str
    key: str
    sign: int
    times: float
    unit: str
    gained: str

    def reported(self, values: Iterable[float]) -> str:
        """Format mean and standard deviation; one value has none."""
        scaled = [self.times * value for value in values]
        mean, spread = summed_up(scaled)
        return f"{mean:.1f} ± {spread:.1f} {self.unit}" if len(scaled) > 1 else f"{mean:.1f} {self.unit}"

    def gain(self, values: Sequence[float]) -> str:
        """Format the mean of gains and how many are positive; empty for none."""
        better = f"{sum(value > 0 for value in values)} of {len(values)}"
        return f"{self.times * summed_up(values)[0]:+.1f} {self.gained} ({better})" if values else ""


MEASURES = (
    Measure("Action, balanced accuracy", "action", "balanced", 1, 100.0, "%", "points"),
    Measure("Lifting, MPJPE", "lifting", "mpjpe", -1, 1.0, "mm", "mm"),
    Measure("Lifting, PA-MPJPE", "lifting", "pa_mpjpe", -1, 1.0, "mm", "mm"),
)
