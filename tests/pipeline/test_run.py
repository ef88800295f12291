"""The whole road: killed in every stage and run again it ends as if nothing had been, and then there is nothing to do."""

from __future__ import annotations

import json
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if not all(find_spec(name) for name in ("torch", "lightning", "safetensors", "sentence_transformers")):
    pytest.skip("the groups embed and train are not installed", allow_module_level=True)

from posegen.cli.main import main
from tests.once import made_once
from tests.pipeline.roads import KILLED_IN
from tests.running import Programs


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> tuple[Path, dict[str, Any]]:
    def make(folder: Path) -> None:
        programs.run(folder, "tests.pipeline.roads", folder, POSEGEN_EMBEDDING_CACHE=str(folder / "cache"))

    folder = made_once(tmp_path_factory, "roads", make)
    return folder, json.loads((folder / "told.json").read_text())


def test_killed_in_every_stage_it_ends_with_the_same(told: tuple[Path, dict[str, Any]]) -> None:
    folder, found = told
    assert found["kills"] == [signal.SIGKILL] * len(KILLED_IN)
    for name in ("retrieval/model.safetensors", "motion/model.safetensors", "animation.gif"):
        assert (folder / "whole" / name).read_bytes() == (folder / "killed" / name).read_bytes()
    one, other = (json.loads((folder / name / "evaluation.json").read_text()) for name in ("whole", "killed"))
    assert one == other
    assert main(["diff", str(folder / "whole" / "dataset"), str(folder / "killed" / "dataset")]) == 0


def test_what_stands_is_skipped(told: tuple[Path, dict[str, Any]]) -> None:
    found = told[1]
    assert [stage["name"] for stage in found["whole"]] == list(KILLED_IN)
    assert not any(stage["stood"] for stage in found["whole"])
    # It was killed last when only the animation was left.
    assert [stage["stood"] for stage in found["killed"]] == [True] * 5 + [False]
    assert all(stage["stood"] for stage in found["again"])
    assert [stage["told"].partition(", in ")[0] for stage in found["again"][2:5]] == [
        stage["told"].partition(", in ")[0] for stage in found["whole"][2:5]
    ]


def test_what_cannot_be_is_refused_before_anything_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "road")
    for options, reason in (
        (["--task", "acton"], "there is no task 'acton'"),
        (["--task", "action", "--task", "action"], "names one twice"),
        (["--preset", "quik"], "unknown preset 'quik'"),
    ):
        assert main(["run", "smoke", "--out", place, *options]) == 2
        assert reason in capsys.readouterr().err
    assert not (tmp_path / "road").exists()
