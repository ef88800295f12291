"""Roads that are walked in forked processes, some of which are killed; ``python -m tests.pipeline.roads FOLDER`` prints what
came of them as JSON.
"""

from __future__ import annotations

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
from posegen.pipeline.run import Request, run_pipeline
from posegen.progress import SilentProgress
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
KILLED_IN = ("generate", "embed", "train retrieval", "train motion", "evaluate", "animate")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Generating(SilentProgress):
    """Kills the process when half of the samples are made."""

    def update(self, done: int, details: str = "") -> None:
        if done * 2 >= 30:
            die()


class Embedding(SilentProgress):
    """Kills the process at the first report of progress."""

    def update(self, done: int, details: str = "") -> None:
        die()


class Training(tiny.Recorder):
    """Is killed in the middle."""

    def update(self, done: int, details: str = "") -> None:
        if done == 4:
            die()


class View:
    """Tells nobody, and is killed in a stage."""

    def __init__(self, killed_in: str | None) -> None:
        self.killed_in, self.now = killed_in, ""

    def stage(self, number: int, of: int, name: str) -> None:
        self.now = name
        if self.killed_in == name and name in ("evaluate", "animate"):
            die()

    def say(self, text: str) -> None:
        pass

    def generation(self) -> Any:
        return Generating() if self.killed_in == self.now else SilentProgress()

    def embedding(self) -> SilentProgress:
        return Embedding() if self.killed_in == self.now else SilentProgress()

    def training(self) -> Any:
        return Training() if self.killed_in == self.now else tiny.Recorder()


def walked(request: Request, killed_in: str | None) -> list[dict[str, Any]] | int:
    """Walk a road in a forked process; tell of its stages, or by which signal it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            done = [asdict(stage) for stage in run_pipeline(request, View(killed_in))]
            os.write(writing, json.dumps(done).encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else list(json.loads(told))


def main(folder: Path) -> dict[str, Any]:
    # Imported, and loaded, before anything forks.
    assert train
    assert embed
    assert evaluate
    assert render
    preloading.kernels()
    preloading.sentences()
    preloading.int8()
    preset = folder / "tiny.yaml"
    preset.write_text(PRESET)
    config = posegen.load_config("smoke", [f"story.actions={tiny.ACTIONS}", "store.shard=10"], samples=30, workers=1)

    def request(name: str) -> Request:
        return Request(config, folder / name, TASKS, str(preset), 1, TEXTS)

    return {
        "whole": walked(request("whole"), None),
        "kills": [walked(request("killed"), stage) for stage in KILLED_IN],
        "killed": walked(request("killed"), None),
        "again": walked(request("killed"), None),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
