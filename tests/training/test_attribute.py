"""The task attribute: measures of locomotion, errors of predictions, and runs on a tiny dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from posegen.dataset.read import open_dataset  # noqa: E402
from posegen.training.data.feature_cache import cached_array, features_folder, fill_cache  # noqa: E402
from posegen.training.data.features import View  # noqa: E402
from posegen.training.data.sources import view_of  # noqa: E402
from posegen.training.tasks.attribute import MEASURED, MEASURES, TASK, cadence, kinetic_energy, mean_speed  # noqa: E402
from tests.running import Programs  # noqa: E402
from tests.training import tiny  # noqa: E402

pytestmark = pytest.mark.slow

SAMPLES = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_once(tmp_path_factory, "attribute", SAMPLES).parent


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    return tiny.task_runs(tmp_path_factory, programs, "attribute", folder / "dataset")


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
    fill_cache(dataset, (MEASURED,), view, lambda done, total: None)
    travelled = 0
    for sample in range(20):
        measured = cached_array(features_folder(dataset), MEASURED, view, 0)[sample]
        for variant, row in enumerate(dataset.rows(sample)):
            actor = row["actors"][0]
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
    assert travelled > 20


def test_undefined_measures_are_ignored() -> None:
    true = torch.tensor([[1.5, float("nan"), 2.0, 3.0], [float("nan")] * 4])
    found = torch.tensor([[3.0, 100.0, 2.0, 3.0], [1.0, 90.0, 1.0, 4.0]]).log().requires_grad_()
    loss = TASK.loss(found, {"measured": true})
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(2 / 3 / 3 / 2, rel=1e-5)
    assert found.grad is not None
    assert torch.isfinite(found.grad).all()
    tally = TASK.tally(View(1, 1.0, 1, ()))
    tally.add(found.detach(), {"measured": true})
    measures = tally.measures()
    assert measures["speed_smape"] == pytest.approx(200 / 3, rel=1e-4)
    assert measures["clips"] == 1
    assert "cadence_smape" not in measures


def test_the_command_line_names_all_tasks() -> None:
    from posegen.cli.train import train
    from posegen.foundations.plugins import TASKS

    reported = next(str(parameter.help) for parameter in train.params if parameter.name == "task")  # type: ignore[attr-defined]
    assert [name for name in (*TASKS.names(), "text") if name not in reported] == []


def test_training_works(results: dict[str, Any]) -> None:
    found = results["whole"]["measures"]
    assert all(found[f"{measure}_smape"] > 0 for measure in MEASURES)
    assert sum(results["whole"]["losses"][-4:]) < sum(results["whole"]["losses"][:4])
    for measure in ("speed", "duration"):
        assert found[f"{measure}_smape"] < found[f"{measure}_constant"]
    assert found["energy_r2"] > 0.3


def test_a_killed_and_resumed_run_has_the_same_weights(results: dict[str, Any]) -> None:
    tiny.assert_resumed(results["short"])


def test_predictions_have_units_and_the_model_is_exported(results: dict[str, Any]) -> None:
    assert len(results["speeds"]) == SAMPLES * 5
    assert all(0.05 < speed < 20 for speed in results["speeds"])
    assert results["exported"] < 1e-4


def test_impossible_requests_raise(results: dict[str, Any]) -> None:
    assert "data.frames" in results["cut"]["error"]
