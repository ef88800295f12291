"""A user's table as training data: rows of texts, numbers and vectors with a label.

Rows are samples with one variant. The arrays of a row are

======= ================================================================================
words   word numbers of each text [text, word], 0 behind the last word
values  numbers, then the components of the vectors [value]; NaN where there is none
target  the label: the number of its category, or a number as the model is trained on it
inputs  equal for rows with equal inputs
======= ================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from posegen.arrays import Array
from posegen.config.identity import digest
from posegen.dataset.table_files import is_text, read_table
from posegen.errors import UsageError
from posegen.training.data.captions import spell
from posegen.training.data.columns import Columns
from posegen.training.data.features import Recipe, View
from posegen.training.data.sources import Origin, Query
from posegen.training.settings import Table
from posegen.wording import did_you_mean, shown

MOST_WORDS = 256
"""Words of a text that are read."""
_MOST_TEXTS, _MOST_VALUES, _MOST_CATEGORIES = 8, 8192, 1000
_NO_WORD = 1
"""Word number of a text without words."""
_LEAST_SPREAD = 1e-6
_NUMBER = re.compile(r"[-+]?(\d{1,3}([ ,.'\u00a0\u202f]\d{3})+|\d+)([.,]\d+)?")
_DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})([T ].*)?")
_NEARLY_ALL = 0.9


def _field(name: str, fields: Mapping[str, Array], view: View) -> Array:
    return fields[name]


WORDS = Recipe("words", 1, ("words",), "int64", ("text", "word"), partial(_field, "words"))
VALUES = Recipe("values", 1, ("values",), "float32", ("value",), partial(_field, "values"))
TARGET = Recipe("target", 1, ("target",), "float32", (), partial(_field, "target"))
INPUTS = Recipe("inputs", 1, ("inputs",), "int64", (), partial(_field, "inputs"))
WORD_COUNT = Recipe("length", 1, ("length",), "int32", (), partial(_field, "length"))

ROW_RECIPES = (WORDS, WORD_COUNT, VALUES, TARGET, INPUTS)
"""Arrays of rows of a table; the length is the number of words."""


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a table with a known label.

    Attributes
    ----------
    path : Path
    columns : Columns
        Without what is computed from the training split.
    categories : tuple of str
        Names of the categories; none for a numeric label.
    arrays : dict of str to ndarray [row, ...]
        ``words``, ``values``, ``label`` (a number, or the number of a category), ``inputs`` and ``groups``: rows with equal
        groups share a split.
    identity : str
        Hash of all arrays.
    notes : tuple of str
        What was left out.
    """

    path: Path
    columns: Columns
    categories: tuple[str, ...]
    arrays: dict[str, Array]
    identity: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.arrays["label"])

    def fitted(self, training: Array) -> Columns:
        """Return the columns with the means and standard deviations of the rows of the training split.

        Parameters
        ----------
        training : int64 [n]
            Numbers of these rows.
        """
        values = self.arrays["values"][training].astype(np.float64)
        centre, spread = _moments(values)
        log_centre, log_spread = _moments(signed_log(values[:, : len(self.columns.numbers)]))
        columns = replace(self.columns, centre=centre, spread=spread, log_centre=log_centre, log_spread=log_spread)
        return columns if self.categories else fit_label(columns, self.arrays["label"], training)

    def origin(self, columns: Columns) -> Origin:
        """Return the rows as samples with one variant, with labels as the model is trained on them."""
        label = self.arrays["label"]
        target = label if self.categories else encode_label(label, columns)
        length = (self.arrays["words"] > 0).sum(axis=(1, 2))
        values = self.arrays["values"] if columns.values else np.zeros((len(self), 1), np.float32)
        arrays = {**self.arrays, "values": values, "target": target.astype(np.float32), "length": length.astype(np.int32)}
        return Origin(str(self.path), ("own",), 100, 1, partial(_load_rows, arrays))


def _load_rows(arrays: Mapping[str, Array], query: Query) -> None:
    query.compute({recipe.name: arrays[recipe.name][query.samples][:, None] for recipe in query.recipes})


