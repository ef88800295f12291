"""The rows of a user's table that have a label, divided into those that train and those that test the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xxhash

from posegen.config.identity import digest
from posegen.dataset.splits import split_groups
from posegen.dataset.table_files import read_table
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress
from posegen.foundations.randomness import Stream, uniform
from posegen.tables.candidates import encode
from posegen.tables.columns import Columns, Rows, choose_columns, read_rows
from posegen.tables.settings import TableSettings

_FEWEST_ROWS = 5


@dataclass(frozen=True)
class TableData:
    """A table with its label.

    Attributes
    ----------
    columns : Columns
    rows : Rows
        Those with a label.
    label : float64 [row]
        As it is trained.
    groups : int64 [row]
    test : bool [row]
        Rows that only measure the model.
    """

    columns: Columns
    rows: Rows
    label: Array
    groups: Array
    test: Array

    @cached_property
    def identity(self) -> str:
        """Hash of everything that the model is trained on."""
        arrays = (self.rows.hashes(), self.label, self.groups)
        return digest(
            {"columns": asdict(self.columns), "arrays": [xxhash.xxh3_128_hexdigest(each.tobytes()) for each in arrays]}
        )

    @property
    def training(self) -> Array:
        """Numbers of the rows that the model is fitted on."""
        return np.flatnonzero(~self.test)

    def texts(self) -> int:
        """Return the number of different texts."""
        return len({text for texts in self.rows.texts.values() for text in texts})


def open_table(path: Path, settings: TableSettings, progress: Progress) -> TableData:
    """Read a table with a label, and divide its rows.

    Raises
    ------
    UsageError
        If it cannot be read, or has too few rows.
    """
    table = read_table(path, progress.log)
    table = table if settings.data.samples is None else table.slice(0, settings.data.samples)
    columns, label = choose_columns(path, table, settings.table, progress.log)
    known = np.isfinite(label)
    if not known.all():
        progress.log(f"{(~known).sum():,} of {len(known):,} rows have no {columns.label} and are left out")
    table, label = table.filter(known), label[known]
    rows = read_rows(table, columns, str(path), progress.log)
    groups = rows.hashes()
    if settings.table.group is not None:
        names = [str(value) for value in table[settings.table.group].to_pylist()]
        groups = np.array([xxhash.xxh3_64_intdigest(name.encode()) >> 1 for name in names], np.int64)
    if len(np.unique(groups)) < _FEWEST_ROWS:
        raise UsageError(f"{path}: has {len(np.unique(groups))} groups of rows; {_FEWEST_ROWS} are the least. Add rows")
    if settings.data.shuffle_labels:
        label = label[np.argsort(uniform(settings.seed, np.arange(len(label)), Stream.AUGMENT, 1)[:, 0])]
    test = np.zeros(len(label), bool)
    test[split_groups(groups, 0, label if columns.categories else None)["test"]] = True
    # What is nowhere else cannot be tested.
    test &= ~np.isin(label, np.setdiff1d(label, label[~test])) if columns.categories else True
    return TableData(columns, rows, encode(label, columns), groups, test)
