"""A time limit on each job of a pool: workers are killed when a job takes too long, and the pool treats it as a death.

The parent counts, because a worker that hangs or was stopped can do nothing about it. What counts is the time since a worker
began a job, which it tells through a pipe, and not the time since the job was handed out: a worker takes seconds to start.
"""

from __future__ import annotations

import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

__all__ = ["START_SECONDS", "Limit", "Watch", "kill_children", "tell_of_beginning"]

TIMES_THE_SLOWEST = 20
"""A job may take that many times as long as the slowest one so far. Shards of a run differ by a factor of two or three."""

START_SECONDS = 120.0
"""How long a worker may take to start."""

_TICK = 0.1
_SECONDS_TO_CLEAR_UP = 10.0
_MESSAGE = struct.Struct("<q")


@dataclass(frozen=True)
class Limit:
    """How long a job may take.

    Attributes
    ----------
    seconds : float
        What any job may take.
    grows : bool
        Whether a job may take :data:`TIMES_THE_SLOWEST` times as long as the slowest one so far, if that is longer.
    """

    seconds: float
    grows: bool = False

    def after(self, slowest: float) -> float:
        """Tell how long a job may take where the slowest so far took so long.

        >>> Limit(300, grows=True).after(2.0), Limit(300, grows=True).after(60.0), Limit(5).after(60.0)
        (300, 1200.0, 5)
        """
        return max(self.seconds, TIMES_THE_SLOWEST * slowest) if self.grows else self.seconds


class Watch:
    """Counts how long jobs take, across the calls that a pool makes.

    Parameters
    ----------
    limit : Limit
    kill_workers : callable
        Called when a job takes too long.

    Attributes
    ----------
    overdue : set of int
        Positions of the jobs that took too long.
    """

    def __init__(self, limit: Limit, kill_workers: Callable[[], None]) -> None:
        self.overdue: set[int] = set()
        self._limit = limit
        self._kill_workers = kill_workers
        self._slowest = 0.0
        self._seconds: dict[int, float] = {}
        self._begun: set[int] = set()
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._reading)
        os.close(self.writing)

    def ended(self, position: int) -> None:
        """Take down that a job is done."""
        seconds = self._seconds.pop(position, 0.0)
        if position in self._begun:
            self._begun.discard(position)
            self._slowest = max(self._slowest, seconds)

    def allowed(self) -> float:
        """Tell how many seconds a job may take now."""
        return self._limit.after(self._slowest)

    @contextmanager
    def over(self, handed_out: Mapping[int, object]) -> Iterator[None]:
        """Watch the jobs whose positions are in `handed_out`, which others change meanwhile."""
        self._read()  # what workers told that are dead by now
        self._seconds.clear()
        self._begun.clear()
        stop = threading.Event()
        thread = threading.Thread(target=self._watch, args=(handed_out, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _watch(self, handed_out: Mapping[int, object], stop: threading.Event) -> None:
        told = select.poll()  # unlike select, it knows no highest number of a file
        told.register(self._reading, select.POLLIN)
        now = time.monotonic()
        while not stop.is_set():
            told.poll(1000 * _TICK)
            before, now = now, time.monotonic()
            # No tick is longer, whatever the clock says: while the whole run is stopped, as by Ctrl-Z, nobody is late.
            self._count(list(handed_out), min(now - before, 2 * _TICK))
            late = {position for position in list(handed_out) if self._is_late(position)}
            if late:
                self.overdue |= late
                self._kill_workers()
                # One that escaped is killed later, and not while the pool clears up: that takes breaking pipes badly.
                stop.wait(_SECONDS_TO_CLEAR_UP)

    def _count(self, positions: list[int], seconds: float) -> None:
        for position in positions:
            self._seconds[position] = self._seconds.get(position, 0.0) + seconds
        for position in self._read():
            self._begun.add(position)
            self._seconds[position] = 0.0

    def _is_late(self, position: int) -> bool:
        allowed = self.allowed() + (0.0 if position in self._begun else START_SECONDS)
        return self._seconds.get(position, 0.0) > allowed

    def _read(self) -> list[int]:
        """Read the positions of jobs that workers have begun since the last time."""
        try:
            told = os.read(self._reading, 2**16)
        except BlockingIOError:
            return []
        return [position for (position,) in _MESSAGE.iter_unpack(told)]


def tell_of_beginning(parent: int, writing: int, position: int) -> None:
    """Tell the watch of the process `parent` that a job begins; for workers.

    Where there is no ``/proc``, nothing is told, and a job is late only when it takes longer than a start and a job may.
    """
    with suppress(OSError):
        handle = os.open(f"/proc/{parent}/fd/{writing}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, _MESSAGE.pack(position))
        finally:
            os.close(handle)


def kill_children(mark: str) -> None:
    """Kill the children of this process whose command lines hold `mark`, even those that are stopped."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if mark in " ".join(child.cmdline()):
                child.kill()
