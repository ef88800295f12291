"""A pool of worker processes that loses no job with a worker that dies, hangs or runs out of memory.

One dead worker ends its whole joblib call, but not the results that arrived before. So the call is repeated with the remaining
jobs. Jobs that may have killed the worker, that took too long or that found too little memory are kept back, and then tried one
at a time, each in a worker without a neighbour.

Time limits are kept by the parent, because a worker that hangs cannot stop itself. A worker reports the start of each job
through a pipe, so that the seconds in which a new worker starts do not count.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, TypeVar

import psutil

from posegen.quantities import human_time

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

ATTEMPTS = 3
"""Number of times that a job is tried alone before it is lost."""

DIED = "its worker died"
SHORT_OF_MEMORY = "there was too little memory"

TIMES_THE_SLOWEST = 20
"""A job may take this many times as long as the slowest one so far. Shards of a run differ by a factor of two or three."""

START_SECONDS = 120.0
"""Seconds that a worker may take to start."""

_TICK = 0.1
_CLEAN_UP_SECONDS = 10.0
_MESSAGE = struct.Struct("<q")
_WORKER = "popen_loky"
"""Part of the command line of a worker."""

_LARGEST = 2**31 - 1
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
    "MALLOC_TRIM_THRESHOLD_": str(_LARGEST),
}
"""Environment of workers. The workers fill the cores, so each uses one thread; zarr reads its settings from here, too. The last
two make the GNU C library keep freed memory; see :func:`keep_freed_memory`."""


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
        What happened the last time, such as "its worker died".
    """

    job: Job
    attempts: int
    reason: str = DIED


@dataclass(frozen=True)
class _OutOfMemory:
    """Result of a job that found too little memory."""


