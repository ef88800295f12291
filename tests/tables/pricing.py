"""A table of second-hand clothes whose prices follow a formula, as NumPy draws it.

    price = base(item) x factor(material) x factor(brand) x factor(condition) x exp(-age / 20) x (weight / 0.5)^0.3 x noise

``noise`` is log-normal with standard deviation :data:`NOISE`. The least possible SMAPE is that of predicting its median.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

NOISE = 0.2
ITEMS = {"t-shirt": 15, "shirt": 30, "jacket": 80, "coat": 120, "jeans": 50, "dress": 60, "scarf": 18, "boots": 95}
MATERIALS = {"cotton": 1.0, "linen": 1.2, "wool": 1.6, "leather": 3.0, "silk": 2.4, "denim": 1.3}
CONDITIONS = {"new": 1.0, "like new": 0.8, "used": 0.5, "worn": 0.3}
COLOURS = ("red", "blue", "black", "white", "green", "grey")
BRANDS = tuple(a + b for a in ("Nor", "Vel", "Tam", "Ori", "Kes", "Lum") for b in ("dia", "mar", "ston", "vik"))
TITLES = ("{colour} {material} {item}", "{item} in {colour}, {material}", "{material} {item}, colour {colour}")


def price_rows(count: int, seed: int = 0) -> dict[str, list[Any]]:
    """Draw rows: ``brand``, ``title``, ``condition``, ``weight`` in kg, ``age`` in years, ``price``, ``expected``."""
    drawn = np.random.default_rng(seed)
    factor = np.exp(np.random.default_rng(1).normal(0, 0.4, len(BRANDS)))
    columns: dict[str, list[Any]] = {name: [] for name in ("brand", "title", "condition", "weight", "age", "price", "expected")}
    for _ in range(count):
        brand, (item, material, condition) = (
            drawn.integers(len(BRANDS)),
            map(drawn.choice, map(list, (ITEMS, MATERIALS, CONDITIONS))),
        )
        weight, age = round(0.5 * float(np.exp(drawn.normal(0, 0.3))), 3), round(float(drawn.uniform(0, 10)), 1)
        expected = ITEMS[item] * MATERIALS[material] * factor[brand] * CONDITIONS[condition]
        expected *= float(np.exp(-age / 20)) * (weight / 0.5) ** 0.3
        title = str(drawn.choice(TITLES)).format(colour=drawn.choice(COLOURS), material=material, item=item)
        row = (BRANDS[brand], title, condition, weight, age, expected * float(np.exp(drawn.normal(0, NOISE))), expected)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return columns


def write_prices(path: Path, count: int, seed: int = 0) -> Path:
    """Write a CSV file of rows, without the expected price."""
    columns = price_rows(count, seed)
    pc.write_csv(pa.table({name: values for name, values in columns.items() if name != "expected"}), path)
    return path


def is_killed(command: Sequence[str], is_ready: Callable[[], bool], seconds: float) -> bool:
    """Kill a command some seconds after it is ready; return whether it was running."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not is_ready() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    process.kill()
    return process.wait() < 0
