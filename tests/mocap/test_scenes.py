"""Recordings become a dataset as they are, which is mixed, trained on, verified and opened like a generated one."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import posegen
from posegen.cli.main import main
from posegen.dataset.verify import find_problems
from posegen.foundations.errors import PosegenError, UsageError
from posegen.generation.header import stored_config
from posegen.mocap.scenes import SHORTEST, import_scenes
from posegen.viewing.collection import collection_of_dataset
from tests.mocap.test_import import FPS, clips_of

FRAMES = 250
TWENTY_MINUTES = 20 * 60 * FPS


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One recording of two windows and 12 frames, at 50 frames per second and 3 m from the origin, and one with a text."""
    folder = tmp_path_factory.mktemp("recordings")
    (joints,) = clips_of("squat")
    long = np.concatenate([joints] * (1 + 2 * FRAMES // len(joints)))[: FRAMES + int(SHORTEST * FPS)]
    np.savez(folder / "squats.npz", joints=long + np.array([3.0, 0.0, 0.0]), fps=FPS)
    np.savez(folder / "wave.npz", joints=np.concatenate([clips_of("wave")[0]] * 2)[:60], fps=FPS)
    (folder / "texts").mkdir()
    (folder / "texts" / "wave.txt").write_text("a person waves with the left hand#tokens#0.0#0.0\n")
    return folder


def test_windows_keep_the_motion_the_texts_and_the_source(recordings: Path, tmp_path: Path) -> None:
    found = import_scenes([recordings], tmp_path / "own", licence="CC-BY-4.0", source="our lab")
    assert (found.samples, found.refused) == (3, [])
    dataset = posegen.open(tmp_path / "own")
    rows = [dataset.rows(sample)[0] for sample in range(3)]
    assert [row["length"] for row in rows] == [FRAMES, SHORTEST * FPS, 60]
    assert [row["captions"][0]["text"] for row in rows] == ["squats", "squats", "a person waves with the left hand"]
    assert all(caption["statements"] == [] and caption["kind"] == "text" for row in rows for caption in row["captions"])
    assert [row["source"]["begin"] for row in rows] == [0, FRAMES / FPS, 0]
    assert {row["source"]["licence"] for row in rows} == {"CC-BY-4.0"}
    assert dataset.header.licence == "CC-BY-4.0 (motion recorded by: our lab)"
    with np.load(recordings / "squats.npz") as file:
        expected = file["joints"][FRAMES : FRAMES + 5] - file["joints"][FRAMES, 0] * (1, 0, 1)
    np.testing.assert_allclose(dataset.arrays("joints", slice(1, 2))[0, 0, 0, :5], expected, atol=1e-3)
    assert list(find_problems(tmp_path / "own")) == []
    assert collection_of_dataset(tmp_path / "own").read_sample(2)
    posegen.export(tmp_path / "own", "hf", tmp_path / "hub", workers=1)
    assert set(pq.read_table(tmp_path / "hub" / "data")["action"].to_pylist()) == {""}
    with pytest.raises(PosegenError, match="pyskl needs actions"):
        posegen.export(tmp_path / "own", "pyskl", tmp_path / "pyskl", workers=1)
    assert "whose licences apply: CC-BY-4.0 (motion recorded by: our lab)." in (tmp_path / "hub" / "README.md").read_text()
    with pytest.raises(PosegenError, match="recordings"):
        stored_config(tmp_path / "own", dataset.header)
    with pytest.raises(UsageError, match="is not empty"):
        import_scenes([recordings], tmp_path / "own")


def test_recordings_are_mixed_with_generated_samples(recordings: Path, tmp_path: Path) -> None:
    config = posegen.load_config("smoke", samples=20)
    posegen.generate(config, workers=1, out=tmp_path / "made")
    options = ["--as", "scene", "--like", str(tmp_path / "made"), "--quiet"]
    assert main(["import", str(recordings), "-o", str(tmp_path / "own"), *options]) == 0
    mix = posegen.concat([tmp_path / "made", tmp_path / "own"], weights=[1, 1])
    counts = np.zeros(2, int)
    for batch in mix.batches(16, fields=["joints", "captions"]):
        counts += np.bincount(batch.dataset, minlength=2)
        assert batch["joints"].shape[1:] == (1, config.frames, 22, 3)
    assert counts.min() > 0


@pytest.mark.parametrize(
    "options", [["--as", "scene", "--trial", "off"], ["--as", "scene", "--report", "a.html"], ["--like", "x"]]
)
def test_options_of_the_other_form_are_refused(options: list[str], recordings: Path, tmp_path: Path) -> None:
    assert main(["import", str(recordings), "-o", str(tmp_path / "own"), *options]) == 2


@pytest.mark.slow
def test_twenty_minutes_of_mocap_are_trained_on_with_generated_motion(tmp_path: Path) -> None:
    folder = os.environ.get("POSEGEN_REFERENCE")
    if not folder:
        pytest.skip("needs mocap: set POSEGEN_REFERENCE to its folder")
    torch = pytest.importorskip("torch")
    from posegen.dataset.batches.torch import TorchBatches

    with np.load(Path(folder) / "cmu.npz") as file:
        ends = file["offsets"][file["offsets"] <= TWENTY_MINUTES + 2000]
        (tmp_path / "clips").mkdir()
        for number, (first, last) in enumerate(pairwise(ends)):
            np.savez(tmp_path / "clips" / f"{file['classes'][number]}_{number}.npz", joints=file["joints"][first:last], fps=25)
    found = import_scenes([tmp_path / "clips"], tmp_path / "own", licence="free", source="CMU")
    assert found.hours >= 1 / 3
    posegen.generate(posegen.load_config("default", samples=40), workers=1, out=tmp_path / "made")
    mix = posegen.concat([tmp_path / "made", tmp_path / "own"], weights=[1, 1])
    model = torch.nn.Linear(22 * 3, 22 * 3)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for batch in TorchBatches(mix.batches(32, fields=["joints"])):
        joints = torch.nan_to_num(batch["joints"]).flatten(-2)
        loss = ((model(joints[..., :-1, :]) - joints[..., 1:, :]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) == 10:
            break
    assert losses[-1] < losses[0]
    assert list(find_problems(tmp_path / "own")) == []
    assert posegen.export(tmp_path / "own", "npz", tmp_path / "npz", workers=1).clips == found.samples
