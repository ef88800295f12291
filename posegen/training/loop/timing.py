"""The time of training steps, and the share of each of their phases."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch

PHASES = ("data", "forward", "backward", "optimiser")
_RECENT = 200
_WARMUP = 3
_SPLIT_EVERY = 20
"""Of so many steps on a GPU, one is split into phases."""


@dataclass(frozen=True)
class StepTimes:
    """Median seconds of recent steps, mean seconds of all, and the share of each phase in all steps."""

    seconds: float
    mean: float
    shares: dict[str, float]


class StepTimer:
    """Add up the time of each phase; to be called at the end of each phase.

    Attributes
    ----------
    wait : callable, optional
        Returns when the device has computed what it was given. A GPU computes beside the program, so the ends of phases
        wait for it, in one of some steps: in all, it would be idle while the program prepares the next phase.
    """

    def __init__(self) -> None:
        self.wait: Callable[[], object] | None = None
        self._last = time.perf_counter()
        self._now = dict.fromkeys(PHASES, 0.0)
        self._steps: deque[float] = deque(maxlen=_RECENT)
        self._total = 0.0
        self._split = dict.fromkeys(PHASES, 0.0)
        self._count = self._count_split = 0

    def start(self, device: str) -> None:
        """Begin to measure steps on a device."""
        self.wait = torch.cuda.synchronize if device == "cuda" else None
        self.end_phase(None)

    def end_phase(self, phase: str | None) -> None:
        """Add the time since the last call to a phase; None for time outside steps."""
        if self.wait is not None and self._is_split():
            self.wait()
        now = time.perf_counter()
        if phase is not None:
            self._now[phase] += now - self._last
        self._last = now

    def _is_split(self) -> bool:
        return self.wait is None or self._count % _SPLIT_EVERY == _WARMUP

    def end_step(self) -> None:
        """Complete a step. The first ones are not counted, since caches and lazy initialisation slow them down."""
        split = self._is_split()
        self._count += 1
        if self._count > _WARMUP:
            seconds = sum(self._now.values())
            self._steps.append(seconds)
            self._total += seconds
            if split:
                self._split = {phase: seconds + self._now[phase] for phase, seconds in self._split.items()}
                self._count_split += 1
        self._now = dict.fromkeys(PHASES, 0.0)

    def times(self) -> StepTimes | None:
        """Return the times of the steps so far; None before the first counted step.

        Data comes in bursts, a window at a time, so a few split steps do not show how long all of them wait: what a mean step
        takes beyond the computing of the split ones is waiting.
        """
        if not any(self._split.values()):
            return None
        mean = self._total / (self._count - _WARMUP)
        used = {phase: seconds / self._count_split for phase, seconds in self._split.items()}
        computing = sum(used.values()) - used["data"]
        used["data"] = max(mean - computing, 0.0)
        total = sum(used.values())
        return StepTimes(median(self._steps), mean, {phase: seconds / total for phase, seconds in used.items()})