def _moments(values: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the standard deviation of each column without NaN; 0 and 1 for columns without values."""
    present = np.isfinite(values)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0).sum(axis=0) / count
    spread = np.sqrt((np.where(present, values - mean, 0) ** 2).sum(axis=0) / count)
    return tuple(mean.tolist()), tuple(np.where(spread > _LEAST_SPREAD, spread, 1.0).tolist())


def signed_log(values: Array) -> Array:
    """Return sign(x) log(1 + |x|).

    >>> signed_log(np.array([0.0, -1.0])).round(3).tolist()
    [0.0, -0.693]
    """
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def fit_label(columns: Columns, label: Array, training: Array) -> Columns:
    """Return columns with what is typical of a numeric label, float [n], in the training split, int64 [m]."""
    own = label[training]
    if label.min() > 0:
        return replace(columns, typical=float(np.median(np.log(own))), is_ratio=True)
    return replace(columns, typical=float(np.median(own)), scale=max(float(own.std()), _LEAST_SPREAD))


def parse_labels(labels: Sequence[str], target: str | None) -> tuple[Array, tuple[str, ...]]:
    """Return labels as numbers, or as numbers of categories and the names of these.

    Parameters
    ----------
    labels : sequence of str
    target : str or None
        ``number`` or ``category``; None: numbers if all labels are finite numbers.

    Raises
    ------
    ValueError
        If numbers are required and a label is none.

    Examples
    --------
    >>> parse_labels(["1", "2.5"], None)[0].tolist(), parse_labels(["b", "a"], None)[1]
    ([1.0, 2.5], ('a', 'b'))
    """
    if target != "category":
        try:
            numbers = np.array([float(label) for label in labels])
        except ValueError:
            numbers = np.array([np.nan])
        if np.isfinite(numbers).all():
            return numbers, ()
        if target == "number":
            raise ValueError("a label is not a finite number")
    names, which = np.unique(np.array(labels), return_inverse=True)
    return which.astype(np.float64), tuple(names.tolist())


def label_notes(name: str, labels: Array, categories: Sequence[str], target: str | None) -> tuple[str, ...]:
    """Return whether a label is a number or a category, and warnings if its categories are probably a mistake.

    Parameters
    ----------
    name : str
    labels : float [n]
        Numbers, or numbers of categories, without NaN.
    categories : sequence of str
    target : str or None
        What the settings require.

    Examples
    --------
    >>> label_notes("mood", np.array([0, 1, 0, 1, 2]), ("calm", "gay", "sad"), None)
    ('mood: 3 categories',)
    """
    if not categories:
        return (f"{name}: numbers",)
    notes = [f"{name}: {len(categories):,} categories"]
    once = int((np.bincount(labels.astype(np.int64), minlength=len(categories)) == 1).sum())
    date, number = (None if target else _usual_example(pattern, categories) for pattern in (_DATE, _NUMBER))
    if date is not None:
        hint = "To estimate a time, store a number, such as that of the days since the first one"
        notes.append(f"warning: the categories of {name} look like dates, such as {date}. {hint}")
    elif number is not None and not all(map(str.isdecimal, categories)):
        hint = "To estimate a number, store numbers such as 1100.5, with a point and no other separator"
        notes.append(f"warning: the categories of {name} look like numbers, such as {number}. {hint}")
    if once * 2 > len(categories):
        problem = f"{once:,} of the {len(categories):,} categories of {name} occur once, so they cannot be learned and tested"
        notes.append(f"warning: {problem}. Merge rare categories, or choose another label")
    return tuple(notes)


def _usual_example(pattern: re.Pattern[str], names: Sequence[str]) -> str | None:
    """Return the first name that matches a pattern if nearly all match."""
    matching = [name for name in names if pattern.fullmatch(name)]
    return matching[0] if len(matching) >= _NEARLY_ALL * len(names) else None


def encode_label(label: Array, columns: Columns) -> Array:
    """Return numeric labels as a model is trained on them: deviations from the typical label, or from its logarithm."""
    return np.asarray(((np.log(label) if columns.is_ratio else label) - columns.typical) / columns.scale)


def decode_label(output: Array, columns: Columns) -> Array:
    """Return numeric labels in their unit; the inverse of :func:`encode_label`.

    >>> columns = Columns("price", ("title",), typical=1.0, is_ratio=True)
    >>> decode_label(encode_label(np.array([20.0, 0.5]), columns), columns).round(6).tolist()
    [20.0, 0.5]
    """
    values = output.astype(np.float64) * columns.scale + columns.typical
    return np.asarray(np.exp(values) if columns.is_ratio else values)


def read_labelled_rows(path: Path, settings: Table, most: int | None = None) -> LabelledRows:
    """Read a table with a label.

    Parameters
    ----------
    path : Path
        CSV or Parquet file.
    settings : Table
        Names the columns; its label is given.
    most : int, optional
        Number of rows that are read, from the first; all by default.

    Returns
    -------
    LabelledRows
        Rows without a label are left out and noted.

    Raises
    ------
    UsageError
        If the table cannot be read, lacks a column, or its label is constant.
    """
    table = read_table(path)
    table = table if most is None else table.slice(0, most)
    label = settings.label
    assert label is not None, "checked by open_setup"
    _check_columns(path, table, [label, *(settings.inputs or ()), *([settings.group] if settings.group else [])])
    kind = settings.target or ("number" if _is_number(table.schema.field(label).type, truth=False) else "category")
    labels, categories = _numbers_of(path, table, label) if kind == "number" else _categories_of(path, table, label)
    known = np.isfinite(labels)
    columns, ignored = _chosen_columns(path, table, settings)
    if not known.any() or len(np.unique(labels[known])) < 2:
        raise UsageError(f"{path}: all rows have the same {label}, or none. Choose another column with --label")
    notes = [*label_notes(label, labels[known], categories, settings.target)]
    notes += [f"{path}: the column {name} is ignored: it has the type {why}" for name, why in ignored.items()]
    if not known.all():
        notes.append(f"{path}: {(~known).sum():,} of {len(known):,} rows have no {label} and are left out")
        table = table.filter(pa.array(known))
    arrays = row_arrays(table, columns, path)
    columns = replace(columns, words=arrays["words"].shape[2])
    inputs = _row_hashes(arrays)
    groups = inputs if settings.group is None else np.unique(_texts(table, settings.group), return_inverse=True)[1]
    arrays |= {"label": labels[known], "inputs": inputs, "groups": groups}
    content = {name: xxhash.xxh3_128_hexdigest(np.ascontiguousarray(values).data) for name, values in arrays.items()}
    identity = digest({"columns": list(columns.inputs), "categories": list(categories), **content})
    return LabelledRows(path, columns, categories, arrays, identity, tuple(notes))


def _check_columns(path: Path, table: pa.Table, names: list[str]) -> None:
    for name in names:
        if name not in table.column_names:
            guess = did_you_mean(name, table.column_names)
            raise UsageError(f"{path}: has no column {shown(name)}{guess}. Columns: {', '.join(table.column_names)}")


def _is_number(kind: pa.DataType, *, truth: bool = True) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or (truth and types.is_boolean(kind))
    )


def _is_vector(kind: pa.DataType) -> bool:
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and types.is_floating(kind.value_type))


def _dimension(vectors: pa.ChunkedArray) -> int:
    """Return the length of the first vector that has numbers; 0 if none has."""
    lengths = np.array(pc.fill_null(pc.list_value_length(vectors), 0))
    return int(lengths[(lengths > 0).argmax()])


def _chosen_columns(path: Path, table: pa.Table, settings: Table) -> tuple[Columns, dict[str, str]]:
    """Return the columns that are inputs, and the types of those that cannot be."""
    kinds = {field.name: field.type for field in table.schema}
    names = settings.inputs or tuple(name for name in kinds if name not in (settings.label, settings.group))
    texts = tuple(name for name in names if is_text(kinds[name]))
    numbers = tuple(name for name in names if _is_number(kinds[name]))
    vectors = tuple((name, _dimension(table[name])) for name in names if _is_vector(kinds[name]))
    readable = {*texts, *numbers, *(name for name, _ in vectors)}
    ignored = {name: str(kinds[name]) for name in names if name not in readable}
    assert settings.label is not None
    columns = Columns(settings.label, texts, numbers, vectors)
    if settings.label in names:
        raise UsageError(f"table.inputs: {settings.label} is the label and cannot be an input. Remove it")
    if settings.inputs and ignored:
        listed = ", ".join(f"{name} ({kind})" for name, kind in ignored.items())
        raise UsageError(
            f"{path}: columns that are neither texts, numbers nor vectors: {listed}. Remove them from table.inputs"
        )
    if not texts:
        hint = "Store a column of texts, such as text, or name it in --set 'table.inputs=[COLUMN]'"
        raise UsageError(f"{path}: has no column of texts beside {settings.label}. {hint}")
    if len(texts) > _MOST_TEXTS or columns.values > _MOST_VALUES:
        problem = f"{len(texts)} columns of texts and {columns.values:,} numbers per row"
        limits = f"at most {_MOST_TEXTS} and {_MOST_VALUES:,}"
        raise UsageError(f"{path}: has {problem}; {limits} are read. Choose with --set 'table.inputs=[COLUMN, ...]'")
    return columns, ignored


def _numbers_of(path: Path, table: pa.Table, label: str) -> tuple[Array, tuple[str, ...]]:
    kind = table.schema.field(label).type
    if not _is_number(kind):
        fix = "Store numbers, or use --set table.target=category"
        raise UsageError(f"{path}: the label {label} has the type {kind}, which is no number. {fix}")
    labels = _floats(table, label)
    if np.isinf(labels).any():
        row = int(np.flatnonzero(np.isinf(labels))[0])
        raise UsageError(f"{path}: row {row} has an infinite {label}. Remove the row")
    return labels, ()


def _categories_of(path: Path, table: pa.Table, label: str) -> tuple[Array, tuple[str, ...]]:
    values = [None if value is None or value == "" else str(value) for value in table[label].to_pylist()]
    names = tuple(sorted({value for value in values if value is not None}))
    if len(names) > _MOST_CATEGORIES:
        problem = f"the label {label} has {len(names):,} different values; at most {_MOST_CATEGORIES:,} categories are learned"
        raise UsageError(f"{path}: {problem}. Use --set table.target=number for numbers, or merge rare values")
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([np.nan if value is None else numbers[value] for value in values], np.float64), names


def _floats(table: pa.Table, name: str) -> Array:
    return np.array([np.nan if value is None else float(value) for value in table[name].to_pylist()], np.float64)


def _texts(table: pa.Table, name: str) -> Array:
    return np.array(["" if value is None else str(value) for value in table[name].to_pylist()], object).astype(str)


def row_arrays(table: pa.Table, columns: Columns, path: Path | None = None) -> dict[str, Array]:
    """Return the inputs of a model for the rows of a table.

    Parameters
    ----------
    table : Table
        With the columns that the model reads; a label is not needed.
    columns : Columns
        As in the training: ``trained.view.columns`` of a trained model.
    path : Path, optional
        For messages.

    Returns
    -------
    dict of str to ndarray
        ``words`` int64 [row, text, word] and ``values`` float32 [row, value], NaN where a number is missing.

    Raises
    ------
    UsageError
        If a column is missing or has another type.
    """
    name = "the table" if path is None else str(path)
    absent = [column for column in columns.inputs if column not in table.column_names]
    if absent:
        raise UsageError(f"{name}: has no column {', '.join(absent)}, which the model reads. Add it")
    spelled = [[spell(text or "", MOST_WORDS) or [_NO_WORD] for text in _strings(name, table, one)] for one in columns.texts]
    words = np.zeros(
        (len(table), len(columns.texts), max((len(own) for texts in spelled for own in texts), default=1)), np.int64
    )
    for column, texts in enumerate(spelled):
        for row, own in enumerate(texts):
            words[row, column, : len(own)] = own
    parts = [_number_column(name, table, one)[:, None] for one in columns.numbers]
    parts += [_vector_column(name, table, one, size) for one, size in columns.vectors]
    values = np.concatenate([np.zeros((len(table), 0)), *parts], axis=1)
    return {"words": words, "values": np.where(np.isfinite(values), values, np.nan).astype(np.float32)}


def _strings(name: str, table: pa.Table, column: str) -> list[str | None]:
    kind = table.schema.field(column).type
    if _is_number(kind) or pa.types.is_null(kind):
        # A CSV file of few rows may hold numbers only where the training had texts.
        return [None if value is None else str(value) for value in table[column].to_pylist()]
    if not is_text(kind):
        raise UsageError(f"{name}: the column {column} has the type {kind}; it must hold texts")
    strings: list[str | None] = table[column].to_pylist()
    return strings


def _number_column(name: str, table: pa.Table, column: str) -> Array:
    kind = table.schema.field(column).type
    if not _is_number(kind) and not pa.types.is_null(kind):
        raise UsageError(f"{name}: the column {column} has the type {kind}; it must hold numbers")
    return _floats(table, column)


def _vector_column(name: str, table: pa.Table, column: str, size: int) -> Array:
    if not _is_vector(table.schema.field(column).type):
        raise UsageError(f"{name}: the column {column} has the type {table.schema.field(column).type}; it must hold vectors")
    vectors = table[column].combine_chunks()
    vectors = vectors.combine_chunks() if isinstance(vectors, pa.ChunkedArray) else vectors
    lengths = np.array(pc.fill_null(pc.list_value_length(vectors), -1))
    wrong = np.flatnonzero((lengths >= 0) & (lengths != size))
    if len(wrong):
        problem = f"row {wrong[0]} has {lengths[wrong[0]]} numbers in {column}; the others have {size}"
        raise UsageError(f"{name}: {problem}. Embed it again")
    values = np.full((len(vectors), size), np.nan, np.float32)
    values[lengths >= 0] = np.array(vectors.drop_null().flatten(), np.float32).reshape(-1, size)
    return values


def _row_hashes(arrays: Mapping[str, Array]) -> Array:
    """Return a number per row, equal for rows with equal words and values."""
    hashes = [
        xxhash.xxh3_64_intdigest(words.tobytes() + values.tobytes()) >> 1
        for words, values in zip(arrays["words"], arrays["values"], strict=True)
    ]
    return np.unique(np.array(hashes, np.int64), return_inverse=True)[1].astype(np.int64)
