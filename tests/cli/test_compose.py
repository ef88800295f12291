"""`posegen compose`, in a separate process as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from posegen.cli.main import main

TEXT = "a person walks slowly, then waves with the left hand"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "posegen", "compose", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_arrays_with_captions(tmp_path: Path) -> None:
    done = run(TEXT, "-o", tmp_path / "out.npz", "--seconds", 10, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["frames"] == 250
    assert document["not_understood"] == []
    with np.load(tmp_path / "out.npz", allow_pickle=False) as made:
        assert made["joints"].shape == (1, 250, 22, 3)
        assert made["contact"].shape == (1, 250, 9)
        assert str(made["caption"]) == TEXT
        assert made["segment_action"].tolist() == ["walk", "stand", "wave"]
        assert [segment["text"] for segment in document["segments"]] == made["segment_text"].tolist()
        names = made["action_names"]
        assert {names[i] for i in made["action"][0, 50]} == {"walk"}


def test_a_picture_and_words_that_were_not_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "a person wlaks and frobs, then sits down", "-o", str(tmp_path / "out.png")]) == 0
    printed = capsys.readouterr().err
    assert "not understood: 'frobs'" in printed
    assert "read as 'walks': 'wlaks'" in printed
    with Image.open(tmp_path / "out.png") as picture:
        assert picture.width > 500


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["a person frobs", "-o", "out.npz"], "nothing that posegen can show"),
        (["a person walks", "-o", "out.mov"], "out.mov"),
        (["a person walks", "-o", "out.npz", "--seconds", "-1"], "0<x<=400"),
        (["a person walks", "-o", "out.npz", "--seconds", "nan"], "'--seconds': must be a number"),
        (["a person walks", "-o", "out.npz", "--seed", "-1"], "'--seed': -1 is not in the range"),
    ],
)
def test_bad_usage(tmp_path: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments[arguments.index("-o") + 1] = str(tmp_path / arguments[arguments.index("-o") + 1])
    assert main(["compose", *arguments]) == 2
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
