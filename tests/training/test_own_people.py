"""A user's clips with identities, and labels of clips from a table beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.cli.main import main
from posegen.dataset.read import open_dataset
from posegen.dataset.splits import SPLITS
from posegen.foundations.errors import UsageError
from posegen.mocap.sources import SourceClip
from posegen.training.data.identities import SIZES, identities_of_clips
from posegen.training.data.own_clips import labels_of_clips, read_own_clips
from posegen.training.predictions import predict_clips
from posegen.training.run_folder import Result
from posegen.training.setup import Request
from posegen.training.train import train
from tests.mocap.bvh_of_joints import write_bvh
from tests.training import tiny

PERSONS, EACH, FRAMES = 8, 4, 60
FEW = ("steps=2",)


def learn(source: Path, out: Path, *overrides: str, task: str = "identity", progress: tiny.Recorder | None = None) -> Result:
    return train(Request(str(source), task, "quick", tiny.settings(*FEW, *overrides), out), progress)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def joints(dataset: Path) -> np.ndarray:
    """Clips of persons of different sizes, person by person."""
    clips = open_dataset(dataset).arrays("joints", slice(0, PERSONS * EACH))[:, 0, 0, :FRAMES]
    return clips * np.repeat(np.linspace(0.8, 1.2, PERSONS, dtype=np.float32), EACH)[:, None, None, None]


@pytest.fixture
def folder(joints: np.ndarray, tmp_path: Path) -> Path:
    """The clips in a folder for each person."""
    for number, clip in enumerate(joints):
        path = tmp_path / "people" / f"person {number // EACH}"
        path.mkdir(parents=True, exist_ok=True)
        np.save(path / f"{number}.npy", clip)
    return tmp_path / "people"


@given(st.lists(st.integers(0, 25), min_size=1, max_size=120), st.integers(0, 3))
@settings(deadline=None)
def test_a_person_is_in_one_split_unless_there_are_few(persons: list[int], extra: int) -> None:
    named = [*persons, *[100 + i for i in range(extra)]]
    clip = np.random.default_rng(0).normal(size=(4, 22, 3))
    found, warning = identities_of_clips(Path("clips.npz"), [clip] * len(named), [str(person) for person in named])
    splits = {split: found.in_split(split) for split in SPLITS}
    several = sum(named.count(person) > 1 for person in set(named))
    assert not found.tests_known_persons or several < 6
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(named)))
    if several < 6:
        assert warning is not None
        assert "known persons" in warning
        return
    people = {split: set(found.person[samples].tolist()) for split, samples in splits.items()}
    assert sum(map(len, people.values())) == len(set(named))
    for split in ("validation", "test"):
        assert len(people[split]) >= 2
        found.check(split)


def test_bodies_are_compared_by_their_bones(joints: np.ndarray) -> None:
    subjects = [str(i // EACH) for i in range(len(joints))]
    scales = np.linspace(0.8, 1.2, len(joints), dtype=np.float32)
    found, warning = identities_of_clips(Path("clips.npz"), [joints[0] * scale for scale in scales], subjects)
    assert found.look.shape == (len(joints), SIZES + 3)
    by_size = found.look[:, 1:SIZES] / scales[:, None]
    np.testing.assert_allclose(by_size, np.broadcast_to(by_size[0], by_size.shape), rtol=1e-5)
    assert 0.5 < found.look[0, 1] < 1
    assert warning is not None
    assert "8 persons have two clips or more: 4 train, 2 select the weights, and 2 test the model" in warning


@pytest.mark.slow
def test_a_folder_for_each_person_trains_a_model_of_persons(folder: Path, joints: np.ndarray, tmp_path: Path) -> None:
    recorder = tiny.Recorder()
    measures = learn(folder, tmp_path / "run", progress=recorder).measures
    assert (measures["persons"], measures["clips"]) == (2, 2 * EACH)
    assert 0 <= measures["auc"] <= 1
    assert any(line.startswith("warning: 8 persons") for line in recorder.said)
    assert learn(folder, tmp_path / "run").nothing_to_do
    clips = [SourceClip(folder, f"clip {i}", joints[i], 25.0, "") for i in range(2)]
    assert predict_clips(tmp_path / "run", clips, tmp_path / "out.parquet") == 2
    vectors = np.array(pq.read_table(tmp_path / "out.parquet")["vector"].to_pylist())
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_rates_of_known_persons_are_not_valid_for_others(
    joints: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, clip in enumerate(joints):
        path = tmp_path / "few" / f"person {number // 8}"
        path.mkdir(parents=True, exist_ok=True)
        np.save(path / f"{number}.npy", clip)
    learn(tmp_path / "few", tmp_path / "run")
    files = [str(tmp_path / "few" / "person 0" / f"{i}.npy") for i in range(2)]
    assert main(["compare", str(tmp_path / "run"), *files, "--far", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["known_persons"] is True
    assert main(["compare", str(tmp_path / "run"), *files, "--far", "0.1"]) == 0
    assert "on 4 known persons: not valid for others" in capsys.readouterr().out
    for far, hint in (("0.03", "Use one of these"), ("0.001", "A lower rate needs a run on more persons")):
        assert main(["compare", str(tmp_path / "run"), *files, "--far", far]) == 2
        assert hint in capsys.readouterr().err


@pytest.mark.slow
def test_few_clips_shrink_the_batch(folder: Path, tmp_path: Path) -> None:
    recorder = tiny.Recorder()
    learn(folder, tmp_path / "run", "batch=512", progress=recorder)
    assert any(line.startswith("warning: batches of 64 instead of 512") for line in recorder.said)


@pytest.mark.slow
def test_labels_come_from_a_table(folder: Path, joints: np.ndarray, tmp_path: Path) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*.npy"))
    kinds = ["slow" if number % 2 else "fast" for number in range(len(names))]
    pc.write_csv(pa.table({"clip": names, "kind": kinds, "who": [name[7] for name in names]}), folder / "labels.csv")
    assert read_own_clips(folder, 25.0, label="kind").words == tuple(kinds)
    assert set(read_own_clips(folder, 25.0, by_subject=True, label="who").subjects) == set("01234567")
    assert learn(folder, tmp_path / "kinds", "table.label=kind", task="action").measures["clips"] > 0
    assert learn(folder, tmp_path / "who", "table.label=who").measures["persons"] == 2
    with pytest.raises(UsageError, match=r"labels\.csv: has no column whom, but clip, kind, who"):
        read_own_clips(folder, 25.0, label="whom")
    pc.write_csv(pa.table({"clip": names[1:], "kind": kinds[1:]}), folder / "labels.csv")
    with pytest.raises(UsageError, match=r"has no kind of .*person 0/0.npy \(1 clips in all\)"):
        read_own_clips(folder, 25.0, label="kind")
    pc.write_csv(pa.table({"kind": kinds}), tmp_path / "clips.csv")
    assert labels_of_clips(tmp_path / "clips.npz", names, "kind") == kinds
    with pytest.raises(UsageError, match="has 32 rows for 3 clips"):
        labels_of_clips(tmp_path / "clips.npz", names[:3], "kind")


@pytest.mark.slow
def test_folders_of_other_formats_are_read(joints: np.ndarray, tmp_path: Path) -> None:
    """BVH of another rate, and files that cannot be read, which are named."""
    clips, names = tmp_path / "clips", []
    for number, clip in enumerate(joints[::2]):
        file = clips / ("walk", "sit")[number % 2] / f"{number}.bvh"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bvh(file, clip, 30.0)
        names.append(file.relative_to(clips).as_posix())
    (clips / "walk" / "damaged.bvh").write_text("HIERARCHY")
    found = read_own_clips(clips, 25.0)
    assert sorted(found.words) == ["sit"] * 8 + ["walk"] * 8
    assert {len(clip) for clip in found.joints} == {int((FRAMES - 1) * 25 / 30) + 1}
    (note,) = found.notes
    assert note.startswith(f"left out: {clips}/walk/damaged.bvh")
    pc.write_csv(pa.table({"clip": names, "who": [f"person {i // 2}" for i in range(len(names))]}), clips / "labels.csv")
    recorder = tiny.Recorder()
    assert learn(clips, tmp_path / "who", "table.label=who", progress=recorder).measures["persons"] == 2
    assert note in recorder.said
    assert learn(clips, tmp_path / "kinds", task="action").measures["clips"] > 0
    flat = tmp_path / "flat"
    flat.mkdir()
    write_bvh(flat / "one.bvh", joints[0], 25.0)
    with pytest.raises(UsageError, match=r"at least two classes, .* Name its folders after classes, or give --label"):
        read_own_clips(flat, 25.0)


@pytest.mark.slow
def test_a_number_of_clips_is_estimated(
    folder: Path, joints: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scale of the bodies, which their heights show."""
    files = sorted(folder.glob("*/*.npy"))
    scales = np.random.default_rng(0).uniform(0.5, 2, len(files))
    for file, scale in zip(files, scales, strict=True):
        np.save(file, joints[0] * np.float32(scale))
    names = [file.relative_to(folder).as_posix() for file in files]
    table = pa.table({"clip": names, "size": scales, "signed": scales - 1, "kind": np.where(scales > 1, "tall", "short")})
    pc.write_csv(table, folder / "labels.csv")
    run = tmp_path / "run"
    command = ["train", str(folder), "--task", "attribute", "--json"]
    assert main([*command, "--label", "size", "--out", str(run)]) == 0
    measures = json.loads(capsys.readouterr().out)["measures"]
    assert measures["smape"] < 10
    clip = tmp_path / "clip.npy"
    np.save(clip, joints[0] * np.float32(1.4))
    assert main(["predict", str(run), str(clip), "-o", str(tmp_path / "out.parquet")]) == 0
    (found,) = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert found["size"] == pytest.approx(1.4, rel=0.1)
    assert Path(found["clip"]).name == "clip.npy"
    assert main([*command, "--label", "size", "--out", str(run)]) == 0
    assert '"nothing_to_do": true' in capsys.readouterr().out.replace('"nothing_to_do":true', '"nothing_to_do": true')
    for label, measure in (("signed", "mae"), ("kind", "accuracy")):
        assert main([*command, "--label", label, "--out", str(tmp_path / label)]) == 0
        assert measure in json.loads(capsys.readouterr().out)["measures"]


def test_labels_of_generated_data_are_refused(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--label names a column of your own table or clips"):
        learn(dataset, tmp_path / "run", "table.label=kind", task="action")
