"""The scripts and the notebook in examples/ run, and print what they are about."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PRINTED = {
    "duckdb_queries": "captions that state a side",
    "own_action": "captions name the new action",
    "own_clips": "20 samples: ",
    "stream_without_disk": "sequences a second; batch 20 begins with: ",
    "torch_training": "test accuracy ",
}
NEEDS = {"torch_training": "torch", "duckdb_queries": "duckdb"}


def test_every_script_is_run() -> None:
    assert {file.stem for file in FOLDER.glob("*.py")} == set(PRINTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_a_script_runs(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout
    if name == "torch_training":
        accuracy = int(done.stdout.partition("test accuracy ")[2].partition("%")[0])
        assert accuracy >= 50  # chance is 25 %


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    notebook = json.loads((FOLDER / "first_look.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), names)
    assert capsys.readouterr().out.startswith("short ")
    assert len(pyplot.get_fignums()) == 1  # the second plot is drawn into the last figure
    pyplot.close("all")