def run_jobs(
    function: Callable[[Job], Outcome], jobs: Iterable[Job], workers: int, limit: TimeLimit | None = None
) -> Generator[Outcome | LostJob[Job], None, None]:
    """Do jobs in worker processes and yield the results in the order of completion.

    Parameters
    ----------
    function : callable
        Does one job. Workers import it by name.
    jobs : iterable
        Read as workers become free, possibly from another thread.
    workers : int
        Number of processes. With 1 and no limit, the jobs run in this process.
    limit : TimeLimit, optional
        No limit by default.

    Yields
    ------
    object or LostJob
        The result of `function`, or a LostJob if the job kills its worker, takes too long or needs too much memory. Any other
        exception of `function` ends the run and is raised here. Closing the generator kills the workers.
    """
    if workers == 1 and limit is None:
        with keep_freed_memory():
            for job in jobs:
                try:
                    outcome: Outcome | LostJob[Job] = function(job)
                except MemoryError:
                    outcome = LostJob(job, 0, SHORT_OF_MEMORY)
                yield outcome
        return
    pool = _Pool(function, workers, None if limit is None else _Watch(limit))
    with _environment():
        try:
            yield from pool.run(jobs)
        finally:
            _shut_down()
            if pool.watch is not None:
                pool.watch.close()


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Make the C library keep freed memory inside this context.

    By default it returns large blocks to the system, which zeroes them again page by page for the next shard: a tenth to a
    fifth of the time of a run. Only the GNU C library has this setting.
    """
    trim_threshold, mmap_max = -1, -4  # constants of its malloc.h
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        yield
        return
    library.mallopt(mmap_max, 0)
    library.mallopt(trim_threshold, _LARGEST)
    try:
        yield
    finally:
        library.mallopt(mmap_max, 65536)
        library.mallopt(trim_threshold, 128 * 1024)
        library.malloc_trim(0)


@dataclass(frozen=True)
class _Pool(Generic[Job, Outcome]):
    """State of a pool across its joblib calls.

    Attributes
    ----------
    function : callable
    workers : int
    watch : _Watch or None
        None without a time limit.
    short : set of int
        Numbers of the jobs that found too little memory when they were last tried.
    """

    function: Callable[[Job], Outcome]
    workers: int
    watch: _Watch | None
    short: set[int] = field(default_factory=set)

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome | LostJob[Job]]:
        waiting = enumerate(jobs)
        suspects: dict[int, Job] = {}
        while (first := next(waiting, None)) is not None:
            unfinished: dict[int, Job] = {}
            # Closed explicitly, here and below: a generator is not closed together with its reader.
            with closing(self._call(chain([first], waiting), unfinished)) as outcomes:
                yield from outcomes
            suspects |= unfinished
        for number, job in suspects.items():
            yield self._try_alone(number, job)

    def _try_alone(self, number: int, job: Job) -> Outcome | LostJob[Job]:
        for _ in range(ATTEMPTS):
            self.short.discard(number)
            if self.watch is not None:
                self.watch.overdue.discard(number)
            with closing(self._call(iter([(number, job)]), {})) as outcomes:
                for outcome in outcomes:
                    return outcome
        return LostJob(job, ATTEMPTS, self._reason(number))

    def _reason(self, number: int) -> str:
        if number in self.short:
            return SHORT_OF_MEMORY
        if self.watch is not None and number in self.watch.overdue:
            return f"it took longer than {human_time(self.watch.allowed_seconds())}"
        return DIED

    def _call(self, jobs: Iterator[tuple[int, Job]], unfinished: dict[int, Job]) -> Generator[Outcome, None, None]:
        """Yield results of numbered jobs until all are done or a worker dies. Jobs without a result stay in `unfinished`."""
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        pipe = None if self.watch is None else self.watch.pipe

        def feed() -> Iterator[Any]:
            for number, job in jobs:
                unfinished[number] = job
                yield delayed(_work)(self.function, number, job, os.getpid(), pipe)

        # For one worker joblib would work in this process, which a job may kill or hang: ask for two, and hand out one job at a
        # time. No job is handed out before a worker is free, so that `unfinished` holds few jobs that never ran.
        workers = self.workers
        parallel = Parallel(n_jobs=max(workers, 2), return_as="generator_unordered", pre_dispatch=workers, batch_size=1)
        watching = nullcontext() if self.watch is None else self.watch.over(unfinished)
        with watching, suppress(TerminatedWorkerError), _closing_quietly(parallel(feed())) as outcomes:
            for number, outcome in outcomes:
                if isinstance(outcome, _OutOfMemory):
                    self.short.add(number)
                    continue
                del unfinished[number]
                if self.watch is not None:
                    self.watch.record_end(number)
                yield outcome


@contextmanager
def _closing_quietly(outcomes: Any) -> Iterator[Any]:
    try:
        yield outcomes
    finally:
        with warnings.catch_warnings():
            # joblib warns about the tasks that closing cancels.
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


class _Watch:
    """Counts the seconds of each running job, and kills the workers when a job exceeds its time limit.

    Attributes
    ----------
    overdue : set of int
        Numbers of the jobs that took too long.
    pipe : int
        File descriptor to which workers write the number of a job when it starts.
    """

    def __init__(self, limit: TimeLimit) -> None:
        self.overdue: set[int] = set()
        self._limit = limit
        self._slowest = 0.0
        self._seconds: dict[int, float] = {}
        self._started: set[int] = set()
        self._reading, self.pipe = os.pipe()
        os.set_blocking(self._reading, False)

    def close(self) -> None:
        os.close(self._reading)
        os.close(self.pipe)

    def record_end(self, number: int) -> None:
        seconds = self._seconds.pop(number, 0.0)
        if number in self._started:
            self._started.discard(number)
            self._slowest = max(self._slowest, seconds)

    def allowed_seconds(self) -> float:
        return self._limit.after(self._slowest)

    @contextmanager
    def over(self, unfinished: Mapping[int, object]) -> Iterator[None]:
        """Watch the jobs whose numbers are in `unfinished`, which changes meanwhile."""
        self._read()  # messages of workers that are dead by now
        self._seconds.clear()
        self._started.clear()
        stop = threading.Event()
        thread = threading.Thread(target=self._watch, args=(unfinished, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _watch(self, unfinished: Mapping[int, object], stop: threading.Event) -> None:
        messages = select.poll()  # unlike select, it takes file descriptors of any size
        messages.register(self._reading, select.POLLIN)
        now = time.monotonic()
        while not stop.is_set():
            messages.poll(1000 * _TICK)
            before, now = now, time.monotonic()
            # A tick counts at most twice its length: while the whole run is stopped, as by Ctrl-Z, no job becomes late.
            self._count(list(unfinished), min(now - before, 2 * _TICK))
            late = {number for number in list(unfinished) if self._is_late(number)}
            if late:
                self.overdue |= late
                _kill_workers()
                # A worker that escaped is killed later, not while joblib cleans up, which would break its pipes.
                stop.wait(_CLEAN_UP_SECONDS)

    def _count(self, numbers: list[int], seconds: float) -> None:
        for number in numbers:
            self._seconds[number] = self._seconds.get(number, 0.0) + seconds
        for number in self._read():
            self._started.add(number)
            self._seconds[number] = 0.0

    def _is_late(self, number: int) -> bool:
        allowed = self.allowed_seconds() + (0.0 if number in self._started else START_SECONDS)
        return self._seconds.get(number, 0.0) > allowed

    def _read(self) -> list[int]:
        """Return the numbers of the jobs that workers have started since the last call."""
        try:
            messages = os.read(self._reading, 2**16)
        except BlockingIOError:
            return []
        return [number for (number,) in _MESSAGE.iter_unpack(messages)]


def _kill_workers() -> None:
    """Kill the workers of this process, even stopped ones."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if _WORKER in " ".join(child.cmdline()):
                child.kill()


def _work(
    function: Callable[[Job], Outcome], number: int, job: Job, parent: int, pipe: int | None
) -> tuple[int, Outcome | _OutOfMemory]:
    """Do a job in a worker."""
    if os.getpid() != parent and not _initialised.is_set():
        _initialised.set()
        # Ctrl-C is handled by the parent, which the worker does not outlive.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    if pipe is not None:
        _report_start(parent, pipe, number)
    try:
        return number, function(job)
    except MemoryError:
        return number, _OutOfMemory()


_initialised = threading.Event()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _report_start(parent: int, pipe: int, number: int) -> None:
    """Write the number of a job to the pipe of the parent.

    Without ``/proc``, nothing is reported, and a job is late only when it takes longer than a start and a job together may.
    """
    with suppress(OSError):
        handle = os.open(f"/proc/{parent}/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, _MESSAGE.pack(number))
        finally:
            os.close(handle)


@contextmanager
def _environment() -> Iterator[None]:
    """Set the variables that workers inherit."""
    # Killed workers leave semaphores behind, which Python's resource tracker would report to the user.
    filters = [*filter(None, [os.environ.get("PYTHONWARNINGS")]), "ignore:resource_tracker:UserWarning"]
    environment = WORKER_ENVIRONMENT | {"PYTHONWARNINGS": ",".join(filters)}
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
    """Stop the workers that joblib keeps for the next call."""
    from joblib.externals.loky import get_reusable_executor

    # With reuse, loky would wait for the old workers before it starts new ones, and a stopped worker never ends.
    get_reusable_executor(reuse=False, kill_workers=True).shutdown(wait=True, kill_workers=True)
