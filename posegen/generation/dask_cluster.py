"""Do jobs on a Dask cluster: one that is named by the address of its scheduler, or processes of this machine.

A job is one task. If a worker dies, its running job is done again by another one. Few jobs wait at the scheduler at a time, so
that their number does not matter to it. Not responsible for which jobs there are; see :mod:`posegen.generation.run`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from distributed import Client, KilledWorker, LocalCluster, wait
from distributed.comm import CommClosedError
from distributed.scheduler import NoValidWorkerError

from posegen.errors import PosegenError, UsageError
from posegen.generation.pool import ATTEMPTS, DIED, SHORT_OF_MEMORY, LostJob
from posegen.generation.workers import WORKER_ENVIRONMENT, JobError, interrupts_blocked
from posegen.wording import shown

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

MOST_TASKS = 2000
"""Largest number of jobs at the scheduler: a million would exceed its memory."""
TASKS_PER_THREAD = 2
"""Jobs at the scheduler for each thread of the workers: one that runs, and one that waits."""

_SECONDS_TO_CONNECT = 30
_one_job = threading.Lock()


@contextmanager
def connect(scheduler: str | None, workers: int) -> Iterator[Client]:
    """Connect to a scheduler, or start a cluster of processes on this machine and stop it at the end.

    Parameters
    ----------
    scheduler : str or None
        Address, such as ``tcp://10.0.0.1:8786``. Its workers run code that this process sends, and it theirs.
    workers : int
        Number of processes without a scheduler.

    Raises
    ------
    UsageError
        If there is no scheduler at the address.
    """
    if scheduler is None:
        options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0", "env": WORKER_ENVIRONMENT}
        resource_tracker.ensure_running()  # which would unblock them if a worker started it
        with interrupts_blocked():
            cluster = LocalCluster(n_workers=workers, silence_logs=logging.CRITICAL, **options)
        with cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, ImportError, MemoryError) as error:  # MemoryError: another service sent its own bytes
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"--scheduler {shown(scheduler)}: cannot be reached ({reason}). Start it with `dask scheduler`"
        raise UsageError(msg) from error
    with client:
        yield client


def run_on_dask(
    function: Callable[[Job], Outcome], jobs: Iterable[Job], client: Client
) -> Generator[Outcome | LostJob[Job], None, None]:
    """Do jobs and yield the results in the order of completion, as :func:`posegen.generation.pool.run_jobs` does.

    A job is lost that kills its workers also when it runs alone, needs too much memory or raises a JobError; there is no limit
    of its time. Closing the generator cancels the jobs.
    """
    died: list[Job] = []
    try:
        for job, outcome in _run_all(client, function, iter(jobs)):
            if isinstance(outcome, LostJob) and outcome.reason == DIED:
                died.append(job)  # or another job of its worker killed that
            else:
                yield outcome
        for job in died:
            for attempt in range(1, ATTEMPTS + 1):
                ((_, outcome),) = _run_all(client, function, iter([job]))
                if not (isinstance(outcome, LostJob) and outcome.reason == DIED):
                    break
                outcome = LostJob(job, attempt, DIED)
            yield outcome
    except (CancelledError, CommClosedError) as error:
        msg = "the connection to the scheduler of the cluster was lost. Complete shards are kept: run the same command again"
        raise PosegenError(msg) from error


def _run_all(
    client: Client, function: Callable[[Job], Outcome], jobs: Iterator[Job]
) -> Iterator[tuple[Job, Outcome | LostJob[Job]]]:
    """Do jobs, a bounded number at a time, and yield them with their outcomes."""
    running: dict[Any, Job] = {}
    try:
        while True:
            for job in islice(jobs, max(_most_tasks(client) - len(running), 0)):
                running[client.submit(_run, function, job, pure=False)] = job
            if not running:
                return
            for future in wait([*running], return_when="FIRST_COMPLETED").done:
                job = running.pop(future)
                yield job, _outcome(future, job)
    finally:
        with suppress(CancelledError, CommClosedError):
            client.cancel([*running], force=True)


def _most_tasks(client: Client) -> int:
    threads: int = sum(client.nthreads().values())
    return min(MOST_TASKS, max(TASKS_PER_THREAD * threads, 1))


def _outcome(future: Any, job: Job) -> Any:
    """Return the result of a finished job, or a LostJob."""
    try:
        return future.result()
    except (KilledWorker, NoValidWorkerError):
        return LostJob(job, 0, DIED)
    except MemoryError:
        return LostJob(job, 0, SHORT_OF_MEMORY)
    except JobError as error:
        return LostJob(job, 0, str(error))
    except ModuleNotFoundError as error:
        raise PosegenError(f"a worker of the cluster lacks a package ({error}). Install the same posegen there") from error


def _run(function: Callable[[Job], Outcome], job: Job) -> Outcome:
    """Do a job on a worker, whose threads take turns: a shard fills a core, and its memory is that of a process."""
    with _one_job:
        return function(job)
