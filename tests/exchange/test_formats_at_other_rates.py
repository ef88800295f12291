"""Exports to Kimodo, to 272 features and to COCO: readers written from the formats' definitions find every clip."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import posegen
from posegen.exchange.archives import REST
from posegen.exchange.export import export
from posegen.foundations.skeleton import JOINTS, PARENTS
from tests.once import made_once

SAMPLES = 12
Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        config = posegen.load_config("pairs", ["frames=60", "store={shard: 8, chunk: 4}", "variants={mirror: true}"])
        posegen.generate(config, samples=SAMPLES, workers=1, out=folder / "pairs")
        config = posegen.load_config("smoke", ["frames=60", "store={shard: 8, chunk: 4}"])
        posegen.generate(config, samples=SAMPLES, workers=1, out=folder / "motion")

    return made_once(tmp_path_factory, "export-rates", make)


def true_joints(dataset: Path, folder: Path, name: str) -> Array:
    """The joints of a clip at 30 frames per second, y up."""
    if not folder.exists():
        export(dataset / "motion", "holosoma", folder, fps=30, workers=1)
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        return np.asarray(archive["global_joint_positions"][..., [1, 2, 0]], np.float64)


def test_arrays_of_kimodo_agree(dataset: Path, tmp_path: Path) -> None:
    result = export(dataset / "motion", "kimodo", tmp_path / "out", workers=1)
    files = sorted((tmp_path / "out").glob("*.npz"))
    assert len(files) == result.clips == SAMPLES * 5
    shown: set[float] = set()
    for path in files[::7]:
        with np.load(path, allow_pickle=False) as archive:
            data = {name: archive[name].astype(np.float64) for name in archive}
        joints, world = data["posed_joints"], data["global_rot_mats"]
        np.testing.assert_array_equal(joints, true_joints(dataset, tmp_path / "true", path.stem))
        np.testing.assert_array_equal(data["root_positions"], joints[:, 0])
        for joint, parent in enumerate(PARENTS):
            above = np.eye(3) if parent < 0 else world[:, parent]
            np.testing.assert_allclose(above @ data["local_rot_mats"][:, joint], world[:, joint], atol=1e-5)
        for name in ("left_knee", "right_ankle", "left_elbow", "right_wrist"):  # along SMPL's bones in the T-pose
            joint, parent = JOINTS.index(name), PARENTS[JOINTS.index(name)]
            bone = joints[:, joint] - joints[:, parent]
            rest = REST[joint] / np.linalg.norm(REST[joint]) * np.linalg.norm(bone, axis=1)[:, None]
            np.testing.assert_allclose((world[:, parent] @ rest[..., None])[..., 0], bone, atol=2e-3)
        contacts = data["foot_contacts"]
        assert contacts.shape == (len(joints), 4)
        shown |= {*contacts.ravel().tolist()}
    assert shown == {0, 1}


def recovered(features: Array) -> Array:
    """Joints from steps of the pelvis, turns of the heading, and joints without heading."""
    undo, place, found = np.eye(3), np.zeros(3), []
    for frame, row in enumerate(features):
        if frame:
            place = place + undo.T @ [row[0], 0, row[1]]
        first, second = row[2:5], row[5:8]
        undo = np.stack([first, second, np.cross(first, second)]) @ undo
        found.append(row[8:74].reshape(22, 3) @ undo + place)
    return np.array(found)


def test_272_features_give_the_joints_back(dataset: Path, tmp_path: Path) -> None:
    result = export(dataset / "motion", "hml272", tmp_path / "out", workers=1)
    lists = {name: (tmp_path / "out" / "split" / f"{name}.txt").read_text().split() for name in ("train", "val", "test")}
    names = [name for found in lists.values() for name in found]
    assert len(names) == len({*names}) == result.clips
    rows = []
    for name in names:
        features = np.load(tmp_path / "out" / "motion_data" / f"{name}.npy").astype(np.float64)
        assert features.shape[1] == 272
        assert (tmp_path / "out" / "texts" / f"{name}.txt").read_text(encoding="utf-8").count("#0.0#0.0\n") > 0
        rows.append(features)
    mean, deviation = (np.load(tmp_path / "out" / "mean_std" / f"{name}.npy") for name in ("Mean", "Std"))
    np.testing.assert_allclose(mean, np.concatenate(rows).mean(0), atol=1e-4)
    np.testing.assert_allclose(deviation, np.concatenate(rows).std(0), atol=1e-4)
    for name, features in list(zip(names, rows, strict=True))[::11]:
        joints, found = true_joints(dataset, tmp_path / "true", name), recovered(features)
        joints -= [joints[0, 0, 0], joints[..., 1].min(), joints[0, 0, 2]]
        ahead = [np.arctan2(pose[1, 2] - pose[2, 2], pose[1, 0] - pose[2, 0]) for pose in (joints[0], found[0])]
        cosine, sine = np.cos(ahead[1] - ahead[0]), np.sin(ahead[1] - ahead[0])
        turned = joints @ np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
        np.testing.assert_allclose(found, turned, atol=1e-3)
        np.testing.assert_allclose(features[1:, 74:140], np.diff(features[:, 8:74], axis=0), atol=1e-5)
        local = features[:, 140:].reshape(-1, 22, 2, 3)
        np.testing.assert_allclose((local[:, :, 0] * local[:, :, 1]).sum(-1), 0, atol=1e-5)
        turn = np.concatenate([local, np.cross(local[:, :, :1], local[:, :, 1:])], axis=2)
        assert np.abs(turn[:, 0, 0, 2]).max() < 1e-5  # the pelvis has no heading
        thigh = turn[:, 0] @ turn[:, 1] @ (REST[4] / np.linalg.norm(REST[4]))
        shown = features[:, 8:74].reshape(-1, 22, 3)
        bone = shown[:, 4] - shown[:, 1]
        np.testing.assert_allclose(thigh, bone / np.linalg.norm(bone, axis=1)[:, None], atol=2e-3)


@pytest.mark.slow
def test_documents_of_coco_hold_every_frame_and_person(dataset: Path, tmp_path: Path) -> None:
    export(dataset / "pairs", "coco", tmp_path, workers=1)
    rows = [row for sample in posegen.open(dataset / "pairs") for row in sample.sequences]
    images, people = Counter[str](), 0
    for path in tmp_path.glob("person_keypoints_*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        for entries in (document["images"], document["annotations"]):
            assert len({entry["id"] for entry in entries}) == len(entries)
        (person,) = document["categories"]
        assert person["keypoints"][5:7] == ["left_shoulder", "right_shoulder"]
        by_number = {image["id"]: image["file_name"] for image in document["images"]}
        images.update(name.partition("/")[0] for name in by_number.values())
        people += len(document["annotations"])
        for entry in document["annotations"]:
            assert entry["image_id"] in by_number
            points = np.array(entry["keypoints"]).reshape(17, 3)
            assert {*points[:, 2]} <= {0, 1, 2}
            assert not points[:5].any()  # the face
            assert not points[points[:, 2] == 0].any()
            assert entry["num_keypoints"] == (points[:, 2] > 0).sum()
            if entry["num_keypoints"]:
                x, y, width, height = entry["bbox"]
                seen = points[points[:, 2] > 0, :2]
                np.testing.assert_allclose([[x, y], [x + width, y + height]], [seen.min(0), seen.max(0)], atol=0.02)
    assert sum(images.values()) == sum(row["length"] for row in rows)
    assert people == sum(row["length"] * len(row["actors"]) for row in rows)
