"""Checkpoints: whole or not there, the last two and the best kept, a damaged one passed over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from posegen.errors import PosegenError
from posegen.training.runs import checkpoints
from posegen.training.runs.checkpoints import RunProgress, State


def state(step: int, best: int | None = None) -> State:
    tensors = {"weights": {"a.b": torch.full((3,), float(step))}, "optimiser": {"0.step": torch.tensor(float(step))}}
    return State(tensors, RunProgress(step, best, None if best is None else 0.5, [{"step": 1.0}], 2.5))


def said_of(run: Path) -> tuple[State | None, list[str]]:
    said: list[str] = []
    return checkpoints.latest(run, said.append), said


def test_what_is_written_is_read(tmp_path: Path) -> None:
    checkpoints.write(tmp_path, state(7, 5))
    found, said = said_of(tmp_path)
    assert found is not None
    assert not said
    assert found.progress == state(7, 5).progress
    assert torch.equal(found.tensors["weights"]["a.b"], torch.full((3,), 7.0))
    assert found.tensors["optimiser"]["0.step"].item() == 7.0


def test_the_last_two_and_their_best_are_kept(tmp_path: Path) -> None:
    for step, best in ((1, 1), (2, 2), (3, 2), (4, 2), (5, 5)):
        checkpoints.write(tmp_path, state(step, best))
        checkpoints.remove_old(tmp_path)
    kept = sorted(path.stem for path in (tmp_path / "checkpoints").glob("*.safetensors"))
    assert kept == ["00000002", "00000004", "00000005"]  # 2 is what 4 takes for the best, if 5 is damaged


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "receipt"])
def test_a_damaged_one_is_passed_over_and_told(tmp_path: Path, damage: str) -> None:
    for step in (1, 2):
        checkpoints.write(tmp_path, state(step))
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
    found, said = said_of(tmp_path)
    assert found is not None
    assert found.progress.step == 1
    assert len(said) == 1
    assert "00000002" in said[0]
    assert "using the checkpoint before" in said[0]
    with pytest.raises(PosegenError, match="00000002"):
        checkpoints.read(tmp_path, 2)


def test_without_a_receipt_there_is_none(tmp_path: Path) -> None:
    checkpoints.write(tmp_path, replace(state(1), progress=RunProgress(1)))
    (tmp_path / "checkpoints" / "00000001.json").unlink()
    assert said_of(tmp_path) == (None, [])
