"""The task attribute: measures of locomotion, errors of predictions, and runs on a tiny dataset."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import posegen  # noqa: E402
from posegen.dataset.read import open_dataset  # noqa: E402
from posegen.foundations.constants import SPEEDS  # noqa: E402
from posegen.training.data.captions import SPELLED, spell  # noqa: E402
from posegen.training.data.feature_cache import cached_array, features_folder, fill_cache  # noqa: E402
from posegen.training.data.features import View  # noqa: E402
from posegen.training.data.sources import Query, config_origin, view_of  # noqa: E402
from posegen.training.measures import FEWEST, best_constant, entropy_floor, errors_of, smape  # noqa: E402
from posegen.training.settings import Model, load_settings  # noqa: E402
from posegen.training.tasks.attribute import (  # noqa: E402
    KNOWN,
    MEASURED,
    MEASURES,
    STATED,
    TASK,
    CaptionModel,
    cadence,
    kinetic_energy,
    mean_speed,
)
from tests.running import Programs, run_once  # noqa: E402
from tests.training import tiny  # noqa: E402

pytestmark = pytest.mark.slow

SAMPLES = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_once(tmp_path_factory, "attribute", SAMPLES).parent


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    """Results of the runs of :mod:`tests.training.people_runs`."""

    def prepare(place: Path) -> None:
        shutil.copytree(folder / "dataset", place / "dataset")

    return run_once(tmp_path_factory, programs, "attribute runs", "tests.training.people_runs", "attribute", prepare=prepare)[1]


def test_speed_ignores_swaying() -> None:
    time = np.arange(100) / 25
    pelvis = np.stack([0.03 * np.sin(2 * np.pi * 2 * time), 0.9 + 0.02 * np.sin(9 * time), 1.3 * time], axis=1)
    assert mean_speed(pelvis, 25) == pytest.approx(1.3, rel=0.01)
    path = np.linalg.norm(np.diff(pelvis[:, [0, 2]], axis=0), axis=1).sum() / (99 / 25)
    assert path > 1.3 * 1.02
    assert mean_speed(pelvis[:2], 25) == pytest.approx(path, rel=0.2)


def test_steps_are_counted_from_landing_to_landing() -> None:
    contact = np.ones((100, 4), np.uint8)
    for start in range(10, 100, 20):
        contact[start : start + 8, :2] = 0
    for start in range(20, 100, 20):
        contact[start : start + 8, 2:] = 0
    # A foot lands every 10 frames: at 18, 28, ..., 98.
    assert cadence(contact, 25) == pytest.approx(60 * 25 / 10)
    assert np.isnan(cadence(contact[:36], 25))


def test_energy_is_half_the_square_of_the_speed() -> None:
    joints = np.zeros((10, 22, 3))
    joints[:, :, 0] = 2.0 * np.arange(10)[:, None] / 25
    assert kinetic_energy(joints, 25) == pytest.approx(2.0)
    joints[:, 11:, 0] = 0
    assert kinetic_energy(joints, 25) == pytest.approx(1.0)


def test_measures_are_those_of_the_first_locomotion(folder: Path) -> None:
    dataset = open_dataset(folder / "dataset")
    view = view_of(dataset, 4)
    fill_cache(dataset, (MEASURED, KNOWN, STATED, SPELLED), view, lambda done, total: None)
    travelled = stated = 0
    for sample in range(20):
        measured, words, numbers, spellings = (
            cached_array(features_folder(dataset), recipe, view, 0)[sample] for recipe in (MEASURED, STATED, KNOWN, SPELLED)
        )
        for variant, row in enumerate(dataset.rows(sample)):
            actor = row["actors"][0]
            assert numbers[variant].tolist() == pytest.approx(
                [actor["stature"], actor["age"], float(actor["male"]), row["length"] / 25]
            )
            places = [i for i, segment in enumerate(actor["segments"]) if segment["speed"] > 0]
            if not places:
                assert np.isnan(measured[variant]).all()
                continue
            segment = actor["segments"][places[0]]
            joints = dataset[sample].joints[variant, 0, segment["start"] : segment["end"]]
            ground = joints[:, 0, [0, 2]].astype(float)
            # A walk that has only begun at the end of the clip may be shorter than half a second.
            apart = min(12, len(ground) - 1)
            speeds = [np.linalg.norm(ground[i + apart] - ground[i]) / (apart / 25) for i in range(len(ground) - apart)]
            assert measured[variant, 0] == pytest.approx(np.mean(speeds), rel=1e-4)
            assert measured[variant, 3] == pytest.approx((segment["end"] - segment["start"]) / 25)
            travelled += 1
            for number, caption in enumerate(row["captions"]):
                pace = [s["value"] for s in caption["statements"] if (s["kind"], s["segment"]) == ("speed", places[0])]
                assert words[variant, number, 2] == SPEEDS.index(pace[0] if pace else "")
                stated += bool(pace)
            assert (words[variant, len(row["captions"]) :] == -1).all()
            for number, caption in enumerate(row["captions"]):
                own = spellings[variant, number]
                assert own[own > 0].tolist() == spell(caption["text"])
            assert not spellings[variant, len(row["captions"]) :].any()
    assert travelled > 20
    assert stated > 5


def test_a_config_gives_the_arrays_of_its_dataset(folder: Path) -> None:
    dataset = open_dataset(folder / "dataset")
    view = view_of(dataset, 4)
    fill_cache(dataset, (MEASURED, KNOWN, STATED, SPELLED), view, lambda done, total: None)
    recipes = (MEASURED, KNOWN, STATED, SPELLED)
    found = {recipe.name: np.empty((2, 20, *recipe.shape(view)), recipe.dtype) for recipe in recipes}
    config = posegen.load_config("smoke", [f"story.actions={tiny.ACTIONS}"], samples=SAMPLES, workers=1)
    config_origin(config).load(Query(recipes, view, np.arange(20), (0, 1), found))
    for recipe in recipes:
        kept = cached_array(features_folder(dataset), recipe, view, 0)
        for variant in (0, 1):
            assert np.array_equal(found[recipe.name][variant], kept[:20, variant], equal_nan=recipe is MEASURED)


def test_errors_follow_their_definitions() -> None:
    found, true = np.array([1.0, 3.0, 2.0]), np.array([2.0, 1.0, 2.0])
    assert smape(found, true) == pytest.approx(100 * (1 / 1.5 + 2 / 2 + 0) / 3)
    errors = errors_of(found, true)
    assert errors["mae"] == pytest.approx(1.0)
    assert errors["r2"] == pytest.approx(1 - 5 / (2 / 3))


@pytest.mark.parametrize("seed", range(4))
def test_no_constant_is_better_than_the_best(seed: int) -> None:
    true = np.exp(np.random.default_rng(seed).normal(0, 0.7, 60))
    found = smape(best_constant(true), true)
    dense = min(smape(float(value), true) for value in np.linspace(true.min(), true.max(), 4000))
    assert found == pytest.approx(dense, rel=0.01)


def test_the_floor_is_predicted_from_captions_with_the_same_statements() -> None:
    drawn = np.random.default_rng(3)
    clips = np.arange(300).repeat(2)
    words = np.stack([drawn.integers(0, 3, 600), np.where(np.arange(600) % 200 == 0, 7, drawn.integers(0, 2, 600))], axis=1)
    true = np.exp(words[:, 0] + drawn.normal(0, 0.2, 600))

    def results(place: int) -> float:
        """What others say, in a tenth that this one's clip is not in: those who say both words, else the first, else all."""
        for columns in ([0, 1], [0], []):
            others = [
                value
                for value, own, clip in zip(true, words, clips, strict=True)
                if clip % 10 != clips[place] % 10 and (own[columns] == words[place][columns]).all()
            ]
            if len(others) >= FEWEST:
                return best_constant(np.array(others))
        raise AssertionError

    expected = smape(np.array([results(place) for place in range(600)]), true)
    assert entropy_floor(true, words, clips, ((0, 1), (0,))) == pytest.approx(expected)
    assert entropy_floor(true, words, clips, ((0, 1), (0,))) < 0.5 * entropy_floor(true, words, clips, ())
    # Meaningless words do not lower the floor, even in small groups.
    noise = drawn.integers(0, 100, (600, 1))
    assert entropy_floor(true, noise, clips, ((0,),)) > smape(best_constant(true), true)
    assert entropy_floor(true[:2], words[:2], clips[:2], ((0,),)) < 200


