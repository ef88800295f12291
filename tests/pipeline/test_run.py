"""Pipelines that are killed in every stage and resumed end with identical results, and then do nothing."""

from __future__ import annotations

import json
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if not all(find_spec(name) for name in ("torch", "peft", "safetensors", "sentence_transformers")):
    pytest.skip("the groups embed and train are not installed", allow_module_level=True)

from posegen.cli.main import main
from tests.pipeline.killed_runs import KILLED_IN
from tests.running import Programs, run_once

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> tuple[Path, dict[str, Any]]:
    cache = str(tmp_path_factory.mktemp("cache"))
    return run_once(tmp_path_factory, programs, "pipelines", "tests.pipeline.killed_runs", POSEGEN_EMBEDDING_CACHE=cache)


def test_a_pipeline_killed_in_every_stage_ends_with_the_same_results(results: tuple[Path, dict[str, Any]]) -> None:
    folder, found = results
    assert found["kills"] == [signal.SIGKILL] * len(KILLED_IN)
    for name in ("retrieval/model.safetensors", "motion/model.safetensors", "animation.gif"):
        assert (folder / "whole" / name).read_bytes() == (folder / "killed" / name).read_bytes()
    one, other = (json.loads((folder / name / "evaluation.json").read_text()) for name in ("whole", "killed"))
    assert one == other
    assert main(["diff", str(folder / "whole" / "dataset"), str(folder / "killed" / "dataset")]) == 0


def test_complete_stages_are_skipped(results: tuple[Path, dict[str, Any]]) -> None:
    found = results[1]
    assert [stage["name"] for stage in found["whole"]] == list(KILLED_IN)
    assert not any(stage["was_complete"] for stage in found["whole"])
    # The last kill was in the animation.
    assert [stage["was_complete"] for stage in found["resumed"]] == [True] * 5 + [False]
    assert all(stage["was_complete"] for stage in found["again"])
    assert [stage["summary"].partition(", in ")[0] for stage in found["again"][2:5]] == [
        stage["summary"].partition(", in ")[0] for stage in found["whole"][2:5]
    ]


def test_invalid_requests_are_refused_before_anything_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "pipeline")
    for options, reason in (
        (["--task", "acton"], "there is no task 'acton'"),
        (["--task", "action", "--task", "action"], "repeats a name"),
        (["--preset", "quik"], "unknown preset 'quik'"),
    ):
        assert main(["run", "-c", "smoke", "--out", folder, *options]) == 2
        assert reason in capsys.readouterr().err
    assert not (tmp_path / "pipeline").exists()
