"""Errors of the task attribute with ``quick``, and a control with shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.running import SAMPLES, dataset, time_figures, trained

MOST_MINUTES = 6.0
LEAST_OF_CONSTANT = 0.95
"""Least SMAPE of a control relative to that of the best constant."""
ATTRIBUTES = ("speed", "cadence", "energy", "duration")


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    name = f"quick, task attribute, {SAMPLES:,} samples"
    run = trained(path, "attribute", "quick", folder / "run")
    yield from time_figures(name, run, MOST_MINUTES, "quick attribute from motion")
    for attribute in ATTRIBUTES:
        yield Figure(f"{name}: {attribute}", _reported(run.measures, attribute))
    control = trained(path, "attribute", "quick", folder / "shuffled", "--set", "data.shuffle_labels=true").measures
    good = all(control[f"{a}_smape"] >= LEAST_OF_CONSTANT * control[f"{a}_constant"] for a in ATTRIBUTES)
    value = "; ".join(f"{a} {control[f'{a}_smape']:.1f} %, constant {control[f'{a}_constant']:.1f} %" for a in ATTRIBUTES)
    yield Figure(f"{name}: with shuffled labels", value, f"at least {LEAST_OF_CONSTANT} of what a constant gets", good)


def _reported(found: dict[str, float], attribute: str) -> str:
    error, constant = found[f"{attribute}_smape"], found[f"{attribute}_constant"]
    absolute, explained = found[f"{attribute}_mae"], found[f"{attribute}_r2"]
    return f"SMAPE {error:.1f} %, constant {constant:.1f} %; MAE {absolute:.3g}; R2 {explained:.3f}"