def test_word_numbers_ignore_case_and_spaces() -> None:
    assert spell("A man walks, slowly.") == spell("a man  WALKS ,slowly.")
    assert len(set(spell("a man walks slowly then sits down"))) == 7
    assert spell("walks slowly") == spell("slowly walks")[::-1]
    assert min(spell("one two three")) > 0
    assert len(spell("word " * 500)) == 96


def test_captions_are_encoded_independently() -> None:
    torch.manual_seed(0)
    model = CaptionModel(Model()).eval()
    words = torch.zeros(2, 3, 96, dtype=torch.int16)
    words[0, 0, :5] = torch.tensor([5, 6, 7, 8, 9])
    words[0, 1, :40] = torch.arange(1, 41)
    words[1, 0, :5] = torch.tensor([9, 8, 7, 6, 5])
    numbers = torch.tensor([[1.7, 30.0, 1.0, 10.0]] * 2)
    with torch.inference_mode():
        said, alone = model(words, numbers), model(words[:1, :1], numbers[:1])
    # Other captions and their lengths have no effect; the order of words has.
    torch.testing.assert_close(said[0, 0], alone[0, 0], atol=1e-5, rtol=1e-4)
    assert not torch.allclose(said[0, 0], said[1, 0], atol=1e-3)
    assert torch.isnan(said[..., 0]).tolist() == [[False, False, True], [False, True, True]]


