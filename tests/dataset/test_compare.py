from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from posegen.dataset.compare import Difference, compare
from posegen.dataset.header import load_header
from posegen.dataset.read import open_dataset
from posegen.dataset.write import commit_shard
from tests.dataset.tiny import FIELDS, fill, make_arrays, make_rows, to_table


def test_a_dataset_equals_itself_in_other_shards(dataset: Path, tmp_path: Path) -> None:
    fill(tmp_path / "other", 14, shard=4, chunk=2, run="another-run")
    assert not compare(dataset, tmp_path / "other").differences
    assert not compare(dataset, open_dataset(tmp_path / "other"), deep=True).samples


def change(dataset: Path, what: str) -> None:
    """Make shard 1 again with another sample 8."""
    arrays, rows = make_arrays(6, 12), make_rows(6, 12)
    if what == "joints":
        arrays["joints"][2, 1, 5, 0] += 1
    elif what == "action":
        arrays["action"][2] = 6
    else:
        rows[4]["captions"][0]["text"] += "!"
    commit_shard(dataset, load_header(dataset), 1, arrays, to_table(rows), "run")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("joints", [("joints", 8, "mirror")]),
        ("action", [("action", 8, "base"), ("action", 8, "mirror")]),
        ("rows", [("rows", 8, "base")]),
    ],
)
@pytest.mark.parametrize("deep", [False, True])
def test_a_difference_is_located(what: str, expected: list[Any], deep: bool, dataset: Path, tmp_path: Path) -> None:
    fill(tmp_path / "other", 14, shard=4, chunk=2)
    change(dataset, what)
    assert [*compare(dataset, tmp_path / "other", deep=deep).differences] == [Difference(*entry) for entry in expected]
    assert [*compare(tmp_path / "other", dataset, deep=deep, most=1).differences] == [Difference(*expected[0])]
    assert compare(dataset, tmp_path / "other", deep=deep).samples


def test_missing_samples_fields_and_variants_are_reported(dataset: Path, tmp_path: Path) -> None:
    fill(tmp_path / "shorter", 12)
    assert [*compare(dataset, tmp_path / "shorter").differences] == [("samples", 12, None), ("samples", 13, None)]
    fill(tmp_path / "other", 0, variants=("base", "speed"))
    assert [*compare(dataset, tmp_path / "other").differences] == [("variants", None, None)]
    fill(tmp_path / "fewer", 0, fields=FIELDS[:2])
    assert [*compare(dataset, tmp_path / "fewer", most=1).differences] == [("contact", None, None)]
