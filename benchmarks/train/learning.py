"""``quick``, ``fast`` and ``balanced`` of the tasks action and retrieval: time, quality, and controls that learn nothing.

The targets of quality are the same for all presets: a longer run must not be worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.train.real_clips import real_figures
from benchmarks.train.running import SAMPLES, Run, dataset, embedded, time_figures, trained

MOST_MINUTES = {"quick": 6.0, "fast": 30.0, "balanced": 30.0}
SHUFFLED = ("--set", "data.shuffle_labels=true")
LEAST_TOP1 = 0.85
CHANCE = 0.05
"""Largest accuracy of the control above that of always predicting the commonest action."""
LEAST_TIMES_CHANCE = 5.0
POOL = 256
MOST_TIMES_CHANCE = 2.0
"""Largest recall of the control: with some 3,600 queries, random scores reach .7 to 1.3 times the expected share."""


def measure(folder: Path) -> Iterator[Figure]:
    for preset, minutes in MOST_MINUTES.items():
        name = f"{preset}, task action, {SAMPLES:,} samples"
        run = trained(dataset(folder.parent), "action", preset, folder / f"{preset} action")
        yield from time_figures(name, run, minutes, f"{preset} action")
        yield action_figure(name, run, f"{preset} action")
        if preset == "balanced":
            yield from real_figures(name, run.place)
        name = f"{preset}, task retrieval, {SAMPLES:,} samples"
        run = trained(embedded(folder.parent), "retrieval", preset, folder / f"{preset} retrieval")
        yield from time_figures(name, run, minutes, f"{preset} retrieval")
        yield retrieval_figure(name, run, f"{preset} retrieval")
    yield from _controls(folder)


def _controls(folder: Path) -> Iterator[Figure]:
    found = trained(dataset(folder.parent), "action", "quick", folder / "shuffled action", *SHUFFLED).measures
    value = f"{found['clip_top1']:.3f}; always the commonest action gets {found['commonest']:.3f}"
    at_chance = found["clip_top1"] <= found["commonest"] + CHANCE
    yield Figure(f"quick, task action, {SAMPLES:,} samples: with shuffled labels", value, "chance", at_chance)
    found = trained(embedded(folder.parent), "retrieval", "quick", folder / "shuffled retrieval", *SHUFFLED).measures
    times = found["r3"] / found["chance_r3"]
    value = f"R@3 {100 * found['r3']:.1f} %, {times:.1f} times chance; AUC {found['auc']:.3f}"
    at_chance = times <= MOST_TIMES_CHANCE
    yield Figure(f"quick, task retrieval, {SAMPLES:,} samples: with shuffled captions", value, "chance", at_chance)


def action_figure(name: str, run: Run, kind: str) -> Figure:
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
    return Figure(f"{name}: top-1", value, f"{LEAST_TOP1}", found["clip_top1"] >= LEAST_TOP1, detail)


def _mistakes(table: Mapping[str, Any], most: int = 10) -> list[str]:
    """Return the most frequent confusions: count, true class and predicted class."""
    counts = np.array(table["confusion"])
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:most]
    places = (np.unravel_index(place, counts.shape) for place in order)
    return [f"{counts[a, b]} {table['names'][a]} for {table['names'][b]}" for a, b in places if counts[a, b]]


def retrieval_figure(name: str, run: Run, kind: str) -> Figure:
    """Return recall, median rank and verification of a run."""
    found = run.measures
    ways = f"motions of captions {_reported(found, 'text_to_motion')}; captions of motions {_reported(found, 'motion_to_text')}"
    pair = f"AUC {found['auc']:.3f}, equal error rate {found['equal_error']:.3f}"
    times = found["r3"] / found["chance_r3"]
    value = f"R@3 {100 * found['r3']:.1f} %, {times:.0f} times chance, in pools of {found['pool']:.0f}; {ways}; {pair}"
    good = found["pool"] == POOL and times >= LEAST_TIMES_CHANCE
    target = f"at least {LEAST_TIMES_CHANCE:.0f} times chance in pools of {POOL}"
    return Figure(f"{name}: R@3", value, target, good, {kind: f"R@3 {100 * found['r3']:.1f} %"})


def _reported(found: dict[str, float], way: str) -> str:
    shares = "/".join(f"{100 * found[f'{way}_r{k}']:.1f}" for k in (1, 2, 3, 5, 10))
    return f"R@1/2/3/5/10 {shares} %, median rank {found[f'{way}_median']:g}"
