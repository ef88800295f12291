"""Training in fp16 with scaled gradients, on a CPU by the scaler that torch has for it: no card without bf16 is needed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import pytest
import torch
from lightning.pytorch.plugins import MixedPrecision

from posegen.training.run_folder import read_checkpoint
from posegen.training.setup import Request
from posegen.training.train import train
from tests.training import tiny

STEPS, FIRST_SCALE = 4, 16.0


def scaled(trainer: Any, **options: Any) -> lightning.Trainer:
    """Return a trainer that scales gradients, and doubles the scale after each step."""
    assert options.pop("precision") == "32-true"
    scaler = torch.amp.GradScaler("cpu", init_scale=FIRST_SCALE, growth_interval=1)
    made: lightning.Trainer = trainer(**options, plugins=[MixedPrecision("16-mixed", "cpu", scaler)])
    return made


@pytest.mark.slow
def test_the_scale_is_resumed_with_the_run(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lightning, "Trainer", partial(scaled, lightning.Trainer))
    run = tmp_path / "run"
    settings = tiny.settings(f"steps={STEPS}", "saving.steps=1", "checks.times=1", "machine.micro_batch=8")
    request = Request(str(dataset), "action", "quick", settings, run)
    train(request)
    whole = read_checkpoint(run, STEPS)
    assert whole.tensors["scaler"]["scale"].item() == FIRST_SCALE * 2**STEPS
    for name in (f"checkpoints/{STEPS:08d}.json", "result.json"):
        (run / name).unlink()
    train(request)
    resumed = read_checkpoint(run, STEPS)
    for kind, tensors in whole.tensors.items():
        assert all(torch.equal(value, resumed.tensors[kind][name]) for name, value in tensors.items()), kind
    losses = json.loads((run / "result.json").read_bytes())["losses"]
    assert len(losses) == STEPS
    assert all(loss > 0 for _, loss in losses)
