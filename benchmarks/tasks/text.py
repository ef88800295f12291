"""The task text with ``quick``: recall of paraphrases against the initial encoder, and hard negatives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.train.running import SAMPLES, dataset, trained

MOST_MINUTES = 6.0
LEAST_GAIN = 0.05
"""Least gain of R@1 over the initial encoder, on some thousand captions."""
LEAST_HARD = 0.8
"""Least share of the captions to which their paraphrase is nearer than a caption with one changed statement."""


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    name = f"quick, task text, {SAMPLES:,} samples"
    for kind, options in (("all weights", ()), ("--lora 8", ("--lora", "8"))):
        run = trained(path, "text", "quick", folder / kind.replace(" ", ""), *options)
        yield Figure(f"{name}, {kind}: time", f"{run.minutes:.1f} min", f"under {MOST_MINUTES:g}", run.minutes < MOST_MINUTES)
        found, gain = run.measures, run.measures["r1"] - run.measures["r1_before"]
        value = f"R@1 {100 * found['r1']:.1f} %, R@10 {100 * found['r10']:.1f} %; before {100 * found['r1_before']:.1f} %"
        target = f"R@1 at least {100 * LEAST_GAIN:.0f} % above the initial encoder"
        yield Figure(f"{name}, {kind}: paraphrases", value, target, gain >= LEAST_GAIN)
        value = f"nearer {100 * found['hard_r1']:.1f} %, before {100 * found['hard_r1_before']:.1f} %"
        is_good = found["hard_r1"] >= LEAST_HARD
        yield Figure(f"{name}, {kind}: hard negatives", value, f"at least {100 * LEAST_HARD:.0f} %", is_good)
