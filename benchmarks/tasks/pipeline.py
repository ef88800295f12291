"""``posegen run`` from nothing to an animated sentence: its duration, and that kills change nothing."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measure import ROOT, killed, posegen

MOST_MINUTES = 10.0
PRESET = """
steps: 120
data: {stride: 4}
checks: {times: 2, clips: 64}
saving: {steps: 20}
machine: {threads: 1, micro_batch: 16, workers: 0, precision: 32-true}
"""
"""Preset of the compared pipelines. It fixes the machine settings, which are otherwise chosen by timing and may differ."""
BEGUN = {
    "generate": "dataset/motion.zarr/zarr.json",
    "embed": "dataset/embeddings/*",
    "train retrieval": "retrieval/checkpoints/*.json",
    "train motion": "motion/checkpoints/*.json",
    "evaluate": "motion/result.json",
}
"""Files that exist once a stage has started and would lose work if killed."""
SAME = ("retrieval/model.safetensors", "motion/model.safetensors", "animation.gif", "evaluation.json")


def measure(folder: Path) -> Iterator[Figure]:
    begin = time.monotonic()
    subprocess.run(_command(folder / "timed"), cwd=ROOT, check=True)
    minutes = (time.monotonic() - begin) / 60
    drawn = (folder / "timed" / "animation.gif").stat().st_size > 0
    name = "posegen run smoke, from nothing to an animated sentence"
    yield Figure(name, f"{minutes:.1f} minutes", f"under {MOST_MINUTES:.0f}", drawn and minutes < MOST_MINUTES, minutes)
    preset = folder / "short.yaml"
    preset.write_text(PRESET)
    whole, broken = folder / "whole", folder / "killed"
    subprocess.run(_command(whole, "--preset", preset), cwd=ROOT, check=True)
    command = _command(broken, "--preset", preset)
    kills = [stage for stage, begun in BEGUN.items() if killed(command, lambda begun=begun: any(broken.glob(begun)))]
    subprocess.run(command, cwd=ROOT, check=True)
    other = [place for place in SAME if (whole / place).read_bytes() != (broken / place).read_bytes()]
    compared = posegen("diff", whole / "dataset", broken / "dataset")
    if subprocess.run(compared, cwd=ROOT, check=False, stdout=subprocess.DEVNULL).returncode:
        other.append("dataset")
    value = f"killed in {', '.join(kills)}: {'other ' + ', '.join(other) if other else 'equal bytes'}"
    target = "5 kills, and the same dataset, models, figures and animation"
    yield Figure("posegen run smoke, killed on the way", value, target, not other and len(kills) == len(BEGUN))


def _command(place: Path, *options: str | Path) -> list[str]:
    return posegen("run", "-c", "smoke", "--quiet", "--out", place, *options)
