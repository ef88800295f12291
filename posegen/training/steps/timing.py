"""Where the time of a step goes: waiting for data, forward, backward, optimiser."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from statistics import median

__all__ = ["PHASES", "StepTimes", "Timer"]

PHASES = ("data", "forward", "backward", "optimiser")
_REMEMBERED = 200
_WARMING = 3


@dataclass(frozen=True)
class StepTimes:
    """Seconds of a step: the medians of the last steps, and the shares of the phases in all of them."""

    seconds: float
    shares: dict[str, float]


class Timer:
    """Adds up the phases of steps; called where one phase ends and the next begins."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._now = dict.fromkeys(PHASES, 0.0)
        self._steps: deque[float] = deque(maxlen=_REMEMBERED)
        self._total = dict.fromkeys(PHASES, 0.0)
        self._count = 0

    def leave(self, phase: str | None) -> None:
        """The time since the last call was spent in this phase; None for what is no part of a step."""
        now = time.perf_counter()
        if phase is not None:
            self._now[phase] += now - self._last
        self._last = now

    def end_step(self) -> None:
        """A step is over; the first ones, in which everything is touched for the first time, are not counted."""
        self._count += 1
        if self._count > _WARMING:
            self._steps.append(sum(self._now.values()))
            self._total = {phase: seconds + self._now[phase] for phase, seconds in self._total.items()}
        self._now = dict.fromkeys(PHASES, 0.0)

    def times(self) -> StepTimes | None:
        """Tell how long steps take; None while too few are over."""
        total = sum(self._total.values())
        if not self._steps or not total:
            return None
        return StepTimes(median(self._steps), {phase: seconds / total for phase, seconds in self._total.items()})
