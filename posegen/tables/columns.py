"""Columns of a user's table as a model reads and predicts them, and the arrays of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from posegen.dataset import table_files
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError, require_known
from posegen.tables.settings import Table
from posegen.training.report import label_notes

MOST_CATEGORIES = 1000
_MOST_TEXTS, _MOST_VALUES = 8, 8192
_MOST_SMALL, _ROWS_PER_SMALL = 100, 10
"""A column of texts with at most this many different ones, each in this many rows on average, is a category."""
_ALIKE = 0.5
"""Share of common words from which two columns of texts are a pair."""
Notify = Callable[[str], None]


@dataclass(frozen=True)
class Columns:
    """Columns that a model reads and predicts.

    Attributes
    ----------
    label : str
    categories : tuple of str
        Names of the categories; none for a number.
    is_ratio : bool
        Whether the label is a positive number: the model learns its logarithm.
    texts, numbers, small : tuple of str
        Columns of texts, of numbers, and of few distinct texts.
    vectors : dict of str to int
        Columns of vectors with their dimension.
    pair : tuple of str
        Two columns of texts with common words, or two of vectors; empty without.
    decimals : dict of str to str
        Columns of numbers that are stored as texts, with what separates decimals.
    encoder : str or None
        Encoder of the texts.
    """

    label: str
    categories: tuple[str, ...]
    is_ratio: bool
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    small: tuple[str, ...]
    vectors: dict[str, int]
    pair: tuple[str, ...]
    decimals: dict[str, str]
    encoder: str | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return (*self.texts, *self.numbers, *self.small, *self.vectors)


@dataclass(frozen=True)
class Rows:
    """Inputs of rows.

    Attributes
    ----------
    texts : dict of str to object [row]
    numbers : float64 [row, number]
        NaN where there is none.
    small : object [row, column]
    vectors : dict of str to float32 [row, dimension]
        Those of the table; 0 where there is none.
    encoded : dict of str to float32 [row, dimension]
        Those of the encoder, by column of texts.
    """

    texts: dict[str, Array]
    numbers: Array
    small: Array
    vectors: dict[str, Array]
    encoded: dict[str, Array]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)

    def take(self, rows: Array) -> Rows:
        """Return some rows."""
        own = ({name: each[rows] for name, each in group.items()} for group in (self.texts, self.vectors, self.encoded))
        texts, vectors, encoded = own
        return replace(self, texts=texts, numbers=self.numbers[rows], small=self.small[rows], vectors=vectors, encoded=encoded)

    def hashes(self) -> Array:
        """Return a number per row, int64 [row], equal for rows with equal inputs; it does not depend on the other rows."""
        hashed = np.empty(len(self), np.int64)
        for row in range(len(self)):
            texts = "\0".join([*(each[row] for each in self.texts.values()), *self.small[row]])
            parts = [texts.encode(), self.numbers[row].tobytes(), *(each[row].tobytes() for each in self.vectors.values())]
            hashed[row] = xxhash.xxh3_64_intdigest(b"\0".join(parts)) >> 1
        return hashed


def choose_columns(path: Path, table: pa.Table, settings: Table, notify: Notify) -> tuple[Columns, Array]:
    """Return the columns of a table, and its label: float64 [row], a number or that of a category, NaN where there is none.

    Raises
    ------
    UsageError
        If a column is absent or cannot be used.
    """
    assert settings.label is not None, "checked by the caller"
    named = [settings.label, *(settings.inputs or ()), *([settings.group] if settings.group else [])]
    for name in named:
        require_known(f"{path}: has no column", name, table.column_names)
    if settings.label in (settings.inputs or ()):
        raise UsageError(f"table.inputs: {settings.label} is the label and cannot be an input. Remove it")
    label, categories = _label(path, table, settings, notify)
    known = label[np.isfinite(label)]
    if len(np.unique(known)) < 2:
        raise UsageError(f"{path}: all rows have the same {settings.label}, or none. Choose another column with --label")
    for note in label_notes(settings.label, known, categories, settings.target):
        notify(note)
    texts: list[str] = []
    numbers: list[str] = []
    small: list[str] = []
    decimals, vectors = dict[str, str](), dict[str, int]()
    for name in settings.inputs or [each for each in table.column_names if each not in (settings.label, settings.group)]:
        kind = table.schema.field(name).type
        if table_files.is_text(kind):
            values = table[name].to_pylist()
            if (decimal := table_files.decimal_of(values)) is not None:
                notify(f"column {name}: read as numbers ({table_files.first_number(values, decimal)})")
                decimals[name] = decimal
                numbers.append(name)
            elif len(set(values)) <= min(_MOST_SMALL, len(values) / _ROWS_PER_SMALL):
                small.append(name)
            else:
                texts.append(name)
        elif table_files.is_number(kind):
            numbers.append(name)
        elif table_files.is_vector(kind):
            lengths = np.array(pc.fill_null(pc.list_value_length(table[name]), 0))
            vectors[name] = int(lengths[(lengths > 0).argmax()])  # of the first one that has numbers
        elif settings.inputs:
            raise UsageError(
                f"{path}: the column {name} has the type {kind}, no texts, numbers or vectors. Remove it from table.inputs"
            )
        else:
            notify(f"the column {name} is ignored: it has the type {kind}")
    values_per_row = len(numbers) + sum(vectors.values())
    if len(texts) > _MOST_TEXTS or values_per_row > _MOST_VALUES:
        problem = f"{len(texts)} columns of texts and {values_per_row:,} numbers per row"
        limits = f"at most {_MOST_TEXTS} and {_MOST_VALUES:,}"
        raise UsageError(f"{path}: has {problem}; {limits} are read. Choose with --set 'table.inputs=[COLUMN, ...]'")
    if not (texts or numbers or small or vectors):
        raise UsageError(f"{path}: has no column of texts, numbers or vectors beside {settings.label}. Add one")
    pair = _pair(table, texts, vectors)
    if pair:
        notify(f"columns {pair[0]} and {pair[1]}: a pair, compared with each other")
    is_ratio, encoder = not categories and bool(known.min() > 0), settings.encoder if texts else None
    inputs = (tuple(texts), tuple(numbers), tuple(small), vectors)
    return Columns(settings.label, categories, is_ratio, *inputs, pair, decimals, encoder), label


def _label(path: Path, table: pa.Table, settings: Table, notify: Notify) -> tuple[Array, tuple[str, ...]]:
    """Return the label of each row, and the names of the categories."""
    name, target = settings.label or "", settings.target
    kind = table.schema.field(name).type
    values = [None if value == "" else value for value in table[name].to_pylist()]
    decimal = table_files.decimal_of(values) if table_files.is_text(kind) else None
    is_truth = pa.types.is_boolean(kind) or (table_files.is_number(kind) and {*values} - {None} == {0, 1})
    if target == "number" and not table_files.is_number(kind) and decimal is None:
        raise UsageError(f"{path}: the label {name} has the type {kind}, which is no number. Use --set table.target=category")
    if target == "number" or (target is None and not is_truth and (table_files.is_number(kind) or decimal is not None)):
        if decimal is not None:
            notify(f"column {name}: read as numbers ({table_files.first_number(values, decimal)})")
        numbers = _numbers(values, decimal)
        if (row := table_files.unusable_number(numbers)) is not None:
            raise UsageError(f"{path}: row {row} has {values[row]} as {name}. Correct or remove the row")
        return numbers, ()
    texts = [None if value is None else str(value) for value in values]
    names = tuple(sorted({text for text in texts if text is not None}))
    if len(names) > MOST_CATEGORIES:
        problem = f"the label {name} has {len(names):,} different values; at most {MOST_CATEGORIES:,} categories are learned"
        raise UsageError(f"{path}: {problem}. Use --set table.target=number for numbers, or merge rare values")
    number = {each: i for i, each in enumerate(names)}
    return np.array([np.nan if text is None else number[text] for text in texts]), names


def _numbers(values: Sequence[object], decimal: str | None) -> Array:
    if decimal is not None:
        return table_files.parse_numbers([None if value is None else str(value) for value in values], decimal)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)  # type: ignore[arg-type]


def _pair(table: pa.Table, texts: Sequence[str], vectors: Mapping[str, int]) -> tuple[str, ...]:
    """Return two columns that are compared with each other: vectors of one length, or texts with common words."""
    if len(vectors) == 2 and len({*vectors.values()}) == 1:
        return tuple(vectors)
    words = [{word for text in table[name].to_pylist() for word in (text or "").lower().split()} for name in texts]
    return tuple(texts) if len(texts) == 2 and len(words[0] & words[1]) >= _ALIKE * min(map(len, words)) > 0 else ()


def read_rows(table: pa.Table, columns: Columns, name: str, notify: Notify) -> Rows:
    """Return the inputs of a table's rows, without vectors of an encoder.

    Parameters
    ----------
    table : Table
        A label is not needed.
    columns : Columns
    name : str
        For messages.
    notify : callable
        Receives notes about values that are read as missing.

    Raises
    ------
    UsageError
        If a column is absent or has another type than in the training.
    """
    absent = [column for column in columns.inputs if column not in table.column_names]
    if absent:
        has = ", ".join(table.column_names)
        raise UsageError(f"{name}: has no column {', '.join(absent)}, which the model reads, but {has}. Add it")
    texts = {column: _texts(name, table, column, notify) for column in columns.texts}
    small = [_texts(name, table, column, notify) for column in columns.small]
    numbers = [_number_column(name, table, column, columns.decimals.get(column), notify) for column in columns.numbers]
    vectors = {column: _vectors(name, table, column, size, notify) for column, size in columns.vectors.items()}
    rows = len(table)
    return Rows(
        texts, np.stack(numbers, 1) if numbers else np.zeros((rows, 0)),
        np.stack(small, 1) if small else np.zeros((rows, 0), object), vectors, {},
    )  # fmt: skip


def _texts(name: str, table: pa.Table, column: str, notify: Notify) -> Array:
    kind = table.schema.field(column).type
    if not (table_files.is_text(kind) or table_files.is_number(kind) or pa.types.is_null(kind)):
        raise UsageError(f"{name}: the column {column} has the type {kind}; it must hold texts")
    # A CSV file of few rows may hold numbers only where the training had texts.
    texts = ["" if value is None else str(value) for value in table[column].to_pylist()]
    if (hidden := table_files.hidden_text(texts)) is not None:
        notify(f"warning: column {column}, row {hidden[0]}: has the character {hidden[1]}. Correct the file if it is damaged")
    return np.array(texts, object)


def _number_column(name: str, table: pa.Table, column: str, decimal: str | None, notify: Notify) -> Array:
    kind, values = table.schema.field(column).type, table[column].to_pylist()
    if table_files.is_text(kind):
        decimal = decimal or table_files.decimal_of(values)
    if not (table_files.is_number(kind) or pa.types.is_null(kind) or (table_files.is_text(kind) and decimal is not None)):
        raise UsageError(f"{name}: the column {column} has the type {kind}; it must hold numbers")
    numbers = _numbers(values, decimal if table_files.is_text(kind) else None)
    if (row := table_files.unusable_number(numbers)) is not None:
        notify(f"warning: column {column}, row {row}: {values[row]} is read as missing, like all infinite and huge numbers")
    return np.where(np.abs(numbers) > table_files.MOST, np.nan, numbers)


def _vectors(name: str, table: pa.Table, column: str, size: int, notify: Notify) -> Array:
    if not table_files.is_vector(table.schema.field(column).type):
        raise UsageError(f"{name}: the column {column} has the type {table.schema.field(column).type}; it must hold vectors")
    vectors = table[column].combine_chunks()
    vectors = vectors.combine_chunks() if isinstance(vectors, pa.ChunkedArray) else vectors
    lengths = np.array(pc.fill_null(pc.list_value_length(vectors), -1))
    wrong = np.flatnonzero((lengths >= 0) & (lengths != size))
    if len(wrong):
        problem = f"row {wrong[0]} has {lengths[wrong[0]]} numbers in {column}; the others have {size}"
        raise UsageError(f"{name}: {problem}. Embed it again")
    values = np.zeros((len(vectors), size), np.float32)
    values[lengths >= 0] = np.array(pc.fill_null(vectors.drop_null().flatten(), np.nan), np.float32).reshape(-1, size)
    bad = np.flatnonzero(~(np.abs(values) <= table_files.MOST).all(axis=1))
    if len(bad):
        notify(f"warning: column {column}, row {bad[0]}: a number is missing, infinite or huge; it is read as 0")
    return np.where(np.abs(values) <= table_files.MOST, values, 0).astype(np.float32)
