"""Strays: what lies in a dataset and belongs to nothing.

Files of a shard that is known are left to the check of that shard.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from pathlib import Path

from posegen.dataset.complete import shards_with_receipts
from posegen.dataset.descriptions import descriptions
from posegen.dataset.files import read_file, temporary_run
from posegen.dataset.folders import OVERLAYS, folders
from posegen.dataset.layout import HEADER_FILE, REPAIR_FILE, Header, receipt_path, rows_path, shard_path
from posegen.dataset.lock import LOCK_FILE
from posegen.dataset.problems import Problem
from posegen.dataset.runs import has_ended
from posegen.errors import PosegenError

__all__ = ["abandoned_files", "is_being_written", "shard_files", "shard_of", "strays"]

_SHARD = re.compile(r"(?:.*/)?(?:c\.|part-)?([0-9]{1,15})[.0a-z]+")
_HOLDER = re.compile(r"process [0-9]+ \(run (.+)\)")


def is_being_written(path: Path) -> bool:
    """Tell whether a run may be at work on a dataset; its lock is looked at and not touched."""
    run = _lock_holder(path)
    return run is not None and not has_ended(run)


def shard_files(header: Header, shard: int) -> list[str]:
    """List the files that a shard can have beside its receipt, those of layers and their receipts among them."""
    layers = (receipt_path(shard, layer) for layer in header.layers)
    return [*layers, *(shard_path(field, shard) for field in header.all_fields), rows_path(shard)]


def shard_of(header: Header, name: str) -> int | None:
    """Tell to which shard a file belongs, its receipt included, by its path inside the dataset; None if to none."""
    match = _SHARD.fullmatch(name)
    if match is None:
        return None
    shard = int(match[1])
    return shard if name in (*shard_files(header, shard), receipt_path(shard)) else None


def abandoned_files(path: Path, header: Header, awaited: Container[int]) -> list[str]:
    """List the files of shards that were begun, that have no receipt, and that nobody is going to finish.

    Parameters
    ----------
    path : Path
        Of the dataset; who calls this must hold its lock.
    header : Header
    awaited : container of int
        The shards that are about to be made.
    """
    kept = set(shards_with_receipts(path))
    found = []
    for folder in filter(lambda folder: (path / folder).is_dir(), folders(header)):
        with os.scandir(path / folder) as entries:
            names = [f"{folder}/{entry.name}" for entry in entries if entry.is_file(follow_symlinks=False)]
        for name in names:
            shard = shard_of(header, name)
            if shard is not None and shard not in kept and shard not in awaited:
                found.append(name)
    return sorted(found)


def strays(path: Path, header: Header, known: Container[int]) -> Iterator[Problem]:
    """Find what belongs to nothing.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    known : container of int
        The shards whose files belong to the dataset.
    """
    own = {"", *folders(header)}
    files = {HEADER_FILE, *descriptions(header)}
    busy = is_being_written(path)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(path / folder) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}".lstrip("/")
                    if name in own and entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    elif name in OVERLAYS and entry.is_dir(follow_symlinks=False):
                        continue
                    elif name not in files:
                        yield from _judge(path, header, known, name, entry, busy=busy)
        except OSError as error:
            yield Problem(None, folder or ".", f"cannot be listed ({error.strerror}). See to its permissions", curable=False)


def _judge(
    path: Path, header: Header, known: Container[int], name: str, entry: os.DirEntry[str], *, busy: bool
) -> Iterator[Problem]:
    """Say what is wrong with an entry that is neither a folder of the dataset nor one of its descriptions."""
    run = temporary_run(entry.name)
    shard = shard_of(header, name)
    if shard is not None and shard in known:
        return
    if not entry.is_file(follow_symlinks=False):
        kind = "a link" if entry.is_symlink() else "a folder" if entry.is_dir(follow_symlinks=False) else "no plain file"
        yield Problem(shard, name, f"is {kind} that does not belong to the dataset. Take it away", curable=False)
    elif name == LOCK_FILE:
        holder = _lock_holder(path)
        if holder is None or has_ended(holder):
            yield Problem(None, name, "is the lock of a run that has ended")
    elif name == REPAIR_FILE:
        if not busy:
            yield Problem(None, name, "is the note of a repair that was begun and did not end")
    elif run is not None:
        if has_ended(run):
            yield Problem(None, name, "is a temporary file of a run that has ended")
        elif not busy:
            what = f"is a temporary file of run {run}, which may be at work elsewhere. Delete it if that run has ended"
            yield Problem(None, name, what, curable=False)
    elif shard is None:
        yield Problem(None, name, "does not belong to the dataset. Take it away", curable=False)
    elif not busy:
        yield Problem(shard, name, "belongs to a shard that was begun and not finished: there is no receipt")


def _lock_holder(path: Path) -> str | None:
    """Name the run that a lock is of; None if there is no lock, or none that names a run."""
    try:
        text = read_file(path / LOCK_FILE, 1000).decode(errors="replace")
    except (FileNotFoundError, PosegenError):
        return None
    match = _HOLDER.fullmatch(text)
    return match[1] if match else None