def test_absent_captions_are_ignored() -> None:
    true = torch.tensor([[1.5, 100.0, 2.0, 3.0], [1.0, 90.0, 1.0, 4.0]])
    found = torch.full((2, 3, 4), float("nan"))
    found[0, :2], found[1, 0] = true[0] * torch.tensor([[2.0], [1.0]]), true[1]
    said = found.log().requires_grad_()
    loss = TASK.loss(said, {"measured": true})
    loss.backward()
    assert loss.item() == pytest.approx((2 / 3 + 0) / 2 / 2, rel=1e-5)
    assert torch.isfinite(said.grad).all()
    assert (said.grad[0, 0] > 0).all()


def test_the_loss_is_the_reported_error() -> None:
    true = torch.tensor([[1.5, 100.0, float("nan"), 3.0], [float("nan")] * 4])
    found = torch.tensor([[[1.0, 120.0, 9.0, 3.0]], [[1.0, 1.0, 1.0, 1.0]]], requires_grad=True)
    loss = TASK.loss(found.log(), {"measured": true})
    loss.backward()
    expected = (smape(np.array([1.0]), np.array([1.5])) + smape(np.array([120.0]), np.array([100.0])) + 0) / 3 / 100 / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert torch.isfinite(found.grad).all()


def test_measures_are_separated_by_statements() -> None:
    task = TASK.configured(load_settings("quick", ["attribute.given=captions"]))
    tally = task.tally(View(1, 1.0, 1, (), "encoder", 4))
    true = torch.tensor([[1.0, 100.0, 1.0, 2.0], [2.0, 120.0, 1.0, 2.0], [float("nan")] * 4])
    words = torch.full((3, 8, 3), -1)
    words[:, :2] = torch.tensor([[3, 0, 1], [3, 0, 0]])
    said = true.nan_to_num(1.0)[:, None].repeat(1, 3, 1)
    said[:, 1] *= 2
    tally.add(said.log(), {"measured": true, "words": words})
    found = tally.measures()
    assert (found["clips"], found["answers"]) == (2, 4)
    assert found["speed_stated"] == found["speed_unstated"] == 2
    assert found["speed_stated_smape"] == pytest.approx(0, abs=1e-4)
    assert found["speed_unstated_smape"] == pytest.approx(200 / 3, rel=1e-4)
    assert found["cadence_smape"] == pytest.approx(100 / 3, rel=1e-4)


def test_the_command_line_names_all_tasks() -> None:
    from posegen.cli.train import train
    from posegen.foundations.plugins import TASKS

    reported = next(str(parameter.help) for parameter in train.params if parameter.name == "task")  # type: ignore[attr-defined]
    assert [name for name in TASKS.names() if name not in reported] == []


def test_training_from_motion_and_from_captions_works(results: dict[str, Any]) -> None:
    for name in ("whole", "captions"):
        found = results[name]["measures"]
        assert all(found[f"{measure}_smape"] > 0 for measure in MEASURES), name
        assert sum(results[name]["losses"][-4:]) < sum(results[name]["losses"][:4]), name
    whole = results["whole"]["measures"]
    for measure in ("speed", "duration"):
        assert whole[f"{measure}_smape"] < whole[f"{measure}_constant"]
    assert whole["energy_r2"] > 0.3
    assert "speed_unstated_floor" in results["captions"]["measures"]


def test_a_killed_and_resumed_run_has_the_same_weights(results: dict[str, Any]) -> None:
    tiny.assert_resumed(results["short"])
    tiny.assert_resumed({**results["words"], "whole": results["captions"]})


def test_predictions_have_units_and_the_model_is_exported(results: dict[str, Any]) -> None:
    assert len(results["speeds"]) == SAMPLES * 5
    assert all(0.05 < speed < 20 for speed in results["speeds"])
    assert results["exported"] < 1e-4


def test_training_on_captions_of_a_config_works(results: dict[str, Any]) -> None:
    assert results["config"]["steps"] == 3
    # The few clips of the test split that contain locomotion.
    assert results["config"]["measures"]["clips"] >= 3


def test_impossible_requests_raise(results: dict[str, Any]) -> None:
    assert "data.frames" in results["cut"]["error"]
    assert "contrast.hard" in results["hard"]["error"]
    assert results["stated speeds"] == [pytest.approx(own) for own in results["speeds by model"]]
    assert "holds another run: form was '' and is 'words'" in results["older"]["error"]
    assert "--out" in results["older"]["error"]
