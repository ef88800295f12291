"""Links and other special files in a dataset are refused, and nothing outside of it is read or written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from posegen.dataset.compare import compare
from posegen.dataset.header import load_header
from posegen.dataset.layout import Header
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import StoredFile, complete_shards
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError
from tests.dataset.hostile import forge_receipt
from tests.dataset.tiny import fill

FOLDERS = ("motion.zarr", "motion.zarr/joints", "sequences", "receipts")
READERS: list[Callable[[Path, Header], object]] = [
    lambda path, header: open_dataset(path),
    lambda path, header: compare(path, path),
    complete_shards,
]


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("kind", ["a link", "not a folder"])
def test_what_is_in_place_of_a_folder_is_refused(kind: str, name: str, dataset: Path, tmp_path: Path) -> None:
    """Even if it is a link whose target is an intact folder."""
    header = load_header(dataset)
    (dataset / name).rename(tmp_path / "outside")
    if kind == "a link":
        (dataset / name).symlink_to(tmp_path / "outside")
    else:
        (dataset / name).write_bytes(b"?")
    for read in READERS:
        with pytest.raises(PosegenError, match=f"{name}: is {kind}"):
            read(dataset, header)
    (problem,) = verify(dataset)
    assert (problem.file, problem.repairable) == (name, False)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/hostname", "motion.zarr/../../secret", "motion.zarr/joints/c.2.0.0.0", "\0"]
)
def test_a_receipt_cannot_name_files_elsewhere(name: str, dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    forge_receipt(dataset, 1, {name: StoredFile(6, "0" * 32)})
    with pytest.raises(PosegenError, match=r"shard 1.* lists other files than those of the shard"):
        open_dataset(dataset)
    assert [(problem.shard, problem.file) for problem in verify(dataset)] == [(1, "receipts/00001.json")]


def test_the_dataset_itself_may_be_a_link(dataset: Path, tmp_path: Path) -> None:
    """The user decides that."""
    (tmp_path / "link").symlink_to(dataset)
    assert len(open_dataset(tmp_path / "link")) == 14
    assert verify(tmp_path / "link") == []


def test_files_may_have_hard_links(dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(dataset, tmp_path / "copy", copy_function=os.link)
    assert verify(tmp_path / "copy") == []


def test_overlays_are_not_orphans(dataset: Path, tmp_path: Path) -> None:
    (dataset / "embeddings" / "an-encoder").mkdir(parents=True)
    (dataset / "embeddings" / "an-encoder" / "vectors.npy").write_bytes(b"?")
    assert verify(dataset) == []
    shutil.rmtree(dataset / "embeddings")
    (dataset / "embeddings").symlink_to(tmp_path)
    assert [problem.file for problem in verify(dataset)] == ["embeddings"]


def test_nothing_is_written_through_links(dataset: Path, tmp_path: Path) -> None:
    from posegen.dataset.write import create

    (tmp_path / "outside").mkdir()
    (tmp_path / "new").mkdir()
    header = fill(tmp_path / "other", 6)
    (tmp_path / "new" / "receipts").symlink_to(tmp_path / "outside")
    with pytest.raises(PosegenError, match="receipts: is a link"):
        complete_shards(tmp_path / "new", header)
    (tmp_path / "new" / "receipts").unlink()
    create(tmp_path / "new", header)
    assert list((tmp_path / "outside").iterdir()) == []
