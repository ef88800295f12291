"""``posegen run`` at 10,000 samples beside its estimate by ``posegen profile --through``, and the estimate for a large encoder.

Nothing else may use the machine: a stage is measured once, and load that changes is an error of the estimate.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.measure import folder_bytes, posegen, printed_by
from benchmarks.motion.clips import scaled
from posegen.foundations.quantities import human_bytes, human_time

SAMPLES, LARGE = 10_000, "BAAI/bge-large-en-v1.5"
CONFIG, STEPS = "default", {"retrieval": 600, "motion": 1000}
"""Steps of each training: those of ``quick``."""


def measure(folder: Path) -> Iterator[Figure]:
    samples = scaled(SAMPLES, 200)
    name = f"posegen run {CONFIG}, {samples:,} samples"
    # Vectors of earlier runs would make the run faster than its estimate.
    environment = {**os.environ, "POSEGEN_EMBEDDING_CACHE": str(folder / "cache")}
    tasks = [part for task in STEPS for part in ("--task", task)]
    tasks += [part for task, steps in STEPS.items() for part in ("--set", f"{task}:steps={scaled(steps, 40)}")]
    profile = ("profile", "--config", CONFIG, "--samples", str(scaled(1000, 50)), "--target", str(samples), *tasks)
    profile = (*profile, "--out", folder / "profile")
    estimated = _document(*profile, "--through", "animate", environment=environment)["pipelines"][0]
    run = _document("run", CONFIG, "--samples", str(samples), *tasks, "--out", folder / "run", environment=environment)
    taken = {stage["name"]: stage["seconds"] for stage in run["stages"]}
    for stage in estimated["stages"]:
        yield _compared(f"{name}: {stage['name']}", stage, taken[stage["name"]])
    whole = _compared(f"{name}: all stages", estimated, sum(taken.values()))
    good = estimated["low"] <= sum(taken.values()) <= estimated["high"]
    yield Figure(whole.name, whole.value, "within the estimated interval", good)
    stored = folder_bytes(folder / "run")
    yield Figure(f"{name}: disk", f"{human_bytes(stored)}, estimated {human_bytes(estimated['bytes'])}")
    large = _document(*profile, "--through", "embed", "--encoder", LARGE, environment=environment)["pipelines"][0]
    embed = next(stage for stage in large["stages"] if stage["name"] == "embed")
    value = f"{_interval(embed)}, {human_bytes(embed['bytes'])}; {embed['note']}"
    yield Figure(f"{name}: embed by {LARGE}, estimated", value)


def _compared(name: str, estimate: Mapping[str, Any], seconds: float) -> Figure:
    return Figure(name, f"{human_time(seconds)}, {seconds / estimate['seconds']:.2f} of the estimated {_interval(estimate)}")


def _interval(estimate: Mapping[str, Any]) -> str:
    low, high = human_time(estimate["low"]), human_time(estimate["high"])
    return f"{human_time(estimate['seconds'])} ({low} to {high})"


def _document(*arguments: str | Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON document of a command."""
    return dict(printed_by(posegen(*arguments, "--json", "--quiet"), environment))
