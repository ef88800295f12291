"""`dataset.json`: reading and writing the header of a dataset."""

from __future__ import annotations

import os
from pathlib import Path

from posegen.errors import UsageError
from posegen.store.documents import MOST_BYTES, Source, seal, unseal
from posegen.store.files import read_file
from posegen.store.layout import HEADER_FILE, Header

__all__ = ["header_bytes", "is_dataset", "load_header"]


def header_bytes(header: Header) -> bytes:
    """Write a header as the content of `dataset.json`."""
    return seal(header.to_json(), indent=2)


def is_dataset(path: Path) -> bool:
    """Tell whether there is a dataset at `path`, whatever state it is in."""
    return (path / HEADER_FILE).is_file()


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
        If its header is damaged or of a later format.
    """
    if not os.path.isdir(path):  # which also answers for names that cannot be
        msg = f"{path}: is not a dataset: there is no such folder. Name a folder that `posegen generate` has made"
        raise UsageError(msg)
    file = path / HEADER_FILE
    cure = "Delete it and run the generate command that made the dataset again: complete shards are kept"
    try:
        data = read_file(file, MOST_BYTES)
    except FileNotFoundError as error:
        msg = f"{path}: is not a dataset: there is no {HEADER_FILE} in it. Name a folder that `posegen generate` has made"
        raise UsageError(msg) from error
    source = Source(str(file), f"{cure}.")
    return Header.from_json(unseal(data, source), source)
