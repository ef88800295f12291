"""``quick`` of the task action: accuracy after minutes, waiting for data, and the control with shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.train.running import Run, time_figures, trained
from benchmarks.train.shared import SAMPLES, dataset

MOST_MINUTES = 6.0
LEAST_TOP1 = 0.85
CHANCE = 0.05
"""Largest accuracy of the control above that of always predicting the commonest action."""


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    name = f"quick, task action, {SAMPLES:,} samples"
    run = trained(path, "action", "quick", folder / "quick")
    yield from time_figures(name, run, MOST_MINUTES, "quick action")
    yield action_figure(name, run, LEAST_TOP1, "quick action")
    shuffled = trained(path, "action", "quick", folder / "shuffled", "--set", "data.shuffle_labels=true").measures
    value = f"{shuffled['clip_top1']:.3f}; always the commonest action gets {shuffled['commonest']:.3f}"
    at_chance = shuffled["clip_top1"] <= shuffled["commonest"] + CHANCE
    yield Figure(f"{name}: with shuffled labels", value, "chance", at_chance)


def action_figure(name: str, run: Run, least: float, kind: str) -> Figure:
    """Return the accuracy of a run."""
    found = run.measures
    clips = f"{found['clips']:,.0f} clips of test samples"
    value = (
        f"{found['clip_top1']:.3f} of {clips}; macro-F1 {found['clip_macro_f1']:.3f}, balanced {found['clip_balanced']:.3f}, "
        f"of clips with an action that fills half {found['clip_top1_of_half']:.3f}; frames {found['frame_top1']:.3f}, "
        f"their macro-F1 {found['frame_macro_f1']:.3f}; chance {found['commonest']:.3f}"
    )
    detail = {
        kind: f"{100 * found['clip_top1']:.1f} % of clips",
        "taken for another": _mistakes(run.result["table"]),
    }
    return Figure(f"{name}: top-1", value, f"{least}", found["clip_top1"] >= least, detail)


def _mistakes(table: Mapping[str, Any], most: int = 10) -> list[str]:
    """Return the most frequent confusions: count, true class and predicted class."""
    counts = np.array(table["confusion"])
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:most]
    places = (np.unravel_index(place, counts.shape) for place in order)
    return [f"{counts[a, b]} {table['names'][a]} for {table['names'][b]}" for a, b in places if counts[a, b]]
