"""`dataset.json`: reading and writing the header of a dataset."""

from __future__ import annotations

import os
from pathlib import Path

from posegen.dataset.documents import Source, seal, unseal
from posegen.dataset.files import read_file
from posegen.dataset.layout import COPY_FILE, HEADER_FILE, Header
from posegen.errors import PosegenError, UsageError

__all__ = ["copy_bytes", "header_bytes", "is_dataset", "is_lost", "load_copy", "load_header"]

_MARK = "copy_of"
_MOST_BYTES = 4 * 2**20  # a thousand times a usual one


def header_bytes(header: Header) -> bytes:
    """Write a header as the content of `dataset.json`."""
    return seal(header.to_json(), indent=2)


def copy_bytes(header: Header) -> bytes:
    """Write the copy of a header. It says that it is one: in the header's place it would tell of a dataset without samples."""
    return seal({_MARK: HEADER_FILE} | header.with_samples(0).to_json(), indent=2)


def is_dataset(path: Path) -> bool:
    """Tell whether there is a dataset at `path`, whatever state it is in."""
    return (path / HEADER_FILE).is_file()


def is_lost(path: Path) -> bool:
    """Tell whether the header is missing, damaged or replaced by another document; one of a later format is not lost."""
    try:
        document = unseal(read_file(path / HEADER_FILE, _MOST_BYTES), Source(HEADER_FILE, ""))
    except (FileNotFoundError, PosegenError):
        return True
    return _MARK in document or "format_version" not in document


def load_copy(path: Path) -> Header | None:
    """Read the copy of the header; None if there is none, or none that is sound."""
    source = Source(COPY_FILE, "")
    try:
        document = unseal(read_file(path / COPY_FILE, _MOST_BYTES), source)
        document.pop(_MARK, None)  # it is not there if the two files were exchanged
        header = Header.from_json(document, source)
    except (FileNotFoundError, PosegenError):
        return None
    return header.with_samples(0)


def load_header(path: Path) -> Header:
    """Read the header of the dataset at `path`.

    Parameters
    ----------
    path : Path

    Raises
    ------
    UsageError
        If there is no dataset.
    PosegenError
        If its header is lost, damaged or of a later format.
    """
    if not os.path.isdir(path):  # which also answers for names that cannot be
        msg = f"{path}: is not a dataset: there is no such folder. Name a folder that `posegen generate` has made"
        raise UsageError(msg)
    file = path / HEADER_FILE
    again = "run the generate command that made the dataset again: complete shards are kept."
    # Without a sound copy nothing but the config tells what the header was.
    repair = f"Run `posegen verify {path} --repair`, or " if load_copy(path) else ""
    try:
        data = read_file(file, _MOST_BYTES)
    except FileNotFoundError as error:
        if os.path.lexists(path / COPY_FILE):
            msg = f"{file}: is missing. {_sentence(repair + again)}"
            raise PosegenError(msg) from error
        msg = f"{path}: is not a dataset: there is no {HEADER_FILE} in it. Name a folder that `posegen generate` has made"
        raise UsageError(msg) from error
    source = Source(str(file), _sentence(f"{repair}delete it and {again}"))
    return Header.from_json(unseal(data, source), source)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
