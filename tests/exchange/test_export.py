"""Exports: independent readers find every clip; splits are those of samples; a killed export is completed by the same call."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import posegen
from posegen.dataset.documents import plain_data
from posegen.dataset.receipts import stored_file
from posegen.dataset.splits import in_split
from posegen.exchange.animations import bvh_name
from posegen.exchange.archives import PELVIS, REST
from posegen.exchange.bvh import joint_positions, read_bvh
from posegen.exchange.export import export
from posegen.exchange.export_format import find_format
from posegen.exchange.export_record import read_record
from posegen.exchange.features263 import joints_of
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.plugins import EXPORTS
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.library.load import load_library
from tests.exchange.features263_oracle import matrix
from tests.once import generated_once, made_once

SAMPLES, VARIANTS = 45, 5
QUICK = ("humanml3d",)
"""Formats of the default tests; the others are slow tests."""
MERGED = ("humanml3d", "hf", "pyskl", "bvh", "strides")
"""Formats that two workers write: of each kind of file that several shards share, and of files of single clips."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> posegen.dataset.read.Dataset:  # type: ignore[name-defined]
    return posegen.open(generated_once(tmp_path_factory, "export", SAMPLES, "frames=60", "store.shard=20"))


@pytest.fixture
def exported(dataset: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns a copy of an export in a format."""

    def make(name: str) -> Path:
        made = made_once(
            tmp_path_factory, f"exported-{name}", lambda folder: export(dataset.path, name, folder / "out", workers=1)
        )
        return Path(shutil.copytree(made / "out", tmp_path / name))

    return make


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".posegen" not in str(path.relative_to(folder)))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "form", [form if form in QUICK else pytest.param(form, marks=pytest.mark.slow) for form in EXPORTS.built_in]
)
def test_one_worker_or_two_write_the_same(form: str, dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    one = export(dataset.path, form, tmp_path / "one", workers=1)
    assert one.clips > SAMPLES
    again = export(dataset.path, form, tmp_path / "one", workers=1)
    assert (again.nothing_to_do, again.clips) == (True, one.clips)
    if form in MERGED:
        two = export(dataset.path, form, tmp_path / "two", workers=2)
        assert two.clips == one.clips
        assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_reader_of_humanml3d_finds_every_clip(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = export(dataset.path, "humanml3d", tmp_path, workers=1)
    lists = {name: (tmp_path / f"{name}.txt").read_text().split() for name in ("train", "val", "test", "all")}
    assert result.clips == len(lists["all"]) == len({*lists["all"]}) == SAMPLES * VARIANTS
    assert sorted(lists["train"] + lists["val"] + lists["test"]) == sorted(lists["all"])
    frames = []
    for name in lists["all"]:
        vectors = np.load(tmp_path / "new_joint_vecs" / f"{name}.npy")
        joints = np.load(tmp_path / "new_joints" / f"{name}.npy")
        assert 40 <= len(vectors) < 200
        assert vectors.dtype == np.float32
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(joints_of(vectors), joints, atol=1e-3)
        frames.append(vectors)
        for line in (tmp_path / "texts" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            caption, tokens, start, end = line.split("#")
            assert caption
            assert (float(start), float(end)) == (0.0, 0.0)
            assert all(len(token.split("/")) == 2 for token in tokens.split(" "))
    everything = np.concatenate(frames).astype(np.float64)
    np.testing.assert_allclose(np.load(tmp_path / "Mean.npy"), everything.mean(0), atol=1e-4)
    deviation = everything.std(0)
    np.testing.assert_allclose(np.load(tmp_path / "Std.npy")[4:67], deviation[4:67].mean(), rtol=1e-3)


def test_splits_are_those_of_samples(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "csv", tmp_path, splits=["test"], variants=["base", "mirror"], workers=1)
    clips = [json.loads(line) for line in (tmp_path / "clips.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = in_split(dataset.config.seed, range(SAMPLES), "test").tolist()
    assert [clip["name"] for clip in clips] == [f"{mark}{sample:06}" for sample in expected for mark in ("", "M")]
    assert {path.stem for path in tmp_path.glob("*.csv")} == {clip["name"] for clip in clips}


def test_a_condition_selects_sequences(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rows = [row for sample in dataset for row in sample.sequences]
    theme = rows[0]["theme"]
    result = export(dataset.path, "csv", tmp_path / "some", where=f"theme = '{theme}' AND variant <> 'speed'", workers=1)
    assert 0 < result.clips == sum(row["theme"] == theme and row["variant"] != "speed" for row in rows) < len(rows)
    with pytest.raises(UsageError, match=r"the condition 'nonsense > 3' cannot be used: .* Columns: sample, variant"):
        export(dataset.path, "csv", tmp_path / "none", where="nonsense > 3", workers=1)
    for where in ("true); SELECT 1 --", "true; DROP TABLE sequences", "theme"):
        with pytest.raises(UsageError, match="cannot be used: "):
            export(dataset.path, "csv", tmp_path / "none", where=where, workers=1)
    assert not (tmp_path / "none").exists()
    with pytest.raises(UsageError, match="file system operations are disabled"):
        export(dataset.path, "csv", tmp_path / "file", where="(SELECT count(*) FROM read_csv('/etc/passwd')) > 0", workers=1)


def test_another_selection_needs_another_folder(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "csv", tmp_path, splits=["test"], workers=1)
    with pytest.raises(UsageError, match="holds the export of other sequences"):
        export(dataset.path, "csv", tmp_path, splits=["validation"], workers=1)
    with pytest.raises(UsageError, match=r"there is no format 'bhv'; did you mean 'bvh'"):
        export(dataset.path, "bhv", tmp_path, workers=1)


def test_an_export_without_clips_is_refused(dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(PosegenError, match=r"none of 45 samples is selected by splits test, .* and 'length > 999'\. Change"):
        export(dataset.path, "npz", tmp_path / "out", splits=["test"], where="length > 999", workers=1)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr("posegen.exchange.export.find_format", lambda name: replace(find_format(name), frames=(99, 200)))
    with pytest.raises(PosegenError, match=r"npz can hold none .*: 225 have fewer than 99 or more than 200 frames\. Choose"):
        export(dataset.path, "npz", tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_bvh_gives_the_joints_back(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "bvh", tmp_path, variants=["base", "scale", "mirror"], workers=1)
    for sample in (0, 11, 44):
        for variant, name in ((0, f"{sample:06}"), (3, f"{sample:06}_scale"), (4, f"M{sample:06}")):
            motion = read_bvh(tmp_path / f"{name}.bvh")
            found = joint_positions(motion.joints, motion.values) / 100
            order = [[joint.name for joint in motion.joints].index(bvh_name(joint)) for joint in JOINTS]
            expected = dataset[sample].joints[variant, 0, : len(found)]
            np.testing.assert_allclose(found[:, order], expected, atol=1e-3)
            assert motion.fps == pytest.approx(25, abs=1e-4)


def test_a_table_has_the_joints(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "csv", tmp_path, variants=["base"], workers=1)
    table = np.genfromtxt(tmp_path / "000003.csv", delimiter=",", names=True)
    assert table.dtype.names[:4] == ("time", "pelvis_x", "pelvis_y", "pelvis_z")
    np.testing.assert_allclose(table["left_wrist_y"], dataset[3].joints[0, 0, :, JOINTS.index("left_wrist"), 1], atol=6e-5)
    assert table["time"][25] == pytest.approx(1)


def test_holosoma_has_z_up(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "holosoma", tmp_path, variants=["base"], workers=1)
    with np.load(tmp_path / "000002.npz", allow_pickle=False) as archive:
        joints, height = archive["global_joint_positions"], float(archive["height"])
    expected = dataset[2].joints[0, 0]
    np.testing.assert_array_equal(joints[..., 2], expected[..., 1])
    # A rotation, not a reflection: left stays left of the direction ahead.
    ahead, expected_ahead = (np.cross(pose[1] - pose[2], pose[3] - pose[0]) for pose in (joints[0], expected[0]))
    np.testing.assert_allclose(ahead[[1, 2, 0]], expected_ahead, atol=1e-6)
    assert height == pytest.approx(dataset[2].sequences[0]["actors"][0]["stature"])


def test_parquet_files_hold_every_clip(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = export(dataset.path, "hf", tmp_path, workers=1)
    tables = {path.name: pq.read_table(path) for path in sorted((tmp_path / "data").glob("*.parquet"))}
    assert sum(table.num_rows for table in tables.values()) == result.clips
    assert list(tables) == ["test-00000.parquet", "train-00000.parquet", "validation-00000.parquet"]  # of three shards
    row = tables["train-00000.parquet"].to_pylist()[-1]
    sample = int(row["name"].removeprefix("M"))
    assert sample == in_split(dataset.config.seed, range(SAMPLES), "training")[-1]
    joints = np.array(row["joints"], np.float32).reshape(-1, 22, 3)
    np.testing.assert_array_equal(joints, dataset[sample].joints[4, 0, : row["frames"]])
    assert row["captions"] == [caption["text"] for caption in dataset[sample].sequences[4]["captions"]]
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert 'path: "data/train-*.parquet"' in card
    assert "license: cc0-1.0" in card
    assert f"| test | {tables['test-00000.parquet'].num_rows} |" in card


@pytest.mark.slow
def test_a_killed_export_is_completed(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    command = [sys.executable, "-m", "posegen", "export", str(dataset.path), "--to", "humanml3d", "--workers", "1", "-o"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    with subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
        while not (tmp_path / "killed" / ".posegen-export" / "000000.json").exists():
            assert run.poll() is None
            time.sleep(0.005)
        os.kill(run.pid, signal.SIGKILL)
    assert contents(tmp_path / "killed") != contents(tmp_path / "whole")
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_an_export_that_was_killed_at_its_end_is_completed(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "csv", tmp_path, workers=1)
    whole = contents(tmp_path)
    # As after the last record, before the list of clips.
    (tmp_path / ".posegen-export" / "complete").unlink()
    (tmp_path / ".posegen-export" / "parts").mkdir()
    (tmp_path / "clips.jsonl").unlink()
    assert not export(dataset.path, "csv", tmp_path, workers=1).nothing_to_do
    assert contents(tmp_path) == whole
    # As after the end, before the temporary folder is removed.
    (tmp_path / ".posegen-export" / "parts").mkdir()
    assert export(dataset.path, "csv", tmp_path, workers=1).nothing_to_do
    assert not (tmp_path / ".posegen-export" / "parts").exists()


def test_pickles_of_pyskl_hold_every_sequence(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = export(dataset.path, "pyskl", tmp_path, workers=1)
    classes = (tmp_path / "classes.txt").read_text(encoding="utf-8").split()
    for kind, shape in (("coco17", (17, 2)), ("ntu25", (25, 3))):
        content = pickle.loads((tmp_path / f"{kind}.pkl").read_bytes())  # our own file
        entries = {entry["frame_dir"]: entry for entry in content["annotations"]}
        assert len(entries) == result.clips
        assert sorted(name for names in content["split"].values() for name in names) == sorted(entries)
        entry = entries["000004"]
        assert entry["keypoint"].shape == (1, entry["total_frames"], *shape)
        assert np.isfinite(entry["keypoint"]).all()
        assert classes[entry["label"]] in {*load_library(None).actions}
    np.testing.assert_array_equal(entry["keypoint"][0, :, 13], dataset[4].joints[0, 0, :, JOINTS.index("left_knee")])


def test_gltf_gives_the_joints_back(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "glb", tmp_path, variants=["base"], workers=1)
    data = (tmp_path / "000007.glb").read_bytes()
    magic, version, size, length, kind = struct.unpack("<4sIIII", data[:20])
    assert (magic, version, size, kind) == (b"glTF", 2, len(data), 0x4E4F534A)
    assert length % 4 == 0
    document, binary = json.loads(data[20 : 20 + length]), data[28 + length :]
    assert document["buffers"] == [{"byteLength": len(binary)}]

    def values(number: int) -> NDArray[np.float64]:
        accessor = document["accessors"][number]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
        found = np.frombuffer(binary, np.float32, accessor["count"] * width, start).reshape(-1, width)
        assert found.min(axis=0).tolist() == accessor["min"]
        return found.astype(np.float64)

    (animation,) = document["animations"]
    tracks = {
        (channel["target"]["node"], channel["target"]["path"]): values(animation["samplers"][channel["sampler"]]["output"])
        for channel in animation["channels"]
    }
    expected = dataset[7].joints[0, 0]
    for frame in (0, 20, 59):
        places: list[NDArray[np.float64]] = []
        turns: list[NDArray[np.float64]] = []
        for joint, parent in enumerate(PARENTS):
            x, y, z, w = tracks[joint, "rotation"][frame]
            turn = matrix(np.array([w, x, y, z]))
            offset = np.array(document["nodes"][joint]["translation"])
            places.append(tracks[0, "translation"][frame] if parent < 0 else places[parent] + turns[parent] @ offset)
            turns.append(turn if parent < 0 else turns[parent] @ turn)
        np.testing.assert_allclose(places, expected[frame], atol=1e-3)
    for node in document["nodes"][len(JOINTS) :]:  # a bone reaches from one joint to the next
        x, y, z, w = node["rotation"]
        end = matrix(np.array([w, x, y, z])) @ [0, node["scale"][1], 0]
        child = JOINTS.index(node["name"].partition("_to_")[2])
        np.testing.assert_allclose(end, document["nodes"][child]["translation"], atol=1e-5)


def test_amass_gives_the_joints_back(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "amass", tmp_path, variants=["base"], workers=1)
    for sample in (5, 31):
        with np.load(tmp_path / f"{sample:06}.npz", allow_pickle=False) as archive:
            data = {name: archive[name] for name in archive}
        joints = dataset[sample].joints[0, 0].astype(np.float64)
        frames = len(joints)
        assert float(data["mocap_framerate"]) == float(data["mocap_frame_rate"]) == 25
        np.testing.assert_array_equal(data["poses"][:, :66], np.hstack([data["root_orient"], data["pose_body"]]))
        assert (data["poses"].shape, data["betas"].tolist(), str(data["gender"])) == ((frames, 156), [0] * 16, "neutral")
        # Bones of SMPL's T-pose, with the lengths of the clip.
        lengths = np.linalg.norm(joints[0, 1:] - joints[0, list(PARENTS[1:])], axis=1)
        turns = [[rodrigues(vector) for vector in pose.reshape(-1, 3)] for pose in data["poses"][:, :66]]
        limbs = [
            JOINTS.index(f"{side}_{part}") for side in ("left", "right") for part in ("knee", "ankle", "foot", "elbow", "wrist")
        ]
        for frame in (0, frames // 2, frames - 1):
            world: list[NDArray[np.float64]] = []
            for joint, parent in enumerate(PARENTS):
                world.append(turns[frame][joint] if parent < 0 else world[parent] @ turns[frame][joint])
            for joint in limbs:
                parent = PARENTS[joint]
                x, y, z = world[parent] @ (REST[joint] / np.linalg.norm(REST[joint])) * lengths[joint - 1]
                np.testing.assert_allclose([x, z, -y], joints[frame, joint] - joints[frame, parent], atol=2e-3)
            across = world[0] @ [1, 0, 0]  # the pelvis has the axes of SMPL's: x to the left
            hips = joints[frame, 1] - joints[frame, 2]
            np.testing.assert_allclose([across[0], across[2], -across[1]], hips / np.linalg.norm(hips), atol=2e-3)
        leg = np.linalg.norm(REST[[4, 7]], axis=1).sum() / lengths[[3, 6]].sum()
        x, y, z = (data["trans"] + PELVIS).T
        np.testing.assert_allclose(np.stack([x, -y], 1), joints[:, 0, [0, 2]] * leg, atol=1e-3)
        np.testing.assert_allclose(np.diff(z), np.diff(joints[:, 0, 1]) * leg, atol=1e-3)  # the height is that of the feet


def rodrigues(vector: NDArray[np.float32]) -> NDArray[np.float64]:
    angle = float(np.linalg.norm(vector))
    if angle == 0:
        return np.eye(3)
    x, y, z = vector.astype(np.float64) / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def test_another_frame_rate_shows_the_same_scene(dataset, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export(dataset.path, "holosoma", tmp_path, variants=["base"], fps=120, workers=1)
    for sample in (1, 8):
        with np.load(tmp_path / f"{sample:06}.npz", allow_pickle=False) as archive:
            joints = archive["global_joint_positions"][..., [1, 2, 0]]
        assert len(joints) == 288  # 60 frames at 25 FPS
        times = np.arange(0, 60, 5)
        apart = np.abs(joints[times * 24 // 5] - dataset[sample].joints[0, 0, times])
        # Steps are solved on the frames, so a knee may differ by some centimetres for a moment.
        assert np.percentile(apart, 99) < 0.01
        assert apart.max() < 0.05
    with pytest.raises(UsageError, match=r"humanml3d has 20 frames per second \(got 30\)\. Leave out --fps"):
        export(dataset.path, "humanml3d", tmp_path / "other", fps=30, workers=1)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "halved": lambda file: os.truncate(file, file.stat().st_size // 2),
    "zeroed": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "a link": lambda file: file.rename(file.with_suffix(".moved")) and file.symlink_to(file.with_suffix(".moved").name),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in ("hf", "coco"))])
def test_the_same_call_repairs_a_damaged_file(exported: Callable[[str], Path], dataset: Any, name: str, damage: str) -> None:
    out = exported(name)
    whole = contents(out)
    # The first and the last file of each folder, in a shard and about all clips, and the records.
    files = [out / file for file in whole]
    by_folder = [sorted(file for file in files if file.parent == folder) for folder in {file.parent for file in files}]
    chosen = [*{file for group in by_folder for file in (group[0], group[-1])}, out / ".posegen-export" / "complete"]
    for file in (*chosen, out / ".posegen-export" / "000001.json"):
        DAMAGES[damage](file)
    assert not export(dataset.path, name, out, workers=1).nothing_to_do
    for moved in out.rglob("*.moved"):
        moved.unlink()
    assert contents(out) == whole
    assert export(dataset.path, name, out, workers=1).nothing_to_do


def test_an_export_through_a_link_of_a_folder_is_refused(exported: Callable[[str], Path], dataset: Any) -> None:
    out = exported("humanml3d")
    (out / "texts").rename(out / "elsewhere")
    (out / "texts").symlink_to("elsewhere")
    with pytest.raises(PosegenError, match=r"texts: is a link"):
        export(dataset.path, "humanml3d", out, workers=1)


def test_a_record_of_a_file_outside_the_export_is_damaged(exported: Callable[[str], Path], dataset: Any) -> None:
    out, outside = exported("humanml3d"), dataset.path / "dataset.json"
    record = read_record(out, "complete")
    stored = stored_file([outside.read_bytes()])
    (out.parent / "outside").write_bytes(outside.read_bytes())
    text = json.dumps({**plain_data(record), "files": {"../outside": {"bytes": stored.bytes, "xxh3": stored.xxh3}}}).encode()
    (out / ".posegen-export" / "complete").write_bytes(byte_hash([text]).encode() + b"\n" + text)
    with pytest.raises(PosegenError, match="lists a file outside the export"):
        read_record(out, "complete")
    assert not export(dataset.path, "humanml3d", out, workers=1).nothing_to_do


def test_clips_that_are_too_short_at_another_rate_are_refused(tmp_path: Path) -> None:
    posegen.generate(posegen.load_config("smoke", ["frames=10"]), samples=2, workers=1, out=tmp_path / "short")
    with pytest.raises(UsageError, match="cannot be synthesized at 20 frames per second: frames: must be"):
        export(tmp_path / "short", "humanml3d", tmp_path / "out", workers=1)
