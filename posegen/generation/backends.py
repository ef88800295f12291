"""Where jobs run: processes of this machine and their environment, or a Dask cluster.

Not responsible for which jobs there are and what happens when one fails; see :mod:`posegen.generation.jobs`.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

from posegen.dataset.runs import LARGEST_SETTING
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.import_path import safe_path
from posegen.foundations.plugins import require_extra
from posegen.foundations.wording import shown

WORKER_ENVIRONMENT = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(LARGEST_SETTING),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ZARR_THREADING__MAX_WORKERS": "1",
    "PYTHONSAFEPATH": "1",
}
"""Environment of workers beside the limits of threads that joblib sets. The settings of malloc make the GNU C library keep
freed memory; see :func:`posegen.dataset.runs.keep_freed_memory`. The third one is for pyarrow, which otherwise starts a
thread when it is imported."""

_SECONDS_BETWEEN_LOOKS = 0.5
"""Seconds between looks at whether the parent, or the scheduler, is there."""
_SECONDS_TO_CONNECT = 30
_SECONDS_TO_GET_WORKERS = 120


def check_backend(name: str, scheduler: str | None) -> None:
    """Raise UsageError if there is no such backend, or a package or the scheduler of Dask is missing."""
    if name not in ("loky", "dask"):
        raise UsageError(f"backend must be loky or dask, not {shown(name)}")
    if name == "dask" and scheduler is None:
        raise UsageError("--backend dask needs --scheduler ADDRESS, which `dask scheduler` prints")
    if scheduler is not None:
        require_extra("dask")


@contextmanager
def opened(scheduler: str | None, workers: int, load: Callable[[], object] | None) -> Iterator[dict[str, Any]]:
    """Connect to a Dask cluster, or prepare processes of this machine and end them at the end.

    Parameters
    ----------
    scheduler : str or None
        Address of the scheduler of the cluster. Its workers run code that this process sends, and it theirs.
    workers : int
        Number of processes. joblib does a single job after the other in this process, so at least two are started.
    load : callable, optional
        Called once in each process of this machine before its first job.

    Yields
    ------
    dict of str to object
        Arguments of :class:`joblib.parallel_config`.

    Raises
    ------
    UsageError
        If there is no scheduler at the address, or no shared memory for worker processes.
    """
    if scheduler is not None:
        with _connected(scheduler) as client:
            yield {"backend": "dask", "n_jobs": -1, "client": client, "wait_for_workers_timeout": _SECONDS_TO_GET_WORKERS}
        return
    try:
        multiprocessing.Lock()
    except OSError as error:  # joblib would use threads
        msg = f"worker processes need shared memory, and /dev/shm cannot be used ({error.strerror}). Use --workers 1"
        raise UsageError(msg) from error
    with _environment():
        try:
            start = {"initializer": _start_worker, "initargs": (os.getpid(), load)}
            yield {"backend": "loky", "n_jobs": max(2, workers), "inner_max_num_threads": 1, **start}
        finally:
            _end_workers()


@contextmanager
def starting() -> Iterator[None]:
    """Let processes that are started inside this context ignore Ctrl-C, and not import from the current folder.

    A terminal sends Ctrl-C to the workers, too. It is handled by the parent; workers inherit that it is blocked.
    """
    resource_tracker.ensure_running()  # which would unblock it if a worker started it
    before, path = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]), sys.path[:]
    sys.path[:] = safe_path()
    try:
        yield
    finally:
        sys.path[:] = path
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment() -> Iterator[None]:
    """Set the variables that workers inherit, and restore them at the end."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _start_worker(parent: int, load: Callable[[], object] | None) -> None:
    """Prepare a worker, which would outlive a killed parent."""
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    # A worker starts no process. By this, the lock of numcodecs leaves no name in the system when the worker is killed.
    multiprocessing.set_start_method("fork", force=True)
    if load is not None:
        load()
    gc.freeze()  # modules stay; searches for reference cycles pass over them


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def _end_workers() -> None:
    """Kill the workers of `loky`, which joblib keeps for a next call."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True).shutdown(kill_workers=True)


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Connect to the scheduler of a Dask cluster."""
    # Imported here because it takes a second, and few runs use it.
    from distributed import Client

    try:
        client = Client(scheduler, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, ImportError, MemoryError) as error:  # MemoryError: another service sent its own bytes
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"--scheduler {shown(scheduler)}: cannot be reached ({reason}). Start it with `dask scheduler`"
        raise UsageError(msg) from error
    with client, _watched(client):
        yield client


@contextmanager
def _watched(client: Any) -> Iterator[None]:
    """Raise PosegenError once the connection to a scheduler is lost: joblib would wait for its results.

    A call to the scheduler fails at once. A timer in the main thread looks at the connection while there is none.
    """
    from distributed.comm import CommClosedError

    lost = "the connection to the scheduler was lost. Complete shards are kept: run the same command again"

    def look(number: int, frame: FrameType | None) -> None:
        if client.status != "running":
            raise PosegenError(lost)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, look) if is_main else None
    try:
        if is_main:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_LOOKS)
        yield
    except CommClosedError as error:
        raise PosegenError(lost) from error
    finally:
        if is_main:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
