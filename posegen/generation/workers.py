"""Start worker processes. On Linux they are forked from one process, which has loaded what all of them need.

Imports, the library and compiled kernels take 2 to 3 s of processor time and 100 MB. Workers that are forked afterwards have
them at once, and share their memory. The process that they are forked from, the template, is started as any program, so that
nothing of the user's program is in it, and has no second thread, of which a fork would have no copy. Elsewhere each worker is a
program that loads all by itself: libraries of macOS do not work in a forked process.

The `forkserver` of :mod:`multiprocessing` is not used: it imports the user's main program in each worker, so that scripts would
need a guard, and serves a whole process, while each run here loads its own config.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from types import FrameType
from typing import Any, Self

from posegen.dataset.memory import LARGEST_SETTING
from posegen.errors import PosegenError
from posegen.import_path import safe_path

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
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Environment of workers. The workers fill the cores, so each uses one thread; zarr reads its settings from here, too. The
settings of malloc make the GNU C library keep freed memory; see :func:`posegen.dataset.memory.keep_freed_memory`. The last one
is for pyarrow, which otherwise starts a thread when it is imported."""

_PROGRAM = """
import sys
from multiprocessing.connection import Connection
connection, parent, forks = Connection(int(sys.argv[1])), int(sys.argv[2]), sys.argv[3] == "True"
sys.path[:] = connection.recv()
from posegen.generation.workers import fork_workers, serve
(fork_workers if forks else serve)(connection, parent)
"""
_SECONDS_BETWEEN_LOOKS = 0.5
"""Seconds between looks at whether the parent is alive."""
_SECONDS_TO_END = 2.0
"""Seconds that the template may take to end before it is killed."""
_FORKS = sys.platform == "linux"


class JobError(PosegenError):
    """An error that concerns one job: it is lost, and the others are done."""


@dataclass
class Process:
    """A worker, or the template.

    Attributes
    ----------
    connection : Connection
    program : subprocess.Popen or None
        None if it is forked.
    number : int or None
        Number of a forked process that has started. Until the template ends, no other process gets it.
    """

    connection: Connection[Any, Any]
    program: subprocess.Popen[bytes] | None = None
    number: int | None = None

    def send(self, content: object) -> None:
        """Send an object. That the process has died is noticed when its answer is read."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(content)


def kill(processes: Sequence[Process]) -> None:
    """Kill processes, even stopped ones, and wait for their end. A forked one that has not started ends without a job."""
    for process in processes:
        if process.program is not None:
            process.program.kill()
        elif process.number is not None:
            with suppress(ProcessLookupError):
                os.kill(process.number, signal.SIGKILL)
    for process in processes:
        if process.program is not None:
            process.program.wait()
        elif process.number is not None:
            with suppress(EOFError, ConnectionError):  # which its end closes
                while True:
                    process.connection.recv_bytes()
        process.connection.close()


@dataclass
class Starter:
    """Starts workers that do the jobs of one function, inside a context, before whose end they must be dead.

    Attributes
    ----------
    function : callable
        Does one job. Workers import it by name.
    """

    function: Callable[[Any], Any]
    _template: Process | None = field(default=None, init=False)
    _preparation: Callable[[], object] | None = field(default=None, init=False)
    _has_forked: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        if _FORKS:
            self._template = self._start_template()
        return self

    def __exit__(self, *error: object) -> None:
        if self._template is None:
            return
        if self._template.program is not None and self._has_forked:
            # At the end of its connection it waits for the workers, which are dead, so that the system forgets them.
            self._template.connection.close()
            with suppress(subprocess.TimeoutExpired):
                self._template.program.wait(_SECONDS_TO_END)
        kill([self._template])

    def prepare(self, load: Callable[[], object]) -> None:
        """Have the template call `load` before it is forked again, which must start no thread; elsewhere nothing is done."""
        self._preparation = load
        if self._template is not None:
            self._template.send(load)

    def start(self) -> Process:
        """Start a worker. No semaphore or shared memory is used, which a killed process would leave behind."""
        if self._template is None:
            return _start_program(self.function, forks=False)
        if self._template.program is not None and self._template.program.poll() is not None:
            kill([self._template])
            self._template = self._start_template()
        ours, theirs = Pipe()
        with theirs, suppress(BrokenPipeError, ConnectionResetError), _socket_of(self._template.connection) as control:
            self._template.connection.send(None)
            socket.send_fds(control, [b"."], [theirs.fileno()])
        self._has_forked = True
        return Process(ours)

    def _start_template(self) -> Process:
        template = _start_program(self.function, forks=True)
        if self._preparation is not None:
            template.send(self._preparation)
        return template


def starter_of(function: Callable[[Any], Any], workers: int) -> AbstractContextManager[Starter | None]:
    """Return a starter that is ready before the jobs are; none for one worker, since the caller does its jobs."""
    return Starter(function) if workers > 1 else nullcontext()


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


def _start_program(function: Callable[[Any], Any], *, forks: bool) -> Process:
    """Start a worker, or a template, as a program of its own."""
    ours, theirs = Pipe()
    handle = theirs.fileno()
    command = [sys.executable, "-P", "-c", _PROGRAM, str(handle), str(os.getpid()), str(forks)]
    with interrupts_blocked(), theirs:
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=os.environ | WORKER_ENVIRONMENT, pass_fds=[handle])
    process = Process(ours, program)
    for content in (safe_path(), function):
        process.send(content)
    return process


def serve(connection: Connection[Any, Any], parent: int) -> None:
    """Do the jobs that arrive, in a worker that is a program. The worker does not outlive the process `parent`."""
    _do_jobs(connection, _receive_function(connection), parent)


def fork_workers(connection: Connection[Any, Any], parent: int) -> None:
    """Fork workers, in the template. Neither it nor they outlive the process `parent`."""
    own = os.getpid()

    def look(number: int, frame: FrameType | None) -> None:
        del number, frame
        if os.getpid() == own and os.getppid() != parent:
            os._exit(1)

    # Not by a thread: a fork has no copy of it. A fork has no timer either.
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_LOOKS)
    function = _receive_function(connection)
    with suppress(EOFError, ConnectionError), _socket_of(connection) as control:
        while True:
            load = connection.recv()
            if load is not None:
                load()
                gc.freeze()
                continue
            _, handles, _, _ = socket.recv_fds(control, 1, 1)
            if os.fork() == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                control.close()
                connection.close()
                try:
                    _do_jobs(Connection(handles[0]), function, own)
                except Exception as error:
                    traceback.print_exc()
                    raise SystemExit(1) from error
                finally:
                    sys.stderr.flush()
                    os._exit(0)  # not what the template would do at its end
            os.close(handles[0])
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _socket_of(connection: Connection[Any, Any]) -> socket.socket:
    """Return another handle of a connection's socket, which can pass handles of files to the other process."""
    return socket.socket(fileno=os.dup(connection.fileno()))


def _receive_function(connection: Connection[Any, Any]) -> Callable[[Any], Any]:
    # A tenth of the start would be searches for reference cycles in modules, which stay.
    gc.disable()
    function: Callable[[Any], Any] = connection.recv()
    gc.freeze()
    gc.enable()
    return function


def _do_jobs(connection: Connection[Any, Any], function: Callable[[Any], Any], parent: int) -> None:
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    # Without its parent, a worker ends silently.
    with suppress(EOFError, ConnectionError):
        connection.send(("started", os.getpid()))
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
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
