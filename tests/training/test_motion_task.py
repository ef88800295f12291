"""The task motion, from a tiny dataset to generated motion; each run is a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.training.settings import load_settings
from tests.running import Programs
from tests.training import tiny

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(dataset: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    return tiny.task_runs(tmp_path_factory, programs, "motion", dataset, embedded=True)


def test_the_loss_falls(results: dict[str, Any]) -> None:
    losses = results["whole"]["losses"]
    assert np.mean(losses[-3:]) < 0.7 * np.mean(losses[:3])
    assert 0.05 < results["whole"]["measures"]["explained"] < 1


def test_a_killed_and_resumed_run_has_the_same_weights(results: dict[str, Any]) -> None:
    tiny.assert_resumed(results)


def test_motion_is_a_function_of_texts_and_seed(results: dict[str, Any]) -> None:
    assert results["finite"]
    assert results["again"]
    assert results["other"] > 0.01
    whole, short = results["frames"]
    assert short == 4 * 25 - 3  # of every fourth frame the last one is at 3.88 s
    assert whole > 1.5 * 97


def test_impossible_requests_raise(results: dict[str, Any]) -> None:
    wanted = ("posegen animate", "--task motion", "there is no text", "seconds of a text")
    assert len(results["refused"]) == len(wanted)
    assert all(part in said for part, said in zip(wanted, results["refused"], strict=True))


def test_generated_motion_is_evaluated_beside_real_motion(results: dict[str, Any]) -> None:
    """The mean pose is farther from the real motion than its halves; how it varies, a judge of 60 steps does not know."""
    judged = results["judged"]
    assert 3 / judged["clips"] - 1e-9 <= judged["chance"] < 0.5
    assert judged["real"]["frechet"] > 0
    assert judged["made"]["frechet"] > 0
    assert judged["mean"]["frechet"] > judged["real"]["frechet"]
    assert judged["mean"]["diversity"] > 0
    assert judged["multimodality"] > 0
    assert judged["made"]["figures"]["penetration"] < 0.01
    by_actions = [judged[side]["precision_by_actions"] for side in ("made", "real", "mean")]
    for side, by in zip(("made", "real", "mean"), by_actions, strict=True):
        assert by.keys() == by_actions[0].keys()
        assert min(by.values()) - 1e-9 <= judged[side]["precision"] <= max(by.values()) + 1e-9
    assert set(by_actions[0]) <= {"no action", "one action", "two actions", "three actions", "four actions or more"}
    assert judged["made"]["figures"]["bone length"] < 0.01
    assert "captions of the test split" in results["text"]


def test_presets_have_settings_for_the_task() -> None:
    assert load_settings("quick", task="motion").data.stride == 2
    assert load_settings("quick", task="motion").model.size == load_settings("quick").model.size
    assert load_settings("quick", ["data.stride=4"], "motion").data.stride == 4
    assert load_settings("gpu", task="motion") == load_settings("gpu")
