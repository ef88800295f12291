"""How far a run is, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Clock", "Progress"]


@dataclass(frozen=True)
class Progress:
    """How far a run is: `what` it does, how much of `total` is `done`; texts embedded a second, and seconds left, if known."""

    what: str
    done: int
    total: int
    rate: float | None = None
    left: float | None = None


class Clock:
    """Tells how far the run is, how many texts a second the encoder takes, and how long the rest takes at that rate."""

    def __init__(self, total: int, pending: int, tell: Callable[[Progress], None]) -> None:
        self._total, self._left, self._tell = total, pending, tell
        self._start, self._embedded, self._running = time.monotonic(), 0, 0

    def embedded(self, count: int) -> None:
        """Some texts were embedded."""
        self._embedded += count
        self._running += count
        rate = self._embedded / max(time.monotonic() - self._start, 1e-9)
        left = self._left - self._running
        self._tell(Progress("embedding texts", self._total - left, self._total, rate, left / rate))

    def finished(self, count: int, embedded: int) -> None:
        """A shard of `count` texts is complete, of which some were embedded."""
        self._left -= count
        self._running -= embedded
        rate = self._embedded / max(time.monotonic() - self._start, 1e-9) if self._embedded else None
        left = self._left / rate if rate else None
        self._tell(Progress("embedding texts", self._total - self._left, self._total, rate, left))
