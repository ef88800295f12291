"""Curves of a run, read back by TensorBoard and Weights & Biases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WRITE = """
import sys
from pathlib import Path
from posegen.training.session import Logs
from tests.training import tiny


with Logs(Path(sys.argv[1]), tiny.settings(f"log=[{sys.argv[2]}]"), int(sys.argv[3])) as logs:
    for step in range(int(sys.argv[3]) + 1, 5):
        logs.step(step, float(sys.argv[4]) / step, None)
    logs.values(4, {"validation/clip_top1": 0.625})
"""


def write(run: Path, logger: str, after: int, loss: float) -> None:
    """Log in a process of its own, since wandb starts a service."""
    command = [sys.executable, "-c", WRITE, str(run), logger, str(after), str(loss)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout


@pytest.mark.slow
def test_curves_continue_at_the_resumed_step(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    write(tmp_path, "tensorboard", 0, 1.0)
    # Killed after step 4, and resumed from the checkpoint of step 2.
    write(tmp_path, "tensorboard", 2, 8.0)
    board = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    board.Reload()
    assert [(event.step, event.value) for event in board.Scalars("loss")] == [
        (step, pytest.approx(value)) for step, value in ((1, 1.0), (2, 0.5), (3, 8 / 3), (4, 2.0))
    ]
    assert [event.value for event in board.Scalars("validation/clip_top1")] == [0.625]


@pytest.mark.slow
def test_weights_and_biases_are_written_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, "wandb", 0, 1.0)
    (record,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    data = record.read_bytes()
    assert b"validation/clip_top1" in data
    assert b"0.625" in data
    # The settings are stored as well.
    assert b"optimiser" in data
