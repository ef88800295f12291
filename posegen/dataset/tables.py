"""The table of sequences: encode and decode Parquet files, hash the rows of each sample, filter rows.

A sample's rows are hashed by columns, as Arrow stores them: for each node of the schema, depth first, the validity of its
values, the lengths of its lists and texts, and its values, little-endian with -0 as 0. Therefore a hash does not depend on how
Parquet or Arrow arrange the table, and takes a tenth of the time of writing the rows as text.

Not responsible for which columns there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from posegen.dataset.layout import Header
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.hashing import canonical
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import shown

CAPTION_TEXTS = "captions.list.element.text"
"""Parquet path of the texts of captions."""

UNDECODABLE = (
    *(ValueError, TypeError, RuntimeError, IndexError, KeyError, OverflowError, MemoryError),
    *(pa.ArrowException, OSError),
)
"""Exceptions that zarr, its codecs and Arrow raise for bytes that they did not write."""

_MAX_ROW_BYTES = 2**20  # ten times a row of many actors and segments
_MAX_FILE_BYTES = 2**30
_MAX_RATIO = 1000  # of unpacked to stored bytes; ten times that of equal rows
_BYTES_PER_VALUE = 16  # what Arrow allocates for offsets and validity
_MAX_METADATA_BYTES = 2**20
_MAX_METADATA_ENTRIES = 2000


def max_table_bytes(rows: int) -> int:
    """Return the largest size of a Parquet file with this number of rows, in bytes."""
    return min(rows * _MAX_ROW_BYTES + _MAX_METADATA_BYTES, _MAX_FILE_BYTES)


def decode_table(data: bytes, rows: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Decode a Parquet file, which may come from an untrusted dataset.

    The metadata of the file is checked before values are decoded; pyarrow bounds the metadata itself.

    Parameters
    ----------
    data : bytes
        The whole file.
    rows : int
        Number of rows that it must have.
    columns : sequence of str, optional
        Parquet paths of columns; all unless given.

    Raises
    ------
    ValueError
        If it has another number of rows, or declares more memory than such rows can take. For damaged files, pyarrow's own
        exceptions and OSError; see :data:`UNDECODABLE`.
    """
    # A thread of pyarrow that released memory of Python while the program ends would abort it.
    buffer = pa.allocate_buffer(len(data))
    memoryview(buffer).cast("B")[:] = data
    file = pq.ParquetFile(
        pa.BufferReader(buffer),
        thrift_string_size_limit=_MAX_METADATA_BYTES,
        thrift_container_size_limit=_MAX_METADATA_ENTRIES,
        page_checksum_verification=True,
    )
    metadata = file.metadata
    if metadata.num_rows != rows:
        raise ValueError(f"has {metadata.num_rows} rows instead of {rows}")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    declared = sum(chunk.total_uncompressed_size + _BYTES_PER_VALUE * chunk.num_values for chunk in chunks)
    if declared > min(rows * _MAX_ROW_BYTES, _MAX_RATIO * len(data)) + _MAX_METADATA_BYTES:
        raise ValueError(f"declares {declared} bytes of values, more than {rows} rows can have")
    table = file.read(columns=None if columns is None else list(columns))
    if len(table) != rows:
        raise ValueError(f"has {len(table)} rows instead of {rows}")
    return table


def column_numbers(column: pa.ChunkedArray | pa.Array) -> Array:
    """Return the values of a column of numbers without nulls; pyarrow's own conversion imports pandas, if it is installed.

    Raises
    ------
    pyarrow.ArrowTypeError
        If there are nulls, or values of another type.

    Examples
    --------
    >>> column_numbers(pa.chunked_array([[1, 2], [3]])).tolist()
    [1, 2, 3]
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found: Array = np.from_dlpack(whole)
    return found


def find_rows_fault(table: pa.Table, header: Header, first: int, count: int) -> str | None:
    """Describe how the rows of a table differ from `count` samples with their variants in order; None if they do not."""
    variants = len(header.variants)
    if len(table) != count * variants:
        return f"has {len(table)} rows for {count} samples with {variants} variants"
    expected = {"sample": np.repeat(np.arange(first, first + count), variants).tolist(), "variant": [*header.variants] * count}
    for column, values in expected.items():
        if column in table.schema.names and table.column(column).to_pylist() != values:
            return f"does not have the rows of the shard's samples and variants in order in its column `{column}`"
    return None


def caption_texts(column: Any) -> Any:
    """Return the texts of captions.

    Parameters
    ----------
    column : pyarrow.ChunkedArray or pyarrow.Array
        Lists of structs with a ``text``.

    Returns
    -------
    pyarrow.ListArray
        A list of texts per row.
    """
    captions = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.ListArray.from_arrays(captions.offsets, pc.struct_field(captions.values, "text"))


def encode_table(table: pa.Table) -> bytes:
    """Encode a table as a Parquet file with one row group."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=max(len(table), 1),
        compression="zstd",
        compression_level=1,
        # Values of sequences seldom repeat: zstd alone is smaller and faster than with dictionaries.
        use_dictionary=False,
        # For readers of some samples only; statistics of captions would be as large as the captions.
        write_statistics=[name for name in ("sample", "variant") if name in table.schema.names],
        write_page_checksum=True,
    )
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def owners(lists: pa.ListArray) -> Array:
    """Return the list that each value of `lists.flatten()` belongs to."""
    return np.asarray(pc.list_parent_indices(lists), np.int64)


