"""How figures of clips are spread, taken down clip by clip in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_KEPT", "Spread", "SpreadTally"]

Array = NDArray[Any]

MOST_KEPT = 50_000
"""Clips whose figures are kept. Of more, every second one is dropped, evenly over the dataset, as often as need be."""
MOST_NAMED = 500
"""Clips that are named among the worst of one figure."""
WORST = 0.01


@dataclass(frozen=True)
class Spread:
    """How a figure is spread over clips; NaN where no clip has it.

    Attributes
    ----------
    clips : int
        That have it.
    median, high, worst : float
        The middle, the 95th percentile and the mean of the worst 1 %; for figures of which less is worse, the 5th percentile.
    worst_clips : list of (str, float)
        The worst 1 %, the worst first.
    percentile99 : float
        The 99th percentile, or the 1st where less is worse.
    """

    clips: int
    median: float
    high: float
    worst: float
    worst_clips: list[tuple[str, float]]
    percentile99: float = np.nan


class SpreadTally:
    """Takes down some figures of each clip.

    Parameters
    ----------
    names : sequence of str
        The figures.
    lower_is_worse : collection of str
        Those of which less is worse.
    most_kept, most_named : int
        Clips whose figures are kept, and that are named among the worst of one figure.
    """

    def __init__(
        self,
        names: Sequence[str],
        lower_is_worse: frozenset[str] = frozenset(),
        most_kept: int = MOST_KEPT,
        most_named: int = MOST_NAMED,
    ) -> None:
        self._most_kept, self._most_named = most_kept, most_named
        self._names = tuple(names)
        self._signs = [-1.0 if name in lower_is_worse else 1.0 for name in names]
        self._worst: list[list[tuple[float, int, str]]] = [[] for _ in names]
        self._counts = [0] * len(self._names)
        self._kept: list[Array] = []
        self._step = 1
        self._clips = 0

    def add(self, clip: str, figures: Sequence[float]) -> None:
        """Take the figures of a clip down, by the order of the names."""
        if self._clips % self._step == 0:
            self._kept.append(np.array(figures, np.float32))
        for k, value in enumerate(figures):
            if np.isfinite(value):
                self._counts[k] += 1
                # Of equals the earlier clip is the worse: its negative number is the larger.
                entry = (self._signs[k] * value, -self._clips, clip)
                (heappush if len(self._worst[k]) < self._most_named else heappushpop)(self._worst[k], entry)
        self._clips += 1
        if len(self._kept) >= self._most_kept:
            self._kept = self._kept[::2]
            self._step *= 2

    def __len__(self) -> int:
        return self._clips

    def spreads(self) -> dict[str, Spread]:
        """Give the spread of each figure."""
        columns = np.stack(self._kept).T if self._kept else np.zeros((len(self._names), 0))
        return {name: self._spread(k, columns[k]) for k, name in enumerate(self._names)}

    def _spread(self, k: int, column: Array) -> Spread:
        values = column[np.isfinite(column)]
        if not len(values):
            return Spread(0, np.nan, np.nan, np.nan, [])
        sign = self._signs[k]
        worst = np.sort(sign * values)[-_share(len(values)) :]
        named = sorted(self._worst[k], reverse=True)[: _share(self._counts[k])]
        clips = [(name, float(sign * value)) for value, _, name in named]
        high, highest = np.percentile(values, [95, 99] if sign > 0 else [5, 1])
        mean = float(sign * worst.mean())
        return Spread(self._counts[k], float(np.median(values)), float(high), mean, clips, float(highest))


def _share(count: int) -> int:
    return max(1, round(WORST * count))
