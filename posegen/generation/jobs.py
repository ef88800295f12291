"""Do jobs in worker processes, which joblib starts, and lose no job with a worker that dies, hangs or runs out of memory.

joblib ends its whole call when a worker dies or nothing is done for too long, and names no job. Jobs without a result are first
looked up, because a job may be done although its result was lost, and then done in another call. A job that was running at
two such ends is tried once more after all others, alone, as is one that found too little memory. Not responsible for where
jobs run; see :mod:`posegen.generation.backends`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from multiprocessing import TimeoutError as NothingDoneError
from typing import Any, Generic, TypeVar

from posegen.dataset.runs import keep_freed_memory
from posegen.foundations.errors import PosegenError
from posegen.foundations.quantities import human_time
from posegen.generation.backends import opened, starting

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

DIED, TOO_SLOW, SHORT_OF_MEMORY = "its worker died", "it took longer than", "there was too little memory"
"""Reasons for which a job is lost."""

MOST_ENDS = 2
"""A job that was running when so many calls of joblib ended is tried alone."""

TIMES_THE_SLOWEST = 20
"""A job may take this many times as long as the slowest one so far. Shards of a run differ by a factor of two or three."""

START_SECONDS = 120.0
"""Seconds that workers may take to start."""

_STARTS = 3
"""How often workers are started that die before any job."""
_one_job = threading.Lock()


class JobError(PosegenError):
    """An error that concerns one job: it is lost, and the others are done."""


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
    was_alone : bool
        Whether it was tried again without other jobs.
    reason : str
        What happened the last time, such as "its worker died", or the message of a JobError.
    """

    job: Job
    was_alone: bool
    reason: str


def run_jobs(
    function: Callable[[Job], Outcome],
    jobs: Iterable[Job],
    workers: int,
    limit: TimeLimit | None = None,
    *,
    scheduler: str | None = None,
    load: Callable[[], object] | None = None,
    find: Callable[[Job], Outcome | None] = lambda job: None,
) -> Generator[Outcome | LostJob[Job], None, None]:
    """Do jobs in worker processes and yield the results in the order of completion.

    Parameters
    ----------
    function : callable
        Does one job. Workers import it by name.
    jobs : iterable
        Read as workers become free.
    workers : int
        Number of processes. With 1 and no limit, the jobs run in this process, unless there is a scheduler.
    limit : TimeLimit, optional
        No limit by default.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster whose workers do the jobs.
    load : callable, optional
        Called once in each process of this machine before its first job.
    find : callable, optional
        Returns the outcome of a job that was done although its result was lost; None if it was not done.

    Yields
    ------
    object or LostJob
        The result of `function`, or a LostJob if the job kills its worker, takes too long, needs too much memory or raises a
        JobError. Any other exception of `function` ends the run and is raised here. Closing the generator kills the workers.

    Raises
    ------
    PosegenError
        If workers cannot start.
    """
    if workers == 1 and limit is None and scheduler is None:
        with keep_freed_memory():
            for job in jobs:
                try:
                    outcome: Outcome | LostJob[Job] = function(job)
                except (JobError, MemoryError) as error:
                    outcome = LostJob(job, False, str(error) if isinstance(error, JobError) else SHORT_OF_MEMORY)
                yield outcome
        return
    with opened(scheduler, workers, load) as options:
        yield from _Supervisor(function, (_Task(job) for job in jobs), limit, find, options, workers).run()


def collect(
    outcomes: Generator[Outcome | LostJob[Job], None, None], check: Callable[[], None], receive: Callable[[Outcome], None]
) -> list[LostJob[Job]]:
    """Pass the results of jobs to `receive`, after `check`, which may end the run, and return the lost jobs."""
    lost: list[LostJob[Job]] = []
    with closing(outcomes):
        for outcome in outcomes:
            check()
            if isinstance(outcome, LostJob):
                lost.append(outcome)
            else:
                receive(outcome)
    return lost


