"""Scenes of several actors: their relations, and the tasks action, retrieval and motion on them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import posegen
from posegen import synthesize
from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from posegen.embedding import embed
from posegen.foundations.errors import UsageError
from posegen.synthesis.synthesize import Batch
from posegen.training.animate import people_in, to_scene
from posegen.training.data import features
from posegen.training.data.feed import batches_of, statistics, to_clips
from posegen.training.data.poses import SCENE_POSE, body_of, place_beside
from posegen.training.data.sources import ClipSource, dataset_origin, view_of
from posegen.training.model_formats import export_model
from posegen.training.predictions import predict
from posegen.training.setup import Request, open_setup
from posegen.training.train import train
from posegen.training.trained_models import load_model
from tests.training import tiny

SAMPLES = 40
ONE_VARIANT = "variants={speed: null, position: null, scale: null, mirror: false}"
FEW = ("steps=2", "checks.times=1", "data.variants=[base]")


@pytest.fixture(scope="module")
def batch() -> Batch:
    return synthesize(posegen.load_config("pairs"), range(6))


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples of one to three actors."""
    folder = tmp_path_factory.mktemp("crowd") / "crowd"
    config = posegen.load_config("crowd", [f"story.actions={tiny.ACTIONS}", ONE_VARIANT], samples=SAMPLES, workers=1)
    posegen.generate(config, out=folder)
    return folder


def view(actors: int, stride: int = 1) -> features.View:
    return features.View(250 // stride, 25.0 / stride, stride, (), actors=actors)


@given(st.floats(-3, 3), st.floats(-5, 5), st.floats(-5, 5))
def test_relations_do_not_depend_on_where_a_scene_is(batch: Batch, angle: float, x: float, z: float) -> None:
    joints = batch.joints[:2, 0, :, ::50].astype(np.float64)
    cos, sin = np.cos(angle), np.sin(angle)
    moved = joints @ np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]]) + [x, 0, z]
    unit = np.ones((2, 2))
    np.testing.assert_allclose(features.relations(moved, unit), features.relations(joints, unit), atol=1e-5)


def test_relations_equal_a_naive_computation(batch: Batch) -> None:
    joints = batch.joints[0, 0, :, ::50].astype(np.float64)
    found = features.relations(joints[None], np.ones((1, 2)))[0]
    for frame in range(joints.shape[1]):
        headings = []
        for actor in range(2):
            left = (joints[actor, frame, 1] - joints[actor, frame, 2])[[0, 2]]
            headings.append(np.arctan2(-left[1], left[0]))
        apart = (joints[1, frame, 0] - joints[0, frame, 0])[[0, 2]]
        left, ahead = (np.array(axis) @ apart for axis in (
            (np.cos(headings[0]), -np.sin(headings[0])), (np.sin(headings[0]), np.cos(headings[0])),
        ))  # fmt: skip
        factor = np.log(1 + np.hypot(left, ahead) / 0.5) / np.hypot(left, ahead)
        turn = headings[1] - headings[0]
        expected = [left * factor, ahead * factor, np.cos(turn), np.sin(turn), 1]
        np.testing.assert_allclose(found[1, frame], expected, atol=1e-5)
    assert (found[0] == [0, 0, 1, 0, 1]).all()


def test_one_actor_keeps_its_features(batch: Batch) -> None:
    joints, own = batch.joints[:, 0], view(2)
    scene = features.SCENE_MOTION.compute({"joints": joints}, own)
    assert scene.shape == (6, *features.SCENE_MOTION.shape(own)) == (6, 250, 2, features.FEATURES + features.RELATION)
    first = features.MOTION.compute({"joints": joints}, own)
    assert (scene[:, :, 0, : features.FEATURES] == first).all()
    each = features.by_actor(features.MOTION).compute({"joints": joints}, own)
    assert (each[:, 0] == first).all()
    assert (each[:, 1] == features.features_of(joints[:, 1], 25.0).astype(np.float16)).all()
    # A missing actor is 0, and what is there does not change.
    alone = features.SCENE_MOTION.compute({"joints": joints[:, :1]}, own)
    assert not alone[:, :, 1].any()
    assert (alone[:, :, 0] == scene[:, :, 0]).all()


def test_poses_of_a_scene_reproduce_where_people_stand(batch: Batch) -> None:
    """With every second frame, as models see them; distances between all joints of the two are those of the original."""
    own = view(2, stride=2)
    fields = {"joints": batch.joints[:, 0], "contact": batch.contact[:, 0]}
    poses = torch.from_numpy(SCENE_POSE.compute(fields, own).astype(np.float32))
    for joints, pose in zip(batch.joints[:, 0], poses, strict=True):
        one, other = to_scene(pose.flatten(1), body_of(joints), own.fps, own.stride)
        found, true = (b[:, None, :] - a[:, :, None] for a, b in ((one.joints, other.joints), joints[:, : len(one.joints)]))
        # Placed feet, which the poses take to rest, give way by 1 or 2 cm in a step.
        assert np.abs(np.linalg.norm(found, axis=-1) - np.linalg.norm(true, axis=-1)).mean() < 0.025


