"""A training task and a model format of another package work like posegen's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import install
from tests.training.tiny import SETTINGS

pytestmark = pytest.mark.slow

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
