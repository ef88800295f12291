"""The manifest: it lists what the receipts state, and a change of it or of a receipt is named."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.dataset import manifest as manifests
from posegen.dataset.documents import seal
from posegen.dataset.header import load_header
from posegen.dataset.layout import MANIFEST_FILE, receipt_path, rows_path
from posegen.dataset.manifest import (
    covers_all,
    drop_manifest,
    load_manifest,
    write_manifest,
)
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.receipts import complete_shards, load_receipt
from posegen.dataset.verify import verify
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash
from posegen.generation.finish import finish
from tests.dataset.hostile import forge_receipt
from tests.dataset.tiny import commit, fill, make_header

RECEIPT = "receipts/00001.json"
CONTENTS = ["joints", "action", "contact", "rows"]


@pytest.fixture(autouse=True)
def _two_shards_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LEAST_SHARDS", 2)


@pytest.fixture
def large(dataset: Path) -> Path:
    """Return a dataset of two full shards and a third one, with a manifest."""
    write_manifest(dataset, load_header(dataset), "a-run")
    return dataset


def content_of(dataset: Dataset) -> list[bytes]:
    arrays = [dataset.arrays(name).tobytes() for name in dataset.fields]
    return [*arrays, repr(dataset.sequences.to_pylist()).encode(), repr((dataset.sizes(), dataset.counts())).encode()]


def test_a_dataset_is_the_same_by_its_manifest_and_by_its_receipts(large: Path) -> None:
    header = load_header(large)
    manifest = load_manifest(large, header)
    assert manifest
    assert (manifest.shards, manifest.contents) == (2, CONTENTS)
    files = [file for shard in range(2) for file in load_receipt(large, header, shard).files.items()]
    assert [manifest.find(name) for name, _ in files] == [file for _, file in files]
    assert manifest.find("motion.zarr/contact/c.0.0.0") is None  # a field without any value has no file
    assert [manifest.find(name) for name in ("receipts/00000.json", "sequences/part-00002.parquet", "x")] == [None] * 3
    by_manifest = content_of(open_dataset(large))
    (large / MANIFEST_FILE).unlink()
    assert content_of(open_dataset(large)) == by_manifest


def test_receipts_of_its_shards_are_not_read(large: Path) -> None:
    before = content_of(open_dataset(large))
    (large / RECEIPT).write_bytes(b"no receipt")
    assert content_of(open_dataset(large)) == before
    assert [(problem.shard, problem.file) for problem in verify(large)] == [(1, RECEIPT)]
    (large / MANIFEST_FILE).unlink()
    with pytest.raises(PosegenError, match=r"shard 1: receipts/00001\.json: the receipt is not a document"):
        open_dataset(large)


@given(st.data())
def test_every_change_of_its_bytes_is_named(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "changed"
    if not path.exists():
        fill(path, 14)
    manifests.write_manifest(path, load_header(path), "a-run")
    intact = (path / MANIFEST_FILE).read_bytes()
    position = data.draw(st.integers(0, len(intact) - 1))
    damaged = bytearray(intact)
    damaged[position] ^= data.draw(st.integers(1, 255))
    cut = intact[: data.draw(st.integers(0, len(intact) - 1))]
    wrong = data.draw(st.permutations([bytes(damaged), cut, intact + b"\0"]))
    for each in wrong:
        (path / MANIFEST_FILE).write_bytes(each)
        with pytest.raises(PosegenError, match=r"manifest\.bin: .* posegen finish .*, or delete the file"):
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


def test_a_file_that_changed_is_refused_when_it_is_read(large: Path) -> None:
    file = large / "motion.zarr/joints/c.1.0.0.0"
    file.write_bytes(file.read_bytes()[:-1])
    dataset = open_dataset(large)
    assert len(dataset.arrays("joints", slice(0, 6))) == 6
    with pytest.raises(PosegenError, match="shard 1 is damaged"):
        dataset.arrays("joints")


def test_verify_names_a_receipt_that_changed_since(large: Path) -> None:
    forge_receipt(large, 1, seconds=7.0, made_by_run="another")  # as a job that makes the same shard again
    assert verify(large) == []
    receipt = load_receipt(large, load_header(large), 1)
    assert receipt.counts
    forge_receipt(large, 1, counts=dataclasses.replace(receipt.counts, frames=5))
    (problem,) = verify(large)
    assert (problem.file, problem.repairable) == (MANIFEST_FILE, True)
    assert "does not match the receipt of shard 1 any more. Run: posegen finish" in problem.what
    finish(large)
    assert verify(large) == []


def test_it_covers_the_full_shards_of_a_dataset_that_grows(large: Path) -> None:
    header = load_header(large)
    assert covers_all(large, header)
    for shard in (2, 3):
        commit(large, header, shard, 24)
    extended = publish(large, header, 24)
    assert not covers_all(large, extended)
    assert np.isfinite(open_dataset(large).arrays("joints")).any(axis=(1, 2, 3)).tolist() == [True] * 24
    write_manifest(large, extended, "a-run")
    assert covers_all(large, extended)
    drop_manifest(large, extended, 4)
    assert covers_all(large, extended)
    drop_manifest(large, extended, 3)
    assert not (large / MANIFEST_FILE).exists()


def test_one_that_lists_more_than_is_visible_is_out_of_date(large: Path) -> None:
    publish(large, load_header(large), 6)
    with pytest.raises(PosegenError, match="is out of date: it lists 2 full shards, but only 6 samples are visible"):
        open_dataset(large)


def test_one_of_another_dataset_is_refused(large: Path, tmp_path: Path) -> None:
    fill(tmp_path / "other", 14, identity="f" * 32)
    (tmp_path / "other" / MANIFEST_FILE).write_bytes((large / MANIFEST_FILE).read_bytes())
    with pytest.raises(PosegenError, match="belongs to another dataset"):
        open_dataset(tmp_path / "other")


def test_one_without_entries_is_extended(large: Path) -> None:
    expected, header = (large / MANIFEST_FILE).read_bytes(), load_header(large)
    none = {
        "identity": header.identity,
        "contents": CONTENTS,
        "layers": [],
        "shards": 0,
        "counts": None,
        "entries": byte_hash([]),
    }
    (large / MANIFEST_FILE).write_bytes(seal(none) + b"\n")
    assert len(open_dataset(large)) == 14
    write_manifest(large, header, "a-run")
    assert (large / MANIFEST_FILE).read_bytes() == expected


def test_a_small_dataset_has_none(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LEAST_SHARDS", 3)
    header = load_header(large)
    write_manifest(large, header, "a-run")
    assert not (large / MANIFEST_FILE).exists()
    assert covers_all(large, header)
    assert repr(make_header()) == repr(header.with_samples(0))  # the fill value NaN equals nothing


HARMS: dict[str, Callable[[Path, int], object]] = {
    "none": lambda path, shard: None,
    "no receipt": lambda path, shard: (path / receipt_path(shard)).unlink(),
    "damaged receipt": lambda path, shard: (path / receipt_path(shard)).write_bytes(b"no receipt"),
    "another document": lambda path, shard: shutil.copy(path / "dataset.json", path / receipt_path(shard)),
    "no file": lambda path, shard: (path / rows_path(shard)).unlink(),
    "another file": lambda path, shard: (path / rows_path(shard)).write_bytes(b"of another size"),
}
"""What may have happened to a shard."""


@settings(max_examples=25)
@given(st.lists(st.sampled_from(list(HARMS)), min_size=3, max_size=3), st.booleans())
def test_the_same_shards_are_complete_with_any_manifest(
    tmp_path_factory: pytest.TempPathFactory, harms: list[str], is_newer: bool
) -> None:
    """Without a manifest, with one of the shards as they are, and with one older than their harm, whatever times say."""
    whole = tmp_path_factory.getbasetemp() / "whole"
    if not whole.exists():
        fill(whole, 14)
        manifests.write_manifest(whole, load_header(whole), "a-run")
    found = []
    for kind in ("none", "present", "stale"):
        path = tmp_path_factory.mktemp(kind) / "dataset"
        shutil.copytree(whole, path)
        header = load_header(path)
        for shard, harm in enumerate(harms):
            HARMS[harm](path, shard)
        if kind == "none":
            (path / MANIFEST_FILE).unlink()
        elif kind == "present":
            manifests.write_manifest(path, header, "a-run")
        else:
            seconds = time.time() + (60 if is_newer else -60)
            os.utime(path / MANIFEST_FILE, (seconds, seconds))
        complete, finished = complete_shards(path, header), finish(path)
        found.append((complete, finished.missing, finished.samples, finished.complete))
        assert verify(path) == [] or harms != ["none"] * 3
    assert found[0][0] == {shard: (6, 6, 2)[shard] for shard, harm in enumerate(harms) if harm == "none"}
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("name", [RECEIPT, "motion.zarr/joints/c.1.0.0.0", "sequences/part-00001.parquet"])
@pytest.mark.parametrize("damage", ["absent", "shorter", "a folder"])
def test_damage_of_what_a_manifest_lists_is_found(name: str, damage: str, large: Path) -> None:
    file = large / name
    if damage == "shorter":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
        if damage == "a folder":
            file.mkdir()
    assert complete_shards(large, load_header(large)) == {0: 6, 2: 2}
    assert finish(large).missing == [(1, 1)]
    assert load_manifest(large, load_header(large)) is None  # of one shard


def test_receipts_without_counts_give_the_same_counts(large: Path) -> None:
    expected = open_dataset(large).counts()
    forge_receipt(large, 1, counts=None)
    (large / MANIFEST_FILE).unlink()
    write_manifest(large, load_header(large), "a-run")
    manifest = load_manifest(large, load_header(large))
    assert manifest
    assert manifest.counts is None
    assert open_dataset(large).counts() == expected
