"""A pool of worker processes that loses no job with a worker that dies, hangs or runs out of memory.

A worker has a pipe to its parent and one job at a time, so the parent knows which job a dead worker had. Such a job, one that
took too long and one that found too little memory are kept back, and then tried one at a time, without other workers.

Time limits are kept by the parent, because a worker that hangs cannot stop itself. A worker reports that it has started, so
that the seconds of its start do not count.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Generic, TypeAlias, TypeVar

from posegen.dataset.memory import LARGEST_SETTING, keep_freed_memory
from posegen.errors import PosegenError
from posegen.import_path import safe_path
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
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "ZARR_THREADING__MAX_WORKERS",
)
WORKER_ENVIRONMENT = {
    **dict.fromkeys(_THREADS, "1"),
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(LARGEST_SETTING),
}
"""Environment of workers. The workers fill the cores, so each uses one thread; zarr reads its settings from here, too. The last
two make the GNU C library keep freed memory; see :func:`posegen.dataset.memory.keep_freed_memory`."""

_PROGRAM = """
import sys
from multiprocessing.connection import Connection
connection, parent = Connection(int(sys.argv[1])), int(sys.argv[2])
sys.path[:] = connection.recv()
from posegen.generation.pool import serve
serve(connection, parent)
"""


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


class JobError(PosegenError):
    """An error that concerns one job: it is lost, and the others are done."""


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


Process: TypeAlias = "tuple[subprocess.Popen[bytes], Connection[Any, Any]]"
"""A worker process and the connection to it."""


@contextmanager
def waiting_workers(function: Callable[[Any], Any], count: int) -> Iterator[list[Process]]:
    """Start workers, which import `function` while the caller prepares their jobs; kill those that got no job at the end.

    Parameters
    ----------
    function : callable
        Does one job. Workers import it by name.
    count : int
        Number of workers. None is started for 1, with which :func:`run_jobs` needs no other process.

    Yields
    ------
    list of Process
        To be passed to :func:`run_jobs`, which removes those that it uses.
    """
    waiting: list[Process] = []
    try:
        for _ in range(count if count > 1 else 0):
            waiting.append(_start_process(function))
        yield waiting
    finally:
        _kill(waiting)


def run_jobs(
    function: Callable[[Job], Outcome],
    jobs: Iterable[Job],
    workers: int,
    limit: TimeLimit | None = None,
    waiting: list[Process] | None = None,
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
    waiting : list of Process, optional
        Workers that are used before others are started; see :func:`waiting_workers`.

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
    pool = _Pool(function, limit, [] if waiting is None else waiting)
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

    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    job: Job
    started: bool = False
    seconds: float = 0.0


@dataclass
class _Pool(Generic[Job, Outcome]):
    """Worker processes, and the jobs that failed so far."""

    function: Callable[[Job], Outcome]
    limit: TimeLimit | None
    waiting: list[Process]
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
                process, connection = self.waiting.pop() if self.waiting else _start_process(self.function)
                _send(connection, job)
                self.busy.append(_Worker(process, connection, job))
            if not self.busy:
                return
            ready = wait([worker.connection for worker in self.busy], _TICK)
            before, now = now, time.monotonic()
            for worker in [*self.busy]:
                # A tick counts at most twice its length: while the whole run is stopped, as by Ctrl-Z, no job becomes late.
                worker.seconds += min(now - before, 2 * _TICK)
                if worker.connection in ready:
                    yield from self._receive(worker, jobs)
                elif self.limit is not None:
                    allowed = self.limit.after(self.slowest)
                    if worker.seconds > allowed + (0.0 if worker.started else START_SECONDS):
                        self._drop(worker, f"{TOO_SLOW} {human_time(allowed)}")

    def _receive(self, worker: _Worker[Job], jobs: Iterator[Job]) -> Iterator[Outcome | LostJob[Job]]:
        """Yield the result that a worker has sent, after its next job is handed out."""
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            self._drop(worker, DIED)
            if not self.can_start:
                msg = "worker processes cannot start: the first one ended before any job, with the message above if it had one"
                raise PosegenError(msg) from None
            return
        seconds, worker.seconds = worker.seconds, 0.0
        if kind == "started":
            self.can_start = worker.started = True
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
            _send(worker.connection, job)
            return
        self.busy.remove(worker)
        self.idle.append(worker)

    def _drop(self, worker: _Worker[Job], reason: str) -> None:
        self.busy.remove(worker)
        _kill([(worker.process, worker.connection)])
        self.failed.append(LostJob(worker.job, 0, reason))

    def kill_workers(self) -> None:
        """Kill all workers, even stopped ones."""
        _kill([(worker.process, worker.connection) for worker in (*self.busy, *self.idle)])
        self.busy.clear()
        self.idle.clear()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C for processes that are started inside this context.

    A terminal sends Ctrl-C to the workers, too. It is handled by the parent; workers inherit that it is blocked.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_process(function: Callable[[Any], Any]) -> Process:
    """Start a worker. No semaphore or shared memory is used, which a killed process would leave behind."""
    ours, theirs = Pipe()
    handle = theirs.fileno()
    command = [sys.executable, "-P", "-c", _PROGRAM, str(handle), str(os.getpid())]
    with interrupts_blocked(), theirs:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=os.environ | WORKER_ENVIRONMENT, pass_fds=[handle])
    for content in (safe_path(), function):
        _send(ours, content)
    return process, ours


def _send(connection: Connection[Any, Any], content: object) -> None:
    # A worker that has died is noticed when its result is read.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.send(content)


def _kill(processes: Sequence[Process]) -> None:
    for process, _ in processes:
        process.kill()
    for process, connection in processes:
        process.wait()
        connection.close()


def serve(connection: Connection[Any, Any], parent: int) -> None:
    """Do the jobs that arrive, in a worker. The worker does not outlive the process `parent`."""
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    # A tenth of the start would be searches for reference cycles in modules, which stay.
    gc.disable()
    function = connection.recv()
    gc.freeze()
    gc.enable()
    # Without its parent, a worker ends silently.
    with suppress(EOFError, ConnectionError):
        connection.send(("started", None))
        while True:
            job = connection.recv()
            try:
                message = ("done", function(job))
            except Exception as error:
                error.add_note(traceback.format_exc())
                connection.send(("error", error))
                if not isinstance(error, JobError):
                    raise SystemExit from error
            else:
                connection.send(message)


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
