"""Many processes, one shard a task, and no task lost with a worker that dies.

One dead worker takes its whole joblib call with it, but not the results that came back before. So the call is made again
with what is left; the jobs that may have killed the worker are kept back and then tried one at a time, each in a worker
where nothing else runs.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar

from posegen.generation.memory import KEEP_MEMORY, kept_memory

__all__ = ["ATTEMPTS", "Lost", "available_cores", "run_jobs"]

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

ATTEMPTS = 3
"""How often a job is tried alone before it is given up."""

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
WORKER_ENVIRONMENT = {**dict.fromkeys(_THREADS, "1"), **KEEP_MEMORY}
"""Set in workers. They fill the cores, and threads inside them would only get in each other's way. zarr, too, reads its
settings from the environment; those that are made in this process do not reach the workers."""


@dataclass(frozen=True)
class Lost(Generic[Job]):
    """A job whose worker died each time that it was tried alone."""

    job: Job
    attempts: int


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(make: Callable[[Job], Outcome], jobs: Iterable[Job], workers: int) -> Generator[Outcome | Lost[Job], None, None]:
    """Do every job and yield what comes out, as it comes.

    Parameters
    ----------
    make : callable
        Does one job. It must be importable, because workers import it.
    jobs : iterable
        Read as workers get free. A thread other than the caller's may read it, too.
    workers : int
        How many processes; with 1, the jobs run in this process.

    Yields
    ------
    what `make` returned, in the order of completion, or :class:`Lost` for a job that kills its worker. What `make` raises
    ends the run and is raised here. Closing the generator kills the workers.
    """
    if workers == 1:
        with kept_memory():
            for job in jobs:
                yield make(job)
        return
    with _worker_environment():
        try:
            yield from _run_in_pool(make, jobs, workers)
        finally:
            _shut_down()


def _run_in_pool(make: Callable[[Job], Outcome], jobs: Iterable[Job], workers: int) -> Iterator[Outcome | Lost[Job]]:
    waiting = enumerate(jobs)
    suspects: dict[int, Job] = {}
    while (first := next(waiting, None)) is not None:
        fed: dict[int, Job] = {}
        # Closed by hand here and below: a generator is not closed with the one that reads it.
        with closing(_one_call(make, chain([first], waiting), workers, fed)) as outcomes:
            yield from outcomes
        suspects |= fed
    for position, job in suspects.items():
        yield from _try_alone(make, position, job)


def _try_alone(make: Callable[[Job], Outcome], position: int, job: Job) -> Iterator[Outcome | Lost[Job]]:
    for _ in range(ATTEMPTS):
        # joblib would do a single job with one worker in this process, which the job may kill: ask for two.
        with closing(_one_call(make, iter([(position, job)]), 2, {})) as outcomes:
            for outcome in outcomes:
                yield outcome
                return
    yield Lost(job, ATTEMPTS)


def _one_call(
    make: Callable[[Job], Outcome], jobs: Iterator[tuple[int, Job]], workers: int, fed: dict[int, Job]
) -> Generator[Outcome, None, None]:
    """Yield the outcomes of numbered jobs until all are done or a worker dies; then `fed` holds those that it may have done."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    def feed() -> Iterator[Any]:
        for position, job in jobs:
            fed[position] = job
            yield delayed(_call)(make, position, job, os.getpid())

    # Nothing is handed out before a worker is free to take it, so that `fed` holds few jobs that never ran.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    with suppress(TerminatedWorkerError), _closing_quietly(parallel(feed())) as outcomes:
        for position, outcome in outcomes:
            del fed[position]
            yield outcome


@contextmanager
def _closing_quietly(outcomes: Any) -> Iterator[Any]:
    try:
        yield outcomes
    finally:
        with warnings.catch_warnings():
            # joblib warns about the tasks that it cancels, which is what was asked for.
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


def _call(make: Callable[[Job], Outcome], position: int, job: Job, parent: int) -> tuple[int, Outcome]:
    _settle_in(parent)
    return position, make(job)


def _settle_in(parent: int) -> None:
    """Make this process a good worker: Ctrl-C is its parent's business, and it does not outlive its parent."""
    if os.getpid() == parent or _settled.is_set():
        return
    _settled.set()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()


_settled = threading.Event()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Variables that processes started in here inherit."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _shut_down() -> None:
    """Stop the workers that joblib keeps for a next call."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True, kill_workers=True)
