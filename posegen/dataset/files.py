"""Write files that survive a power failure: to a temporary name in the same folder, synced to the disk, then renamed.

The name of a temporary file contains the run that writes it, so that the files of dead runs can be removed. Not responsible for
the order in which the files of a shard are written; see :mod:`posegen.dataset.write`.
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

_TEMPORARY = re.compile(r"\.(?P<name>.+)~(?P<run>[A-Za-z0-9_.-]+)~[0-9]+\.temporary")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]")


def _do_nothing() -> None:
    pass


def write_durably(path: Path, data: bytes, run: str) -> None:
    """Write a file such that, if the process dies at any time, the old or the new file exists.

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
    written: Callable[[], None] = _do_nothing,
    placed: Callable[[], None] = _do_nothing,
) -> None:
    """Write several files as :func:`write_durably` does; all of them are on disk when this returns.

    Parameters
    ----------
    files : iterable of (Path, sequence of bytes)
        Each file's content in pieces.
    run : str
        The run that writes.
    written, placed : callable, optional
        Called after each temporary file is written, and after each file has its final name.
    """
    with BackgroundWriter(run, written) as writer:
        for path, pieces in files:
            writer.write(path, pieces)
        writer.place(placed)


class BackgroundWriter:
    """Writes temporary files in a thread, while the caller encodes the next ones, and then renames all of them.

    Writing a shard to the disk takes as long as a third of making the next one. Temporary files that were not renamed are
    removed on exit.

    Parameters
    ----------
    run : str
        The run that writes.
    written : callable, optional
        Called by the thread after each file is written.
    """

    def __init__(self, run: str, written: Callable[[], None] = _do_nothing) -> None:
        self._run = run
        self._written = written
        self._thread = ThreadPoolExecutor(1, "background-writer")
        self._pending: list[tuple[Path, Path, Future[None]]] = []

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop writing and remove temporary files."""
        self._thread.shutdown(cancel_futures=True)
        for temporary, _, _ in self._pending:
            temporary.unlink(missing_ok=True)

    def write(self, path: Path, pieces: Sequence[bytes]) -> None:
        """Begin to write the file that will be at `path`."""
        temporary = _temporary_path(path, self._run)
        # In the context of the caller, who may be measuring the time of stages.
        writing = self._thread.submit(copy_context().run, self._write, temporary, path, pieces)
        self._pending.append((temporary, path, writing))

    def wait(self) -> None:
        """Wait until all temporary files are on disk; OSError if writing fails."""
        for _, _, writing in self._pending:
            writing.result()

    def place(self, placed: Callable[[], None] = _do_nothing) -> None:
        """Rename all files to their final names and sync each folder once.

        Parameters
        ----------
        placed : callable, optional
            Called after each file has its final name.

        Raises
        ------
        OSError
            If writing fails; then the temporary files that were not renamed are removed.
        """
        self.wait()
        folders = dict.fromkeys(path.parent for _, path, _ in self._pending)
        while self._pending:
            temporary, path, _ = self._pending[0]
            fault_point("placing", path.name)
            temporary.replace(path)
            del self._pending[0]
            placed()
        for folder in folders:
            sync_folder(folder)

    def _write(self, temporary: Path, path: Path, pieces: Sequence[bytes]) -> None:
        _make_folder(path.parent)
        with temporary.open("wb") as file:
            fault_point("writing", path.name)
            with stage("write"):
                file.writelines(pieces)
                file.flush()
            fault_point("syncing", path.name)
            # Do not retry: after an fsync that failed, the system may have dropped the bytes, and the next fsync succeeds. The
            # file is removed, and a later run writes it again.
            with stage("sync"):
                os.fsync(file.fileno())
        self._written()


def remove_durably(path: Path) -> bool:
    """Remove a file and sync its folder. Return whether there was a file."""
    try:
        fault_point("removing", path.name)
        path.unlink()
    except FileNotFoundError:
        return False
    sync_folder(path.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Sync a folder's list of files to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fault_point("syncing_folder", folder.name)
        with stage("sync"):
            os.fsync(handle)
    finally:
        os.close(handle)


def remove_temporary_files(folder: Path) -> list[Path]:
    """Remove the temporary files of runs that have certainly ended, and return their paths; links are not followed."""
    removed = []
    for path in _files_in(folder):
        run = temporary_run(path.name)
        if run is not None and has_ended(run):
            path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def temporary_run(name: str) -> str | None:
    """Return the run that writes a temporary file, given by its name; None if it is no temporary file."""
    match = _TEMPORARY.fullmatch(name)
    return match["run"] if match else None


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading; OSError if it is anything else."""
    # A link may lead anywhere, and opening a pipe may block.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return os.fdopen(handle, "rb")


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a small file.

    Parameters
    ----------
    path : Path
    max_bytes : int
        Largest size in bytes; a larger file is refused before it is read.

    Raises
    ------
    FileNotFoundError
        If it does not exist.
    PosegenError
        If it is not a plain file, cannot be read or is too large.
    """
    try:
        with open_plain(path) as file:
            # `read` allocates as many bytes as it is asked for.
            data = file.read(min(max_bytes, os.fstat(file.fileno()).st_size) + 1)
    except NotADirectoryError as error:
        raise FileNotFoundError(*error.args) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}). A dataset consists of plain files that you may read"
        raise PosegenError(msg) from error
    if len(data) > max_bytes:
        msg = f"{path}: is larger than {max_bytes} bytes, so posegen did not write it"
        raise PosegenError(msg)
    return data


def _temporary_path(path: Path, run: str) -> Path:
    return path.with_name(f".{path.name}~{_NOT_IN_A_NAME.sub('-', run)}~{os.getpid()}.temporary")


def _make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, and sync them to the disk."""
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
