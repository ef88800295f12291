"""A training task and a model format of another package work like posegen's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    installed = tmp_path / "example-1.0.dist-info"
    installed.mkdir()
    (tmp_path / "example.py").write_text(PACKAGE)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[posegen.tasks]\nmoves = example:MOVES\n[posegen.model_formats]\nnpz = example:NPZ\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}

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
