"""A session that writes a dataset: interrupts, the dataset's lock, temporary files, and messages for errors of the disk.

Generating, deriving and repairing use it. What they write is left to :mod:`posegen.dataset`.
"""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from posegen.dataset.lock import locked
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.folder import remove_temporary_files
from posegen.foundations.errors import PosegenError, UsageError, require_local
from posegen.foundations.machine import describe_full_disk

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def write_session(
    path: AnyPath, run: str, *, create: bool = False, part: str = "", beside_parts: bool = False
) -> Iterator[Callable[[], None]]:
    """Hold the lock of a dataset, and remove the temporary files of ended sessions before and after.

    Parameters
    ----------
    path : Path or BucketPath
        Dataset folder.
    run : str
        Name of this session; see :mod:`posegen.dataset.runs`.
    create : bool, optional
        Whether to create the folder. If nothing is written to it, it is removed again.
    part : str, optional
        Name of the only part that it writes; see :func:`posegen.dataset.lock.locked`.
    beside_parts : bool, optional
        Whether parts may be made meanwhile.

    Yields
    ------
    callable
        Raises KeyboardInterrupt if the session is to stop; see :func:`interruptible`.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    PosegenError
        If another session writes the dataset, or the disk is full or fails.
    """
    local = storage_of(path).local
    own = local if create else None
    if own:
        require_local(own)
    missing = [folder for folder in (own, *own.parents) if not folder.exists()] if own else []
    with interruptible() as check, explain_disk_errors(path, create=create):
        try:
            if own:
                try:
                    storage_of(own).make_folder()
                except (FileExistsError, NotADirectoryError) as error:
                    raise UsageError(f"{path}: is a file or lies in one. Choose a folder with --out") from error
            with locked(path, run, part=part, beside_parts=beside_parts):
                try:
                    yield check
                finally:
                    # A worker of an ended session may outlive its parent for a moment: remove its files as well.
                    if local:
                        remove_temporary_files(local, run)
        finally:
            for folder in missing:
                with suppress(OSError):
                    folder.rmdir()


@contextmanager
def explain_disk_errors(path: AnyPath, *, create: bool = True) -> Iterator[None]:
    """Turn OSError into an error whose message states what to do.

    Parameters
    ----------
    path : Path
        Dataset folder.
    create : bool, optional
        Whether the user may choose another folder.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the progress has ended, which does not concern the dataset
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG):
            fix = "Choose a writable folder with --out" if create else "Check its permissions"
            raise UsageError(f"{path}: {error.filename} cannot be written ({error.strerror}). {fix}") from error
        msg = f"{path}: {error}. Complete shards are kept; check the disk, then run the same command again"
        raise PosegenError(describe_full_disk(error, str(path)) or msg) from error


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Raise KeyboardInterrupt on the first Ctrl-C or SIGTERM, and ignore further ones.

    Yields
    ------
    callable
        To be called between steps. Python discards an exception that is raised inside a finaliser or a callback; this
        callable raises it again.
    """
    requests: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        requests.append(number)
        if len(requests) == 1:
            raise KeyboardInterrupt

    def check() -> None:
        if requests:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # which alone can install handlers
        yield check
        return
    # A process that ignores Ctrl-C, under nohup or as a background job of a shell, continues to ignore it.
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield check
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
