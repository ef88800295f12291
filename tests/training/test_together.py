"""Runs on real and generated clips together, and the tasks lifting and imu, which exist for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from posegen.cli.main import main  # noqa: E402
from posegen.dataset.read import open_dataset  # noqa: E402
from posegen.foundations.errors import UsageError  # noqa: E402
from posegen.foundations.skeleton import JOINTS, PARENTS  # noqa: E402
from posegen.training.data.body_shape import on_shape, shape_of  # noqa: E402
from posegen.training.data.feature_cache import cached_array, features_folder  # noqa: E402
from posegen.training.data.features import ABSENT, ACTION, View  # noqa: E402
from posegen.training.data.feed import batches_of, to_clips  # noqa: E402
from posegen.training.data.own_clips import read_own_readings  # noqa: E402
from posegen.training.data.together import read_class_map, schedule  # noqa: E402
from posegen.training.settings import load_settings  # noqa: E402
from posegen.training.setup import Request, Setup, open_setup  # noqa: E402
from posegen.training.tasks.action import TASK as ACTIONS  # noqa: E402
from posegen.training.tasks.imu import TASK, mountings  # noqa: E402
from posegen.training.tasks.lifting import seen  # noqa: E402
from tests.running import Programs  # noqa: E402
from tests.training import tiny  # noqa: E402
from tests.training.task_runs import own_archive, readings_archive  # noqa: E402

FEW = ("steps=10", "batch=8", "together.first=0.2", "together.last=0.3", "together.ratio=1:3")


def open_together(dataset: Path, own: Path, *overrides: str, task: str = "action") -> Setup:
    settings = tiny.settings(*FEW, f'together.dataset="{dataset}"', *overrides)
    return open_setup(Request(str(own), task, "quick", settings))


@pytest.fixture(scope="module")
def own(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_archive(dataset, tmp_path_factory.mktemp("own") / "own.npz")


@pytest.fixture(scope="module")
def results(dataset: Path, tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> dict[str, Any]:
    return tiny.task_runs(tmp_path_factory, programs, "lifting", dataset, embedded=True)


def test_generated_clips_come_first_then_both_then_real_ones() -> None:
    settings = load_settings("quick", FEW)
    planned = schedule(settings, np.arange(5), np.arange(100, 130))
    assert (planned < 100).sum(axis=1).tolist() == [0, 0, 2, 2, 2, 2, 2, 8, 8, 8]
    real = planned[planned < 100]
    assert np.ptp(np.bincount(real)) <= 1
    assert len(set(planned[planned >= 100][:30].tolist())) == 30
    assert (schedule(settings, np.arange(5), np.arange(100, 130)) == planned).all()
    other = load_settings("quick", [*FEW, "seed=1"])
    assert (schedule(other, np.arange(5), np.arange(100, 130)) != planned).any()


def test_phases_that_overlap_are_refused() -> None:
    with pytest.raises(UsageError, match=r"add up to 1\.2; at most 1"):
        load_settings("quick", ["together.first=0.6", "together.last=0.6"])
    with pytest.raises(UsageError, match=r"together\.ratio"):
        load_settings("quick", ["together.ratio=0:0"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {"walk": "walk"}),
        ("go: [walk, run, swim]\nwalk: jump\n", {"walk": "go", "run": "go", "jump": "walk"}),
        ("walks: walk\n", "the clips have no class"),
        ("go: wlak\n", "the library of the dataset has no action"),
        ("go: 3\n", "must have an action or a list of actions"),
        ("[walk]\n", "must have a line CLASS: ACTION"),
        ("utd_mhad", "none of the classes 'go', 'walk' is shown"),
        ("no.yaml", "there is no such file"),
    ],
)
def test_label_maps_are_read_and_checked(text: str | None, expected: dict[str, str] | str, tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(text or "", encoding="utf-8")
    labels = None if text is None else str(file) if "\n" in text else text
    words, shown = ("go", "walk"), ("jump", "run", "walk")
    actions = (*shown, "swim", "march_in_place")
    if isinstance(expected, dict):
        assert read_class_map(labels, words, actions, shown) == expected
    else:
        with pytest.raises(UsageError, match=expected):
            read_class_map(labels, words, actions, shown)


def test_a_published_map_names_only_actions_of_the_dataset() -> None:
    shown = ("wave", "march_in_place", "sit")
    found = read_class_map("utd_mhad", ("walk", "bowling", "wave"), shown, shown)
    assert found == {"march_in_place": "walk", "wave": "wave"}


def _bones(joints: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.linalg.norm(joints[:, 1:] - joints[:, PARENTS[1:]], axis=-1)


def test_a_clip_on_the_shape_of_another_has_its_bones_and_moves_as_before(dataset: Path) -> None:
    joints = open_dataset(dataset).arrays("joints", slice(0, 6))[:, 0, 0, :50].astype(np.float64)
    one, other = (clip[~np.isnan(clip[:, 0, 0])] for clip in (joints[0], joints[5]))
    shown = on_shape(one, shape_of([other]))
    leg = [JOINTS.index("left_knee") - 1, JOINTS.index("left_ankle") - 1]
    scale = _bones(one)[0, leg].sum() / _bones(other)[0, leg].sum()
    assert _bones(shown)[0] == pytest.approx(scale * _bones(other)[0], rel=0.02)
    assert shown[:, 0] == pytest.approx(one[:, 0], abs=1e-6)
    thigh, before = (clip[:, JOINTS.index("left_knee")] - clip[:, JOINTS.index("left_hip")] for clip in (shown, one))
    cosine = (thigh * before).sum(-1) / np.linalg.norm(thigh, axis=-1) / np.linalg.norm(before, axis=-1)
    assert cosine == pytest.approx(1, abs=1e-6)
    assert on_shape(one, shape_of([one])) == pytest.approx(one, abs=0.02)


def test_batches_follow_the_schedule_and_only_training_has_generated_clips(dataset: Path, own: Path) -> None:
    setup = open_together(dataset, own)
    data, settings = setup.data, setup.settings
    assert data.generated is not None
    assert data.view.actions[:2] == ("sit", "walk")
    assert data.view.predicted == 2
    assert "jump" in data.view.actions
    assert "surf" not in data.view.actions
    data.prepare(setup.task.recipes, lambda done, total: None)
    source = data.source(setup.task.recipes, "training")
    batches = batches_of(source, settings.batch, settings.seed, None, lanes=settings.data.lanes).at(0, 10)
    clips = [to_clips(batch, source) for batch in batches]
    assert [int((each["sample"] < data.samples).sum()) for each in clips] == [0, 0, 2, 2, 2, 2, 2, 8, 8, 8]
    _compare_generated(setup, clips)
    held = [data.source(setup.task.recipes, split) for split in ("validation", "test")]
    tested = {int(number) for each in held for number in each.sample_numbers}
    trained = {int(number) for each in clips for number in each["sample"] if number < data.samples}
    assert tested
    assert trained
    assert not tested & trained
    assert max(tested) < data.samples
    again = open_together(dataset, own).data.source(setup.task.recipes, "training")
    assert (again.sample_numbers == source.sample_numbers).all()


def _compare_generated(setup: Setup, clips: Sequence[dict[str, Any]]) -> None:
    """Compare the generated clips of batches with the cache of the dataset."""
    generated = setup.data.generated
    assert generated is not None
    folder, size = features_folder(generated.dataset), generated.dataset.header.shard
    motion = generated.recipes(setup.task.recipes)[0]
    for each in clips:
        for row in np.flatnonzero(each["sample"] >= setup.data.samples).tolist():
            sample, variant, start = (int(found) for found in generated.find(setup.data.samples, each["sample"][row]))
            length, frames = int(each["length"][row]), setup.data.view.frames
            assert 1 <= length <= frames
            stored = cached_array(folder, motion, generated.view, sample // size)[sample % size, variant]
            assert (each["motion"][row, :length] == stored[start : start + length]).all()
            actions = cached_array(folder, ACTION, generated.view, sample // size)[sample % size, variant]
            named = [generated.view.actions[i] for i in actions[start : start + length]]
            assert [setup.data.view.actions[i] for i in each["action"][row, :length]] == named
            assert (each["action"][row, length:] == ABSENT).all()


def test_other_actions_are_never_predicted() -> None:
    view = View(3, 6.25, 4, ("sit", "walk", "jump"), predicted=2)
    scores = torch.tensor([0.0, 1.0, 9.0]).expand(1, 3, 3)
    clips = {"action": torch.ones(1, 3, dtype=torch.int16), "length": torch.tensor([3])}
    tally = ACTIONS.tally(view)
    tally.add(scores, clips)
    assert tally.measures()["clip_top1"] == 1
    assert ACTIONS.abilities.describe is not None
    assert ACTIONS.abilities.describe(scores, clips, view)["action"] == ["walk"]
    tally = ACTIONS.tally(replace(view, predicted=None))
    tally.add(scores, clips)
    assert tally.measures()["clip_top1"] == 0


def test_requests_that_do_not_fit_are_refused(dataset: Path, own: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="compares the persons of one source"):
        open_together(dataset, own, task="identity")
    with pytest.raises(UsageError, match=r"there is no dataset. Generate one"):
        open_together(tmp_path, own)
    with pytest.raises(UsageError, match="needs annotations that these clips do not have"):
        open_together(dataset, own, task="motion")
    with pytest.raises(UsageError, match="has no effect on the task lifting"):
        open_together(dataset, own, "together.labels=utd_mhad", task="lifting")
    with pytest.raises(UsageError, match="--with adds generated clips to your own clips"):
        open_together(dataset, dataset)


def test_the_command_refuses_a_ratio_without_generated_clips(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(own), "--task", "action", "--ratio", "1:2"]) == 2
    assert "--ratio" in capsys.readouterr().err


def test_a_dataset_without_readings_is_refused(tmp_path: Path) -> None:
    plain = tiny.make(tmp_path / "plain", 4)
    setup = open_together(plain, readings_archive(tmp_path / "readings.npz"), task="imu")
    with pytest.raises(UsageError, match=r"has no field imu. Run: posegen derive"):
        setup.data.prepare(setup.task.recipes, lambda done, total: None)


def test_readings_have_four_a_frame_and_a_stride_averages_them(tmp_path: Path) -> None:
    own = read_own_readings(readings_archive(tmp_path / "readings.npz"), 25.0)
    assert {clip.shape for clip in own.joints} == {(29, 4, 1, 6)}
    recipe = TASK.recipes[0]
    fields = own.padded(np.array([0]))
    one, two = (recipe.compute(fields, View(0, 25.0 / stride, stride, ())).astype(np.float32) for stride in (1, 2))
    assert one.shape == (1, 29, 24)
    assert two.shape == (1, 15, 24)
    assert two[0, 3].reshape(4, 6)[1] == pytest.approx(one[0, 6:8].reshape(8, 6)[2:4].mean(axis=0), abs=1e-2)


def test_mountings_are_rotations_without_a_preferred_axis() -> None:
    drawn = {"sample": np.arange(4000), "variant": np.zeros(4000, np.int64)}
    turns = mountings(drawn, 0, 3)["mounting"]
    assert turns @ turns.swapaxes(1, 2) == pytest.approx(np.broadcast_to(np.eye(3), turns.shape), abs=1e-5)
    assert np.linalg.det(turns) == pytest.approx(1, abs=1e-5)
    assert np.abs(turns.mean(axis=0)).max() < 0.04


def test_a_picture_has_the_perspective_of_its_camera() -> None:
    joints = torch.zeros(1, 2, len(JOINTS), 3)
    joints[..., 1] = 1.0
    joints[:, :, 1] = torch.tensor([0.5, 1.0, 0.0])
    joints[:, :, 2] = torch.tensor([0.5, 1.0, 2.0])
    picture, axes = seen(joints, torch.tensor([[0.0, 0.5, 0.1]]))  # 4 m ahead, 1 m high
    assert axes[0].numpy() == pytest.approx(np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, -1]]), abs=1e-6)
    away = picture.unflatten(-1, (-1, 2))[0, 0]
    assert away[2, 0] / away[1, 0] == pytest.approx((0.5 / 2) / (0.5 / 4), rel=1e-5)
    assert away.square().sum(-1).mean().sqrt() == pytest.approx(1)
    assert (away[0] == 0).all()


@pytest.mark.slow
def test_a_killed_and_resumed_run_has_the_same_weights(results: dict[str, Any]) -> None:
    tiny.assert_resumed({"whole": results["own"]} | results["own killed"])
    assert any(": 2 of 2 classes, and " in line for line in results["own"]["said"])


@pytest.mark.slow
def test_each_task_trains_together(results: dict[str, Any]) -> None:
    assert results["own lifting"]["measures"]["clips"] == results["own"]["measures"]["clips"]
    assert results["own captions"]["measures"]["clips"] == results["own"]["measures"]["clips"]
    assert results["own imu"]["measures"]["clips"] >= 6


@pytest.mark.slow
def test_lifting_learns_and_its_model_is_exported(results: dict[str, Any]) -> None:
    losses = results["whole"]["losses"]
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    assert results["whole"]["measures"]["mpjpe"] == pytest.approx(np.mean(results["errors"]), rel=0.2)
    assert results["exported"] < 1e-4


def test_a_shape_does_not_change_what_others_cache(dataset: Path, own: Path) -> None:
    setup = open_together(dataset, own)
    generated = setup.data.generated
    assert generated is not None
    shown = {recipe.cache for recipe in generated.recipes(setup.task.recipes)}
    plain = {recipe.cache for recipe in replace(generated, shape=None).recipes(setup.task.recipes)}
    assert plain == {""}
    assert len(shown) == 2
