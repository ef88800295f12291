"""Write files that survive a power failure: to a temporary name in the same folder, synced to the disk, then renamed.

The name of a temporary file contains the run that writes it, so that the files of dead runs can be removed. Not responsible for
the order in which the files of a shard are written; see :mod:`posegen.dataset.write`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

from posegen.dataset.bucket import AnyPath, BucketPath
from posegen.dataset.bucket_writer import BucketWriter
from posegen.dataset.faults import fault_point
from posegen.dataset.runs import current_run, has_ended
from posegen.errors import PosegenError
from posegen.stopwatch import stage

_TEMPORARY = re.compile(r"\.(?P<name>.+)~(?P<run>[A-Za-z0-9_.-]+)~[0-9]+\.temporary")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]")


def write_durably(path: AnyPath, data: bytes, run: str | None = None, expected: bytes | None = None) -> None:
    """Write a file such that, if the process dies at any time, the old or the new file exists.

    Parameters
    ----------
    path : Path or BucketPath
    data : bytes
    run : str, optional
        The run that writes, see :mod:`posegen.dataset.runs`; this process unless given.
    expected : bytes, optional
        Present content, empty if there is no file. In a bucket, which has no locks, any other content raises ConflictError.
    """
    if isinstance(path, BucketPath):
        path.write(data, expected)
    else:
        write_all_durably([(path, [data])], run)


def write_all_durably(
    files: Iterable[tuple[AnyPath, Sequence[bytes]]],
    run: str | None = None,
    kind: str = "document",
    subject: int | str | None = None,
) -> None:
    """Write several files as :func:`write_durably` does; all of them are on disk when this returns.

    Parameters
    ----------
    files : iterable of (path, sequence of bytes)
        Each file's content in pieces.
    run, kind, subject
        As for :class:`BackgroundWriter`.
    """
    files = list(files)
    if files:
        with open_writer(files[0][0], run, kind, subject) as writer:
            for path, pieces in files:
                writer.write(path, pieces)
            writer.place()


def write_changed(
    files: Mapping[AnyPath, bytes], run: str | None = None, kind: str = "document", subject: int | str | None = None
) -> None:
    """Write the files that are missing or have another content, as :func:`write_all_durably` does."""
    write_all_durably([(path, [data]) for path, data in files.items() if not has_content(path, data)], run, kind, subject)


def has_content(path: AnyPath, data: bytes) -> bool:
    """Return whether a file exists, can be read, and has this content."""
    try:
        return read_file(path, len(data)) == data
    except (FileNotFoundError, PosegenError):
        return False


class BackgroundWriter:
    """Writes temporary files in a thread, while the caller encodes the next ones, and then renames all of them.

    Writing a shard to the disk takes as long as a third of making the next one. Temporary files that were not renamed are
    removed on exit.

    Parameters
    ----------
    run : str, optional
        The run that writes; this process unless given.
    kind : str
        Kind of the files, which names the steps of :mod:`posegen.dataset.faults`: `file_written` and `file_placed`.
    subject : int or str, optional
        Subject of these steps.
    """

    def __init__(self, run: str | None = None, kind: str = "file", subject: int | str | None = None) -> None:
        self._run = run or current_run()
        self._kind = kind
        self._subject = subject
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

    def place(self) -> None:
        """Rename all files to their final names and sync each folder once.

        Raises
        ------
        OSError
            If writing fails; then the temporary files that were not renamed are removed.
        """
        self._wait()
        folders = dict.fromkeys(path.parent for _, path, _ in self._pending)
        while self._pending:
            temporary, path, _ = self._pending[0]
            fault_point("placing", path.name)
            temporary.replace(path)
            del self._pending[0]
            fault_point(f"{self._kind}_placed", self._subject)
        for folder in folders:
            sync_folder(folder)

    def commit(self, receipt: Path, content: bytes, obsolete: Iterable[Path] = ()) -> None:
        """Place all files, and then write their receipt, in the order that makes it safe to die in between.

        Parameters
        ----------
        receipt : Path
            An older receipt is removed before the files get their final names.
        content : bytes
            Content of the receipt.
        obsolete : iterable of Path
            Files to remove before the receipt is written.
        """
        # The old files stay complete as long as writing the new ones can fail.
        self._wait()
        remove_durably(receipt)
        fault_point("receipt_removed", self._subject)
        self.place()
        for path in obsolete:
            remove_durably(path)
        fault_point("files_durable", self._subject)
        try:
            write_all_durably([(receipt, [content])], self._run, "receipt", self._subject)
        except OSError:
            # The receipt may have its final name without being on disk: remove it, because it is not certain.
            with suppress(OSError):
                receipt.unlink(missing_ok=True)
            raise

    def _wait(self) -> None:
        """Wait until all temporary files are on disk; OSError if writing fails."""
        for _, _, writing in self._pending:
            writing.result()

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
        fault_point(f"{self._kind}_written", self._subject)


def open_writer(
    path: AnyPath, run: str | None = None, kind: str = "file", subject: int | str | None = None
) -> Any:  # each class takes paths of its own kind
    """Return a :class:`BackgroundWriter`, or a BucketWriter if `path` is in a bucket."""
    return BackgroundWriter(run, kind, subject) if isinstance(path, Path) else BucketWriter(kind, subject)


def remove_durably(path: AnyPath) -> bool:
    """Remove a file and sync its folder. Return whether there was a file."""
    if isinstance(path, BucketPath):
        return path.remove()
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


def remove_temporary_files(folder: AnyPath, own: str = "") -> list[Path]:
    """Remove the temporary files of the run `own` and of runs that have certainly ended, and return their paths.

    Links are not followed. A bucket has none.
    """
    removed: list[Path] = []
    if isinstance(folder, BucketPath):
        return removed
    for parent, _, names in os.walk(folder):
        for name in names:
            run = temporary_run(name)
            if run is not None and (run == own or has_ended(run)):
                path = Path(parent, name)
                path.unlink(missing_ok=True)
                removed.append(path)
    return removed


def temporary_run(name: str) -> str | None:
    """Return the run that writes a temporary file, given by its name; None if it is no temporary file."""
    match = _TEMPORARY.fullmatch(name)
    return match["run"] if match else None


def find_folder_fault(folder: AnyPath) -> str | None:
    """Describe why a path inside a dataset is not a real folder; None if it is one, or does not exist."""
    if isinstance(folder, BucketPath):
        return None
    try:
        mode = os.lstat(folder).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        return None
    kind = "a link" if stat.S_ISLNK(mode) else "not a folder"
    return f"is {kind}. The folders of a dataset must be real folders: remove it and restore the folder"


def check_real_folders(*folders: AnyPath) -> None:
    """Raise PosegenError for the first path that is a link or a file in place of a folder of a dataset."""
    for folder in folders:
        if fault := find_folder_fault(folder):
            raise PosegenError(f"{folder}: {fault}")


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file for reading; OSError if it is anything else."""
    # A link may lead anywhere, and opening a pipe may block.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return os.fdopen(handle, "rb")


