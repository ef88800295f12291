"""The folders of a dataset: real ones, not links, so that nothing outside of it is read or written through them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from posegen.dataset.layout import MOTION, RECEIPTS, SEQUENCES, Header
from posegen.errors import PosegenError

__all__ = ["OVERLAYS", "check_folders", "folder_faults", "folders"]

OVERLAYS = frozenset(("embeddings", "paraphrases", "training"))
"""Folders of what is made from a dataset afterwards and lies in it; they look after their own files."""

_CURE = "A dataset's folders are its own: take it away, and put the folder back"


def folders(header: Header) -> list[str]:
    """List the folders that a dataset has, by their path inside it."""
    arrays = [f"{MOTION}/{field.name}" for field in header.all_fields]
    return [MOTION, SEQUENCES, RECEIPTS, *arrays, *(f"{RECEIPTS}/{layer.name}" for layer in header.layers)]


def folder_faults(path: Path, header: Header) -> Iterator[tuple[str, str]]:
    """Find what is in the place of a folder and is none.

    Parameters
    ----------
    path : Path
        Of the dataset; may itself be a link.
    header : Header

    Yields
    ------
    (str, str)
        Path inside the dataset, and what is wrong with it.
    """
    for name in folders(header):
        try:
            mode = os.lstat(path / name).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue  # what ought to lie in it is missing, and the check of that says so
        if stat.S_ISLNK(mode):
            yield name, f"is a link. {_CURE}"
            return  # what is behind it is not looked at
        if not stat.S_ISDIR(mode):
            yield name, f"is not a folder. {_CURE}"


def check_folders(path: Path, header: Header) -> None:
    """Refuse a dataset in which links are in the places of folders.

    Raises
    ------
    PosegenError
        Names the first of them.
    """
    for name, fault in folder_faults(path, header):
        msg = f"{path}: {name} {fault}"
        raise PosegenError(msg)
