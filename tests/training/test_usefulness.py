"""The report on usefulness: nobody is on both sides, few clips are as few as said, cameras see what is there, and the page
reports what was measured."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import posegen
from benchmarks.motion.clips import folds_by_subject
from benchmarks.usefulness import __main__ as command
from benchmarks.usefulness import action, amplification, definitions, lifting, page
from benchmarks.usefulness.action import FamilyScores
from benchmarks.usefulness.cameras import FOCAL, Poses, camera_at, seen
from benchmarks.usefulness.clips import Clips, balanced, drawn
from benchmarks.usefulness.learning import chosen_at, settings_of, shares, train
from benchmarks.usefulness.lifting import Lifter, aligned, distances
from benchmarks.usefulness.results import AMPLIFICATION, PRETRAINING, have
from posegen.evaluation.performances import family_of
from posegen.foundations.skeleton import JOINTS
from posegen.training.data.features import View
from posegen.training.settings import Model
from posegen.training.task import find_task
from posegen.training.trained_models import TrainedModel, build_model

PEOPLE = {
    "ann": {"walk": 9, "run": 1},
    "bob": {"walk": 2, "run": 7},
    "cat": {"walk": 3, "jump": 6},
    "dan": {"jump": 4, "run": 2},
    "eve": {"walk": 4, "jump": 2, "run": 3},
    "fay": {"jump": 1},
}
PERSONS = tuple(person for person, own in PEOPLE.items() for count in own.values() for _ in range(count))
FAMILIES = tuple(family for own in PEOPLE.values() for family, count in own.items() for _ in range(count))


@pytest.fixture(scope="module")
def clips() -> Clips:
    joints = [np.zeros((4, len(JOINTS), 3), np.float32)] * len(PERSONS)
    return Clips(joints, FAMILIES, PERSONS, 25.0, folds_by_subject(PERSONS, FAMILIES, definitions.FOLDS))


def test_training_and_test_subjects_differ(clips: Clips) -> None:
    for repetition in range(definitions.FOLDS):
        for count in definitions.COUNTS:
            trained, held = clips.trained_on(repetition, count), clips.held_out(repetition)
            assert not {PERSONS[i] for i in trained} & {PERSONS[i] for i in held}
    every = np.concatenate([clips.held_out(repetition) for repetition in range(definitions.FOLDS)])
    assert sorted(every) == list(range(len(PERSONS)))
    assert set(clips.held_out(0)) == set(clips.held_out(definitions.FOLDS))


def test_each_fold_has_each_family(clips: Clips) -> None:
    for part in range(definitions.FOLDS):
        assert {FAMILIES[i] for i in np.flatnonzero(clips.part == part)} == {"walk", "run", "jump"}


def test_number_of_clips_per_class_is_respected(clips: Clips) -> None:
    for repetition in range(definitions.FOLDS):
        there = Counter(FAMILIES[i] for i in np.flatnonzero(clips.part != repetition))
        before: set[int] = set()
        for count in definitions.COUNTS:
            chosen = clips.trained_on(repetition, count)
            wanted = {family: min(n, count or n) for family, n in there.items()}
            assert Counter(FAMILIES[i] for i in chosen) == wanted
            assert before <= set(chosen.tolist())
            before = set(chosen.tolist())
        assert len(before) == sum(there.values())


def test_other_seeds_draw_other_clips() -> None:
    every = np.ones(len(FAMILIES), bool)
    assert len({tuple(drawn(FAMILIES, every, 1, seed)) for seed in range(8)}) > 1
    assert drawn(FAMILIES, every, 5, 3).tolist() == drawn(FAMILIES, every, 5, 3).tolist()


def test_weights_count_groups_equally() -> None:
    family = np.array(["a", "a", "a", "a", "b"])
    clip = np.array([0, 0, 0, 1, 2])
    assert shares(family).tolist() == pytest.approx([1 / 8] * 4 + [1 / 2])
    assert shares(family, clip).tolist() == pytest.approx([1 / 12] * 3 + [1 / 4, 1 / 2])


def test_items_are_drawn_by_their_weights() -> None:
    weights = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    found = np.concatenate([chosen_at(step, 4, weights, 100) for step in range(20)])
    assert set(found.tolist()) == {1, 3}
    assert (found == 3).mean() == pytest.approx(0.75, abs=0.04)
    assert (chosen_at(7, 4, weights, 50) == chosen_at(7, 4, weights, 50)).all()
    assert (chosen_at(7, 4, weights, 50) != chosen_at(8, 4, weights, 50)).any()


def test_training_is_a_function_of_the_seed() -> None:
    def learnt(seed: int, disturbed: int) -> Tensor:
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        torch.manual_seed(disturbed)
        settings = settings_of(5, 1e-2, 6).model_copy(update={"seed": seed})
        items = torch.arange(40.0).reshape(10, 4) / 40

        def loss_at(step: int) -> Tensor:
            loss: Tensor = model(items[chosen_at(step, seed, np.ones(10), 6)]).square().mean()
            return loss

        train(model, loss_at, settings)
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    assert torch.equal(learnt(1, 10), learnt(1, 20))
    assert not torch.equal(learnt(1, 10), learnt(2, 10))


def walker(frames: int = 5) -> NDArray[np.float32]:
    joints = np.random.default_rng(1).uniform(-0.4, 0.4, (frames, len(JOINTS), 3))
    joints += np.array([3.0, 1.0, -2.0])
    joints[:, JOINTS.index("head"), 1] += 1
    joints += np.arange(frames)[:, None, None] * [0.3, 0, 0.2]
    return joints.astype(np.float32)


@pytest.mark.parametrize("draws", [(0.0, 0.0, 0.0, 0.5), (0.25, 1.0, 0.5, 0.0), (0.6, 0.3, 0.9, 1.0)])
def test_projection_equals_a_pinhole_camera(draws: tuple[float, ...]) -> None:
    joints = walker()
    poses = seen(joints, 7, np.array(draws))
    angle, distance = 2 * math.pi * draws[0], 3 + 2 * draws[1]
    height, focal = 0.9 + draws[2], FOCAL * (0.95 + 0.1 * draws[3])
    for f, frame in enumerate(joints.astype(float)):
        pelvis = frame[0]
        watched = joints[:, 0, 1].astype(float).mean()
        camera = np.array([pelvis[0] + distance * math.sin(angle), height, pelvis[2] + distance * math.cos(angle)])
        forward = np.array([pelvis[0], watched, pelvis[2]]) - camera
        forward /= math.sqrt(sum(forward**2))
        right = np.cross(forward, [0, 1, 0])
        right /= math.sqrt(sum(right**2))
        down = np.cross(forward, right)
        assert down[1] < 0
        pixels, body = [], []
        for joint in frame:
            x, y, z = ((joint - camera) @ axis for axis in (right, down, forward))
            pixels.append([focal * x / z, focal * y / z])
            body.append([(joint - pelvis) @ axis for axis in (right, down, forward)])
        away = np.array(pixels) - pixels[0]
        size = math.sqrt((away**2).sum() / len(JOINTS))
        np.testing.assert_allclose(poses.picture[f].reshape(-1, 2), away / size, atol=1e-5)
        np.testing.assert_allclose(poses.body[f].reshape(-1, 3), body, atol=1e-5)
    assert poses.clip.tolist() == [7] * len(joints)
    assert (poses.picture.reshape(len(joints), -1, 2)[:, JOINTS.index("head"), 1] < 0).all()


def test_projection_does_not_depend_on_position_and_zoom() -> None:
    joints, draws = walker(), np.array([0.3, 0.2, 0.1, 0.0])
    zoomed = np.array([0.3, 0.2, 0.1, 1.0])
    np.testing.assert_allclose(seen(joints, 0, draws).picture, seen(joints, 0, zoomed).picture, atol=1e-5)
    elsewhere = joints + np.array([5, 0, -9], np.float32)
    np.testing.assert_allclose(seen(joints, 0, draws).picture, seen(elsewhere, 0, draws).picture, atol=1e-5)
    assert camera_at(joints, draws)[1][0, 0] != camera_at(joints, zoomed)[1][0, 0]


def test_a_body_behind_the_camera_raises() -> None:
    joints = walker()
    joints[:, 5, 0] += 10
    with pytest.raises(ValueError, match="clip 3 has joints that are not in front"):
        seen(joints, 3, np.array([0.25, 0.0, 0.0, 0.0]))


def test_poses_are_aligned_by_similarity_transforms() -> None:
    draws = np.random.default_rng(2)
    true = draws.normal(size=(6, len(JOINTS), 3))
    turn, _ = np.linalg.qr(draws.normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    found = 1.7 * true @ turn + [1.0, -2.0, 0.5]
    assert distances(found, true).min() > 0.5
    assert distances(aligned(found, true), true).max() < 1e-9
    mirrored = found * [-1.0, 1.0, 1.0]
    assert distances(aligned(mirrored, true), true).min() > 0.1
    rough = found + draws.normal(size=found.shape) * 0.2
    best = ((aligned(rough, true) - true) ** 2).sum(axis=(1, 2))
    for angle in (-0.02, 0.02):
        c, s = math.cos(angle), math.sin(angle)
        other = (aligned(rough, true) - true.mean(1, keepdims=True)) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        assert (((other + true.mean(1, keepdims=True) - true) ** 2).sum(axis=(1, 2)) > best).all()


def test_families_have_equal_weight() -> None:
    assert balanced(np.array([1.0, 0.0, 0.0, 0.0, 1.0]), np.array([4, 4, 4, 4, 9])) == pytest.approx((0.25 + 1) / 2)


class _Says(nn.Module):
    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        del length
        return motion


def test_family_scores_combine_those_of_its_actions() -> None:
    motion = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    found = FamilyScores(_Says(), [[4], [0, 2]])(motion, torch.tensor([3, 3]))  # type: ignore[arg-type]
    for place in np.ndindex(2, 3):
        own = [float(value) for value in motion[place]]
        together = math.log(math.exp(own[0]) + math.exp(own[2]))
        assert found[place].tolist() == pytest.approx([own[4], together], abs=1e-6)


def test_the_command_names_missing_mocap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["usefulness"])
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv("POSEGEN_REFERENCE", folder)
        assert command.main() == 2
        assert "Set POSEGEN_REFERENCE to a folder" in capsys.readouterr().err


def test_the_committed_page_is_up_to_date() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), "run: python -m benchmarks.usefulness.page"
    assert page.PICTURE.stat().st_size < 60_000


@pytest.mark.parametrize("section", [PRETRAINING, AMPLIFICATION])
def test_results_contain_no_clips(section: str) -> None:
    document = json.loads((page.RESULTS / f"{section}.json").read_text("utf-8"))
    assert all(isinstance(value, float) for result in document["results"] for value in result["measures"].values())


@pytest.mark.slow
def test_every_trial_uses_its_own_clips(clips: Clips, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(5)
    moving = [draws.normal(0, 0.2, (16, len(JOINTS), 3)).astype(np.float32) for _ in PERSONS]
    own = replace(clips, joints=moving)
    task = find_task("action")
    view = View(4, 6.25, 4, ("jump", "run", "sit", "walk"))
    classifier = TrainedModel(task, view, Model(), build_model(task, view, Model(), 0).eval())
    monkeypatch.setattr(action, "STEPS", 1)
    monkeypatch.setattr(lifting, "LIFTING_STEPS", 1)
    for name, found in (
        ("action", action.measure(own, classifier, definitions.trials("action", 1))),
        ("lifting", lifting.measure(own, Lifter().eval(), definitions.trials("lifting", 1))),
    ):
        results = list(found)
        assert [definitions.Trial(r.way, r.count, r.repetition) for r in results] == list(definitions.trials(name, 1))
        assert {r.task for r in results} == {name}
        assert all(r.clips == len(own.trained_on(0, r.count)) for r in results)
        assert all(math.isfinite(value) for r in results for value in r.measures.values())
        assert have(results, name) == {(t.way, t.count, t.repetition) for t in definitions.trials(name, 1)}


def test_sources_in_one_step_keep_their_families_and_poses() -> None:
    def material(first: int, clips: int) -> amplification.Material:
        numbers = np.arange(first, first + clips)
        motion = [np.full((3, 2), number, np.float32) for number in numbers]
        # Two frames of each clip, which hold its number.
        frames = np.repeat(numbers, 2)[:, None].astype(np.float32)
        return amplification.Material(motion, numbers % 5, Poses(frames, frames, np.repeat(np.arange(clips), 2)))

    both = amplification.together([material(0, 2), material(100, 7)])
    numbers = [int(motion[0, 0]) for motion in both.motion]
    assert sorted(numbers) == sorted([0, 1] * 4 + list(range(100, 107)))
    assert both.families.tolist() == [number % 5 for number in numbers]
    assert both.poses.picture[:, 0].tolist() == both.poses.body[:, 0].tolist() == np.repeat(numbers, 2).tolist()
    assert [numbers[clip] for clip in both.poses.clip] == np.repeat(numbers, 2).tolist()


def test_copies_keep_their_family_and_body() -> None:
    clip = np.cumsum(np.random.default_rng(6).normal(0, 0.01, (40, len(JOINTS), 3)), axis=1).astype(np.float32)
    copies, families = amplification.augmented([clip, clip + 1], np.array([4, 2]))
    assert families.tolist() == [4] * definitions.AMPLIFIED_COPIES + [2] * definitions.AMPLIFIED_COPIES
    lengths = {len(copy) for copy in copies}
    assert min(lengths) >= 32
    assert max(lengths) <= 50
    assert len(lengths) > 5
    sizes = np.array([np.ptp(copy[0, :, 1]) / np.ptp(clip[0, :, 1]) for copy in copies])
    assert np.ptp(sizes) > 0.1
    assert np.abs(sizes - 1).max() < 0.1001


@pytest.mark.slow
def test_a_dataset_from_clips_trains_on_no_test_subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = posegen.load_config("default", ["story.actions={squat: 40, kick: 40}"])
    dataset = posegen.generate(config, samples=12, workers=1, out=tmp_path / "default").path
    made, shown = amplification.excerpts(dataset, family_of)
    names = [amplification.IMPORTED[family] for family in shown]
    assert {"crouch", "kick"} <= set(names)
    squats = [clip for clip, name in zip(made, names, strict=True) if name == "crouch"]
    kicks = [clip for clip, name in zip(made, names, strict=True) if name == "kick"]
    joints = [*squats[:6], *kicks[:6]]
    persons = tuple("abc"[i % 3] for i in range(len(joints)))
    families = ("crouch",) * len(squats[:6]) + ("kick",) * len(kicks[:6])
    clips = Clips(joints, families, persons, 25.0, np.array(["abc".index(person) for person in persons]))
    monkeypatch.setattr(amplification, "AMPLIFIED_SAMPLES", 6)
    monkeypatch.setattr(amplification, "STEPS", 2)
    monkeypatch.setattr(amplification, "LIFTING_STEPS", 2)
    own = [trial for trial in definitions.amplified_trials(1) if trial.count == 1]
    found = list(amplification.measure(clips, dataset, own, tmp_path / "work"))
    assert [(r.task, r.way) for r in found] == [
        (task, definitions.longer(trial.way, trial.times))
        for trial in own
        for task in (amplification.ACTION, amplification.LIFTING)
    ]
    assert all(r.clips == 2 and math.isfinite(value) for r in found for value in r.measures.values())
    taken = {path.name.partition("_")[0] for path in (tmp_path / "work").rglob("*_0*.npz")}
    assert taken == {"crouch", "kick"}
