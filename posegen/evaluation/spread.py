"""Summarise measures over many clips: median, percentiles and worst clips, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop

import numpy as np

from posegen.foundations.arrays import Array

MAX_KEPT = 50_000
"""Most clips whose values are kept. When it is reached, every second one is dropped, evenly over the dataset."""
MAX_NAMED = 500
"""Most clips that are listed as the worst by one measure."""
WORST = 0.01


@dataclass(frozen=True)
class Spread:
    """Distribution of a measure over clips; NaN where no clip has it.

    Attributes
    ----------
    clips : int
        Clips that have the measure.
    median, high, worst : float
        The median, the 95th percentile and the mean of the worst 1 %; the 5th percentile where lower is worse.
    worst_clips : list of (str, float)
        The worst 1 %, worst first.
    percentile99 : float
        The 99th percentile, or the 1st where lower is worse.
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
    lower_is_worse : collection of str
        Measures for which lower is worse.
    most_kept, most_named : int
        Most clips whose values are kept, and most clips listed as the worst by one measure.
    """

    def __init__(
        self,
        names: Sequence[str],
        lower_is_worse: frozenset[str] = frozenset(),
        most_kept: int = MAX_KEPT,
        most_named: int = MAX_NAMED,
    ) -> None:
        self._most_kept, self._most_named = most_kept, most_named
        self._names = tuple(names)
        self._signs = [-1.0 if name in lower_is_worse else 1.0 for name in names]
        self._worst: list[list[tuple[float, int, str]]] = [[] for _ in names]
        self._counts = [0] * len(self._names)
        self._kept: list[Array] = []
        self._step = 1
        self._clips = 0

    def add(self, clip: str, measures: Mapping[str, float]) -> None:
        """Add the measures of a clip by name."""
        values = [measures[name] for name in self._names]
        if self._clips % self._step == 0:
            self._kept.append(np.array(values, np.float32))
        for k, value in enumerate(values):
            if np.isfinite(value):
                self._counts[k] += 1
                # Among equal values the earlier clip ranks worse: its negative number is larger.
                entry = (self._signs[k] * value, -self._clips, clip)
                (heappush if len(self._worst[k]) < self._most_named else heappushpop)(self._worst[k], entry)
        self._clips += 1
        if len(self._kept) >= self._most_kept:
            self._kept = self._kept[::2]
            self._step *= 2

    def __len__(self) -> int:
        return self._clips

    def spreads(self) -> dict[str, Spread]:
        """Return the distribution of each measure."""
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
