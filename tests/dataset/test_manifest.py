"""The manifest: it lists what the receipts state, and a change of it or of a receipt is named."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posegen.dataset import manifest as manifests
from posegen.dataset.header import load_header
from posegen.dataset.layout import MANIFEST_FILE
from posegen.dataset.manifest import covers_all, load_manifest, make_manifest, store_manifest
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.receipts import load_receipt
from posegen.dataset.verify import verify
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError
from posegen.generation.finish import finish
from tests.dataset.hostile import forge_receipt
from tests.dataset.tiny import fill, make_header

RECEIPT = "receipts/00001.json"


@pytest.fixture(autouse=True)
def _two_shards_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LEAST_SHARDS", 2)


def write_manifest(path: Path) -> None:
    store_manifest(path, make_manifest(path, load_header(path)), "a-run")


@pytest.fixture
def large(dataset: Path) -> Path:
    """Return a dataset of two full shards and a third one, with a manifest."""
    write_manifest(dataset)
    return dataset


def content_of(dataset: Dataset) -> list[bytes]:
    arrays = [dataset.arrays(name).tobytes() for name in dataset.fields]
    return [*arrays, repr(dataset.sequences.to_pylist()).encode(), repr((dataset.sizes(), dataset.counts())).encode()]


def test_a_dataset_is_the_same_by_its_manifest_and_by_its_receipts(large: Path) -> None:
    header = load_header(large)
    manifest = load_manifest(large, header)
    assert manifest
    files = [file for shard in range(2) for file in load_receipt(large, header, shard).files.values()]
    assert (manifest.shards, sum(manifest.sizes.values())) == (2, sum(file.bytes for file in files))
    by_manifest = content_of(open_dataset(large))
    (large / MANIFEST_FILE).unlink()
    assert content_of(open_dataset(large)) == by_manifest


def test_a_receipt_is_read_with_the_first_file_of_its_shard(large: Path) -> None:
    expected = open_dataset(large).arrays("joints", slice(0, 6))
    (large / RECEIPT).write_bytes(b"no receipt")
    dataset = open_dataset(large)
    np.testing.assert_array_equal(dataset.arrays("joints", slice(0, 6)), expected)
    with pytest.raises(PosegenError, match=r"shard 1: receipts/00001\.json: the receipt is not a document"):
        dataset.arrays("joints")
    assert [(problem.shard, problem.file) for problem in verify(large)] == [(1, RECEIPT)]
    (large / MANIFEST_FILE).unlink()
    with pytest.raises(PosegenError, match=r"shard 1: receipts/00001\.json: the receipt is not a document"):
        open_dataset(large)


@given(st.data())
def test_every_change_of_its_bytes_is_named(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "changed"
    if not path.exists():
        fill(path, 14)
    write_manifest(path)
    intact = (path / MANIFEST_FILE).read_bytes()
    position = data.draw(st.integers(0, len(intact) - 1))
    damaged = bytearray(intact)
    damaged[position] ^= data.draw(st.integers(1, 255))
    cut = intact[: data.draw(st.integers(0, len(intact) - 1))]
    wrong = data.draw(st.permutations([bytes(damaged), cut, intact + b"\0"]))
    for each in wrong:
        (path / MANIFEST_FILE).write_bytes(each)
        with pytest.raises(PosegenError, match=r"manifest\.json: .* posegen finish .*, or delete the file"):
            open_dataset(path)
    # Verifying takes most of the time: one kind of damage in each example.
    assert [problem.file for problem in verify(path)] == [MANIFEST_FILE]


@pytest.mark.parametrize("name", ["motion.zarr/joints/c.1.0.0.0", "sequences/part-00000.parquet"])
def test_a_missing_file_is_named_when_it_is_read(large: Path, name: str) -> None:
    (large / name).unlink()
    dataset = open_dataset(large)
    with pytest.raises(PosegenError, match=f"shard {int('1' in name)}: {name}: cannot be read .*Run the same"):
        content_of(dataset)
    assert [problem.file for problem in verify(large)] == [name]


def test_verify_names_a_receipt_that_changed_since(large: Path) -> None:
    forge_receipt(large, 1, seconds=7.0, made_by_run="another")  # as a job that makes the same shard again
    assert verify(large) == []
    receipt = load_receipt(large, load_header(large), 1)
    assert receipt.counts
    forge_receipt(large, 1, counts=dataclasses.replace(receipt.counts, frames=5))
    (problem,) = verify(large)
    assert (problem.file, problem.repairable) == (MANIFEST_FILE, True)
    assert "does not match the receipts any more. Run: posegen finish" in problem.what
    finish(large)
    assert verify(large) == []


def test_one_that_lists_more_than_is_visible_is_out_of_date(large: Path) -> None:
    publish(large, load_header(large), 6)
    with pytest.raises(PosegenError, match="is out of date: it has 2 full shards, but only 6 samples are visible"):
        open_dataset(large)


def test_a_small_dataset_has_none(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LEAST_SHARDS", 3)
    header = load_header(large)
    assert verify(large) == []
    write_manifest(large)
    assert not [path.name for path in large.glob("manifest*")]
    assert covers_all(large, header)
    assert repr(make_header()) == repr(header.with_samples(0))  # the fill value NaN equals nothing


def test_receipts_without_counts_give_the_same_counts(large: Path) -> None:
    expected = open_dataset(large).counts()
    forge_receipt(large, 1, counts=None)
    (large / MANIFEST_FILE).unlink()
    write_manifest(large)
    manifest = load_manifest(large, load_header(large))
    assert manifest
    assert manifest.counts is None
    assert open_dataset(large).counts() == expected
