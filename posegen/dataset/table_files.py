"""Read a user's tables: CSV and Parquet files, which are untrusted, and columns whose numbers are texts.

A CSV file may be separated by commas, semicolons, tabs or bars, begin with a byte order mark or a line ``sep=;``, and be stored
as UTF-8, UTF-16 or, with a note, as Windows-1252. Numbers may be written as prices, percentages or with thousands separated;
the whole column decides whether a comma or a point separates decimals. What the columns mean is the matter of the callers.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
import pyarrow.parquet as pq

from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
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
_CODE = r"[-+]?0\d"
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
        if compute.any(compute.match_substring_regex(texts[name], f"^{_CODE}")).as_py():
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


def text_columns(path: Path, table: pa.Table, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of texts; UsageError if one that is chosen is none of them."""
    known = tuple(field.name for field in table.schema if is_text(field.type))
    for name in chosen:
        require_known(f"{path}: has no column of texts", name, known)
    return known


def require_parquet(path: Path) -> None:
    """Raise UsageError unless a table is written to a Parquet file."""
    if path.suffix.lower() != ".parquet":
        raise UsageError(f"{path}: the file name must end in .parquet")


MOST = 1e15
"""Numbers of a larger size are taken for mistakes."""
DECIMALS = (".", ",")
_MISSING = {"", "-", "?", "na", "n/a", "nan", "none", "null"}
_SIGN = r"(?:[$€£¥₹%]|EUR|USD|GBP|CHF|JPY|INR)"
_GROUPS = {".": r"[, '\u00a0\u202f]", ",": r"[. '\u00a0\u202f]"}


def _pattern(decimal: str) -> re.Pattern[str]:
    number = rf"(?:\d{{1,3}}(?:{_GROUPS[decimal]}\d{{3}})+|\d+)(?:\{decimal}\d+)?(?:[eE][-+]?\d+)?|\{decimal}\d+"
    return re.compile(rf"([-+]?)\s*{_SIGN}?\s*([-+]?)\s*({number})\s*{_SIGN}?", re.IGNORECASE)


_PATTERNS = {decimal: _pattern(decimal) for decimal in DECIMALS}


def parse_number(text: str | None, decimal: str = ".") -> float:
    """Return the number that a text is; NaN if it is none.

    Parameters
    ----------
    text : str or None
    decimal : str
        What separates decimals, a point or a comma; the other one separates thousands.

    Examples
    --------
    >>> parse_number("$1,234.50"), parse_number("1.234,5 €", ","), parse_number("12 %"), parse_number("boots")
    (1234.5, 1234.5, 12.0, nan)
    """
    match = _PATTERNS[decimal].fullmatch((text or "").strip())
    if match is None:
        return float("nan")
    digits = re.sub(_GROUPS[decimal], "", match[3]).replace(",", ".")
    return float(("-" if "-" in match[1] + match[2] else "") + digits)


def parse_numbers(texts: Iterable[str | None], decimal: str) -> Array:
    """Return the numbers that texts are, float64 [n]; NaN where there is none."""
    return np.array([parse_number(text, decimal) for text in texts], np.float64)


def decimal_of(texts: Iterable[str | None]) -> str | None:
    """Return what separates decimals in a column of numbers that are texts; None if it is no such column.

    Examples
    --------
    >>> decimal_of(["1.234,5", "7"]), decimal_of(["$1.50", None]), decimal_of(["red", "1"]), decimal_of(["007", "120"])
    (',', '.', None, None)
    """
    known = {text.strip() for text in texts if text is not None and text.strip().lower() not in _MISSING}
    if not known or any(re.match(_CODE, text) and text.isdecimal() for text in known):
        return None
    return next((each for each in DECIMALS if all(_PATTERNS[each].fullmatch(text) for text in known)), None)


def first_number(texts: Iterable[str | None], decimal: str) -> str:
    """Return the first number of a column as it is written and as it is read.

    >>> first_number(["", "1,5"], ",")
    '1,5 is 1.5'
    """
    text = next(text for text in texts if text is not None and not np.isnan(parse_number(text, decimal)))
    return f"{text.strip()} is {parse_number(text, decimal):g}"


def unusable_number(values: Array) -> int | None:
    """Return the first row whose number is infinite or larger than :data:`MOST`; None if there is none. NaN is missing.

    >>> unusable_number(np.array([1.0, np.nan, 1e300]))
    2
    """
    rows = np.flatnonzero(np.abs(np.nan_to_num(values, nan=0.0, posinf=np.inf)) > MOST)
    return int(rows[0]) if len(rows) else None


def hidden_text(texts: Iterable[str | None]) -> tuple[int, str] | None:
    r"""Return the first row with a control character other than a tab or a line end, and the character; None if there is none.

    >>> hidden_text(["a\n", "b\x07"])
    (1, 'U+0007 (control character)')
    """
    for row, text in enumerate(texts):
        if text and not text.isprintable() and (hidden := hidden_character(text, "\t\r\n")):
            return row, hidden
    return None


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type of columns holds numbers or truth values."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def is_vector(kind: pa.DataType) -> bool:
    """Return whether a type of columns holds lists of floating-point numbers."""
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and types.is_floating(kind.value_type))
