"""Rate of one worker beside that of the published generator, on the same core, in turns.

That is ``gestura-ai/stick-gen`` on GitHub: 250 frames and four augmentations a sample, too, of stick figures in a plane,
written as JSON by one process. The environment variable ``POSEGEN_PUBLISHED`` names a checkout; what it imports, torch among
others, must be installed. ``python -m benchmarks.published FOLDER`` prints the rates as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import posegen
from benchmarks.measure import module, use_one_core

VARIABLE = "POSEGEN_PUBLISHED"
ROUNDS, SAMPLES, THEIR_SAMPLES = 5, 1000, 40


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
    command = module("src.data_gen.dataset_generator", *arguments)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FORCE_MOCK_LLM": "true"}
    subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)
    record = json.loads((out / "data_samples/generation_meta.json").read_text(encoding="utf-8"))
    return float(record["total_samples_written"] / (record["last_update_time"] - record["start_time"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as place:
        print(json.dumps(rates(Path(os.environ[VARIABLE]), Path(place))))
