"""The list of runs, and their curves, read back by TensorBoard and Weights & Biases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from posegen.cli.main import main
from posegen.training.run_folder import RESULT, RUN, write_document
from tests.training import tiny

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


def test_each_run_is_listed_with_the_measure_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for task, measure, rate in (("text", "r1", 1e-4), ("action", "clip_top1", 2e-3)):
        settings = tiny.settings(f"optimiser.rate={rate}").model_dump(mode="json")
        rounds = [{"samples": tiny.SAMPLES, "first": 0}]
        record = {"task": task, "form": "", "source": "data", "settings": settings, "rounds": rounds}
        write_document(tmp_path / task, RUN, record)
        write_document(tmp_path / task, RESULT, {"measures": {measure: 0.5}, "rounds": 1})
    assert main(["runs", str(tmp_path), "--json"]) == 0
    listed = {run["measure"]: run["test"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert listed == {"r1": 0.5, "clip_top1": 0.5}
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "."]) == 0
    table, _, differing = capsys.readouterr().out.partition("Settings that differ:\n")
    # The table fits in a narrow terminal, however many settings differ.
    assert max(map(len, table.splitlines())) <= 80
    assert differing.splitlines() == ["  action: optimiser.rate=0.002", "  text: optimiser.rate=0.0001"]
    # A damaged run is named, not left out.
    (tmp_path / "text" / RUN).write_bytes((tmp_path / "text" / RUN).read_bytes()[:-1])
    assert main(["runs", ".", "--json"]) == 0
    printed = capsys.readouterr()
    assert [Path(run["run"]).name for run in json.loads(printed.out)["runs"]] == ["action"]
    assert printed.err == (
        "text/run.json: is damaged or was edited: its hash does not match its content. "
        "Restore the file, or train into another folder with --out\n"
    )


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
