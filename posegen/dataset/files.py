"""Files that survive a power failure: written beside their place, brought to the disk, then moved into it.

A temporary file's name carries the run that writes it, so that what a dead run left can be swept away.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import BinaryIO, Self

from posegen.dataset.faults import fault_point
from posegen.dataset.runs import has_ended
from posegen.errors import PosegenError
from posegen.stopwatch import stage

__all__ = [
    "Delivery",
    "is_temporary",
    "open_plain",
    "read_file",
    "remove_durably",
    "sweep",
    "sync_folder",
    "temporary_run",
    "write_all_durably",
    "write_durably",
]

_TEMPORARY = re.compile(r"\.(?P<name>.+)~(?P<run>[A-Za-z0-9_.-]+)~[0-9]+\.temporary")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]")


def _nothing() -> None:
    pass


def write_durably(path: Path, data: bytes, run: str) -> None:
    """Put a file in its place such that, whatever happens, there is the old one or the new one.

    Parameters
    ----------
    path : Path
    data : bytes
    run : str
        The run that writes; see :mod:`posegen.dataset.runs`.
    """
    write_all_durably([(path, [data])], run)


def write_all_durably(
    files: Iterable[tuple[Path, Sequence[bytes]]],
    run: str,
    *,
    written: Callable[[], None] = _nothing,
    placed: Callable[[], None] = _nothing,
) -> None:
    """Put several files in their places; when this returns, all of them are safe.

    Parameters
    ----------
    files : iterable of (Path, sequence of bytes)
        Each file's content in pieces.
    run : str
        The run that writes.
    written, placed : callable, optional
        Called after each temporary file is written, and after each file is in its place.
    """
    with Delivery(run, written) as delivery:
        for path, pieces in files:
            delivery.write(path, pieces)
        delivery.place(placed)


class Delivery:
    """Files that go to the disk while their owner works on, and then, all at once, to their places.

    A thread writes and syncs them one after another beside their places; the disk takes as long for a shard as a core for a
    third of the next. Left without :meth:`place`, they are removed.

    Parameters
    ----------
    run : str
        The run that writes.
    written : callable, optional
        Called by the thread after each file is written.
    """

    def __init__(self, run: str, written: Callable[[], None] = _nothing) -> None:
        self._run = run
        self._written = written
        self._thread = ThreadPoolExecutor(1, "delivery")
        self._waiting: list[tuple[Path, Path, Future[None]]] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what is not in its place."""
        self._thread.shutdown(cancel_futures=True)
        for temporary, _, _ in self._waiting:
            temporary.unlink(missing_ok=True)

    def write(self, path: Path, pieces: Sequence[bytes]) -> None:
        """Begin to write a file, whose place is `path`."""
        temporary = _temporary_path(path, self._run)
        self._waiting.append((temporary, path, self._submit(temporary, path, pieces)))

    def _submit(self, temporary: Path, path: Path, pieces: Sequence[bytes]) -> Future[None]:
        # With the context of the owner, who may be timing what is done.
        return self._thread.submit(copy_context().run, self._write, temporary, path, pieces)

    def wait(self) -> None:
        """Wait until all files are written and safe; OSError if the disk does not take them."""
        for _, _, writing in self._waiting:
            writing.result()

    def place(self, placed: Callable[[], None] = _nothing) -> None:
        """Move all files into their places; when this returns, they are safe. Each folder is brought to the disk once.

        Parameters
        ----------
        placed : callable, optional
            Called after each file is in its place.

        Raises
        ------
        OSError
            If the disk does not take them; then none that is not in its place is there any more.
        """
        self.wait()
        folders = dict.fromkeys(path.parent for _, path, _ in self._waiting)
        while self._waiting:
            temporary, path, _ = self._waiting[0]
            fault_point("placing", path.name)
            temporary.replace(path)
            del self._waiting[0]
            placed()
        for folder in folders:
            sync_folder(folder)

    def _write(self, temporary: Path, path: Path, pieces: Sequence[bytes]) -> None:
        _make_folder(path.parent)
        _write_through(temporary, pieces, path.name)
        self._written()


def remove_durably(path: Path) -> bool:
    """Remove a file if it is there; when this returns, it does not come back. Tells whether it was there."""
    try:
        fault_point("removing", path.name)
        path.unlink()
    except FileNotFoundError:
        return False
    sync_folder(path.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of files to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fault_point("syncing_folder", folder.name)
        with stage("sync"):
            os.fsync(handle)
    finally:
        os.close(handle)


def sweep(dataset: Path) -> list[Path]:
    """Remove the temporary files of runs that have provably ended.

    Parameters
    ----------
    dataset : Path
        Folder of the dataset; links in it are not followed.

    Returns
    -------
    list of Path
        What was removed.
    """
    removed = []
    for path in _files_in(dataset):
        match = _TEMPORARY.fullmatch(path.name)
        if match and has_ended(match["run"]):
            path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def is_temporary(path: Path) -> bool:
    """Tell whether a file, by its name, is one that a run has not put in its place yet."""
    return _TEMPORARY.fullmatch(path.name) is not None


def temporary_run(name: str) -> str | None:
    """Tell which run a temporary file is of, by its name; None if it is none."""
    match = _TEMPORARY.fullmatch(name)
    return match["run"] if match else None


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file to read it; OSError if it is anything else."""
    # A link may lead anywhere, a pipe would wait for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return os.fdopen(handle, "rb")


def read_file(path: Path, most: int) -> bytes:
    """Read a small file.

    Parameters
    ----------
    path : Path
    most : int
        Bytes that it may have; a larger one is refused before it is read.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    PosegenError
        If it is not a plain file, cannot be read or is too large.
    """
    try:
        with open_plain(path) as file:
            # To read that many takes memory for that many, whatever there is.
            data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)
    except NotADirectoryError as error:
        raise FileNotFoundError(*error.args) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}). A dataset consists of plain files that you may read"
        raise PosegenError(msg) from error
    if len(data) > most:
        msg = f"{path}: is larger than the {most} bytes that it may have. It was not written by posegen"
        raise PosegenError(msg)
    return data


def _temporary_path(path: Path, run: str) -> Path:
    return path.with_name(f".{path.name}~{_NOT_IN_A_NAME.sub('-', run)}~{os.getpid()}.temporary")


def _write_through(path: Path, pieces: Sequence[bytes], name: str) -> None:
    """Write a file and bring it to the disk; `name` is what it is going to be called."""
    with path.open("wb") as file:
        fault_point("writing", name)
        with stage("write"):
            file.writelines(pieces)
            file.flush()
        fault_point("syncing", name)
        # After an fsync that failed, the system may hold bytes for stored that are lost, and the next fsync says that all is
        # well. So nobody tries again: the file goes, and is written anew by a later run.
        with stage("sync"):
            os.fsync(file.fileno())


def _make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, and bring them to the disk."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def _files_in(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_in(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
