"""Summarise measures over many clips: median, percentiles and worst clips, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import Generic, TypeVar

import numpy as np

from posegen.foundations.arrays import Array

Item = TypeVar("Item")

MAX_KEPT = 50_000
"""Most clips whose values are kept."""
MAX_NAMED = 500
"""Most clips that are listed as the worst by one measure."""
WORST = 0.01


class Evenly(Generic[Item]):
    """A list that drops every second item when it is full, and from then on keeps every second new one."""

    def __init__(self, most: int) -> None:
        self.items: list[Item] = []
        self._most, self._step, self._seen = most, 1, 0

    def add(self, item: Item) -> None:
        """Add an item, or skip it."""
        if self._seen % self._step == 0:
            self.items.append(item)
        self._seen += 1
        if len(self.items) >= self._most:
            self.items, self._step = self.items[::2], 2 * self._step


def evenly(values: Array, count: int) -> Array:
    """Return at most `count` of some values, evenly distributed over them."""
    return values[np.linspace(0, len(values) - 1, min(count, len(values))).astype(np.int64)]


@dataclass(frozen=True)
class Spread:
    """Distribution over clips of a measure whose higher values are worse; NaN where no clip has it.

    Attributes
    ----------
    clips : int
        Clips that have the measure.
    median, high, worst : float
        The median, the 95th percentile and the mean of the worst 1 %.
    worst_clips : list of (str, float)
        The worst 1 %, worst first.
    percentile99 : float
    """

    clips: int
    median: float
    high: float
    worst: float
    worst_clips: list[tuple[str, float]]
    percentile99: float = np.nan


class SpreadTally:
    """Collect measures of clips.

    Parameters
    ----------
    names : sequence of str
        Names of the measures.
    most_kept, most_named : int
        Most clips whose values are kept, and most clips listed as the worst by one measure.
    """

    def __init__(self, names: Sequence[str], most_kept: int = MAX_KEPT, most_named: int = MAX_NAMED) -> None:
        self._names, self._most_named = tuple(names), most_named
        self._worst: list[list[tuple[float, int, str]]] = [[] for _ in names]
        self._counts = [0] * len(self._names)
        self._kept = Evenly[Array](most_kept)
        self._clips = 0

    def add(self, clip: str, measures: Mapping[str, float]) -> None:
        """Add the measures of a clip by name."""
        values = [measures[name] for name in self._names]
        self._kept.add(np.array(values, np.float32))
        for k, value in enumerate(values):
            if np.isfinite(value):
                self._counts[k] += 1
                # Among equal values the earlier clip ranks worse: its negative number is larger.
                push = heappush if len(self._worst[k]) < self._most_named else heappushpop
                push(self._worst[k], (value, -self._clips, clip))
        self._clips += 1

    def __len__(self) -> int:
        return self._clips

    def spreads(self) -> dict[str, Spread]:
        """Return the distribution of each measure."""
        columns = np.stack(self._kept.items).T if self._clips else np.zeros((len(self._names), 0))
        return {
            name: self._spread(k, column[np.isfinite(column)])
            for k, (name, column) in enumerate(zip(self._names, columns, strict=True))
        }

    def _spread(self, k: int, values: Array) -> Spread:
        if not len(values):
            return Spread(0, np.nan, np.nan, np.nan, [])
        named = sorted(self._worst[k], reverse=True)[: _share(self._counts[k])]
        clips = [(name, float(value)) for value, _, name in named]
        median, high, highest = np.percentile(values, [50, 95, 99]).tolist()
        worst = float(np.sort(values)[-_share(len(values)) :].mean())
        return Spread(self._counts[k], median, high, worst, clips, highest)


def _share(count: int) -> int:
    return max(1, round(WORST * count))
