"""Files in folders of this machine that survive a power failure: written to a temporary name, synced, then renamed.

The name of a temporary file contains the run that writes it, so that the files of dead runs can be removed. Not responsible for
the order in which the files of a shard are written; see :mod:`posegen.dataset.write`.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.storage.storage import Entry, Item, Result
from posegen.foundations.hashing import byte_hash
from posegen.foundations.machine import free_disk

_TEMPORARY = re.compile(r"\.(?P<name>.+)~(?P<run>[A-Za-z0-9_.-]+)~[0-9]+\.temporary")
_BLOCK = 1 << 20
_SYNCS = 16
"""Files that are synced at the same time."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class Folder:
    """A file or a folder of this machine, as a :data:`posegen.dataset.storage.address.Storage`."""

    path: Path

    @property
    def local(self) -> Path:
        """Its path."""
        return self.path

    def find(self) -> Entry | None:
        """Return size and time of what is there; None if nothing is."""
        try:
            status = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _entry(status)

    def list(self) -> dict[str, Entry]:
        """Return all files in the folder and its folders, by their paths inside it."""
        # Another run may rename or remove a file meanwhile.
        files = ((file, Folder(file).find()) for file in self.path.rglob("*") if file.is_file())
        return {file.relative_to(self.path).as_posix(): entry for file, entry in files if entry is not None}

    def list_names(self) -> Sequence[str]:
        """List the files and folders in the folder, in no order; nothing if there is no such folder."""
        return os.listdir(self.path) if self.path.is_dir() else []

    def listed(self) -> Path:
        """Return the path."""
        return self.path

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Read a plain file, or the bytes from `start` to `stop` of it."""
        with open_plain(self.path) as file:
            file.seek(start)
            # `read` allocates as many bytes as it is asked for.
            size = os.fstat(file.fileno()).st_size
            return file.read(max(min(size if stop is None else stop, size) - start, 0))

    def find_hash(self) -> str:
        """Return the XXH3-128 hash of a plain file."""
        with open_plain(self.path) as file:
            return _hash(file)

    def write(self, data: bytes, expected: bytes | None = None, run: str | None = None) -> None:
        """Write the file; nothing is `expected` where there are locks."""
        del expected
        with BackgroundWriter(run) as writer:
            writer.write(self.path, [data])
            writer.place()

    def writer(self, run: str | None = None, receipt: Any = None) -> BackgroundWriter:
        """Return a writer of files in the folder, by a run, whose `commit` writes the receipt."""
        return BackgroundWriter(run, receipt)

    def remove(self, expected: bytes | None = None) -> None:
        """Remove the file, if there is one, and sync its folder."""
        del expected
        with suppress(FileNotFoundError):
            self.path.unlink()
            sync_folder(self.path.parent)

    def remove_folder(self) -> None:
        """Remove the folder, if there is one, with all that is in it."""
        if self.path.exists():
            shutil.rmtree(self.path)

    def make_folder(self) -> None:
        """Create the folder and its missing parents, and sync them to the disk."""
        if not self.path.is_dir():
            Folder(self.path.parent).make_folder()
            self.path.mkdir(exist_ok=True)
            sync_folder(self.path.parent)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results of a function, in order."""
        return map(function, items)

    def find_folder_fault(self) -> str | None:
        """Describe why a path inside a dataset is not a real folder; None if it is one, or does not exist."""
        is_link = self.path.is_symlink()
        if self.find() is None or (self.path.is_dir() and not is_link):
            return None
        kind = "a link" if is_link else "not a folder"
        return f"is {kind}. The folders of a dataset must be real folders: remove it and restore the folder"

    def free_bytes(self) -> int:
        """Return the free bytes of the disk."""
        return free_disk(self.path)


