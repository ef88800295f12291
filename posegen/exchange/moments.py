"""Mean and standard deviation of features, from sums that shards keep in their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posegen.exchange.kernels.features263 import add_moments
from posegen.foundations.arrays import Array


@dataclass
class Moments:
    """Sums of the columns of features and of their squares, and the number of rows."""

    width: int
    rows: int = 0
    total: Array = field(init=False)
    squares: Array = field(init=False)

    def __post_init__(self) -> None:
        self.total, self.squares = np.zeros(self.width), np.zeros(self.width)

    def add(self, features: Array) -> None:
        """Add features, float32 [row, column]."""
        add_moments(features, self.total, self.squares)
        self.rows += len(features)

    def as_data(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        return {"frames": self.rows, "sum": self.total.tolist(), "squares": self.squares.tolist()}


def mean_and_deviation(records: Iterable[Mapping[str, Any]], groups: Sequence[slice]) -> tuple[Array, Array] | None:
    """Return mean and standard deviation of the columns, float32, from what :meth:`Moments.as_data` returned.

    Parameters
    ----------
    records : iterable of mappings
    groups : sequence of slice
        Columns that share a standard deviation: the mean of those of the columns.

    Returns
    -------
    (float32 [column], float32 [column]) or None
        None if there are no frames.
    """
    frames, total, squares = 0, np.zeros(1), np.zeros(1)
    for record in records:
        frames += record["frames"]
        total = total + record["sum"]
        squares = squares + record["squares"]
    if not frames:
        return None
    mean = total / frames
    deviation = np.sqrt(np.maximum(squares / frames - mean * mean, 0.0))
    for group in groups:
        deviation[group] = deviation[group].mean()
    return mean.astype(np.float32), deviation.astype(np.float32)
