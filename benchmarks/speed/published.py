"""Rate of one worker beside that of the published generator, on the same core, in turns.

That is ``gestura-ai/stick-gen`` on GitHub: 250 frames and four augmentations a sample, too, of stick figures in a plane,
written as JSON by one process. The environment variable ``POSEGEN_PUBLISHED`` names a checkout; what it imports, torch among
others, must be installed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import posegen
from benchmarks.figures import Figure
from benchmarks.measure import apart, use_one_core
from benchmarks.speed.targets import TIMES_PUBLISHED

VARIABLE = "POSEGEN_PUBLISHED"
ROUNDS, SAMPLES, THEIR_SAMPLES = 5, 1000, 40


def measure(folder: Path) -> Iterator[Figure]:
    name, target = "rate of one worker / published generator", f"at least {TIMES_PUBLISHED:.0f}"
    if VARIABLE not in os.environ:
        yield Figure(name, f"not measured: {VARIABLE} names no checkout", target)
        return
    found = apart(rates, Path(os.environ[VARIABLE]), folder)
    ours, theirs = (statistics.median(found[key]) for key in ("posegen", "published"))
    times = statistics.median(a / b for a, b in zip(found["posegen"], found["published"], strict=True))
    value = f"{times:.0f}; {ours:,.0f} and {theirs:.1f} sequences/s"
    yield Figure(name, value, target, times >= TIMES_PUBLISHED, found)


def rates(checkout: Path, folder: Path) -> dict[str, list[float]]:
    """Return the sequences a second of both, one of each a round, without imports and compilation."""
    use_one_core()
    config = posegen.load_config("default")
    posegen.generate(config, samples=SAMPLES, workers=1, out=folder / "first")
    found: dict[str, list[float]] = {"posegen": [], "published": []}
    for turn in range(ROUNDS):
        started = time.perf_counter()
        made = posegen.generate(config, samples=SAMPLES, workers=1, out=folder / f"posegen-{turn}")
        found["posegen"].append(made.samples * len(config.variants.names) / (time.perf_counter() - started))
        found["published"].append(_published(checkout, folder / f"published-{turn}"))
    return found


def _published(checkout: Path, out: Path) -> float:
    """Return the sequences a second of a run by its own record, in which its start does not count."""
    arguments = ("--config", "configs/base.yaml", "--num-samples", THEIR_SAMPLES, "--output", out / "data.pt", "--force")
    command = [sys.executable, "-m", "src.data_gen.dataset_generator", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FORCE_MOCK_LLM": "true"}
    subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)
    record = json.loads((out / "data_samples/generation_meta.json").read_text(encoding="utf-8"))
    return float(record["total_samples_written"] / (record["last_update_time"] - record["start_time"]))
