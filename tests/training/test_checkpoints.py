"""Checkpoints: intact or absent, the last two and the best are kept, a damaged one is skipped, and scales are resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from posegen.foundations.errors import PosegenError
from posegen.training import run_folder
from posegen.training.setup import Request
from posegen.training.train import train
from tests.training import tiny


def state(step: int, best: int | None = None) -> run_folder.State:
    tensors = {"weights": {"a.b": torch.full((3,), float(step))}, "optimiser": {"0.step": torch.tensor(float(step))}}
    return run_folder.State(tensors, run_folder.RunProgress(step, best, None if best is None else 0.5, [{"step": 1.0}], 2.5))


def read_latest(run: Path) -> tuple[run_folder.State | None, list[str]]:
    logged: list[str] = []
    return run_folder.latest_checkpoint(run, logged.append), logged


def test_a_checkpoint_is_read_as_written(tmp_path: Path) -> None:
    run_folder.write_checkpoint(tmp_path, state(7, 5))
    found, logged = read_latest(tmp_path)
    assert found is not None
    assert not logged
    assert found.progress == state(7, 5).progress
    assert torch.equal(found.tensors["weights"]["a.b"], torch.full((3,), 7.0))
    assert found.tensors["optimiser"]["0.step"].item() == 7.0


def test_the_last_two_and_their_best_are_kept(tmp_path: Path) -> None:
    for step, best in ((1, 1), (2, 2), (3, 2), (4, 2), (5, 5)):
        run_folder.write_checkpoint(tmp_path, state(step, best))
        run_folder.remove_old_checkpoints(tmp_path)
    kept = sorted(path.stem for path in (tmp_path / "checkpoints").glob("*.safetensors"))
    assert kept == ["00000002", "00000004", "00000005"]  # checkpoint 4 refers to 2 as the best


@pytest.mark.parametrize("damaged", [(5,), (4,), (4, 5)])
def test_a_checkpoint_with_a_damaged_receipt_does_not_replace_an_intact_one(tmp_path: Path, damaged: tuple[int, ...]) -> None:
    for step in range(1, 6):
        run_folder.write_checkpoint(tmp_path, state(step, 1))
    for step in damaged:
        (tmp_path / "checkpoints" / f"{step:08d}.json").write_bytes(b"")
    run_folder.remove_old_checkpoints(tmp_path)
    found, _ = read_latest(tmp_path)
    intact = [step for step in (1, 2, 3, 4, 5) if step not in damaged]
    assert found is not None
    assert found.progress.step == intact[-1]
    kept = sorted(path.stem for path in (tmp_path / "checkpoints").glob("*.safetensors"))
    assert kept == [f"{step:08d}" for step in (1, *intact[-2:])]


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "receipt"])
def test_a_damaged_checkpoint_is_skipped_and_logged(tmp_path: Path, damage: str) -> None:
    for step in (1, 2):
        run_folder.write_checkpoint(tmp_path, state(step))
    tensors, receipt = (tmp_path / "checkpoints" / f"00000002{end}" for end in (".safetensors", ".json"))
    data = bytearray(tensors.read_bytes())
    if damage == "flip":
        data[-1] ^= 1
        tensors.write_bytes(data)
    elif damage == "cut":
        tensors.write_bytes(data[:-3])
    elif damage == "remove":
        tensors.unlink()
    else:
        receipt.write_bytes(receipt.read_bytes().replace(b'"step":2', b'"step":3'))
    found, logged = read_latest(tmp_path)
    assert found is not None
    assert found.progress.step == 1
    assert len(logged) == 1
    assert "00000002" in logged[0]
    assert "using the checkpoint before" in logged[0]
    with pytest.raises(PosegenError, match="00000002"):
        run_folder.read_checkpoint(tmp_path, 2)


def test_a_checkpoint_without_receipt_is_ignored(tmp_path: Path) -> None:
    run_folder.write_checkpoint(tmp_path, replace(state(1), progress=run_folder.RunProgress(1)))
    (tmp_path / "checkpoints" / "00000001.json").unlink()
    assert read_latest(tmp_path) == (None, [])


@pytest.mark.slow
def test_the_scale_is_resumed_with_the_run(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fp16 on a CPU, by the scaler that torch has for it: no card without bf16 is needed."""
    steps, first, original = 4, 16.0, torch.amp.GradScaler

    def scaler(device: str, *, enabled: bool) -> torch.amp.GradScaler:
        """Return a scaler that doubles the scale after each step."""
        assert not enabled
        return original(device, init_scale=first, growth_interval=1)

    monkeypatch.setattr(torch.amp, "GradScaler", scaler)
    run = tmp_path / "run"
    settings = tiny.settings(f"steps={steps}", "saving.steps=1", "checks.times=1", "machine.micro_batch=8")
    request = Request(str(dataset), "action", "quick", settings, run)
    train(request)
    whole = run_folder.read_checkpoint(run, steps)
    assert whole.tensors["scaler"]["scale"].item() == first * 2**steps
    for name in (f"checkpoints/{steps:08d}.json", "result.json"):
        (run / name).unlink()
    train(request)
    resumed = run_folder.read_checkpoint(run, steps)
    for kind, tensors in whole.tensors.items():
        assert all(torch.equal(value, resumed.tensors[kind][name]) for name, value in tensors.items()), kind
    losses = json.loads((run / "result.json").read_bytes())["losses"]
    assert len(losses) == steps
    assert all(loss > 0 for _, loss in losses)
