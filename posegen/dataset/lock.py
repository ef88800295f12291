"""Lock a dataset, so that one run writes it at a time, or each of its parts one run.

A run that makes a part holds the lock of the part. A run that writes the whole dataset holds another lock, and is refused while
any part is being made. The operating system releases a lock when its process dies. Readers need no lock.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from posegen.dataset.files import read_file
from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.folder import remove_temporary_files
from posegen.foundations.errors import PosegenError

LOCK_FILE = ".lock"
SECONDS_TO_WAIT = 60.0
"""Time that a part waits for another one that writes what all parts share."""
PART_LOCK = re.compile(r"\.lock-[0-9]+-of-[0-9]+")
"""Names of the locks of parts."""
_MAX_BYTES = 1000
_HOLDER = re.compile(r"process [0-9]+ \(run (.+)\)")


@contextmanager
def locked(
    dataset: AnyPath, run: str | None = None, *, part: str = "", beside_parts: bool = False, wait: float = 0.0
) -> Iterator[None]:
    """Hold the lock on a dataset, and first remove the temporary files of runs that have ended. A bucket has neither.

    Parameters
    ----------
    dataset : Path or BucketPath
        An existing folder.
    run : str, optional
        The run that holds it, for the message to others; this process unless given.
    part : str, optional
        Name of a part, such as ``3-of-16`` or ``shard-5``, to hold its lock instead of that of the dataset.
    beside_parts : bool, optional
        Whether parts may be made meanwhile.
    wait : float, optional
        Seconds to wait for a run that holds the lock.

    Raises
    ------
    PosegenError
        If another run holds it; names that run.
    """
    folder = storage_of(dataset).local
    if folder is None:
        yield
        return
    path = folder / (f"{LOCK_FILE}-{part}" if part else LOCK_FILE)
    with _held(path, wait):
        for other in [] if part or beside_parts else part_locks(folder):
            with _held(other, 0.0):  # removes the lock of a run that has ended
                pass
        _write_holder(path, f"process {os.getpid()} (run {run or current_run()})")
        remove_temporary_files(folder)
        yield


@contextmanager
def shared_lock(folder: AnyPath, run: str, *, is_part: bool, wait: float | None = None) -> Iterator[None]:
    """Hold the lock of a folder while a part, which has a lock of its own, writes what all parts share; no lock otherwise.

    It waits for `wait` seconds, :data:`SECONDS_TO_WAIT` unless given, for another part.
    """
    seconds = SECONDS_TO_WAIT if wait is None else wait
    with locked(folder, run, beside_parts=True, wait=seconds) if is_part else nullcontext():
        yield


def part_locks(dataset: Path) -> list[Path]:
    """List the locks of parts, whether a run holds them or they were left behind."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return sorted(Path(entry) for entry in os.scandir(dataset) if PART_LOCK.fullmatch(entry.name))
    return []


def is_being_written(dataset: AnyPath) -> bool:
    """Return whether a run may be writing a dataset, without taking the lock; False for one in a bucket."""
    folder = storage_of(dataset).local
    return folder is not None and any(is_held(lock) for lock in (folder / LOCK_FILE, *part_locks(folder)))


def is_held(lock: AnyPath) -> bool:
    """Return whether a run may hold a lock, without taking it."""
    match = _HOLDER.fullmatch(_read_holder(lock))
    return match is not None and not has_ended(match[1])


@contextmanager
def _held(path: Path, wait: float) -> Iterator[None]:
    """Hold a lock and remove its file at the end; PosegenError if another run holds it for longer than `wait` seconds."""
    _check_plain(path)
    lock = FileLock(path, mode=0o644)
    try:
        lock.acquire(timeout=wait, blocking=wait > 0)
    except Timeout as error:
        holder = _read_holder(path) or "another process"
        name = path.name.removeprefix(LOCK_FILE).strip("-").replace("-", " ")
        part = f"part {name}" if name[:1].isdigit() else name
        what = f"{part} is being made" if part else "is being written"
        msg = f"{path.parent}: {what} by {holder}. Wait until it has ended, or stop it, then run this command again"
        raise PosegenError(msg) from error
    with ExitStack() as held:
        held.callback(lock.release)
        # Before the release: a process that has opened this very file detects that it is gone.
        held.callback(path.unlink, missing_ok=True)
        yield


def _check_plain(path: Path) -> None:
    """Raise PosegenError if a path exists and is not a regular file with exactly one link."""
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


def _read_holder(lock: AnyPath) -> str:
    try:
        return read_file(lock, _MAX_BYTES).decode(errors="replace")
    except (FileNotFoundError, PosegenError):
        return ""
