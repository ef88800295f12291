"""Read, write and remove files of datasets, in a folder or in a bucket, such that they survive a power failure.

Not responsible for the order in which the files of a shard are written; see :mod:`posegen.dataset.write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from posegen.dataset.documents import MAX_BYTES, Origin, read_sealed
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import PosegenError

T = TypeVar("T")


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
    storage_of(path).write(data, expected, run)


def write_all_durably(files: Iterable[tuple[AnyPath, Sequence[bytes]]], run: str | None = None) -> None:
    """Write several files as :func:`write_durably` does; all of them are on disk when this returns.

    Parameters
    ----------
    files : iterable of (path, sequence of bytes)
        Each file's content in pieces.
    run : str, optional
        The run that writes; this process unless given.
    """
    files = list(files)
    if files:
        with storage_of(files[0][0]).writer(run) as writer:
            for path, pieces in files:
                writer.write(path, pieces)
            writer.place()


def write_changed(files: Mapping[AnyPath, bytes], run: str | None = None) -> None:
    """Write the files that are missing or have another content, as :func:`write_all_durably` does."""
    write_all_durably([(path, [data]) for path, data in files.items() if not has_content(path, data)], run)


def has_content(path: AnyPath, data: bytes) -> bool:
    """Return whether a file exists, can be read, and has this content."""
    try:
        return read_file(path, len(data)) == data
    except (FileNotFoundError, PosegenError):
        return False


def remove_durably(path: AnyPath, expected: bytes | None = None) -> None:
    """Remove a file, if there is one, and sync its folder.

    In a bucket, content that differs from the expected one raises ConflictError.
    """
    storage_of(path).remove(expected)


def exists(path: AnyPath) -> bool:
    """Return whether there is a file, a link or anything else at a path."""
    with suppress(OSError):
        return storage_of(path).find() is not None
    return False


def check_real_folders(*folders: AnyPath) -> None:
    """Raise PosegenError for the first path that is a link or a file in place of a folder of a dataset."""
    for folder in folders:
        if fault := storage_of(folder).find_folder_fault():
            raise PosegenError(f"{folder}: {fault}")


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
        data = storage_of(path).read(0, max_bytes + 1)
    if len(data) > max_bytes:
        raise PosegenError(f"{path}: is larger than {max_bytes} bytes, so posegen did not write it")
    return data


def load_document(kind: type[T], path: AnyPath, hint: str) -> T | None:
    """Read a sealed document; None if there is none.

    Parameters
    ----------
    kind : type
        See :func:`posegen.dataset.documents.parse`.
    path : Path or BucketPath
    hint : str
        What to do if it is damaged.

    Raises
    ------
    PosegenError
        If it is damaged, cannot be read, or has a later format version; names the file and the hint.
    """
    with suppress(FileNotFoundError):
        return read_sealed(kind, read_file(path, MAX_BYTES), Origin(str(path), hint))
    return None
