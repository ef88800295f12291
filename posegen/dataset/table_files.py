"""Read a user's tables: CSV and Parquet files, which are untrusted.

What the columns mean is the matter of the callers.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from posegen.errors import UsageError
from posegen.wording import shown

TABLES = (".csv", ".parquet")
"""Endings of the names of tables."""
MOST_TABLE_BYTES = 2 * 2**30
_LINES = pc.ParseOptions(newlines_in_values=True)
_MOST_ROW_BYTES = 64 * 2**20
_BLOCKS = pc.ReadOptions(block_size=_MOST_ROW_BYTES)
"""A row of a CSV file must fit into a block, which is 1 MB by default."""


def read_table(path: Path) -> pa.Table:
    """Read a CSV or Parquet file.

    Raises
    ------
    UsageError
        If it is absent, too large, invalid or empty, has two columns of one name, or is CSV in another encoding than UTF-8.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file. Give a table that ends in {' or '.join(TABLES)}")
    if path.stat().st_size > MOST_TABLE_BYTES:
        raise UsageError(f"{path}: has {path.stat().st_size:,} bytes; at most {MOST_TABLE_BYTES:,} are read. Split it")
    try:
        is_csv = path.suffix.lower() == ".csv"
        table = pc.read_csv(path, read_options=_BLOCKS, parse_options=_LINES) if is_csv else pq.read_table(path)
        names = table.column_names
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: a name of a column is not UTF-8. Save the table as UTF-8 CSV") from error
    except (pa.ArrowException, OSError) as error:
        if "straddling" in str(error):
            problem = f"a row has more than {_MOST_ROW_BYTES // 2**20} MB, or a quote is not closed"
            raise UsageError(f"{path}: {problem}. Shorten the texts, or correct the quotes") from error
        raise UsageError(f"{path}: is no valid table ({str(error).splitlines()[0]}). Save it again as UTF-8 CSV") from error
    if not len(table):
        raise UsageError(f"{path}: the table has no rows")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{path}: has {names.count(name)} columns {shown(name)}. Rename or remove all but one")
        # Texts of a CSV file that are not UTF-8 are read as bytes.
        if is_csv and pa.types.is_binary(table.schema.field(name).type):
            raise UsageError(f"{path}: the column {shown(name)} is not UTF-8. Save the table as UTF-8 CSV")
    return table


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type of columns holds texts, plain or as numbers of a dictionary.

    >>> is_text(pa.string()), is_text(pa.int32())
    (True, False)
    """
    coded = pa.types.is_dictionary(kind) and is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or coded)


def text_columns(table: pa.Table) -> tuple[str, ...]:
    """Return the names of the columns of texts."""
    return tuple(field.name for field in table.schema if is_text(field.type))


def read_texts(path: Path) -> pa.Table:
    """Read a table with a column ``text``, and optionally known numbers such as ``stature``.

    Raises
    ------
    UsageError
        If it cannot be read, there is no such column, or a text is empty.
    """
    table = read_table(path)
    if "text" not in table.column_names:
        raise UsageError(f"{path}: has no column text, but {', '.join(table.column_names)}. Rename the column of the texts")
    if not (pa.types.is_string(table.schema.field("text").type) or pa.types.is_large_string(table.schema.field("text").type)):
        raise UsageError(f"{path}: the column text has the type {table.schema.field('text').type}; it must hold texts")
    for row, text in enumerate(table["text"].to_pylist()):
        if not (text or "").strip():
            raise UsageError(f"{path}: row {row} has no text. Remove the row")
    return table
