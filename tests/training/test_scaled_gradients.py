"""Training in fp16 with scaled gradients, on a CPU by the scaler that torch has for it: no card without bf16 is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from posegen.training.run_folder import read_checkpoint
from posegen.training.setup import Request
from posegen.training.train import train
from tests.training import tiny

STEPS, FIRST_SCALE = 4, 16.0


SCALER = torch.amp.GradScaler


def scaler(device: str, *, enabled: bool) -> torch.amp.GradScaler:
    """Return a scaler that doubles the scale after each step."""
    assert not enabled
    return SCALER(device, init_scale=FIRST_SCALE, growth_interval=1)


@pytest.mark.slow
def test_the_scale_is_resumed_with_the_run(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.amp, "GradScaler", scaler)
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
