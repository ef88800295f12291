from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posegen.dataset.header import load_header
from posegen.dataset.layout import receipt_path
from posegen.dataset.read import open_dataset
from posegen.dataset.receipts import complete_prefix, complete_shards
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.errors import PosegenError, UsageError
from tests.dataset import tiny

ROOT = Path(__file__).parents[2]


def test_a_dataset_has_exactly_the_files_of_its_layout(dataset: Path) -> None:
    shards = range(3)
    assert tiny.files_of(dataset) == sorted(
        [
            "dataset.json",
            "motion.zarr/zarr.json",
            *(f"motion.zarr/{name}/zarr.json" for name in ("joints", "action", "contact")),
            *(f"motion.zarr/joints/c.{shard}.0.0.0" for shard in shards),
            *(f"motion.zarr/action/c.{shard}.0.0" for shard in shards),
            *(f"sequences/part-0000{shard}.parquet" for shard in shards),
            *(f"receipts/0000{shard}.json" for shard in shards),
            "dataset.copy.json",
            "croissant.json",
        ]
    )


def test_writing_twice_gives_the_same_bytes(dataset: Path, tmp_path: Path) -> None:
    tiny.fill(tmp_path / "again", 14)
    for name in tiny.files_of(dataset):
        assert (dataset / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_the_old_file_of_an_absent_field_is_removed(dataset: Path) -> None:
    header = load_header(dataset)
    arrays = tiny.make_arrays(6, 12)
    arrays["action"][:] = 65535
    commit_shard(dataset, header, 1, arrays, tiny.make_table(6, 12), "run")
    assert "motion.zarr/action/c.1.0.0" not in tiny.files_of(dataset)
    np.testing.assert_array_equal(open_dataset(dataset).arrays("action", slice(6, 12)), arrays["action"])


def test_shards_can_be_completed_in_any_order(tmp_path: Path) -> None:
    create(tmp_path, tiny.make_header())
    header = load_header(tmp_path)
    assert complete_shards(tmp_path, header) == {}
    tiny.commit(tmp_path, header, 2, 14)
    tiny.commit(tmp_path, header, 0, 14)
    assert complete_shards(tmp_path, header) == {0: 6, 2: 2}
    assert complete_prefix(tmp_path, header) == 6
    tiny.commit(tmp_path, header, 1, 14)
    assert complete_prefix(tmp_path, header) == 14


@pytest.mark.parametrize("damage", ["receipt", "missing", "short", "foreign", "exchanged"])
def test_a_damaged_shard_is_not_complete(damage: str, dataset: Path, tmp_path: Path) -> None:
    receipt, part = dataset / receipt_path(1), dataset / "sequences/part-00001.parquet"
    if damage == "receipt":
        receipt.write_bytes(receipt.read_bytes().replace(b'"count":6', b'"count":5'))
    elif damage == "missing":
        part.unlink()
    elif damage == "short":
        part.write_bytes(part.read_bytes()[:-1])
    elif damage == "foreign":
        tiny.fill(tmp_path / "foreign", 14, identity="f" * 32)
        shutil.copy(tmp_path / "foreign" / receipt_path(1), receipt)
    else:
        shutil.copy(dataset / receipt_path(0), receipt)
    assert complete_shards(dataset, load_header(dataset)) == {0: 6, 2: 2}
    with pytest.raises(PosegenError, match=r"shard 1.*[Rr]un the same `posegen generate` command"):
        open_dataset(dataset)


def test_publishing_repairs_metadata(dataset: Path) -> None:
    file = dataset / "motion.zarr/joints/zarr.json"
    file.write_bytes(file.read_bytes().replace(b'"units": "m"', b'"units": "f"'))
    with pytest.raises(PosegenError, match=r"motion\.zarr/joints/zarr\.json does not match the header"):
        open_dataset(dataset)
    publish(dataset, load_header(dataset), 14)
    assert len(open_dataset(dataset)) == 14


def test_another_dataset_is_not_overwritten_by_publishing(dataset: Path) -> None:
    with pytest.raises(PosegenError, match="another dataset"):
        publish(dataset, tiny.make_header(identity="f" * 32), 14)


@pytest.mark.parametrize("name", ["notes.txt", "motion.zarr/rotation/zarr.json", "dataset.json", "receipts/00000.json"])
def test_a_folder_that_is_not_empty_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "place"
    file = path / name
    file.parent.mkdir(parents=True)
    tiny.fill(tmp_path / "foreign", 2, identity="f" * 32)
    shutil.copy(tmp_path / "foreign" / receipt_path(0), file)
    before = tiny.files_of(path)
    with pytest.raises(UsageError, match=r"is not empty.*Choose"):
        create(path, tiny.make_header())
    assert tiny.files_of(path) == before


def test_creating_again_after_a_lost_header_keeps_the_shards(dataset: Path) -> None:
    before = {name: (dataset / name).read_bytes() for name in tiny.files_of(dataset)}
    (dataset / "dataset.json").unlink()
    create(dataset, tiny.make_header())
    publish(dataset, tiny.make_header(), complete_prefix(dataset, tiny.make_header()))
    assert {name: (dataset / name).read_bytes() for name in tiny.files_of(dataset)} == before


def change_arrays(arrays: dict[str, Any], change: str) -> None:
    if change == "missing":
        del arrays["action"]
    elif change == "shape":
        arrays["action"] = arrays["action"][:, :, :-1]
    elif change == "type":
        arrays["joints"] = arrays["joints"].astype("f8")
    elif change == "count":
        arrays["action"] = arrays["action"][:-1]
    else:
        arrays.update({field.name: np.zeros((0, *field.shape), field.dtype) for field in tiny.FIELDS})


@pytest.mark.parametrize("change", ["missing", "shape", "type", "count", "empty"])
def test_arrays_that_do_not_match_are_refused(change: str, dataset: Path) -> None:
    arrays = tiny.make_arrays(6, 12)
    change_arrays(arrays, change)
    with pytest.raises(ValueError, match=r"action|joints|samples"):
        commit_shard(dataset, load_header(dataset), 1, arrays, tiny.make_table(6, 12), "run")
    assert (dataset / receipt_path(1)).exists()


@pytest.mark.parametrize("rows", [tiny.make_rows(6, 11), tiny.make_rows(7, 13), tiny.make_rows(6, 12)[::-1]])
def test_rows_that_do_not_match_are_refused(rows: list[dict[str, Any]], dataset: Path) -> None:
    with pytest.raises(ValueError, match="row"):
        commit_shard(dataset, load_header(dataset), 1, tiny.make_arrays(6, 12), tiny.to_table(rows), "run")
    assert (dataset / receipt_path(1)).exists()


def test_a_run_that_has_ended_commits_nothing(dataset: Path) -> None:
    before = {name: (dataset / name).read_bytes() for name in tiny.files_of(dataset)}
    with pytest.raises(PosegenError, match="has ended"):
        tiny.commit(dataset, load_header(dataset), 1, 14, tiny.ended_run())
    assert {name: (dataset / name).read_bytes() for name in tiny.files_of(dataset)} == before
