"""A tiny dataset, tiny settings, and a recorder of what a run tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """Make a tiny dataset, or more of it."""
    config = posegen.load_config("smoke", [f"story.actions={ACTIONS}", *overrides], samples=samples, workers=1)
    posegen.generate(config, out=folder)
    return folder


def settings(*overrides: str) -> Settings:
    """Settings of a run of a second."""
    return load_settings("quick", [*SETTINGS, *overrides])


@dataclass
class Recorder:
    """Keeps what a run tells."""

    said: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    expected: Any = None

    def say(self, text: str) -> None:
        self.said.append(text)

    def table(self, reasons: Sequence[Any]) -> None:
        self.reasons = {reason.name: reason.value for reason in reasons}

    def expect(self, found: Any) -> None:
        self.expected = found

    def step(self, step: int, steps: int, loss: float, times: Any, left: float | None) -> None:
        self.steps.append(step)
        self.losses.append(loss)

    def stop(self) -> None:
        pass
