"""The task retrieval, from a tiny dataset to what a finished model says, each run in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.embedding import embed
from tests.once import made_once
from tests.running import Programs
from tests.training import tiny


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    """What runs of :mod:`tests.training.retrievals` said, and how their process ended."""

    def make(folder: Path) -> None:
        embed(tiny.make(folder / "dataset", 120), encoder="hashing-for-tests")
        programs.run(folder, "tests.training.retrievals", folder)

    return dict(json.loads((made_once(tmp_path_factory, "retrieval", make) / "told.json").read_text()))


def test_it_learns_what_goes_with_what(told: dict[str, Any]) -> None:
    found = told["whole"]["measures"]
    assert found["pool"] == found["clips"] > 5
    assert found["auc"] > 0.7
    assert found["equal_error"] < 0.4


def test_killed_and_gone_on_with_it_ends_with_the_same_weights(told: dict[str, Any]) -> None:
    assert told["killed first"] == {"signal": 9}
    assert any("resuming from step" in text for text in told["killed"]["said"])
    assert told["killed weights"] == told["whole weights"]
    assert told["killed"]["measures"] == told["whole"]["measures"]


def test_smaller_micro_batches_teach_the_same(told: dict[str, Any]) -> None:
    """Not to the bit, as sums are added up in another order."""
    assert told["parts"]["reasons"]["accumulation"] == "1"
    assert told["parts"]["losses"] == pytest.approx(told["no dropout"]["losses"], rel=2e-3)


def test_two_processes_hold_the_clips_of_both_against_each_other(told: dict[str, Any]) -> None:
    """The losses of later steps depend on the gradients of those before."""
    assert told["together"]["losses"] == pytest.approx(told["no dropout"]["losses"], rel=2e-3)


def test_measures_are_there_both_ways_and_beside_chance(told: dict[str, Any]) -> None:
    found = told["whole"]["measures"]
    for way in ("motion_to_text", "text_to_motion"):
        recalls = [found[f"{way}_r{k}"] for k in (1, 2, 3, 5, 10)]
        assert recalls == sorted(recalls)
        assert 1 <= found[f"{way}_median"] <= found["pool"]
    assert found["r3"] == pytest.approx((found["motion_to_text_r3"] + found["text_to_motion_r3"]) / 2)
    assert found["chance_r3"] >= 3 / found["pool"] - 1e-9


def test_what_a_model_says_stands_in_the_table_of_predictions(told: dict[str, Any]) -> None:
    vectors = np.array(told["vectors"])
    assert vectors.shape == (120 * 5, 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_evaluating_by_the_model_agrees_with_what_it_said(told: dict[str, Any]) -> None:
    """The first variant of each sample has the vector that the table of predictions has."""
    assert np.allclose(np.array(told["encoded"]), np.array(told["vectors"])[::5], atol=1e-5)
    assert np.allclose(np.array(told["clip"]), np.array(told["vectors"])[0], atol=2e-3)
    seen = told["seen"]
    assert seen["clips"] == 120
    assert seen["precision"]["text_to_motion"]["pool"] == 32
    assert seen["frechet"] < 0.01 * seen["halves"]
    assert seen["halves"] > 1e-4
    assert any("R-precision, pool of 32" in line for line in told["lines"])


def test_what_cannot_be_is_said(told: dict[str, Any]) -> None:
    assert "posegen embed" in told["no captions"]["error"]
    assert "--set contrast.hard=0" in told["fresh hard"]["error"]


def test_without_a_dataset_captions_are_embedded_on_the_way(told: dict[str, Any]) -> None:
    assert told["fresh"]["steps"] == 6
    assert told["fresh"]["measures"]["clips"] > 10
    assert told["fresh killed"]["shown"] == [5, 6]
    assert told["fresh killed weights"] == told["fresh weights"]
    assert told["fresh killed"]["measures"] == told["fresh"]["measures"]
