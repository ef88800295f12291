"""A user's table whose noise is known: the error of prices with ``quick`` beside the least possible one, and a control."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from posegen.foundations.progress import Progress
from posegen.tables.data import open_table
from posegen.tables.run import train_table
from posegen.tables.settings import TableRequest, load_table_settings
from posegen.training.measures import smape
from posegen.training.run_folder import Result
from tests.tables.pricing import price_rows, write_prices

ROWS = 6000
MOST_SECONDS = 120.0
MOST_OF_FLOOR = 1.1
"""Largest SMAPE relative to that of the formula without noise, on the same rows."""
MOST_SKILL = 0.05
"""Largest skill of a control."""


def measure(folder: Path) -> Iterator[Figure]:
    path = write_prices(folder / "prices.csv", ROWS)
    name = f"quick, a table of {ROWS:,} prices"
    result, floor = _trained(path, folder / "run"), _floor(path)
    yield Figure(f"{name}: time", f"{result.seconds:.0f} s", f"at most {MOST_SECONDS:.0f} s", result.seconds <= MOST_SECONDS)
    found = result.measures
    value = (
        f"SMAPE {found['smape']:.1f} %, floor {floor:.1f} %, {found['smape'] / floor:.2f} of it, linear baseline "
        f"{found['smape_linear']:.1f} %, best constant {found['smape_constant']:.1f} %; of {found['rows']:.0f} rows"
    )
    yield Figure(f"{name}: price", value, f"at most {MOST_OF_FLOOR} of the floor", found["smape"] <= MOST_OF_FLOOR * floor)
    control = _trained(path, folder / "shuffled", "data.shuffle_labels=true").measures
    value = f"SMAPE {control['smape']:.1f} %, best constant {control['smape_constant']:.1f} %"
    skill = 1 - control["smape"] / control["smape_constant"]
    yield Figure(f"{name}: with shuffled labels", value, f"skill under {MOST_SKILL}", skill < MOST_SKILL)


def _trained(path: Path, run: Path, *overrides: str) -> Result:
    return train_table(TableRequest(path, load_table_settings("quick", ["table.label=price", *overrides]), run))


def _floor(path: Path) -> float:
    """Return the SMAPE of the formula without noise on the test rows."""
    test = open_table(path, load_table_settings("quick", ["table.label=price"]), Progress()).test
    columns = price_rows(ROWS)
    return smape(np.array(columns["expected"])[test], np.array(columns["price"])[test])
