"""Measures of the page: task, unit, and whether higher is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.usefulness.results import summed_up

__all__ = ["MEASURES", "Measure"]


@dataclass(frozen=True)
class Measure:
    """A measure.

    `key` is its name in the results, `sign` 1 where more is better and -1 where less is, `times` what makes the unit of it.
    """

    name: str
    task: str
    key: str
    sign: int
    times: float
    unit: str
    gained: str

    def reported(self, values: Iterable[float]) -> str:
        """Format mean and standard deviation; one value has none."""
        scaled = [self.times * value for value in values]
        mean, spread = summed_up(scaled)
        return f"{mean:.1f} ± {spread:.1f} {self.unit}" if len(scaled) > 1 else f"{mean:.1f} {self.unit}"

    def stated_gain(self, values: Sequence[float]) -> str:
        """Format mean and standard deviation of gains."""
        mean, spread = summed_up([self.times * value for value in values])
        return f"{mean:+.1f} ± {spread:.1f} {self.gained}"

    def gain(self, value: float) -> str:
        """Format one gain."""
        return f"{self.times * value:+.1f} {self.gained}"


MEASURES = (
    Measure("Action, balanced accuracy", "action", "balanced", 1, 100.0, "%", "points"),
    Measure("Lifting, MPJPE", "lifting", "mpjpe", -1, 1.0, "mm", "mm"),
    Measure("Lifting, PA-MPJPE", "lifting", "pa_mpjpe", -1, 1.0, "mm", "mm"),
)
