"""Reading a Parquet part that anybody may have written: what it says of itself is checked before memory is taken by it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posegen.dataset.layout import Header
from posegen.dataset.pages import pages

__all__ = ["most_part_bytes", "read_part", "rows_fault"]

_MOST_ROW_BYTES = 2**20  # a row of many actors and segments has a tenth of it
_MOST_FILE_BYTES = 2**30
_MOST_RATIO = 1000  # of what is unpacked to what is stored; rows alike come to a tenth of it
_BYTES_A_VALUE = 16  # that Arrow takes besides, for where values begin and which are there
_MOST_FOOTER_BYTES = 2**20
_MOST_FOOTER_ENTRIES = 2000
_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
_DEEPEST = 16


def most_part_bytes(rows: int) -> int:
    """Count the bytes that a part of so many rows has at most."""
    return min(rows * _MOST_ROW_BYTES + _MOST_FOOTER_BYTES, _MOST_FILE_BYTES)


def read_part(data: bytes, rows: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Read the table in a Parquet part.

    Parameters
    ----------
    data : bytes
        The whole file.
    rows : int
        How many rows it must have.
    columns : sequence of str, optional
        Columns, or parts of them as Parquet names them; all unless given.

    Raises
    ------
    ValueError
        If it is not a part of so many rows as posegen writes it, or would take more memory than such a one can. pyarrow's own
        errors, and OSError, come from what is damaged inside.
    """
    _check_footer(data)
    file = pq.ParquetFile(
        pa.BufferReader(data),
        thrift_string_size_limit=_MOST_FOOTER_BYTES,
        thrift_container_size_limit=_MOST_FOOTER_ENTRIES,
        page_checksum_verification=True,
    )
    metadata = file.metadata
    if metadata.num_rows != rows:
        _refuse(f"has {metadata.num_rows} rows instead of {rows}")
    if metadata.num_row_groups != 1 or not str(metadata.created_by).startswith("parquet-cpp-arrow"):
        _refuse("is not a Parquet file of one group of rows as posegen writes it")
    for field in file.schema_arrow:
        _check_type(field.type, 0)
    _check_columns(metadata.row_group(0), memoryview(data), rows)
    table = file.read(columns=None if columns is None else list(columns))
    if len(table) != rows:
        _refuse(f"has {len(table)} rows instead of {rows}")
    return table


def rows_fault(table: pa.Table, header: Header, first: int, count: int) -> str | None:
    """Say in what the rows of a table are not those of samples and their variants in order; None if in nothing."""
    variants = len(header.variants)
    expected = {"sample": np.repeat(np.arange(first, first + count), variants).tolist(), "variant": [*header.variants] * count}
    for column, values in expected.items():
        if column in table.schema.names and table.column(column).to_pylist() != values:
            return f"does not go through the shard's samples and their variants in its column `{column}`"
    return None


def _refuse(reason: str) -> None:
    raise ValueError(reason)


def _check_footer(data: bytes) -> None:
    length, magic = _TAIL.unpack(data[-_TAIL.size :]) if len(data) >= _TAIL.size + len(_MAGIC) else (0, b"")
    if not data.startswith(_MAGIC) or magic != _MAGIC:
        _refuse("is not a Parquet file")
    if length > min(_MOST_FOOTER_BYTES, len(data) - _TAIL.size - len(_MAGIC)):
        _refuse("says that it has a larger footer than it can have")


def _check_type(kind: pa.DataType, depth: int) -> None:
    """Refuse columns that rows do not have: those of a type that can stand for far more than is stored."""
    types = pa.types
    nested = types.is_struct(kind) or types.is_list(kind) or types.is_large_list(kind)
    plain = types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
    if not nested and not plain and not types.is_integer(kind) and not types.is_floating(kind):
        _refuse(f"has a column of type {kind!s:.60}")
    if depth > _DEEPEST:
        _refuse("has columns nested too deep")
    for i in range(kind.num_fields):
        _check_type(kind.field(i).type, depth + 1)


def _check_columns(group: Any, data: memoryview, rows: int) -> None:
    """Refuse a group of rows that would unpack to more than its rows, or its bytes, account for."""
    most = min(rows * _MOST_ROW_BYTES, _MOST_RATIO * len(data)) + _MOST_FOOTER_BYTES
    taken = 0
    for number in range(group.num_columns):
        column = group.column(number)
        start, length = column.data_page_offset, column.total_compressed_size
        if column.has_dictionary_page or column.file_path or not 0 <= start <= start + length <= len(data):
            _refuse(f"has a column {column.path_in_schema:.60} that is not stored as posegen stores it")
        found = pages(data[start : start + length])
        if sum(page.values for page in found) != column.num_values:
            _refuse(f"has a column {column.path_in_schema:.60} whose pages do not hold what its footer says")
        taken += sum(page.bytes + _BYTES_A_VALUE * page.values for page in found)
    if taken > most:
        _refuse(f"says that it unpacks to {taken} bytes, more than {rows} rows can have")
