"""The task motion, from a tiny dataset to what a finished model makes, each run in a process of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.embedding import embed
from posegen.training.settings import load_settings
from tests.once import made_once
from tests.running import Programs


@pytest.fixture(scope="module")
def told(dataset: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    """What runs of :mod:`tests.training.motions` said, and what their models made."""

    def make(folder: Path) -> None:
        embed(shutil.copytree(dataset, folder / "dataset"), encoder="hashing-for-tests")
        programs.run(folder, "tests.training.motions", folder)

    return dict(json.loads((made_once(tmp_path_factory, "motion", make) / "told.json").read_text()))


def test_it_learns(told: dict[str, Any]) -> None:
    losses = told["whole"]["losses"]
    assert np.mean(losses[-3:]) < 0.7 * np.mean(losses[:3])
    assert 0.05 < told["whole"]["measures"]["explained"] < 1


def test_killed_and_gone_on_with_it_ends_with_the_same_weights(told: dict[str, Any]) -> None:
    assert told["killed first"] == {"signal": 9}
    assert any("resuming from step" in text for text in told["killed"]["said"])
    assert told["killed weights"] == told["whole weights"]
    assert told["killed"]["measures"] == told["whole"]["measures"]


def test_smaller_micro_batches_see_the_same_noise(told: dict[str, Any]) -> None:
    """Not to the bit, as sums are added up in another order."""
    assert told["parts"]["losses"] == pytest.approx(told["one part"]["losses"], rel=1e-4)


def test_what_is_made_follows_from_texts_and_seed(told: dict[str, Any]) -> None:
    assert told["finite"]
    assert told["again"]
    assert told["other"] > 0.01
    whole, short = told["frames"]
    assert short == 4 * 25 - 3  # of every fourth frame the last one is at 3.88 s
    assert whole > 1.5 * 97


def test_what_cannot_be_is_said(told: dict[str, Any]) -> None:
    wanted = ("posegen animate", "generates motion", "--task motion", "there is no text", "seconds of a text")
    assert len(told["refused"]) == len(wanted)
    assert all(part in said for part, said in zip(wanted, told["refused"], strict=True))


def test_it_is_judged_beside_the_real_motion(told: dict[str, Any]) -> None:
    """The mean pose, which never moves, differs by its body alone."""
    judged = told["judged"]
    assert 3 / judged["clips"] - 1e-9 <= judged["chance"] < 0.5
    assert judged["real"]["frechet"] > 0
    assert judged["made"]["frechet"] > 0
    assert judged["mean"]["diversity"] < judged["real"]["diversity"]
    assert judged["multimodality"] > 0
    assert judged["made"]["figures"]["penetration"] < 0.01
    by_actions = [judged[side]["precision_by_actions"] for side in ("made", "real", "mean")]
    for side, by in zip(("made", "real", "mean"), by_actions, strict=True):
        assert by.keys() == by_actions[0].keys()
        assert min(by.values()) - 1e-9 <= judged[side]["precision"] <= max(by.values()) + 1e-9
    assert set(by_actions[0]) <= {"no action", "one action", "two actions", "three actions", "four actions or more"}
    assert judged["made"]["figures"]["bone length"] < 0.01
    assert any("captions of the test split" in line for line in told["lines"])


def test_presets_say_what_a_task_needs() -> None:
    assert load_settings("quick", task="motion").data.stride == 2
    assert load_settings("quick", task="motion").model.size == load_settings("quick").model.size
    assert load_settings("quick", ["data.stride=4"], "motion").data.stride == 4
    assert load_settings("gpu", task="motion") == load_settings("gpu")
