"""Measure how the time of a training step divides into waiting for data, forward pass, backward pass and optimiser."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from statistics import median

PHASES = ("data", "forward", "backward", "optimiser")
_RECENT = 200
_WARMUP = 3


@dataclass(frozen=True)
class StepTimes:
    """Median seconds of recent steps, and the share of each phase in all steps."""

    seconds: float
    shares: dict[str, float]


class StepTimer:
    """Add up the time of each phase; to be called at the end of each phase."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._now = dict.fromkeys(PHASES, 0.0)
        self._steps: deque[float] = deque(maxlen=_RECENT)
        self._total = dict.fromkeys(PHASES, 0.0)
        self._count = 0

    def end_phase(self, phase: str | None) -> None:
        """Add the time since the last call to a phase; None if it belongs to no step."""
        now = time.perf_counter()
        if phase is not None:
            self._now[phase] += now - self._last
        self._last = now

    def end_step(self) -> None:
        """Complete a step. The first ones are not counted, since caches and lazy initialisation slow them down."""
        self._count += 1
        if self._count > _WARMUP:
            self._steps.append(sum(self._now.values()))
            self._total = {phase: seconds + self._now[phase] for phase, seconds in self._total.items()}
        self._now = dict.fromkeys(PHASES, 0.0)

    def times(self) -> StepTimes | None:
        """Return the times of the steps so far; None before the first counted step."""
        total = sum(self._total.values())
        if not self._steps or not total:
            return None
        return StepTimes(median(self._steps), {phase: seconds / total for phase, seconds in self._total.items()})
