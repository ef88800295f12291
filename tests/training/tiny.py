"""A tiny dataset, tiny settings, and a display that records the progress of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import posegen
from posegen.training.settings import Settings, load_settings

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
