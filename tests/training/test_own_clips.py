"""A user's own clips, adapters, predictions and exported models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import posegen
from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from posegen.foundations.errors import PosegenError, UsageError
from posegen.training.data.features import FEATURES
from posegen.training.data.own_clips import read_own_clips
from posegen.training.data.sources import view_of
from posegen.training.encoder import add_adapters, merge_adapters, trainable_weights
from posegen.training.model_formats import export_model
from posegen.training.predictions import predict
from posegen.training.settings import Model
from posegen.training.setup import Request
from posegen.training.tasks.action import TASK
from posegen.training.train import train
from posegen.training.trained_models import build_model, load_model, save_model
from tests.dataset.clip_archives import archive_of
from tests.training import tiny


def test_clips_are_resampled_and_short_ones_left_out(tmp_path: Path) -> None:
    found = read_own_clips(archive_of(tmp_path / "own.npz"), 25.0)
    assert found.words == ("walk", "run", "run")
    assert [clip[:, 0, 0].tolist() for clip in found.joints[:1]] == [[1, 3, 5, 7, 9]]
    padded = found.padded(np.array([1, 0]))
    assert padded["joints"].shape == (2, 1, 11, 22, 3)
    assert np.isnan(padded["joints"][1, 0, 5:]).all()
    assert padded["action"][:, 0, 0, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"classes": None}, "has no array classes"),
        ({"joints": np.full((50, 22, 3), np.nan, np.float32)}, "some joints of clip 0 are not numbers"),
        ({"classes": np.array(["walk"] * 4)}, "at least two classes"),
        ({"subjects": np.array(["a", "b"])}, "one subject for each of the 4 clips"),
    ],
)
def test_malformed_clips_raise(tmp_path: Path, changes: dict[str, object], reported: str) -> None:
    with pytest.raises(UsageError, match=reported):
        read_own_clips(archive_of(tmp_path / "own.npz", **changes), 25.0)


def test_clips_that_grow_too_large_at_the_rate_of_the_model_are_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "own.npz", joints=np.zeros((9000, 22, 3), np.float16), offsets=np.array([0, 10, 20, 30, 9000]))
    assert len(read_own_clips(path, 100.0).joints[3]) == 17939
    path = archive_of(path, fps=np.float64(1), joints=np.zeros((9000, 22, 3)), offsets=np.array([0, 10, 20, 30, 9000]))
    with pytest.raises(UsageError, match=r"joints must have at most 100,000 frames per clip and .* \(got 224,250 and "):
        read_own_clips(path, 25.0)


def test_the_command_reports_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = archive_of(tmp_path / "own.npz", fps=np.float64("nan"))
    assert main(["train", str(path), "--task", "action", "--init", str(run), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}: fps must be one number from 1 to 1000 (got nan). Store the frames per second" in line
    assert main(["train", str(path), "--task", "action", "--out", str(tmp_path / "out")]) == 2
    assert "fps must be one number" in capsys.readouterr().err


def test_own_clips_train_a_model_without_another_one(dataset: Path, tmp_path: Path) -> None:
    """The model then reads 25 frames per second, at the stride of the settings."""
    drawn = np.random.default_rng(0)
    joints = open_dataset(dataset).arrays("joints", slice(0, 40))[:, 0, 0, :60]
    joints = joints + drawn.normal(0, 0.01, (len(joints), 1, 1, 3)).astype(np.float32)
    classes = np.array(["walk", "sit"] * (len(joints) // 2))
    offsets = np.arange(len(joints) + 1) * 60
    np.savez(tmp_path / "own.npz", joints=joints.reshape(-1, 22, 3), offsets=offsets, fps=25.0, classes=classes)
    request = Request(str(tmp_path / "own.npz"), "action", "quick", tiny.settings("steps=2"), tmp_path / "run")
    assert train(request).steps == 2
    view = load_model(tmp_path / "run").view
    assert (view.actions, view.fps, view.stride, view.frames) == (("sit", "walk"), 6.25, 4, 15)
    assert train(
        Request(str(tmp_path / "own.npz"), "action", "quick", tiny.settings("steps=2"), tmp_path / "run")
    ).nothing_to_do


def test_adapters_start_at_zero_and_keep_the_weights(dataset: Path) -> None:
    view = view_of(posegen.open(dataset), 4)
    model = build_model(TASK, view, Model(dropout=0.0), 3).eval()
    clips = torch.randn(2, 20, FEATURES), torch.tensor([20, 11])
    before = model(*clips)
    kept = model.encoder.begin.weight.detach().clone()
    add_adapters(model.encoder, 4)
    assert torch.equal(model(*clips), before)
    own = trainable_weights(model)
    assert sum(value.numel() for value in own.values()) < 0.3 * sum(value.numel() for value in model.parameters())
    # Manual gradient steps: torch's optimisers take seconds to import.
    for _ in range(2):
        gradients = torch.autograd.grad(model(*clips).square().mean(), list(own.values()))
        with torch.no_grad():
            for value, gradient in zip(own.values(), gradients, strict=True):
                value -= 0.1 * gradient
    trained = model(*clips)
    assert torch.equal(model.encoder.begin.parametrizations.weight.original, kept)
    assert not torch.allclose(trained, before, atol=1e-3)
    merge_adapters(model.encoder)
    torch.testing.assert_close(model(*clips), trained)
    assert set(model.state_dict()) == set(build_model(TASK, view, Model(dropout=0.0), 3).state_dict())


@pytest.fixture
def run(dataset: Path, tmp_path: Path) -> Path:
    view = view_of(posegen.open(dataset), 4)
    place = tmp_path / "run"
    place.mkdir()
    save_model(place, TASK, view, Model(), build_model(TASK, view, Model(), 0).state_dict())
    return place


def test_predictions_are_those_of_each_sequence_in_order(dataset: Path, run: Path, tmp_path: Path) -> None:
    opened = posegen.open(dataset)
    recorder = tiny.Recorder()
    clips = predict(run, dataset, tmp_path / "predictions.parquet", recorder)
    table = pq.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert [(row["sample"], row["variant"]) for row in table] == [
        (s, v) for s in range(len(opened)) for v in opened.header.variants
    ]
    assert recorder.steps[-1] == recorder.total == clips == len(table)
    for row in table:
        counts = {name: row["frames"].count(name) for name in row["frames"]}
        assert counts[row["action"]] == max(counts.values())
        assert row["share"] == pytest.approx(counts[row["action"]] / len(row["frames"]))
    assert not list(tmp_path.glob(".*"))


def test_exported_tensors_give_the_same_and_damage_raises(run: Path, tmp_path: Path) -> None:
    assert export_model(run, "safetensors", tmp_path / "model.safetensors") == 0
    weights = run / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(PosegenError, match="checksum mismatch"):
        export_model(run, "safetensors", tmp_path / "other.safetensors")
