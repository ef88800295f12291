"""``quick`` of retrieval finds captions of motions and motions of captions within minutes, and by shuffled captions nothing."""

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

SAMPLES = 4000
MOST_MINUTES = 6.0
LEAST_TIMES_CHANCE = 5.0
POOL = 256
MOST_TIMES_CHANCE = 2.0
"""What a control may reach: of some 2,400 questions, chance alone finds between .7 and 1.3 times its share."""


def measure(folder: Path) -> Iterator[Figure]:
    dataset = generate(folder / "dataset", "--samples", str(SAMPLES))
    subprocess.run(posegen("embed", dataset, "--quiet"), cwd=ROOT, check=True)
    begin = time.monotonic()
    found = trained(dataset, folder / "quick")["measures"]
    minutes = (time.monotonic() - begin) / 60
    name = f"quick, task retrieval, {SAMPLES:,} samples"
    yield Figure(f"{name}: the whole command", f"{minutes:.1f} minutes", f"{MOST_MINUTES:.0f}", minutes <= MOST_MINUTES)
    ways = f"motions of captions {_told(found, 'text_to_motion')}; captions of motions {_told(found, 'motion_to_text')}"
    pair = f"AUC {found['auc']:.3f}, equal error rate {found['equal_error']:.3f}"
    times = found["r3"] / found["chance_r3"]
    told = f"R@3 {100 * found['r3']:.1f} %, {times:.0f} times chance, in pools of {found['pool']:.0f}; {ways}; {pair}"
    good = found["pool"] == POOL and times >= LEAST_TIMES_CHANCE
    yield Figure(f"{name}: R@3", told, f"at least {LEAST_TIMES_CHANCE:.0f} times chance in pools of {POOL}", good)
    control = trained(dataset, folder / "shuffled", "--set", "data.shuffle_labels=true")["measures"]
    times = control["r3"] / control["chance_r3"]
    told = f"R@3 {100 * control['r3']:.1f} %, {times:.1f} times chance; AUC {control['auc']:.3f}"
    yield Figure(f"{name}: with shuffled captions", told, "chance", times <= MOST_TIMES_CHANCE)


def _told(found: dict[str, float], way: str) -> str:
    shares = "/".join(f"{100 * found[f'{way}_r{k}']:.1f}" for k in (1, 2, 3, 5, 10))
    return f"R@1/2/3/5/10 {shares} %, median rank {found[f'{way}_median']:g}"


def trained(dataset: Path, place: Path, *options: str) -> dict[str, Any]:
    """Train with the preset quick; give what the run's result holds."""
    command = posegen("train", dataset, "--task", "retrieval", "--quiet", "--out", place, *options)
    subprocess.run(command, cwd=ROOT, check=True)
    return dict(json.loads((place / "result.json").read_bytes()))
