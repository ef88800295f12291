"""Errors of the task attribute with ``quick``, from captions and from motion, and a control with shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.running import Run, time_figures, trained
from benchmarks.train.shared import SAMPLES, dataset

MOST_MINUTES = 6.0
MOST_STATED = 15.0
"""Largest SMAPE, in per cent, of the speed from captions that state it."""
FROM_FLOOR = (0.85, 1.1)
"""Range of SMAPE / entropy floor for captions without a stated speed. Above: statements are not learned; below: labels leak."""
LEAST_OF_CONSTANT = 0.95
"""Least SMAPE of a control relative to that of the best constant."""
ATTRIBUTES = ("speed", "cadence", "energy", "duration")


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    for given in ("captions", "motion"):
        name = f"quick, task attribute from {given}, {SAMPLES:,} samples"
        run = trained(path, "attribute", "quick", folder / given, "--set", f"attribute.given={given}")
        yield from time_figures(name, run, MOST_MINUTES, f"quick attribute from {given}")
        if given == "captions":
            yield from _words_figures(name, run)
        for attribute in ATTRIBUTES:
            yield Figure(f"{name}: {attribute}", _reported(run.measures, attribute))
        shuffled = ("--set", "data.shuffle_labels=true", "--set", f"attribute.given={given}")
        control = trained(path, "attribute", "quick", folder / f"{given} shuffled", *shuffled).measures
        good = all(control[f"{a}_smape"] >= LEAST_OF_CONSTANT * control[f"{a}_constant"] for a in ATTRIBUTES)
        value = "; ".join(f"{a} {control[f'{a}_smape']:.1f} %, constant {control[f'{a}_constant']:.1f} %" for a in ATTRIBUTES)
        yield Figure(f"{name}: with shuffled labels", value, f"at least {LEAST_OF_CONSTANT} of what a constant gets", good)


def _words_figures(name: str, run: Run) -> Iterator[Figure]:
    found = run.measures
    error, floor = found["speed_stated_smape"], found["speed_stated_floor"]
    value = f"SMAPE {error:.1f} %, floor {floor:.1f} %, of {found['speed_stated']:.0f} captions"
    good = error < MOST_STATED
    yield Figure(f"{name}: speed, captions that state it", value, f"under {MOST_STATED:.0f} %", good)
    error, floor = found["speed_unstated_smape"], found["speed_unstated_floor"]
    value = f"SMAPE {error:.1f} %, floor {floor:.1f} %, {error / floor:.2f} of it, of {found['speed_unstated']:.0f} captions"
    low, high = FROM_FLOOR
    yield Figure(f"{name}: speed, captions that do not", value, f"{low} to {high} of the floor", low <= error / floor <= high)


def _reported(found: dict[str, float], attribute: str) -> str:
    error, constant = found[f"{attribute}_smape"], found[f"{attribute}_constant"]
    absolute, explained = found[f"{attribute}_mae"], found[f"{attribute}_r2"]
    return f"SMAPE {error:.1f} %, constant {constant:.1f} %; MAE {absolute:.3g}; R2 {explained:.3f}"
