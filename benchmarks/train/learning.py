"""``quick`` learns within minutes what it is asked, does not wait for data, and learns nothing from shuffled labels."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, posegen

SAMPLES = 6000
MOST_MINUTES = 6.0
LEAST_TOP1 = 0.85
MOST_WAITING = 0.05
CHANCE = 0.05
"""How far above what saying always the commonest action gets a control may be."""


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", str(SAMPLES))
    begin = time.monotonic()
    result = trained(dataset, folder / "quick")
    minutes = (time.monotonic() - begin) / 60
    found = result["measures"]
    clips = f"{found['clips']:,.0f} clips of samples that are held out"
    name = f"quick, task action, {SAMPLES:,} samples"
    yield Figure(f"{name}: the whole command", f"{minutes:.1f} minutes", f"{MOST_MINUTES:.0f}", minutes <= MOST_MINUTES)
    told = f"{found['clip_top1']:.3f} of {clips}; macro-F1 {found['clip_macro_f1']:.3f}, frames {found['frame_top1']:.3f}"
    yield Figure(f"{name}: top-1", told, f"{LEAST_TOP1}", found["clip_top1"] >= LEAST_TOP1, result["table"])
    times = result["times"]
    shares = ", ".join(f"{phase} {100 * share:.1f} %" for phase, share in times["shares"].items())
    told = f"{shares} of {1000 * times['seconds']:.0f} ms"
    yield Figure(f"{name}: where a step's time goes", told, "data under 5 %", times["shares"]["data"] < MOST_WAITING)
    shuffled = trained(dataset, folder / "shuffled", "--set", "data.shuffle_labels=true")["measures"]
    told = f"{shuffled['clip_top1']:.3f}; always the commonest action gets {shuffled['commonest']:.3f}"
    at_chance = shuffled["clip_top1"] <= shuffled["commonest"] + CHANCE
    yield Figure(f"{name}: with shuffled labels", told, "chance", at_chance)


def trained(dataset: Path, place: Path, *options: str) -> dict[str, Any]:
    """Train with the preset quick; give what the run's result holds."""
    command = posegen("train", dataset, "--task", "action", "--quiet", "--out", place, *options)
    subprocess.run(command, cwd=ROOT, check=True)
    return dict(json.loads((place / "result.json").read_bytes()))