def test_a_motion_is_placed_as_a_whole(batch: Batch) -> None:
    joints = batch.joints[1, 0].astype(np.float64)
    related = features.relations(joints[None], np.ones((1, 2)))[0, 1]
    cos, sin = np.cos(1.0), np.sin(1.0)
    turned = joints[1] @ np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]]) + [3.0, 0, -2.0]
    np.testing.assert_allclose(place_beside(joints[0], turned, related, 1.0), joints[1], atol=1e-4)


def test_each_actor_is_a_clip(crowd: Path) -> None:
    dataset = open_dataset(crowd)
    counts = [len(dataset.rows(sample)[0]["actors"]) for sample in range(SAMPLES)]
    assert set(counts) == {1, 2, 3}
    recipes = tuple(map(features.by_actor, (features.MOTION, features.LENGTH, features.ACTION)))
    source = ClipSource(dataset_origin(dataset), recipes, view_of(dataset, 4), np.arange(SAMPLES))
    (batch,) = batches_of(source, SAMPLES, 0, ["base"], epochs=1)
    clips = to_clips(batch, source)
    assert len(clips["length"]) == sum(counts)
    assert (clips["length"] > 0).all()
    assert sorted(zip(clips["sample"].tolist(), clips["actor"].tolist(), strict=True)) == [
        (sample, actor) for sample, count in enumerate(counts) for actor in range(count)
    ]
    for sample, actor, actions in zip(clips["sample"].tolist(), clips["actor"].tolist(), clips["action"], strict=True):
        parts = dataset.arrays("action", slice(sample, sample + 1))[0, 0, actor, ::4]
        present = actions >= 0
        assert (parts[present] == actions[present, None]).any(axis=1).all()
    mean, _ = statistics(source, ["base"])
    frames = np.concatenate([clip[:length] for clip, length in zip(clips["motion"], clips["length"], strict=True)])
    np.testing.assert_allclose(mean, frames.mean(axis=0), atol=1e-4)


@pytest.mark.slow
def test_actions_are_predicted_for_each_actor(crowd: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out.parquet"
    result = train(Request(str(crowd), "action", "quick", tiny.settings(*FEW), run))
    dataset = open_dataset(crowd)
    counts = [len(dataset.rows(sample)[0]["actors"]) for sample in range(SAMPLES)]
    test = open_setup(Request(str(crowd), "action", "quick", tiny.settings(*FEW))).data.source((), "test").sample_numbers
    assert result.measures["clips"] == sum(counts[sample] for sample in test)
    variants = len(dataset.header.variants)
    assert predict(run, crowd, out) == sum(counts) * variants
    rows = pq.read_table(out, columns=["sample", "variant", "actor"]).to_pylist()
    first = [(row["variant"], row["actor"]) for row in rows if row["sample"] == 0]
    assert first == [(variant, actor) for variant in dataset.header.variants for actor in range(counts[0])]


@pytest.mark.slow
def test_scenes_are_retrieved_and_generated(crowd: Path, dataset: Path, tmp_path: Path) -> None:
    embed(crowd, encoder="hashing-for-tests")
    for task in ("retrieval", "motion"):
        request = Request(str(crowd), task, "quick", tiny.settings(*FEW), tmp_path / task)
        assert train(request).measures["clips"] > 0
        assert load_model(tmp_path / task).view.actors == 3
        assert export_model(tmp_path / task, "safetensors", tmp_path / f"{task}.safetensors") == 0
    variants = len(open_dataset(crowd).header.variants)
    assert predict(tmp_path / "retrieval", crowd, tmp_path / "out.parquet") == SAMPLES * variants
    # A clip of one person is a scene whose other actors are absent.
    assert predict(tmp_path / "retrieval", dataset, tmp_path / "out.parquet") > 0
    file = tmp_path / "made.npz"
    assert main(["animate", str(tmp_path / "motion"), "two people shake hands", "-o", str(file)]) == 0
    with np.load(file) as made:
        joints, contact = made["joints"], made["contact"]
    assert np.isfinite(joints).all()
    people = joints.shape[0] if joints.ndim == 4 else 1
    assert contact.shape[:-1] == joints.shape[:-2]
    assert people in {1, 2, 3}


@pytest.mark.slow
def test_models_of_one_person_refuse_several(
    crowd: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "dataset"
    embed(shutil.copytree(dataset, own), encoder="hashing-for-tests")
    for task in ("retrieval", "motion"):
        train(Request(str(own), task, "quick", tiny.settings(*FEW), tmp_path / task))
    with pytest.raises(UsageError, match="has clips of up to 3 people; the model was trained on clips of one person"):
        predict(tmp_path / "retrieval", crowd, tmp_path / "out.parquet")
    capsys.readouterr()
    assert main(["animate", str(tmp_path / "motion"), "two people shake hands", "-o", str(tmp_path / "a.npz")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "describes 2 people, and the model was trained on clips of one person. Train one on clips of several" in line
    assert main(["animate", str(tmp_path / "motion"), "a man walks", "-o", str(tmp_path / "a.npz")]) == 0
    with np.load(tmp_path / "a.npz") as made:
        assert made["joints"].ndim == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a person walks", 1),
        ("two people shake hands", 2),
        ("a man and a woman hug", 2),
        ("he hugs the other", 2),
        ("Three people dance", 3),
        ("someone shakes hands with another person", 2),
    ],
)
def test_people_of_a_text_are_counted(text: str, count: int) -> None:
    from posegen.library.load import load_library

    assert people_in(text, load_library()) == count
