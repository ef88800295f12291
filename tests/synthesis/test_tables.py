"""The table of a batch: its rows as dicts, and its columns as a dataset stores them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import posegen
from posegen.synthesis.synthesize import Batch, rows_schema


@pytest.fixture(scope="module")
def batch() -> Batch:
    return posegen.synthesize(posegen.load_config("crowd", ["frames=100"]), [3, 1, 4])


def rounded(value: Any) -> Any:
    """Return a value with its numbers as float32."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(np.float32(value)) if isinstance(value, float) else value


def test_stored_rows_are_those_of_the_batch_rounded(batch: Batch) -> None:
    assert batch.sequences.schema.equals(rows_schema(batch.variants))
    assert batch.sequences.to_pylist() == rounded(batch.rows)
    assert [(row["sample"], row["variant"]) for row in batch.rows] == [(n, v) for n in (3, 1, 4) for v in batch.variants]


def test_turns_of_rows_have_all_their_digits(batch: Batch) -> None:
    segment = batch.table.schema.field("actors").type.value_type.field("segments").type.value_type
    assert segment.field("turn").type == pa.float64()


def test_a_batch_without_samples_has_all_columns() -> None:
    empty = posegen.synthesize(posegen.load_config("smoke"), [])
    assert empty.rows == []
    assert empty.sequences.equals(pa.Table.from_pylist([], schema=rows_schema(empty.variants)))
