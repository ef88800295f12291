"""A pool of worker processes that loses no job with a worker that dies, hangs or runs out of memory.

A worker has a pipe to this process and one job at a time, so it is known which job a dead worker had. Such a job, one that took
too long and one that found too little memory are kept back, and then tried one at a time, without other workers.

Time limits are kept here, because a worker that hangs cannot stop itself. A worker reports that it has started, so that the
seconds of its start do not count. How workers start is in :mod:`posegen.generation.workers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import wait
from typing import Generic, TypeVar

from posegen.dataset.memory import keep_freed_memory
from posegen.errors import PosegenError
from posegen.generation.workers import JobError, Process, Starter, kill
from posegen.quantities import human_time

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

ATTEMPTS = 3
"""Number of times that a job is tried alone before it is lost."""

DIED, TOO_SLOW, SHORT_OF_MEMORY = "its worker died", "it took longer than", "there was too little memory"
"""Reasons for which a job is tried again alone."""

TIMES_THE_SLOWEST = 20
"""A job may take this many times as long as the slowest one so far. Shards of a run differ by a factor of two or three."""

START_SECONDS = 120.0
"""Seconds that a worker may take to start."""

_TICK = 0.1


@dataclass(frozen=True)
class TimeLimit:
    """Time limit of a job.

    Attributes
    ----------
    seconds : float
        Seconds that any job may take.
    grows : bool
        Whether a job may take :data:`TIMES_THE_SLOWEST` times as long as the slowest one so far, if that is longer.
    """

    seconds: float
    grows: bool = False

    def after(self, slowest: float) -> float:
        """Return the seconds that a job may take after the slowest one took `slowest` seconds.

        >>> TimeLimit(300, grows=True).after(2.0), TimeLimit(300, grows=True).after(60.0), TimeLimit(5).after(60.0)
        (300, 1200.0, 5)
        """
        return max(self.seconds, TIMES_THE_SLOWEST * slowest) if self.grows else self.seconds


@dataclass(frozen=True)
class LostJob(Generic[Job]):
    """A job that could not be done.

    Attributes
    ----------
    job
    attempts : int
        Number of times that it was tried alone, after the first time.
    reason : str
        What happened the last time, such as "its worker died", or the message of a JobError.
    """

    job: Job
    attempts: int
    reason: str = DIED


def run_jobs(
    function: Callable[[Job], Outcome],
    jobs: Iterable[Job],
    workers: int,
    limit: TimeLimit | None = None,
    starter: Starter | None = None,
) -> Generator[Outcome | LostJob[Job], None, None]:
    """Do jobs in worker processes and yield the results in the order of completion.

    Parameters
    ----------
    function : callable
        Does one job. Workers import it by name.
    jobs : iterable
        Read as workers become free.
    workers : int
        Number of processes. With 1 and no limit, the jobs run in this process.
    limit : TimeLimit, optional
        No limit by default.
    starter : Starter, optional
        Starts the workers; a new one by default.

    Yields
    ------
    object or LostJob
        The result of `function`, or a LostJob if the job kills its worker, takes too long, needs too much memory or raises a
        JobError. Any other exception of `function` ends the run and is raised here. Closing the generator kills the workers.
    """
    if workers == 1 and limit is None:
        with keep_freed_memory():
            for job in jobs:
                try:
                    outcome: Outcome | LostJob[Job] = function(job)
                except (JobError, MemoryError) as error:
                    outcome = LostJob(job, 0, str(error) if isinstance(error, JobError) else SHORT_OF_MEMORY)
                yield outcome
        return
    with nullcontext(starter) if starter else Starter(function) as own:
        pool: _Pool[Job, Outcome] = _Pool(own, limit)
        try:
            yield from pool.run(iter(jobs), workers)
            retried, pool.failed = pool.failed, []
            for lost in retried:
                for _ in range(ATTEMPTS):
                    pool.kill_workers()
                    yield from pool.run(iter([lost.job]), 1)
                    if not pool.failed:
                        break
                    reason = pool.failed.pop().reason
                else:
                    yield LostJob(lost.job, ATTEMPTS, reason)
        finally:
            pool.kill_workers()


@dataclass
class _Worker(Generic[Job]):
    """A worker process and its job, with the seconds since the worker or the job started."""

    process: Process
    job: Job
    started: bool = False
    seconds: float = 0.0


@dataclass
class _Pool(Generic[Job, Outcome]):
    """Worker processes, and the jobs that failed so far."""

    starter: Starter
    limit: TimeLimit | None
    busy: list[_Worker[Job]] = field(default_factory=list)
    idle: list[_Worker[Job]] = field(default_factory=list)
    failed: list[LostJob[Job]] = field(default_factory=list)
    slowest: float = 0.0
    can_start: bool = False
    """Whether any worker has started."""

    def run(self, jobs: Iterator[Job], workers: int) -> Iterator[Outcome | LostJob[Job]]:
        """Yield the results of jobs; a job without a result is added to `failed`."""
        now = time.monotonic()
        while True:
            for job in islice(jobs, workers - len(self.busy)):
                self.busy.append(_Worker(self.starter.start(), job))
            if not self.busy:
                return
            ready = wait([worker.process.connection for worker in self.busy], _TICK)
            before, now = now, time.monotonic()
            for worker in [*self.busy]:
                # A tick counts at most twice its length: while the whole run is stopped, as by Ctrl-Z, no job becomes late.
                worker.seconds += min(now - before, 2 * _TICK)
                if worker.process.connection in ready:
                    yield from self._receive(worker, jobs)
                elif self.limit is not None:
                    allowed = self.limit.after(self.slowest)
                    if worker.seconds > allowed + (0.0 if worker.started else START_SECONDS):
                        self._drop(worker, f"{TOO_SLOW} {human_time(allowed)}")

    def _receive(self, worker: _Worker[Job], jobs: Iterator[Job]) -> Iterator[Outcome | LostJob[Job]]:
        """Yield the result that a worker has sent, after its next job is handed out."""
        try:
            kind, content = worker.process.connection.recv()
        except (EOFError, OSError):
            self._drop(worker, DIED)
            if not self.can_start:
                msg = "worker processes cannot start: the first one ended before any job, with the message above if it had one"
                raise PosegenError(msg) from None
            return
        seconds, worker.seconds = worker.seconds, 0.0
        if kind == "started":
            self.can_start = worker.started = True
            worker.process.number = content
            worker.process.send(worker.job)  # not before: a process without a number cannot be killed
        elif kind == "done":
            self.slowest = max(self.slowest, seconds)
            self._hand_out(worker, jobs)
            yield content
        elif isinstance(content, JobError):
            lost = LostJob(worker.job, 0, str(content))
            self._hand_out(worker, jobs)
            yield lost
        elif isinstance(content, MemoryError):
            self._drop(worker, SHORT_OF_MEMORY)
        else:
            raise content

    def _hand_out(self, worker: _Worker[Job], jobs: Iterator[Job]) -> None:
        for job in islice(jobs, 1):
            worker.job = job
            worker.process.send(job)
            return
        self.busy.remove(worker)
        self.idle.append(worker)

    def _drop(self, worker: _Worker[Job], reason: str) -> None:
        self.busy.remove(worker)
        kill([worker.process])
        self.failed.append(LostJob(worker.job, 0, reason))

    def kill_workers(self) -> None:
        """Kill all workers, even stopped ones."""
        kill([worker.process for worker in (*self.busy, *self.idle)])
        self.busy.clear()
        self.idle.clear()
