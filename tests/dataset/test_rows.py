from __future__ import annotations

import io
from copy import deepcopy
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posegen.dataset.tables import encode_table, hash_rows

SCHEMA = pa.schema(
    [
        ("sample", pa.int64()),
        ("name", pa.string()),
        ("weight", pa.float32()),
        ("flags", pa.list_(pa.bool_())),
        ("captions", pa.list_(pa.struct([("text", pa.string()), ("frames", pa.list_(pa.int32()))]))),
        ("where", pa.struct([("x", pa.float64()), ("far", pa.bool_())])),
    ]
)
texts = st.none() | st.text("aé✓", max_size=3)
rows = st.fixed_dictionaries(
    {
        "sample": st.none() | st.integers(0, 3),
        "name": texts,
        "weight": st.none() | st.floats(width=32),
        "flags": st.none() | st.lists(st.none() | st.booleans(), max_size=3),
        "captions": st.none()
        | st.lists(
            st.none() | st.fixed_dictionaries({"text": texts, "frames": st.none() | st.lists(st.integers(0, 2), max_size=3)}),
            max_size=3,
        ),
        "where": st.none() | st.fixed_dictionaries({"x": st.none() | st.floats(), "far": st.none() | st.booleans()}),
    }
)


def split(hashes: str) -> list[str]:
    return [hashes[start : start + 32] for start in range(0, len(hashes), 32)]


def hashes_of(some: list[dict[str, Any]], per_sample: int = 1) -> list[str]:
    return split(hash_rows(pa.Table.from_pylist(some, schema=SCHEMA), per_sample))


def plain(value: Any) -> Any:
    """Convert a value such that values with equal hashes are equal: NaN equals itself."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return "NaN" if value != value else value


@settings(max_examples=50)
@given(st.lists(rows, min_size=2, max_size=6))
def test_hashes_are_equal_exactly_if_rows_are(some: list[dict[str, Any]]) -> None:
    hashes = hashes_of(some)
    for i, first in enumerate(some):
        for j, second in enumerate(some):
            assert (hashes[i] == hashes[j]) == (plain(first) == plain(second))


@settings(max_examples=50)
@given(st.lists(rows, min_size=1, max_size=6), st.lists(rows, max_size=3), st.lists(rows, max_size=3))
def test_a_hash_does_not_depend_on_other_samples(
    some: list[dict[str, Any]], before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    table = pa.Table.from_pylist(before + some + after, schema=SCHEMA)
    inner = slice(len(before), len(before) + len(some))
    assert split(hash_rows(table, 1))[inner] == hashes_of(some)
    assert split(hash_rows(table.slice(inner.start, len(some)), 1)) == hashes_of(some)


@settings(max_examples=50)
@given(st.lists(rows, min_size=1, max_size=6), st.integers(0, 6))
def test_a_hash_does_not_depend_on_parquet_and_chunks(some: list[dict[str, Any]], cut: int) -> None:
    table = pa.Table.from_pylist(some, schema=SCHEMA)
    back = pq.read_table(io.BytesIO(encode_table(table)))
    assert back.schema.equals(SCHEMA)
    pieces = pa.concat_tables([back.slice(0, cut), back.slice(cut)])
    assert split(hash_rows(pieces, 1)) == hashes_of(some)


def test_moving_values_between_lists_changes_the_hash() -> None:
    row: dict[str, Any] = {"sample": 1, "name": "ab", "weight": 0.0, "flags": [], "captions": [], "where": None}
    a, b = deepcopy(row), deepcopy(row)
    a["captions"] = [{"text": "ab", "frames": [1]}, {"text": "c", "frames": [2]}]
    b["captions"] = [{"text": "a", "frames": [1, 2]}, {"text": "bc", "frames": []}]
    assert len(set(hashes_of([row, a, b, row | {"weight": -0.0}]))) == 3


def test_renaming_a_column_changes_the_hash() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert hash_rows(table, 1) != hash_rows(table.rename_columns(["a", "c"]), 1)


def test_values_that_cannot_be_hashed_are_refused() -> None:
    with pytest.raises(ValueError, match="column a"):
        hash_rows(pa.table({"a": pa.array([1], pa.duration("s"))}), 1)