def exists(path: AnyPath) -> bool:
    """Return whether there is a file, a link or anything else at a path."""
    return path.is_file() if isinstance(path, BucketPath) else os.path.lexists(path)


def list_names(folder: AnyPath) -> list[str]:
    """List the files and folders in a folder, in no order; nothing if there is no such folder."""
    if isinstance(folder, BucketPath):
        return list({name.partition("/")[0] for name in folder.list()})
    return os.listdir(folder) if folder.is_dir() else []


def total_bytes(folder: AnyPath) -> int:
    """Return the size of all files in a folder and its folders."""
    if isinstance(folder, BucketPath):
        return sum(entry.size for entry in folder.list().values())
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def modified_time(path: AnyPath) -> float:
    """Return when a file was written, in seconds since 1970; FileNotFoundError if there is none."""
    if isinstance(path, Path):
        return path.lstat().st_mtime
    if entry := path.find():
        return entry.modified
    raise FileNotFoundError(errno.ENOENT, "there is no such object", str(path))


@contextmanager
def explain_unreadable(path: AnyPath) -> Iterator[None]:
    """Raise FileNotFoundError where a file is not found, and PosegenError where it cannot be read."""
    try:
        yield
    except NotADirectoryError as error:
        raise FileNotFoundError(*error.args) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}). A dataset consists of plain files that you may read"
        raise PosegenError(msg) from error


def read_file(path: AnyPath, max_bytes: int) -> bytes:
    """Read a small file.

    Parameters
    ----------
    path : Path or BucketPath
    max_bytes : int
        Largest size in bytes; a larger file is refused before it is read.

    Raises
    ------
    FileNotFoundError
        If it does not exist.
    PosegenError
        If it is not a plain file, cannot be read or is too large.
    """
    with explain_unreadable(path):
        if isinstance(path, BucketPath):
            data = path.read(0, max_bytes + 1)
        else:
            with open_plain(path) as file:
                # `read` allocates as many bytes as it is asked for.
                data = file.read(min(max_bytes, os.fstat(file.fileno()).st_size) + 1)
    if len(data) > max_bytes:
        raise PosegenError(f"{path}: is larger than {max_bytes} bytes, so posegen did not write it")
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