@dataclass(frozen=True)
class _Result:
    """What a worker sends: the number of a job, the seconds that it took, and its outcome or error."""

    number: int
    seconds: float
    outcome: Any = None
    error: JobError | MemoryError | None = None


@dataclass(eq=False)
class _Task(Generic[Job]):
    """A job, the number of ends at which it was running, and when it was first seen to be running in this call."""

    job: Job
    ends: int = 0
    since: float | None = None


class _CallEndedError(Exception):
    """Thrown into a call of joblib to end it: to close it would warn that results are not used."""


@dataclass
class _Supervisor(Generic[Job, Outcome]):
    """Calls joblib until each job is done or lost.

    Attributes
    ----------
    width : int
        Number of processes; those of a cluster are counted instead.
    again, alone : deque of _Task
        Tasks to do again, and to do again without others.
    running : dict of int to _Task
        Tasks without a result that joblib has taken in this call, in order. It takes some more than run.
    slowest : float
        Seconds of the slowest job.
    is_ending : bool
        Whether this call takes no more tasks.
    """

    function: Callable[[Job], Outcome]
    fresh: Iterator[_Task[Job]]
    limit: TimeLimit | None
    find: Callable[[Job], Outcome | None]
    options: dict[str, Any]
    width: int
    again: deque[_Task[Job]] = field(default_factory=deque)
    alone: deque[_Task[Job]] = field(default_factory=deque)
    running: dict[int, _Task[Job]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    slowest: float = 0.0
    is_ending: bool = False

    def run(self) -> Iterator[Outcome | LostJob[Job]]:
        """Yield the outcomes of all jobs, those that are tried alone last."""
        while self._has_more():
            yield from self._call(is_alone=False)
        self.again, self.alone = self.alone, deque()
        while self.again:
            yield from self._call(is_alone=True)

    def _has_more(self) -> bool:
        self.again.extend(islice(self.fresh, 0 if self.again else 1))
        return bool(self.again)

    def _call(self, *, is_alone: bool) -> Iterator[Outcome | LostJob[Job]]:
        """Do jobs in one call of joblib, until all are done, the call fails, or a setting of it is to change."""
        at_once = 1 if is_alone else self._jobs_at_once()
        # Twice, so that few calls end because a job is slower than those before it.
        allowed = None if self.limit is None else self.limit.after(2 * self.slowest)
        late: list[_Task[Job]] = []
        reason, results = "", self._begin(at_once, allowed)
        try:
            for result in results:
                yield from self._receive(result, is_alone=is_alone)
                if late := self._late(at_once, allowed):
                    break
                if self.limit and allowed and self.limit.after(self.slowest) > allowed:
                    self.is_ending = True
                if not is_alone and self._jobs_at_once() != at_once:
                    self.is_ending = True
        except BrokenProcessPool as error:
            if error.__cause__ is not None:  # a worker cannot read a job, which is no job's fault
                cause = str(error.__cause__).strip('\n"').splitlines()[-1]
                msg = (
                    f"a worker process cannot import what its jobs need ({cause}). Install it, or add its folder to PYTHONPATH"
                )
                raise PosegenError(msg) from error
            reason = DIED
        except NothingDoneError:
            late = list(self.running.values())[:at_once]
        finally:
            with suppress(_CallEndedError):
                results.throw(_CallEndedError)
        if late and allowed:
            reason = f"{TOO_SLOW} {human_time(allowed)}"
        yield from self._recover(late, at_once, reason, is_alone=is_alone)

    def _jobs_at_once(self) -> int:
        """Return the number of jobs that joblib has at a time: in a cluster two for each thread, so that none waits."""
        from joblib import effective_n_jobs, parallel_config

        if "client" not in self.options:
            return self.width
        with parallel_config(**self.options):
            return 2 * int(effective_n_jobs(None))

    def _begin(self, at_once: int, allowed: float | None) -> Generator[_Result, None, None]:
        """Start workers if there are none, which is not part of the time of a job, and hand out the first jobs."""
        from joblib import Parallel, delayed, parallel_config

        self.is_ending = False
        # Equal settings of both calls, so that the second one finds the workers of the first.
        settings: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1, "max_nbytes": None}
        with parallel_config(**{"n_jobs": max(2, self.width)} | self.options):
            for attempt in range(1, _STARTS + 1):
                start = Parallel(timeout=START_SECONDS, **settings)
                try:
                    with starting():
                        ready = start(delayed(_be_ready)() for _ in range(max(2, self.width)))
                    deque(ready, maxlen=0)
                    break
                except (BrokenProcessPool, NothingDoneError) as error:
                    if attempt == _STARTS:
                        msg = "worker processes cannot start: they ended before any job, with the message above if they had one"
                        raise PosegenError(msg) from error
            # While all processes are busy, one more job waits at them, which saves the way of a result and of the next job.
            waiting = int(at_once == self.options.get("n_jobs"))
            call = Parallel(pre_dispatch=at_once + waiting, timeout=allowed, **settings)
        with starting():
            results: Generator[_Result, None, None] = call(self._calls())
        return results

    def _calls(self) -> Iterator[Any]:
        """Yield calls for joblib, from a thread of its own, until the call is to end."""
        from joblib import delayed

        while not self.is_ending:
            task = self.again.popleft() if self.again else next(self.fresh, None)
            if task is None:
                return
            number, task.since = next(self.numbers), None
            self.running[number] = task
            yield delayed(_do)(self.function, number, task.job)

    def _receive(self, result: _Result, *, is_alone: bool) -> Iterator[Outcome | LostJob[Job]]:
        """Yield the outcome of a result; a job that found too little memory is kept for later, with fewer at a time."""
        task = self.running.pop(result.number)
        self.slowest = max(self.slowest, result.seconds)
        if isinstance(result.error, JobError):
            yield LostJob(task.job, is_alone, str(result.error))
        elif result.error is None:
            yield result.outcome
        elif is_alone:
            yield LostJob(task.job, is_alone, SHORT_OF_MEMORY)
        else:
            self.alone.append(task)
            self.width, self.is_ending = max(1, self.width // 2), True

    def _late(self, at_once: int, allowed: float | None) -> list[_Task[Job]]:
        """Return the tasks that take too long while others are done, which joblib does not notice."""
        now, late = time.monotonic(), []
        for task in list(self.running.values())[:at_once]:
            task.since = now if task.since is None else task.since
            if allowed and now - task.since > allowed:
                late.append(task)
        return late

    def _recover(
        self, late: list[_Task[Job]], at_once: int, reason: str, *, is_alone: bool
    ) -> Iterator[Outcome | LostJob[Job]]:
        """Yield the outcomes of tasks that are done although their results were lost, and keep the others for another call."""
        missing = []
        for task in self.running.values():
            if (outcome := self.find(task.job)) is None:
                missing.append(task)
            else:
                yield outcome
        self.running.clear()
        suspected = late or missing[: at_once if reason else 0]
        for task in missing:
            task.ends += task in suspected
            if task in suspected and is_alone:
                yield LostJob(task.job, is_alone, reason)
            elif task.ends >= MOST_ENDS and not is_alone:
                self.alone.append(task)
            else:
                self.again.append(task)


def _be_ready() -> None:
    """Do nothing, in a worker that has started."""


def _do(function: Callable[[Job], Outcome], number: int, job: Job) -> _Result:
    """Do a job in a worker. Threads of a worker take turns: a shard fills a core, and its memory is that of a process."""
    with _one_job:
        started = time.monotonic()
        try:
            outcome = function(job)
        except (JobError, MemoryError) as error:
            return _Result(number, time.monotonic() - started, error=error)
        return _Result(number, time.monotonic() - started, outcome)
