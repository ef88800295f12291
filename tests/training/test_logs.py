"""Curves, read back by those who draw them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WRITE = """
import sys
from pathlib import Path
from posegen.training.runs.logs import Logs
from tests.training import tiny


with Logs(Path(sys.argv[1]), tiny.settings(f"log=[{sys.argv[2]}]"), int(sys.argv[3])) as logs:
    for step in range(int(sys.argv[3]) + 1, 5):
        logs.step(step, float(sys.argv[4]) / step, None)
    logs.check(4, {"clip_top1": 0.625})
"""


def write(run: Path, where: str, after: int, loss: float) -> None:
    """In a process of its own, as wandb starts a service."""
    command = [sys.executable, "-c", WRITE, str(run), where, str(after), str(loss)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout


def test_curves_go_on_where_a_run_does(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    write(tmp_path, "tensorboard", 0, 1.0)
    # Killed after step 4, and gone on with from the checkpoint of step 2.
    write(tmp_path, "tensorboard", 2, 8.0)
    board = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    board.Reload()
    assert [(event.step, event.value) for event in board.Scalars("loss")] == [
        (step, pytest.approx(value)) for step, value in ((1, 1.0), (2, 0.5), (3, 8 / 3), (4, 2.0))
    ]
    assert [event.value for event in board.Scalars("validation/clip_top1")] == [0.625]


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
    # What was set is kept with it.
    assert b"optimiser" in data


def test_a_gpu_is_told_of_with_what_helps_it() -> None:
    from posegen.training.resources import GpuUse, gpu_use

    assert gpu_use("cpu") is None
    idle, busy = GpuUse(0.25, 61 * 10**9, 139 * 10**9), GpuUse(0.93, 10**9, 4 * 10**9)
    assert "idle 75 % of the time" in (idle.warning() or "")
    assert busy.warning() is None
    assert busy.summary() == "GPU 93 % utilised, 1 GB of 4 GB used"
    assert GpuUse(None, 10**9, 4 * 10**9).values() == {"gpu/memory": 0.25}
