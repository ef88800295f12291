"""Datasets in a bucket have the objects and the content of those in a folder, and damage is found."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from posegen.dataset import manifest, object_reader
from posegen.dataset.compare import compare
from posegen.dataset.documents import seal
from posegen.dataset.header import load_header
from posegen.dataset.object_reader import ReadCache
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import complete_shards, read_receipt, stored_file
from posegen.dataset.storage.bucket import BucketPath
from posegen.dataset.verify import verify
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.errors import PosegenError, UsageError
from tests.buckets.servers import Proxy
from tests.dataset.tiny import commit, files_of, fill, make_arrays, make_header, make_table


def requests_of(proxy: Proxy, method: str, ending: str = "") -> list[tuple[str, str, int, int, int]]:
    return [line for line in proxy.take_log() if line[0] == method and line[1].endswith(ending)]


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "local"
    fill(path, 14)
    return path


def test_a_bucket_has_the_files_of_a_folder(dataset: BucketPath, local: Path) -> None:
    assert files_of(dataset) == files_of(local)
    for name in files_of(local):
        assert (dataset / name).read() == (local / name).read_bytes(), name
    assert not compare(dataset, local, deep=True).differences
    assert verify(dataset) == []


def test_batches_and_samples_equal_those_of_a_folder(dataset: BucketPath, local: Path) -> None:
    one, other = open_dataset(dataset), open_dataset(str(local))
    assert [len(one), one.fields] == [14, other.fields]
    for index in (0, 5, 13):
        assert one[index].sequences == other[index].sequences
        for name, values in other[index].arrays.items():
            np.testing.assert_array_equal(one[index].arrays[name], values, name)
    names = ["joints", "action", "contact", "captions"]
    pairs = zip(one.batches(4, seed=1, fields=names), other.batches(4, seed=1, fields=names), strict=True)
    for mine, theirs in pairs:
        np.testing.assert_array_equal(mine.joints, theirs.joints)
        np.testing.assert_array_equal(mine.action, theirs.action)
        assert mine.captions == theirs.captions


def test_a_sample_is_read_by_ranges_and_kept(proxy: Proxy, dataset: BucketPath) -> None:
    field = "motion.zarr/joints/c.1.0.0.0"
    size = dataset.list()[field].size
    proxy.take_log()
    joints = open_dataset(dataset)[7].joints
    read = requests_of(proxy, "GET", field)
    assert 0 < sum(line[4] for line in read) < size * 2 / 3  # one of two chunks, and the index
    np.testing.assert_array_equal(open_dataset(dataset)[7].joints, joints)
    assert not [line for line in proxy.take_log() if (line[0] == "GET" and "/c." in line[1]) or line[1].endswith(".parquet")]


def test_a_damaged_cache_is_requested_again(proxy: Proxy, dataset: BucketPath, tmp_path: Path) -> None:
    expected = open_dataset(dataset)[7]
    entries = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert entries
    for file in entries:
        file.write_bytes(b"?" * file.stat().st_size)
    again = open_dataset(dataset)[7]
    np.testing.assert_array_equal(again.joints, expected.joints)
    assert again.sequences == expected.sequences


@pytest.mark.parametrize("name", ["motion.zarr/joints/c.1.0.0.0", "sequences/part-00001.parquet"])
@pytest.mark.parametrize("damage", ["changed", "absent", "shorter", "empty"])
def test_damage_is_found(damage: str, name: str, dataset: BucketPath) -> None:
    before = open_dataset(dataset)
    data = (dataset / name).read()
    if damage == "absent":
        (dataset / name).remove()
    else:
        middle = len(data) // 3
        changed = data[:middle] + b"???" + data[middle + (3 if damage == "changed" else 9) :]
        (dataset / name).write(b"" if damage == "empty" else changed)
    with pytest.raises(PosegenError, match=rf"some/dataset: shard 1.*{name}"):
        before[7]
    problems = verify(dataset)
    assert [(problem.shard, problem.file) for problem in problems] == [(1, name)]
    if damage != "changed":  # sizes are compared on opening
        with pytest.raises(PosegenError, match="shard 1"):
            open_dataset(dataset)


def test_with_a_manifest_receipts_are_read_when_they_are_needed(
    proxy: Proxy, dataset: BucketPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "LEAST_SHARDS", 2)
    expected = open_dataset(dataset)[7].joints
    manifest.store_manifest(dataset, manifest.make_manifest(dataset, load_header(dataset)), "a-run")
    (dataset / "sequences/part-00000.parquet").remove()
    proxy.take_log()
    opened = open_dataset(dataset)
    np.testing.assert_array_equal(opened[7].joints, expected)
    assert [line[1][-10:] for line in requests_of(proxy, "GET") if "/receipts/" in line[1]] == ["00002.json", "00001.json"]
    with pytest.raises(PosegenError, match=r"shard 0: sequences/part-00000.parquet: cannot be read \(there is no such"):
        opened.table(0)
    assert [problem.file for problem in verify(dataset)] == ["sequences/part-00000.parquet"]


def test_what_does_not_belong_to_a_dataset_is_found(dataset: BucketPath) -> None:
    (dataset / "notes.txt").write(b"")
    (dataset / "receipts/00002.json").remove()
    header = load_header(dataset)
    publish(dataset, header, 12)
    found = {problem.file: str(problem) for problem in verify(dataset)}
    assert "does not belong to the dataset" in found["notes.txt"]
    assert "there is no receipt" in found["sequences/part-00002.parquet"]


def test_a_shard_that_two_runs_store_is_stored_once(dataset: BucketPath) -> None:
    header = load_header(dataset)
    before = {name: entry.modified for name, entry in dataset.list().items()}
    commit(dataset, header, 1, 14, "another-run")
    assert {name: entry.modified for name, entry in dataset.list().items()} == before
    arrays = make_arrays(6, 12)
    arrays["joints"] += 1
    with pytest.raises(PosegenError, match="shard 1: another run has stored other joints, so not all runs make the same"):
        commit_shard(dataset, header, 1, arrays, make_table(6, 12), "another-run")
    assert verify(dataset) == []


def test_a_shard_in_other_bytes_and_of_equal_content_is_kept(dataset: BucketPath) -> None:
    """As another version of pyarrow would store it."""
    header = load_header(dataset)
    name = "sequences/part-00001.parquet"
    data = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO((dataset / name).read())), data)
    receipt = read_receipt(dataset, header, 1)
    files = receipt.files | {name: stored_file([data.getvalue()])}
    (dataset / "receipts/00001.json").write(seal(replace(receipt, files=files)))
    (dataset / name).write(data.getvalue())
    commit(dataset, header, 1, 14, "another-run")
    assert read_receipt(dataset, header, 1).files == files
    assert verify(dataset) == []


def test_files_without_a_receipt_are_replaced(dataset: BucketPath) -> None:
    """As those of a last shard that was being extended when its run died."""
    (dataset / "receipts/00001.json").remove()
    (dataset / "motion.zarr/joints/c.1.0.0.0").write(b"of an earlier version")
    assert complete_shards(dataset, load_header(dataset)) == {0: 6, 2: 2}
    commit(dataset, load_header(dataset), 1, 14)
    assert verify(dataset) == []


def test_a_run_that_publishes_later_loses_no_samples(dataset: BucketPath, bucket: BucketPath) -> None:
    path = bucket / "growing"
    header = create(path, make_header())
    for shard in range(3):
        commit(path, header, shard, 18)
    assert publish(path, header, 18).samples == 18
    own = make_header(config={"samples": 3})  # of a run that found no dataset, and creates it at the same time
    assert create(path, own).samples == 18
    with pytest.raises(UsageError, match="is not empty"):
        create(path, make_header(identity="f" * 32))
    assert load_header(path).samples == 18
    assert verify(path) == []


def test_a_folder_with_something_else_is_refused(bucket: BucketPath) -> None:
    (bucket / "motion/photo.jpg").write(b"")
    with pytest.raises(UsageError, match=r"motion: is not empty: it contains photo\.jpg"):
        create(bucket / "motion", make_header())


def test_the_cache_leaves_space_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ReadCache(tmp_path)
    cache.write("0" * 32, b"x")
    assert cache.read("0" * 32) == b"x"
    monkeypatch.setattr(object_reader, "LEAST_FREE", 2**62)
    cache.write("1" * 32, b"y")
    assert [cache.read(digit * 32) for digit in "01"] == [b"x", None]
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["0" * 32]


def test_an_empty_variable_is_no_cache(dataset: BucketPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert object_reader.cache_of(tmp_path) is None
    assert object_reader.cache_of(dataset) is not None
    monkeypatch.setenv(object_reader.FOLDER_VARIABLE, "")
    assert object_reader.cache_of(dataset) is None
