"""``quick`` of the task retrieval: recall after minutes, and the control with shuffled captions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.running import Run, time_figures, trained
from benchmarks.train.shared import SAMPLES, embedded

MOST_MINUTES = 6.0
LEAST_TIMES_CHANCE = 5.0
POOL = 256
MOST_TIMES_CHANCE = 2.0
"""Largest recall of the control: with some 3,600 queries, random scores reach .7 to 1.3 times the expected share."""


def measure(folder: Path) -> Iterator[Figure]:
    path = embedded(folder.parent)
    name = f"quick, task retrieval, {SAMPLES:,} samples"
    run = trained(path, "retrieval", "quick", folder / "quick")
    yield from time_figures(name, run, MOST_MINUTES, "quick retrieval")
    yield retrieval_figure(name, run, "quick retrieval")
    control = trained(path, "retrieval", "quick", folder / "shuffled", "--set", "data.shuffle_labels=true").measures
    times = control["r3"] / control["chance_r3"]
    value = f"R@3 {100 * control['r3']:.1f} %, {times:.1f} times chance; AUC {control['auc']:.3f}"
    yield Figure(f"{name}: with shuffled captions", value, "chance", times <= MOST_TIMES_CHANCE)


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
