"""A user's table whose noise is known: the error of prices with ``quick`` beside the least possible one, and a control."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.train.running import time_figures, trained
from posegen.training.data.tables import read_labelled_rows
from posegen.training.measures import smape
from posegen.training.model_formats import export_model
from posegen.training.settings import Table
from posegen.training.setup import split_groups
from tests.training.pricing import price_rows, write_prices

ROWS = 6000
MOST_MINUTES = 3.0
MOST_OF_FLOOR = 1.1
"""Largest SMAPE relative to that of the formula without noise, on the same rows."""
MOST_SKILL = 0.05
"""Largest skill of a control."""
MOST_DIFFERENCE = 1e-4


def measure(folder: Path) -> Iterator[Figure]:
    path = write_prices(folder / "prices.csv", ROWS)
    label = ("--label", "price")
    run = trained(path, "text", "quick", folder / "run", *label)
    name = f"quick, task text, a table of {ROWS:,} prices"
    yield from time_figures(name, run, MOST_MINUTES, "quick table")
    found, floor = run.measures, _floor(path)
    value = (
        f"SMAPE {found['smape']:.1f} %, floor {floor:.1f} %, {found['smape'] / floor:.2f} of it, best constant "
        f"{found['smape_constant']:.1f} %; MAE {found['mae']:.3g}; R2 {found['r2']:.3f}, of {found['rows']:.0f} rows"
    )
    yield Figure(f"{name}: price", value, f"at most {MOST_OF_FLOOR} of the floor", found["smape"] <= MOST_OF_FLOOR * floor)
    difference = export_model(run.place, "onnx", folder / "model.onnx")
    good = difference <= MOST_DIFFERENCE
    yield Figure(f"{name}: ONNX", f"outputs differ by {difference:.1e}", f"at most {MOST_DIFFERENCE:g}", good)
    control = trained(path, "text", "quick", folder / "shuffled", *label, "--set", "data.shuffle_labels=true").measures
    value = f"SMAPE {control['smape']:.1f} %, best constant {control['smape_constant']:.1f} %"
    yield Figure(f"{name}: with shuffled labels", value, f"skill under {MOST_SKILL}", control["skill"] < MOST_SKILL)


def _floor(path: Path) -> float:
    """Return the SMAPE of the formula without noise on the test rows."""
    test = split_groups(read_labelled_rows(path, Table(label="price")).arrays["groups"], 0)["test"]
    columns = price_rows(ROWS)
    return smape(np.array(columns["expected"])[test], np.array(columns["price"])[test])
