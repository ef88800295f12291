"""The task text with ``quick``: recall of paraphrases against the initial encoder and shuffled pairs, and action families."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.running import Run, time_figures, trained
from benchmarks.train.shared import SAMPLES, dataset

MOST_MINUTES = 6.0
LEAST_GAIN = 0.05
"""Least gain of R@1 over the initial encoder, on some hundred scenes."""
LEAST_HARD = 0.8
"""Least R@1 among hard negatives: a caption's paraphrase against captions with one changed statement."""
LEAST_F1 = 0.9
"""Least macro-F1 of the families of actions."""
MOST_OF_COMMONEST = 1.1
"""Largest accuracy with shuffled labels, relative to predicting the commonest."""

_UNTRAINED = ("--set", "optimiser.rate=0", "--set", "steps=1")
_SHUFFLED = ("--set", "data.shuffle_labels=true")
# One caption per clip instead of six texts, so more clips fit into a step.
_FAMILIES = ("--set", "text.goal=families", "--set", "batch=48")


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    name = f"quick, task text, {SAMPLES:,} samples"
    before = trained(path, "text", "quick", folder / "before", *_UNTRAINED)
    shuffled = trained(path, "text", "quick", folder / "shuffled", *_SHUFFLED)
    yield Figure(f"{name}: the encoder that it begins with", _reported(before))
    for kind, options in (("all weights", ()), ("--lora 8", ("--lora", "8"))):
        run = trained(path, "text", "quick", folder / kind.replace(" ", ""), *options)
        yield from time_figures(f"{name}, {kind}", run, MOST_MINUTES, f"quick text, {kind}")
        gain = run.measures["r1"] - before.measures["r1"]
        target = f"R@1 at least {100 * LEAST_GAIN:.0f} % above the encoder that it begins with"
        yield Figure(f"{name}, {kind}: paraphrases", _reported(run), target, gain >= LEAST_GAIN)
        found = run.measures["hard_r1"]
        value = f"R@1 {100 * found:.1f} %, chance {100 * run.measures['hard_chance']:.1f} %"
        yield Figure(f"{name}, {kind}: hard negatives", value, f"at least {100 * LEAST_HARD:.0f} %", found >= LEAST_HARD)
    good = shuffled.measures["r1"] <= before.measures["r1"]
    yield Figure(f"{name}: with shuffled pairs", _reported(shuffled), "no better than the encoder that it begins with", good)
    yield from _families(path, folder, f"quick, task text, families, {SAMPLES:,} samples")


def _families(path: Path, folder: Path, name: str) -> Iterator[Figure]:
    run = trained(path, "text", "quick", folder / "families", *_FAMILIES)
    yield from time_figures(name, run, MOST_MINUTES, "quick text, families")
    found = run.measures["macro_f1"]
    yield Figure(f"{name}: families", _right(run), f"macro-F1 at least {LEAST_F1}", found >= LEAST_F1)
    control = trained(path, "text", "quick", folder / "shuffled families", *_FAMILIES, *_SHUFFLED)
    most = MOST_OF_COMMONEST * control.measures["commonest"]
    target = f"at most {MOST_OF_COMMONEST} times the commonest"
    yield Figure(f"{name}: with shuffled labels", _right(control), target, control.measures["exact"] <= most)


def _reported(run: Run) -> str:
    found = run.measures
    return (
        f"R@1 {100 * found['r1']:.1f} %, R@3 {100 * found['r3']:.1f} % in pools of {found['pool']:.0f} scenes "
        f"(chance {100 * found['chance_r1']:.1f} %); among hard negatives {100 * found['hard_r1']:.1f} %"
    )


def _right(run: Run) -> str:
    found = run.measures
    return (
        f"macro-F1 {found['macro_f1']:.3f}; all families of a caption right in {100 * found['exact']:.1f} %, "
        f"the commonest {100 * found['commonest']:.1f} %"
    )
