"""A tiny dataset, tiny settings, and a display that records the progress of a run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.embedding import embed
from posegen.training.settings import Settings, load_settings
from tests.once import own_copy
from tests.running import Programs, run_once

SAMPLES = 60
THREADS = 1
ACTIONS = {"walk": 50, "jump": 50, "sit": 50}
SETTINGS = (
    "steps=12", "batch=8", "checks.times=2", "checks.clips=16", "saving.steps=5", "data.stride=4", "log=[]",
    f"machine.threads={THREADS}", "machine.micro_batch=4", "machine.workers=0", "machine.precision=32-true",
)  # fmt: skip


def make(folder: Path, samples: int = SAMPLES, *overrides: str) -> Path:
    """Generate a tiny dataset, or extend it."""
    config = posegen.load_config("smoke", [f"story.actions={ACTIONS}", *overrides], samples=samples, workers=1)
    posegen.generate(config, out=folder)
    return folder


def make_once(factory: pytest.TempPathFactory, name: str, samples: int = SAMPLES, *overrides: str) -> Path:
    """Generate a dataset once for all workers of pytest-xdist; each has a copy, in which it can compute features."""
    return own_copy(factory, name, lambda folder: make(folder / "dataset", samples, *overrides)) / "dataset"


def task_runs(
    factory: pytest.TempPathFactory, programs: Programs, task: str, dataset: Path, *, embedded: bool = False
) -> dict[str, Any]:
    """Return the results of :mod:`tests.training.task_runs` on a copy of a dataset, with vectors of its captions."""

    def prepare(folder: Path) -> None:
        shutil.copytree(dataset, folder / "dataset")
        if embedded:
            embed(folder / "dataset", encoder="hashing-for-tests")

    return run_once(factory, programs, f"{task} runs", "tests.training.task_runs", task, prepare=prepare)[1]


def settings(*overrides: str) -> Settings:
    """Settings of a run of about a second."""
    return load_settings("quick", [*SETTINGS, *overrides])


@dataclass
class Recorder:
    """A display of progress that records what it gets."""

    said: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    total: int = 0

    def log(self, text: str) -> None:
        self.said.append(text)

    def start(self, task: str, total: int, *, unit: str = "samples", done: int = 0) -> None:
        self.total = total

    def update(self, done: int, details: str = "") -> None:
        self.steps.append(done)

    def stop(self) -> None:
        pass

    def working(self, work: str) -> AbstractContextManager[None]:
        return nullcontext()


def assert_resumed(results: Mapping[str, Any]) -> None:
    """Check a run that was killed and resumed; see :func:`tests.training.forked_runs.killed_and_resumed`."""
    assert results["killed first"] == {"signal": 9}
    assert any("resuming from step" in text for text in results["killed"]["said"])
    assert results["same weights"] is True
    assert results["killed"]["measures"] == results["whole"]["measures"]
