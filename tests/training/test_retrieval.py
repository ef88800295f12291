"""The task retrieval, from a tiny dataset to predictions; each run is a process of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.running import Programs
from tests.training import tiny

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    dataset = tiny.make_once(tmp_path_factory, "retrieval", 120)
    return tiny.task_runs(tmp_path_factory, programs, "retrieval", dataset, embedded=True)


def test_training_matches_motions_and_captions(results: dict[str, Any]) -> None:
    found = results["whole"]["measures"]
    assert found["pool"] == found["clips"] > 5
    assert found["auc"] > 0.7
    assert found["equal_error"] < 0.4


def test_a_killed_and_resumed_run_has_the_same_weights(results: dict[str, Any]) -> None:
    tiny.assert_resumed(results["short"])


def test_measures_are_reported_in_both_directions_with_chance(results: dict[str, Any]) -> None:
    found = results["whole"]["measures"]
    for way in ("motion_to_text", "text_to_motion"):
        recalls = [found[f"{way}_r{k}"] for k in (1, 2, 3, 5, 10)]
        assert recalls == sorted(recalls)
        assert 1 <= found[f"{way}_median"] <= found["pool"]
    assert found["r3"] == pytest.approx((found["motion_to_text_r3"] + found["text_to_motion_r3"]) / 2)
    assert found["chance_r3"] >= 3 / found["pool"] - 1e-9


def test_predictions_are_vectors(results: dict[str, Any]) -> None:
    vectors = np.array(results["vectors"])
    assert vectors.shape == (120 * 5, 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_evaluation_agrees_with_predictions(results: dict[str, Any]) -> None:
    """The first variant of each sample has the predicted vector."""
    assert np.allclose(np.array(results["encoded"]), np.array(results["vectors"])[::5], atol=1e-5)
    assert np.allclose(np.array(results["clip"]), np.array(results["vectors"])[0], atol=2e-3)
    seen = results["seen"]
    assert seen["clips"] == 120
    assert seen["precision"]["text_to_motion"]["pool"] == 32
    assert seen["frechet"] < 0.01 * seen["halves"]
    assert seen["halves"] > 1e-4
    assert "R-precision, pool of 32" in results["text"]


def test_impossible_requests_raise(results: dict[str, Any]) -> None:
    assert "posegen embed" in results["no captions"]["error"]


def test_captions_of_a_config_are_embedded_during_training(results: dict[str, Any]) -> None:
    assert results["fresh"]["steps"] == 6
    assert results["fresh"]["measures"]["clips"] > 10
    assert results["fresh killed"]["killed"]["shown"] == [5, 6]
    tiny.assert_resumed({**results["fresh killed"], "whole": results["fresh"]})
