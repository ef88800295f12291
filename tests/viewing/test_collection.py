"""What the page reads of a dataset, a config and clips: rows, samples and distributions."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import posegen
from posegen.config.load import load_config
from posegen.dataset.read import Dataset, open_dataset
from posegen.evaluation.recording import Recording
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.skeleton import CONTACTS, JOINTS, sole_points
from posegen.library.load import load_library
from posegen.viewing.collection import Collection, collection_of_clips, collection_of_dataset
from posegen.viewing.sequence import BONES, GRID, MIRROR_POINTS, POINTS, pieces_of
from tests.once import generated_once

SAMPLES = 4


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    options = ("frames=60", "store.fields=[joints, action, contact, objects]")
    return open_dataset(generated_once(tmp_path_factory, "collection", SAMPLES, *options, preset="pairs"))


@pytest.fixture(scope="module")
def collection(dataset: Dataset) -> Collection:
    return collection_of_dataset(dataset.path)


def read(collection: Collection, number: int) -> tuple[dict[str, Any], list[NDArray[np.float64]]]:
    """Return the description of a sample and the points of each block, decoded with cumulative sums."""
    data = zlib.decompress(collection.read_sample(number))
    (size,) = struct.unpack("<I", data[:4])
    sample = json.loads(data[4 : 4 + size])
    numbers = np.frombuffer(data[4 + size :], np.uint8).reshape(2, -1).T.copy().view("<u2").ravel().astype(np.int64)
    steps = (numbers >> 1) ^ -(numbers & 1)
    blocks: list[NDArray[np.float64]] = []
    at = 0
    for block in sample["blocks"]:
        if "copy" in block:
            source = blocks[block["copy"]]
            blocks.append((source[:, list(MIRROR_POINTS)] * [-1, 1, 1] if block["mirrored"] else source) + block["shift"])
            continue
        shape = block["points"] * 3, block["frames"]
        tracks = steps[at : at + shape[0] * shape[1]].reshape(shape).cumsum(axis=1).cumsum(axis=1)
        blocks.append(((tracks + 32_768) % 65_536 - 32_768).T.reshape(block["frames"], -1, 3) / sample["grid"])
        at += shape[0] * shape[1]
    return sample, blocks


def test_the_provenance_is_that_of_the_header(dataset: Dataset, collection: Collection) -> None:
    header = dataset.header
    assert header.created is not None
    expected = {"identity": header.identity, "seed": "0", "created": f"{header.created.date} by posegen {posegen.__version__}"}
    assert {name: collection.provenance[name] for name in expected} == expected


def test_every_variant_shows_the_joints_of_the_dataset(dataset: Dataset, collection: Collection) -> None:
    for number in range(SAMPLES):
        sample, blocks = read(collection, number)
        joints = dataset.arrays("joints", slice(number, number + 1))[0]
        assert [variant["name"] for variant in sample["variants"]] == list(dataset.header.variants)
        for v, variant in enumerate(sample["variants"]):
            for a, actor in enumerate(variant["actors"]):
                own = joints[v, a, : variant["frames"]].astype(np.float64)
                first, last = actor["present"][0]
                shown = blocks[actor["block"]][first:last]
                assert np.abs(shown[:, : len(JOINTS)] - own[first:last]).max() < 1e-3
                assert np.abs(shown[:, len(JOINTS) :] - sole_points(own[first:last])).max() < 1e-3
    # Moved and mirrored variants take no room.
    assert sum("copy" in block for block in sample["blocks"]) >= 4


def test_contacts_labels_and_objects_are_those_of_the_frames(dataset: Dataset, collection: Collection) -> None:
    names = dataset.header.field("action").attributes["names"]
    for number in range(SAMPLES):
        sample, _ = read(collection, number)
        arrays = {name: dataset.arrays(name, slice(number, number + 1))[0, 0] for name in ("action", "contact", "object")}
        for a, actor in enumerate(sample["variants"][0]["actors"]):
            for point in range(len(CONTACTS)):
                frames = {frame for first, last in actor["contacts"][point] for frame in range(first, last)}
                assert frames == set(np.flatnonzero(arrays["contact"][a, :, point] == 1).tolist())
            part, runs = actor["tracks"][0]
            assert part == "legs"
            for first, last, label in runs:
                assert {names[i].replace("_", " ") for i in arrays["action"][a, first:last, 0]} == {label}
            assert sum(last - first for first, last, _ in runs) == sum(last - first for first, last in actor["present"])
            shown = sum(last - first for first, last, _ in (actor["objects"] or {"intervals": []})["intervals"])
            assert shown == int((arrays["object"][a] != 255).sum())


def test_rows_list_what_is_filtered(dataset: Dataset, collection: Collection) -> None:
    rows = collection.read_rows(0)
    assert [row["sample"] for row in rows] == list(range(SAMPLES))
    first = dataset.rows(0)[0]
    assert rows[0]["texts"] == [caption["text"] for caption in first["captions"]]
    assert rows[0]["theme"] == (first["theme"] or "")
    assert rows[0]["people"] == 2
    actions = {s["action"].replace("_", " ") for actor in first["actors"] for s in actor["segments"]}
    assert set(rows[0]["actions"]) == actions


def test_distributions_count_base_variants(dataset: Dataset, collection: Collection) -> None:
    found = collection.read_overview()
    rows = [dataset.rows(sample)[0] for sample in range(SAMPLES)]
    segments = [segment for row in rows for actor in row["actors"] for segment in actor["segments"]]
    assert found["samples"] == SAMPLES
    assert dict(found["actions"]) == Counter(segment["action"].replace("_", " ") for segment in segments)
    assert dict(found["people"]) == {"2": SAMPLES}
    assert found["seconds"][-1] == (2.0, 2.5, SAMPLES)  # 60 frames at 25 FPS
    fast = [segment["speed"] for segment in segments if segment["speed"] > 0]
    assert sum(count for _, _, count in found["speeds"]) == len(fast)
    for low, high, count in found["speeds"]:
        assert count == sum(low <= speed < high for speed in fast)


def test_clips_have_joints_alone() -> None:
    joints = np.zeros((6, 22, 3))
    joints[:, :, 1] = np.linspace(1, 2, 22)
    collection = collection_of_clips("folder", [Recording("a.bvh", "", joints, 30.0, family="walk")], {"file": "folder"})
    sample, blocks = read(collection, 0)
    (variant,) = sample["variants"]
    assert (variant["fps"], variant["frames"]) == (30.0, 6)
    assert variant["captions"][0]["pieces"] == [["a.bvh (walk)", []]]
    assert np.abs(blocks[0][:, :22] - joints).max() < 1e-3
    assert collection.read_rows(0)[0]["actions"] == ["walk"]
    assert collection.about()["bones"] == BONES
    assert max(map(max, BONES)) < len(POINTS)


def test_far_and_absent_joints_are_shown() -> None:
    """Far ones on a coarser grid, absent ones where they are in the frame before."""
    joints = np.broadcast_to(np.linspace(1, 2, 66).reshape(22, 3), (4, 22, 3)).copy()
    joints[3] += [500.0, 0.0, -700.0]
    joints[1, 5] = np.nan
    sample, (shown,) = read(collection_of_clips("far", [Recording("a.bvh", "", joints, 30.0)], {}), 0)
    assert sample["grid"] == GRID / 32
    joints[1, 5] = joints[0, 5]
    np.testing.assert_allclose(shown[:, :22], joints, atol=16 / GRID)


def test_captions_are_divided_at_what_they_describe() -> None:
    """Of the actions that captions state, nearly all are found, each where it is named."""
    library, config = load_library(), load_config("default", ["frames=100"])
    batch = posegen.synthesize(config, np.arange(12))
    stated = found = 0
    for row in batch.rows:
        for caption in row["captions"]:
            pieces = pieces_of(caption["text"], caption["statements"], library)
            assert "".join(text for text, _ in pieces) == caption["text"]
            actions = {(s["actor"], s["segment"]) for s in caption["statements"] if s["kind"] == "action"}
            shown = [tuple(target) for _, targets in pieces for target in targets]
            assert set(shown) <= actions
            assert len(set(shown)) == len(shown)
            stated, found = stated + len(actions), found + len(shown)
    assert found > 0.95 * stated > 0


def test_a_dataset_without_joints_or_samples_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(PosegenError, match="is not a dataset"):
        collection_of_dataset(tmp_path)
    path = tmp_path / "labels"
    posegen.generate(load_config("smoke", ["frames=40", "store.fields=[action]"]), samples=1, workers=1, out=path)
    with pytest.raises(UsageError, match="has no field joints to show, only action"):
        collection_of_dataset(path)


def test_large_shards_are_read_by_chunks(tmp_path: Path) -> None:
    path = tmp_path / "chunks"
    posegen.generate(load_config("smoke", ["frames=40", "store.shard=600", "store.chunk=3"]), samples=7, workers=1, out=path)
    collection = collection_of_dataset(path)
    assert collection.page == 3
    assert [[row["sample"] for row in collection.read_rows(page)] for page in range(3)] == [[0, 1, 2], [3, 4, 5], [6]]
