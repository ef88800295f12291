"""Jobs for worker processes, which import this module: it imports little, so that they start fast."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

THREADS = "OMP_NUM_THREADS"


def square(job: int) -> int:
    """Return the square."""
    return job * job


def process(job: int) -> tuple[int, str | None]:
    """Return the process of a job and its thread limit."""
    time.sleep(0.02)
    return os.getpid(), os.environ.get(THREADS)


def import_path(job: int) -> tuple[list[str], bool]:
    """Return the import path of a worker, and whether it started without the current folder."""
    del job
    return sys.path, sys.flags.safe_path


def slow_square(job: int) -> int:
    """Return the square after a moment."""
    time.sleep(0.05)
    return job * job


def square_or(job: int, *, notes: Path, how: str, deadly: int = 1, times: int = 1) -> int:
    """At one job, the first few times: die, hang asleep or stopped, or run out of memory."""
    time.sleep(0.01)
    if job == deadly:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            if how == "memory":
                raise MemoryError
            if how != "sleep":
                os.kill(os.getpid(), signal.SIGKILL if how == "die" else signal.SIGSTOP)
            time.sleep(1000)
    return job * job


def fail(job: int) -> int:
    """Raise an error."""
    msg = f"job {job}"
    raise LookupError(msg)


def at_the_same_time(job: int, *, notes: Path) -> int:
    """Return the number of jobs that run now. The first one finds too little memory."""
    own = notes / f"{job}-running"
    own.touch()
    time.sleep(0.1)
    count = len(list(notes.glob("*-running")))
    own.unlink()
    if job == 0 and not (notes / "short").exists():
        (notes / "short").touch()
        raise MemoryError
    return count


class UnsendableError(Exception):
    """An exception that another process cannot receive."""

    def __reduce__(self) -> str:
        raise TypeError("it stays here")


def fail_unsendably(job: int) -> int:
    """Raise it."""
    raise UnsendableError(job)


def note(folder: Path) -> None:
    """Note the process."""
    (folder / str(os.getpid())).touch()


def store_and_die(job: int, *, folder: Path) -> int:
    """Store the result of job 2, and die before it is sent."""
    (folder / f"{job}-{os.getpid()}").touch()
    if job == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def write_soon(job: Path) -> None:
    """Write a file after a moment."""
    time.sleep(0.05)
    job.touch()
