"""Many processes, one shard a task, and no task lost with a worker that dies.

One dead worker takes its whole joblib call with it, but not the results that came back before. So the call is made again
with what is left; the jobs that may have killed the worker are kept back and then tried one at a time, each in a worker
where nothing else runs. So are jobs that took too long, for which the workers were killed, and those whose worker found
too little memory.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Generic, TypeVar

from posegen.generation.memory import KEEP_MEMORY, kept_memory
from posegen.generation.unasked import hide_unasked
from posegen.generation.watching import Limit, Watch, kill_children, tell_of_beginning
from posegen.quantities import human_time

__all__ = ["ATTEMPTS", "DIED", "SHORT_OF_MEMORY", "Lost", "run_jobs"]

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


DIED = "its worker died"
SHORT_OF_MEMORY = "there was too little memory"

_WORKER = "popen_loky"
"""What the command line of a worker holds."""


@dataclass(frozen=True)
class Lost(Generic[Job]):
    """A job that could not be done.

    Attributes
    ----------
    job
    attempts : int
        How often it was tried alone, after the first time.
    why : str
        What happened the last time: a sentence such as "its worker died".
    """

    job: Job
    attempts: int
    why: str = DIED


@dataclass(frozen=True)
class _Short:
    """What comes back instead of an outcome where there was too little memory."""


@dataclass(frozen=True)
class _Call(Generic[Job, Outcome]):
    """What all joblib calls of a pool have in common.

    Attributes
    ----------
    make : callable
    workers : int
    watch : Watch or None
        None where jobs may take as long as they like.
    short : set of int
        Positions of the jobs that found too little memory when they were last tried.
    """

    make: Callable[[Job], Outcome]
    workers: int
    watch: Watch | None
    short: set[int] = field(default_factory=set)

    def why(self, position: int) -> str:
        """Say what happened to a job."""
        if position in self.short:
            return SHORT_OF_MEMORY
        if self.watch is not None and position in self.watch.overdue:
            return f"it took longer than {human_time(self.watch.allowed())}"
        return DIED


def run_jobs(
    make: Callable[[Job], Outcome], jobs: Iterable[Job], workers: int, limit: Limit | None = None
) -> Generator[Outcome | Lost[Job], None, None]:
    """Do every job and yield what comes out, as it comes.

    Parameters
    ----------
    make : callable
        Does one job. It must be importable, because workers import it.
    jobs : iterable
        Read as workers get free. A thread other than the caller's may read it, too.
    workers : int
        How many processes. With 1 and no limit, the jobs run in this process.
    limit : Limit, optional
        How long a job may take; as long as it likes unless given.

    Yields
    ------
    what `make` returned, in the order of completion, or :class:`Lost` for a job that kills its worker, takes too long or needs
    too much memory. What `make` raises otherwise ends the run and is raised here. Closing the generator kills the workers.
    """
    if workers == 1 and limit is None:
        yield from _run_here(make, jobs)
        return
    watch = None if limit is None else Watch(limit, partial(kill_children, _WORKER))
    with _worker_environment():
        try:
            yield from _run_in_pool(_Call(make, workers, watch), jobs)
        finally:
            _shut_down()
            if watch is not None:
                watch.close()


def _run_here(make: Callable[[Job], Outcome], jobs: Iterable[Job]) -> Iterator[Outcome | Lost[Job]]:
    with kept_memory():
        for job in jobs:
            try:
                outcome: Outcome | Lost[Job] = make(job)
            except MemoryError:
                outcome = Lost(job, 0, SHORT_OF_MEMORY)
            yield outcome


def _run_in_pool(call: _Call[Job, Outcome], jobs: Iterable[Job]) -> Iterator[Outcome | Lost[Job]]:
    waiting = enumerate(jobs)
    suspects: dict[int, Job] = {}
    while (first := next(waiting, None)) is not None:
        fed: dict[int, Job] = {}
        # Closed by hand here and below: a generator is not closed with the one that reads it.
        with closing(_one_call(call, chain([first], waiting), fed)) as outcomes:
            yield from outcomes
        suspects |= fed
    for position, job in suspects.items():
        yield from _try_alone(call, position, job)


def _try_alone(call: _Call[Job, Outcome], position: int, job: Job) -> Iterator[Outcome | Lost[Job]]:
    for _ in range(ATTEMPTS):
        _forget(call, position)
        with closing(_one_call(call, iter([(position, job)]), {})) as outcomes:
            for outcome in outcomes:
                yield outcome
                return
    yield Lost(job, ATTEMPTS, call.why(position))


def _forget(call: _Call[Job, Outcome], position: int) -> None:
    call.short.discard(position)
    if call.watch is not None:
        call.watch.overdue.discard(position)


def _one_call(
    call: _Call[Job, Outcome], jobs: Iterator[tuple[int, Job]], fed: dict[int, Job]
) -> Generator[Outcome, None, None]:
    """Yield the outcomes of numbered jobs until all are done or a worker dies; then `fed` holds those without an outcome."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    writing = None if call.watch is None else call.watch.writing

    def feed() -> Iterator[Any]:
        for position, job in jobs:
            fed[position] = job
            yield delayed(_call)(call.make, position, job, os.getpid(), writing)

    # joblib would do jobs for one worker in this process, which they may kill or hang: ask for two, and hand out one at a time.
    # Nothing is handed out before a worker is free to take it, so that `fed` holds few jobs that never ran.
    parallel = Parallel(n_jobs=max(call.workers, 2), return_as="generator_unordered", pre_dispatch=call.workers, batch_size=1)
    watched = nullcontext() if call.watch is None else call.watch.over(fed)
    with watched, suppress(TerminatedWorkerError), _closing_quietly(parallel(feed())) as outcomes:
        for position, outcome in outcomes:
            if isinstance(outcome, _Short):
                call.short.add(position)
                continue
            del fed[position]
            if call.watch is not None:
                call.watch.ended(position)
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


def _call(
    make: Callable[[Job], Outcome], position: int, job: Job, parent: int, writing: int | None
) -> tuple[int, Outcome | _Short]:
    _settle_in(parent)
    if writing is not None:
        tell_of_beginning(parent, writing, position)
    try:
        return position, make(job)
    except MemoryError:
        return position, _Short()


def _settle_in(parent: int) -> None:
    """Make this process a good worker: Ctrl-C is its parent's business, it does not outlive its parent, and begins soon."""
    if os.getpid() == parent or _settled.is_set():
        return
    _settled.set()
    hide_unasked()
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
    # Workers that are killed leave semaphores behind, which Python's own tracker would tell the user.
    warnings_wanted = [*filter(None, [os.environ.get("PYTHONWARNINGS")]), "ignore:resource_tracker:UserWarning"]
    environment = WORKER_ENVIRONMENT | {"PYTHONWARNINGS": ",".join(warnings_wanted)}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
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

    # Asked for otherwise, it would wait for the old workers before it gives new ones, and one that is stopped never leaves.
    get_reusable_executor(reuse=False, kill_workers=True).shutdown(wait=True, kill_workers=True)
