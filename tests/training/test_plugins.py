"""The registry of tasks, and a task and a model format of another package, which work like posegen's own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from posegen.foundations import plugins
from posegen.foundations.errors import UsageError
from posegen.training.task import find_task
from posegen.training.tasks.action import TASK
from tests.installing import install
from tests.training.tiny import SETTINGS

DANCE = replace(TASK, name="dance")

PACKAGE = """
import io
from dataclasses import replace

import numpy as np

from posegen.training.model_formats import ModelFormat
from posegen.training.tasks.action import TASK as ACTION

MOVES = replace(ACTION, name="moves")


def serialize(trained, metadata):
    file = io.BytesIO()
    np.savez(file, metadata=metadata, **{name: value.numpy() for name, value in trained.model.state_dict().items()})
    return file.getvalue()


def run(trained, data, inputs):
    import torch

    arrays = dict(np.load(io.BytesIO(data)))
    arrays.pop("metadata")
    trained.model.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    with torch.inference_mode():
        return trained.model(*map(torch.from_numpy, inputs.values())).numpy()


NPZ = ModelFormat(serialize, run)
"""


@pytest.mark.slow
def test_a_task_and_a_model_format_of_another_package(dataset: Path, tmp_path: Path) -> None:
    environment = install(tmp_path, PACKAGE, tasks="MOVES", model_formats="NPZ")

    def posegen(*arguments: str) -> str:
        command = [sys.executable, "-m", "posegen", *arguments]
        finished = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    settings = [f"--set={setting}" for setting in (*SETTINGS, "steps=4")]
    posegen("train", str(dataset), "--task", "moves", "--out", "run", "--quiet", *settings)
    assert json.loads((tmp_path / "run" / "result.json").read_text())["task"] == "moves"
    document = json.loads(posegen("export-model", "run", "--format", "npz", "--json"))
    assert (document["format"], document["difference"]) == ("npz", 0.0)
    assert (tmp_path / "run" / "export.npz").is_file()


@pytest.fixture
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [EntryPoint(name, "tests.training.test_plugins:DANCE", plugins.TASKS.group) for name in ("dance", "action")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == plugins.TASKS.group else [])
    vars(plugins.TASKS).pop("_plugins", None)
    yield
    vars(plugins.TASKS).pop("_plugins", None)


@pytest.mark.usefixtures("_plugin")
def test_a_package_can_add_a_task_but_not_replace_one() -> None:
    assert "dance" in plugins.TASKS.names()
    assert find_task("dance").name == "dance"
    assert find_task("action") is TASK


def test_an_unknown_task_raises_with_the_available_ones() -> None:
    with pytest.raises(UsageError, match=r"retrival.*retrieval"):
        find_task("retrival")
