"""Estimates of ``posegen train --estimate`` for each preset for the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import posegen, printed_by
from benchmarks.train.running import dataset

PRESETS = ("quick", "fast", "balanced", "best")


def measure(folder: Path) -> Iterator[Figure]:
    path = dataset(folder.parent)
    for preset in PRESETS:
        arguments = ("--task", "action", "--preset", preset, "--estimate", "--json", "--quiet", "--out", folder / preset)
        document = printed_by(posegen("train", path, *arguments))
        found = document["estimate"]
        chosen = {reason["name"]: reason["value"] for reason in document["reasons"]}
        each = f"{1000 * found['step_seconds']:.0f} ms a step"
        how = f"threads {chosen['threads']}, micro-batches of {chosen['micro_batch']}, {chosen['precision']}"
        text = f"{found['seconds'] / 60:.1f} minutes: {found['steps']:,} steps, {each}, {found['parameters']:,} weights; {how}"
        yield Figure(f"preset {preset}, estimate for task action", text, "", None, found)
