"""What datasets need of the place that their files are in, whether it is a folder of this machine or one of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from posegen.foundations.errors import PosegenError

Item = TypeVar("Item")
Result = TypeVar("Result")


class ConflictError(PosegenError):
    """A file has another content than expected: another run has written it meanwhile."""


class Entry(NamedTuple):
    """Size of a file in bytes, when it was written, in seconds since 1970, and whether it is a plain file."""

    size: int
    modified: float
    is_plain: bool = True


class Writer(Protocol):
    """Writes the files of a shard, of which none is visible before :meth:`place` or :meth:`commit`."""

    def __enter__(self) -> Self:
        """Return the writer."""

    def __exit__(self, *error: object) -> None:
        """Remove what was not placed."""

    def write(self, path: Any, pieces: Sequence[bytes]) -> None:
        """Take the content of a file, and perhaps begin to write it."""

    def place(self) -> None:
        """Make all files visible under their names; they survive a power failure when this returns."""

    def commit(self, content: bytes, obsolete: Iterable[Any] = ()) -> None:
        """Withdraw the receipt, place all files, remove obsolete ones, and write the receipt with this content.

        Raises
        ------
        ConflictError
            If another run has written the receipt since the writer was opened.
        """


class Storage(Protocol):
    """A file or a folder at a path; :func:`posegen.dataset.storage.address.storage_of` returns it."""

    @property
    def path(self) -> Any:
        """Its path."""

    @property
    def local(self) -> Path | None:
        """Its path on this machine, where there are locks and temporary files; None in a bucket, which has neither."""

    def find(self) -> Entry | None:
        """Return size and time of the file; None if there is none."""

    def list(self) -> dict[str, Entry]:
        """Return all files in the folder and its folders, by their paths inside it."""

    def list_names(self) -> Sequence[str]:
        """List the files and folders in the folder, in no order; nothing if there is no such folder."""

    def listed(self) -> Any:
        """Return the path; of a bucket, with the sizes of all objects in it as they are now."""

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """Read the file, or the bytes from `start` to `stop` of it; fewer if it is shorter.

        Raises
        ------
        OSError
            If there is no plain file that can be read.
        """

    def find_hash(self) -> str:
        """Return the XXH3-128 hash of the file; of an object, the one in its metadata, if there is one.

        Raises
        ------
        OSError
            If there is no plain file that can be read.
        """

    def write(self, data: bytes, expected: bytes | None = None, run: str | None = None) -> object:
        """Write the file whole.

        Where there are no locks, a file is replaced only if its content is `expected`, where empty stands for no file.

        Raises
        ------
        ConflictError
            If it has another content.
        """

    def writer(self, run: str | None = None, receipt: Any = None) -> Writer:
        """Return a writer of files in the folder.

        Parameters
        ----------
        run : str, optional
            The run that writes, see :mod:`posegen.dataset.runs`; this process unless given.
        receipt : path, optional
            The receipt that :meth:`Writer.commit` writes.
        """

    def remove(self, expected: bytes | None = None) -> bool:
        """Remove the file, and return whether there was one.

        Raises
        ------
        ConflictError
            Where there are no locks, if its content is not `expected`.
        """

    def remove_folder(self) -> None:
        """Remove a folder whose files no run writes any more."""

    def make_folder(self) -> None:
        """Create the folder, where there are folders without files."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results of a function that reads files, in order; in a bucket, several at the same time."""

    def find_folder_fault(self) -> str | None:
        """Describe why it is not a real folder; None if it is one, or does not exist."""

    def free_bytes(self) -> int:
        """Return the free bytes of the disk; of a bucket, which has no limit, the largest number."""
