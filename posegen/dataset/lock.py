"""Lock a dataset, so that one run writes it at a time.

The operating system releases the lock when the process dies. The lock is advisory: readers do not need it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from posegen.dataset.files import read_file, remove_temporary_files
from posegen.dataset.runs import current_run, has_ended
from posegen.errors import PosegenError

LOCK_FILE = ".lock"
_MAX_BYTES = 1000
_HOLDER = re.compile(r"process [0-9]+ \(run (.+)\)")


@contextmanager
def locked(dataset: Path, run: str | None = None) -> Iterator[None]:
    """Hold the lock on a dataset, and first remove the temporary files of runs that have ended.

    Parameters
    ----------
    dataset : Path
        An existing folder.
    run : str, optional
        The run that holds it, for the message to others; this process unless given.

    Raises
    ------
    PosegenError
        If another run holds it; names that run.
    """
    path = dataset / LOCK_FILE
    _check_plain(path)
    lock = FileLock(path, mode=0o644)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        holder = _read_holder(dataset) or "another process"
        msg = f"{dataset}: is being written by {holder}. Wait until it has ended, or stop it, then run this command again"
        raise PosegenError(msg) from error
    with ExitStack() as held:
        held.callback(lock.release)
        # Before the release: a process that has opened this very file detects that it is gone.
        held.callback(path.unlink, missing_ok=True)
        _write_holder(path, f"process {os.getpid()} (run {run or current_run()})")
        remove_temporary_files(dataset)
        yield


def lock_holder(dataset: Path) -> str | None:
    """Return the run that holds the lock, or held it when it died; None if there is no lock, or one without a run."""
    match = _HOLDER.fullmatch(_read_holder(dataset))
    return match[1] if match else None


def is_being_written(dataset: Path) -> bool:
    """Return whether a run may be writing a dataset, without taking the lock."""
    run = lock_holder(dataset)
    return run is not None and not has_ended(run)


def _check_plain(path: Path) -> None:
    """Raise PosegenError if a path exists and is not a plain file without other names, whose content would be lost."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise PosegenError(f"{path}: is not a plain file, or the file has other names, too. Remove it")


def _write_holder(path: Path, holder: str) -> None:
    _check_plain(path)
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
    try:
        os.write(handle, holder.encode()[:_MAX_BYTES])
    finally:
        os.close(handle)


def _read_holder(dataset: Path) -> str:
    try:
        return read_file(dataset / LOCK_FILE, _MAX_BYTES).decode(errors="replace")
    except (FileNotFoundError, PosegenError):
        return ""
