"""The lock on a dataset: one run writes it at a time. The system gives it back when the process dies, however it does."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posegen.errors import PosegenError

__all__ = ["LOCK_FILE", "locked"]

LOCK_FILE = ".lock"
_MOST_BYTES = 1000


@contextmanager
def locked(dataset: Path, run: str) -> Iterator[None]:
    """Hold the lock on a dataset; it is only advice, which readers need not heed.

    Parameters
    ----------
    dataset : Path
        An existing folder.
    run : str
        Who holds it, for the message to others.

    Raises
    ------
    PosegenError
        If another run holds it.
    """
    path = dataset / LOCK_FILE
    handle = _acquire(path)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} (run {run})".encode()[:_MOST_BYTES], 0)
        yield
    finally:
        try:
            # While the lock is still held: whoever waits for this very file sees that it is gone and makes a new one.
            path.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _acquire(path: Path) -> int:
    """Open and lock the file at `path`, such that it still is the file there once it is locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, _MOST_BYTES, 0).decode(errors="replace") or "another process"
            os.close(handle)
            msg = f"{path.parent}: is being written by {holder}. Wait until it is done, or stop it, then run this again"
            raise PosegenError(msg) from error
        except OSError:
            os.close(handle)
            raise
        if _is_at(path, handle):
            return handle
        os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(handle))