class BackgroundWriter:
    """Writes temporary files in a thread, while the caller encodes the next ones, and then renames all of them.

    Writing a shard to the disk takes as long as a third of making the next one. Temporary files that were not renamed are
    removed on exit.

    Parameters
    ----------
    run : str, optional
        The run that writes; this process unless given.
    receipt : Path, optional
        The receipt that :meth:`commit` writes.
    """

    def __init__(self, run: str | None = None, receipt: Any = None) -> None:
        self._run = run or current_run()
        self._receipt = receipt
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

    def write(self, path: Any, pieces: Sequence[bytes]) -> None:
        """Begin to write the file that will be at `path`."""
        temporary = path.with_name(f".{path.name}~{_NOT_IN_A_NAME.sub('-', self._run)}~{os.getpid()}.temporary")
        self._pending.append((temporary, path, self._thread.submit(self._write, temporary, path, pieces)))

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
            temporary.replace(path)
            del self._pending[0]
        for folder in folders:
            sync_folder(folder)

    def commit(self, content: bytes, obsolete: Iterable[Any] = ()) -> None:
        """Place all files, and then write their receipt, in the order that makes it safe to die in between.

        Parameters
        ----------
        content : bytes
            Content of the receipt. An older receipt is removed before the files get their final names.
        obsolete : iterable of Path
            Files to remove before the receipt is written.
        """
        assert self._receipt is not None
        # The old files stay complete as long as writing the new ones can fail.
        self._wait()
        Folder(self._receipt).remove()
        self.place()
        for path in obsolete:
            Folder(path).remove()
        try:
            Folder(self._receipt).write(content, run=self._run)
        except OSError:
            # The receipt may have its final name without being on disk: remove it, because it is not certain.
            with suppress(OSError):
                self._receipt.unlink(missing_ok=True)
            raise

    def _wait(self) -> None:
        """Wait until all temporary files are on disk; OSError if writing fails."""
        for _, _, writing in self._pending:
            writing.result()

    def _write(self, temporary: Path, path: Path, pieces: Sequence[bytes]) -> None:
        Folder(path.parent).make_folder()
        try:
            with temporary.open("wb") as file:
                file.writelines(pieces)
                file.flush()
                # Do not retry: after an fsync that failed, the system may have dropped the bytes, and the next fsync succeeds.
                # The file is removed, and a later run writes it again.
                os.fsync(file.fileno())
        except OSError as error:  # which names no file if writing or syncing failed
            raise OSError(error.errno, error.strerror, str(path)) from error


def sync_folder(folder: Path) -> None:
    """Sync a folder's list of files to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_files(folder: Path, names: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Sync files of a folder to the disk, and return the size and XXH3-128 hash of each by name.

    To sync many small files one after another takes 20 times as long as with several threads that share the work: a
    future for each file would take as much processor time as the rest.
    """
    found: dict[str, tuple[int, str]] = {}

    def sync_share(first: int) -> None:
        for name in names[first::_SYNCS]:
            with open_plain(f"{folder}/{name}") as file:
                os.fsync(file.fileno())
                found[name] = os.fstat(file.fileno()).st_size, _hash(file)

    with ThreadPoolExecutor(_SYNCS, "sync") as threads:
        deque(threads.map(sync_share, range(_SYNCS)), maxlen=0)
    return {name: found[name] for name in names}


def _hash(file: BufferedReader) -> str:
    return byte_hash(iter(partial(file.read, _BLOCK), b""))


def place_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Move files that are on the disk from a folder into another one of the same disk, under the same names."""
    folders = {name.rpartition("/")[0] for name in names}
    for folder in folders:
        Folder(target / folder).make_folder()
    for name in names:
        os.replace(f"{source}/{name}", f"{target}/{name}")
    for folder in folders:
        sync_folder(target / folder)


def remove_temporary_files(folder: Path, own: str = "") -> None:
    """Remove the temporary files of the run `own` and of runs that have certainly ended; links are not followed."""
    for parent, _, names in os.walk(folder):
        for name in names:
            run = temporary_run(name)
            if run is not None and (run == own or has_ended(run)):
                Path(parent, name).unlink(missing_ok=True)


def temporary_run(name: str) -> str | None:
    """Return the run that writes a temporary file, given by its name or path; None if it is no temporary file."""
    match = _TEMPORARY.fullmatch(name.rpartition("/")[2])
    return match["run"] if match else None


def open_plain(path: str | Path) -> BufferedReader:
    """Open a plain file for reading; OSError if it is anything else."""
    # A link may lead anywhere, and opening a pipe may block.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return os.fdopen(handle, "rb")


def _entry(status: os.stat_result) -> Entry:
    return Entry(status.st_size, status.st_mtime, stat.S_ISREG(status.st_mode))