def hash_rows(table: pa.Table, per_sample: int) -> str:
    """Hash the rows of each sample.

    Parameters
    ----------
    table : pyarrow.Table
        Rows in the order of the samples.
    per_sample : int
        Number of rows of a sample.

    Returns
    -------
    str
        32 hexadecimal digits for each sample, concatenated.
    """
    bounds = np.arange(0, len(table) + 1, per_sample)
    columns = [(field, table.column(field.name).combine_chunks()) for field in table.schema]
    leaves = [leaf for field, column in columns for leaf in _leaves(column, field.name, bounds)]
    start = xxhash.xxh3_128("\n".join(name for name, _, _ in leaves).encode())
    hashes = []
    parts = [[values[begin:end] for begin, end in pairwise(ends)] for _, values, ends in leaves]
    for own in zip(*parts, strict=True):
        digest = start.copy()
        digest.update(b"".join(own))  # one call for a sample's hundred leaves
        hashes.append(digest.hexdigest())
    return "".join(hashes)


def _leaves(array: Any, name: str, bounds: Array) -> Iterator[tuple[str, bytes, list[int]]]:
    """Yield the path and the bytes of each node, and the offsets at which the samples begin.

    Parameters
    ----------
    array : pyarrow.Array
    name : str
        Path of the node in the schema.
    bounds : int64 [samples + 1]
        Indices in `array` at which the samples begin.
    """
    kind = array.type
    valid = (
        _numbers(array.is_valid().cast(pa.uint8()), np.dtype(np.uint8)) if array.null_count else np.ones(len(array), np.uint8)
    )
    yield _leaf(f"{name}?", valid, bounds)
    if pa.types.is_struct(kind):
        for field, child in zip(kind, array.flatten(), strict=True):
            yield from _leaves(child, f"{name}.{field.name}", bounds)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = _numbers(array.value_lengths(), np.dtype(np.int64))
        yield _leaf(f"{name}#", lengths, bounds)
        yield from _leaves(array.flatten(), f"{name}[]", _inner_bounds(lengths, bounds))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield from _text_leaves(array, name, bounds)
    elif pa.types.is_boolean(kind):
        yield _leaf(f"{name}:bool", _numbers(array.cast(pa.uint8()), np.dtype(np.uint8)), bounds)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        yield _leaf(f"{name}:{kind}", canonical(_numbers(array, np.dtype(kind.to_pandas_dtype()))), bounds)
    else:
        raise ValueError(f"column {name}: values of type {kind} cannot be stored")


def _text_leaves(array: Any, name: str, bounds: Array) -> Iterator[tuple[str, bytes, list[int]]]:
    encoded = (pc.fill_null(array, "") if array.null_count else array).cast(pa.large_binary())
    lengths = _numbers(pc.binary_length(encoded), np.dtype(np.int64))
    yield _leaf(f"{name}#", lengths, bounds)
    whole = pa.LargeListArray.from_arrays(pa.array([0, len(encoded)], pa.int64()), encoded)
    letters = pc.binary_join(whole, pa.scalar(b"", pa.large_binary()))[0].as_buffer()
    yield _leaf(f"{name}:text", np.frombuffer(letters, np.uint8), _inner_bounds(lengths, bounds))


def _numbers(array: Any, dtype: np.dtype[Any]) -> Array:
    """Return the values of an Arrow array of numbers, 0 where they are null."""
    return np.asarray(column_numbers(array.fill_null(0) if array.null_count else array), dtype)


def _inner_bounds(lengths: Array, bounds: Array) -> Array:
    """Convert bounds in an array of lists to bounds in the values of the lists."""
    return np.concatenate(([0], np.cumsum(lengths)))[bounds]


def _leaf(name: str, values: Array, bounds: Array) -> tuple[str, bytes, list[int]]:
    plain = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    # Slices of bytes are made in a tenth of the time of those of a memoryview.
    return name, plain.tobytes(), (bounds * plain.itemsize).tolist()


QUALITY = "quality"
"""Derived field that a condition may name like a column: the lowest of the actors of a sequence."""


def matching_rows(table: pa.Table, where: str) -> pa.Table:
    """Return the rows of a table for which an SQL condition holds.

    Parameters
    ----------
    table : pyarrow.Table
    where : str
        Expression on the columns, such as ``duration > 4 AND theme = 'gym'``.

    Raises
    ------
    UsageError
        If DuckDB is not installed, or does not accept the condition.
    """
    require_extra("filter")
    import duckdb

    # A condition may come from elsewhere: it reads the table and nothing else.
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("sequences", table)
        try:
            # Only an expression is accepted here; in the text of a query, a condition could end the query and begin another.
            return connection.view("sequences").filter(where).to_arrow_table()
        except duckdb.Error as error:
            reason, columns = str(error).splitlines()[0].rstrip("!."), ", ".join(table.column_names)
            hint = ""
            if QUALITY in where and QUALITY not in table.column_names:
                hint = f", and {QUALITY} after posegen derive DATASET --add {QUALITY}"
            raise UsageError(f"the condition {shown(where)} cannot be used: {reason}. Columns: {columns}{hint}") from error
