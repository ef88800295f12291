"""Print as JSON the results of pipelines in forked processes, some of which are killed.

``python -m tests.pipeline.killed_runs FOLDER`` runs it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import posegen
from posegen.embedding.stage import embed
from posegen.evaluation.evaluate import evaluate
from posegen.foundations.progress import Progress
from posegen.pipeline.stages import Request, run_pipeline
from posegen.training.train import train
from posegen.viewing.render import render
from tests import preloading
from tests.training import tiny

PRESET = """
steps: 6
batch: 8
log: []
data: {stride: 4}
checks: {times: 1, clips: 8}
saving: {steps: 2}
machine: {threads: 1, micro_batch: 4, workers: 0, precision: 32-true}
"""
TASKS, TEXTS = ("retrieval", "motion"), ("a person walks",)
SAMPLES = 30
KILLED_IN = ("generate", "embed", "train retrieval", "train motion", "evaluate", "animate")
KILLED_AT = {"generate": SAMPLES // 2, "embed": 0, "train retrieval": 4, "train motion": 4}
"""Progress at which a stage is killed; the others are killed at their start."""


class Killer(Progress):
    """A display of progress that kills the process in one stage."""

    def __init__(self, killed_in: str | None) -> None:
        self.killed_in, self.stage = killed_in, ""

    def log(self, text: str) -> None:
        if text.startswith("["):
            self.stage = text.partition("] ")[2]
            if self.stage == self.killed_in and self.stage not in KILLED_AT:
                os.kill(os.getpid(), signal.SIGKILL)

    def update(self, done: int, details: str = "") -> None:
        if self.stage == self.killed_in and done >= KILLED_AT[self.stage]:
            os.kill(os.getpid(), signal.SIGKILL)


def run_in_fork(request: Request, killed_in: str | None) -> list[dict[str, Any]] | int:
    """Run a pipeline in a forked process; return its stages, or the signal that killed it."""
    reading, writing = os.pipe()
    gc.freeze()  # as in tests/running.py
    child = os.fork()
    if child == 0:
        try:
            stages = [asdict(stage) for stage in run_pipeline(request, Killer(killed_in))]
            os.write(writing, json.dumps(stages).encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        printed = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else list(json.loads(printed))


def main(folder: Path) -> dict[str, Any]:
    # Imported, and loaded, before anything forks.
    assert train
    assert embed
    assert evaluate
    assert render
    preloading.kernels()
    preloading.sentences()
    preset = folder / "tiny.yaml"
    preset.write_text(PRESET)
    config = posegen.load_config("smoke", [f"story.actions={tiny.ACTIONS}", "store.shard=10"], samples=SAMPLES, workers=1)

    def request(name: str) -> Request:
        return Request(config, folder / name, TASKS, str(preset), 1, TEXTS)

    return {
        "whole": run_in_fork(request("whole"), None),
        "kills": [run_in_fork(request("killed"), stage) for stage in KILLED_IN],
        "resumed": run_in_fork(request("killed"), None),
        "again": run_in_fork(request("killed"), None),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
