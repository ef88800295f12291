"""Read a user's tables: CSV and Parquet files, which are untrusted.

A CSV file may be separated by commas, semicolons, tabs or bars, begin with a byte order mark or a line ``sep=;``, and be stored
as UTF-8, UTF-16 or, with a note, as Windows-1252. What the columns mean is the matter of the callers; texts that are
numbers are read by :mod:`posegen.dataset.table_values`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
import pyarrow.parquet as pq

from posegen.foundations.errors import UsageError
from posegen.foundations.wording import hidden_character, shown

TABLES = (".csv", ".tsv", ".parquet")
"""Endings of the names of tables."""
MOST_TABLE_BYTES = 2 * 2**30
_MOST_ROW_BYTES = 64 * 2**20
_BLOCK_BYTES = _MOST_ROW_BYTES
"""A row of a CSV file must fit into a block, which is 1 MB by default."""
_DELIMITERS = ",;\t|"
_HEAD_BYTES = 1 << 16
_SEPARATOR_LINE = re.compile(r"\s*sep=(.)\s*", re.IGNORECASE)
_WINDOWS = "cp1252"
_CODE = r"^[-+]?0\d"
"""A leading zero: codes, not whole numbers."""


@dataclass(frozen=True)
class _Layout:
    """How a CSV file is stored."""

    encoding: str
    delimiter: str
    skipped: int

    def read(self, path: Path, texts: Sequence[str] = (), only: Sequence[str] = ()) -> pa.Table:
        """Read a file: only some columns, if any are named, and some as texts."""
        return pc.read_csv(
            path,
            read_options=pc.ReadOptions(block_size=_BLOCK_BYTES, encoding=self.encoding, skip_rows=self.skipped),
            parse_options=pc.ParseOptions(newlines_in_values=True, delimiter=self.delimiter),
            convert_options=pc.ConvertOptions(
                column_types=dict.fromkeys(texts, pa.string()), include_columns=list(only) or None
            ),
        )


def read_table(path: Path, notify: Callable[[str], None] = lambda note: None) -> pa.Table:
    """Read a CSV or Parquet file.

    Parameters
    ----------
    path : Path
    notify : callable, optional
        Receives what the user should know about how it was read.

    Raises
    ------
    UsageError
        If it is absent, too large, invalid or empty, or has two columns of one name.
    """
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file. Give a table that ends in {', '.join(TABLES[:-1])} or {TABLES[-1]}")
    if path.stat().st_size > MOST_TABLE_BYTES:
        raise UsageError(f"{path}: has {path.stat().st_size:,} bytes; at most {MOST_TABLE_BYTES:,} are read. Split it")
    try:
        table = pq.read_table(path) if path.suffix.lower() == ".parquet" else _read_csv(path, notify)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeError) as error:
        if "straddling" in str(error):
            problem = f"a row has more than {_MOST_ROW_BYTES // 2**20} MB, or a quote is not closed"
            raise UsageError(f"{path}: {problem}. Shorten the texts, or correct the quotes") from error
        raise UsageError(f"{path}: is no valid table ({str(error).splitlines()[0]}). Save it again as UTF-8 CSV") from error
    if not len(table):
        raise UsageError(f"{path}: the table has no rows")
    for name in names:
        if hidden := hidden_character(name):
            raise UsageError(f"{path}: the name of the column {shown(name)} has the character {hidden}. Rename the column")
        if names.count(name) > 1:
            raise UsageError(f"{path}: has {names.count(name)} columns {shown(name)}. Rename or remove all but one")
    return table


def _read_csv(path: Path, notify: Callable[[str], None]) -> pa.Table:
    layout = _layout(path)
    try:
        table = layout.read(path)
        # Texts that are not UTF-8 are read as bytes, and names of columns fail when they are first seen.
        is_utf8 = not any(pa.types.is_binary(table.schema.field(name).type) for name in table.column_names)
    except UnicodeDecodeError:
        is_utf8 = False
    if not is_utf8:
        layout = _Layout(_WINDOWS, layout.delimiter, layout.skipped)
        table = layout.read(path)
        notify(f"{path}: is not UTF-8 and was read as Windows-1252 (Latin-1). If letters look wrong, save it as UTF-8")
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole or len(set(table.column_names)) < len(table.column_names):
        return table
    texts = layout.read(path, whole, whole)
    for name in whole:
        if compute.any(compute.match_substring_regex(texts[name], _CODE)).as_py():
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def _layout(path: Path) -> _Layout:
    """Return encoding and delimiter by the first line of a CSV file."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    encoding = "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf8"
    lines = head.decode("utf-8-sig" if encoding == "utf8" else encoding, "replace").splitlines() or [""]
    if (stated := _SEPARATOR_LINE.fullmatch(lines[0])) is not None:
        return _Layout(encoding, stated[1], 1)
    names = re.sub(r'"[^"]*"', "", lines[0])
    found = max(_DELIMITERS, key=names.count)
    return _Layout(encoding, found if names.count(found) else "\t" if path.suffix.lower() == ".tsv" else ",", 0)


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
