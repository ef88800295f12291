from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.dataset
import pytest
import xarray
import zarr

from posegen.dataset.header import load_header
from posegen.dataset.layout import REPAIR_FILE
from posegen.dataset.parts import record_repair
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.runs import current_run
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError
from tests.dataset.tiny import VARIANTS, fill, make_arrays, make_header, make_rows


def assert_rows_equal(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    rounded = [row | {"duration": float(np.float32(row["duration"]))} for row in expected]
    assert rows == rounded


@pytest.mark.parametrize(("samples", "shard", "chunk"), [(14, 6, 3), (12, 6, 6), (1, 6, 2), (5, 1, 1)])
def test_what_was_written_is_read(samples: int, shard: int, chunk: int, tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    fill(path, samples, shard=shard, chunk=chunk)
    dataset = open_dataset(path)
    expected = make_arrays(0, samples)
    assert len(dataset) == samples
    for name, values in expected.items():
        np.testing.assert_array_equal(dataset.arrays(name), values)
        for start, stop in ((0, 1), (samples // 2, samples), (0, samples)):
            np.testing.assert_array_equal(dataset.arrays(name, slice(start, stop)), values[start:stop])
    assert_rows_equal(dataset.sequences.to_pylist(), make_rows(0, samples))


def test_single_samples_are_read(dataset: Path) -> None:
    opened = open_dataset(dataset)
    expected = make_arrays(0, 14)
    for index, sample in enumerate(opened):
        assert sample.index == index
        np.testing.assert_array_equal(sample.joints, expected["joints"][index])
        np.testing.assert_array_equal(sample.arrays["action"], expected["action"][index])
        assert_rows_equal(sample.sequences, make_rows(index, index + 1))
    assert opened[-1].index == 13
    assert opened[np.int64(3)].index == 3
    for index in (14, -15):
        with pytest.raises(IndexError, match="there are 14"):
            opened[index]
    with pytest.raises(AttributeError, match="joints, action, contact"):
        _ = opened[0].rotation


@pytest.mark.parametrize(
    "selected",
    [
        slice(None),
        slice(3, 11),
        slice(11, 3, -2),
        slice(1, None, 4),
        slice(20, 30),
        [5, 0, 13, 5],
        [-1],
        [],
        np.arange(14) % 3 == 0,
    ],
)
def test_selected_samples_are_read(selected: Any, dataset: Path) -> None:
    opened = open_dataset(dataset)
    indices = np.asarray(selected, np.int64) if isinstance(selected, list) else selected
    for name, values in make_arrays(0, 14).items():
        np.testing.assert_array_equal(opened.arrays(name, selected), values[indices])


def test_wrong_samples_and_fields_are_refused(dataset: Path) -> None:
    opened = open_dataset(dataset)
    with pytest.raises(PosegenError, match="no field 'rotation', only joints"):
        opened.arrays("rotation")
    with pytest.raises(IndexError, match="no sample 14"):
        opened.arrays("joints", [14])
    with pytest.raises(TypeError):
        opened.arrays("joints", [1.5])


def test_other_programs_read_a_dataset(dataset: Path) -> None:
    expected = make_arrays(0, 14)
    group: Any = zarr.open_group(dataset / "motion.zarr", mode="r")
    assert group.attrs["identity"] == make_header().identity
    with xarray.open_zarr(dataset / "motion.zarr", consolidated=False) as arrays:
        for name, values in expected.items():
            np.testing.assert_array_equal(group[name][:], values)
            np.testing.assert_array_equal(arrays[name].values, values)
        assert arrays["joints"].dims == ("sample", "variant", "frame", "axis")
        assert arrays["action"].attrs["names"] == ["walk", "wäve"]
    table = pyarrow.dataset.dataset(dataset / "sequences").to_table()
    assert_rows_equal(table.to_pylist(), make_rows(0, 14))
    query = f"select sample, variant, len(captions) from '{dataset}/sequences/*.parquet' order by sample, variant"
    assert duckdb.sql(query).fetchall() == [(i, variant, i % 3) for i in range(14) for variant in VARIANTS]


def test_only_published_samples_are_visible(dataset: Path) -> None:
    publish(dataset, make_header(), 6)
    opened = open_dataset(dataset)
    assert len(opened) == 6
    assert opened.arrays("joints").shape[0] == 6
    assert len(opened.sequences) == 12
    publish(dataset, make_header(), 9)
    assert len(open_dataset(dataset).sequences) == 18
    assert open_dataset(dataset).table(1)["sample"].to_pylist() == [6, 6, 7, 7, 8, 8]


def test_arrays_longer_than_the_complete_shards_are_refused(dataset: Path) -> None:
    publish(dataset, make_header(), 200)
    header = (dataset / "dataset.json").read_bytes()
    publish(dataset, make_header(), 6)
    intact = (dataset / "dataset.json").read_bytes()
    (dataset / "dataset.json").write_bytes(header)
    publish(dataset, make_header(), 200)
    (dataset / "dataset.json").write_bytes(intact)
    with pytest.raises(PosegenError, match=r"zarr\.json does not match the header"):
        open_dataset(dataset)


def test_a_dataset_without_samples(tmp_path: Path) -> None:
    fill(tmp_path / "dataset", 0)
    opened = open_dataset(tmp_path / "dataset")
    assert len(opened) == 0
    assert opened.arrays("joints").shape == (0, 2, 40, 3)
    assert list(opened) == []
    with pytest.raises(PosegenError, match="no samples yet"):
        _ = opened.sequences


def test_other_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(PosegenError, match="is not a dataset"):
            open_dataset(path)


def test_sizes_match_the_files(dataset: Path) -> None:
    sizes = open_dataset(dataset).sizes()
    assert sizes["joints"] == sum(os.path.getsize(dataset / f"motion.zarr/joints/c.{i}.0.0.0") for i in range(3))
    assert sizes["rows"] == sum(file.stat().st_size for file in (dataset / "sequences").iterdir())
    assert sizes["contact"] == 0


def test_a_dataset_can_be_pickled(dataset: Path) -> None:
    opened = open_dataset(str(dataset))
    back = pickle.loads(pickle.dumps(opened))
    assert isinstance(back, Dataset)
    np.testing.assert_array_equal(back.arrays("joints"), opened.arrays("joints"))
    sample = pickle.loads(pickle.dumps(opened[3]))
    np.testing.assert_array_equal(sample.joints, opened[3].joints)


def test_a_dataset_whose_repair_has_not_finished_is_not_opened(dataset: Path) -> None:
    header = load_header(dataset)
    record_repair(dataset, 14, "run")
    assert len(open_dataset(dataset)) == 14, "nothing is hidden yet"
    publish(dataset, header, 6)
    with pytest.raises(PosegenError, match=r"6 of 14 samples.*posegen verify .* --repair"):
        open_dataset(dataset)
    (dataset / ".lock").write_text(f"process 1 (run {current_run()})")
    with pytest.raises(PosegenError, match=r"6 of 14 samples.*Wait until"):
        open_dataset(dataset)
    publish(dataset, header, 14)
    assert len(open_dataset(dataset)) == 14
    assert not (dataset / REPAIR_FILE).exists()


def test_a_dataset_that_is_being_extended_opens_with_its_visible_samples(dataset: Path) -> None:
    assert open_dataset(dataset).hidden_shards == 0
    publish(dataset, load_header(dataset), 6)
    opened = open_dataset(dataset)
    assert (len(opened), opened.hidden_shards) == (6, 2)
