"""Files of an export, and records of the files of each shard with their sizes and hashes, so that no other file is used.

The last record, written when all clips are there, lists the files about all clips. A record is written when its files are on
the disk or in the bucket. Not responsible for which shards are exported; see :mod:`posegen.exchange.export`.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from posegen.dataset.documents import Count, Document, Origin, parse, plain_data
from posegen.dataset.files import check_real_folders, read_file, write_durably
from posegen.dataset.receipts import StoredFile, find_size_fault
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.bucket import map_requests
from posegen.dataset.storage.folder import place_files, sync_files
from posegen.exchange.export_format import PARTS, RECORDS
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash

COMPLETE = "complete"
"""Name of the last record."""
_MOST_BYTES = 1 << 30
_LARGE_BYTES = 16 << 20
"""Files from this size on are uploaded one at a time: each is held in memory."""


@dataclass(frozen=True)
class ExportRecord(Document):
    """Record of a shard.

    Attributes
    ----------
    clips : int
    left_out : dict of str to int
        Selected sequences that the format cannot hold, by reason.
    content : dict
        Data for the files about all clips.
    files : dict of str to StoredFile
        By their paths inside the export.
    """

    clips: Count
    left_out: dict[str, Count]
    content: dict[str, Any]
    files: dict[str, StoredFile]

    def __post_init__(self) -> None:
        """Raise ValueError for a path that may lead out of the export."""
        for name in self.files:
            if name.startswith("/") or ".." in PurePosixPath(name).parts:
                raise ValueError(f"lists a file outside the export: {name!r:.200}")


def write_record(out: AnyPath, name: str, record: ExportRecord) -> None:
    """Write a record, after the hash of its content."""
    text = json.dumps(plain_data(record)).encode()
    write_durably(out / RECORDS / name, b"%s\n%s" % (byte_hash([text]).encode(), text))


def read_record(out: AnyPath, name: str) -> ExportRecord:
    """Read a record.

    Raises
    ------
    FileNotFoundError
        If there is none.
    PosegenError
        If it is damaged.
    """
    path = out / RECORDS / name
    origin = Origin(str(path), "Run the same command again: the shard is exported again")
    digest, _, text = read_file(path, _MOST_BYTES).partition(b"\n")
    if digest != byte_hash([text]).encode():
        raise origin.error("is damaged: its hash does not match its content")
    return parse(ExportRecord, json.loads(text), origin)


def find_intact(out: AnyPath, name: str, *, has_parts: bool = True) -> ExportRecord | None:
    """Return a record whose files are intact; None if it or one of them is missing or damaged.

    Parameters
    ----------
    out : Path or BucketPath
        The export. In a bucket, hashes are those that objects state in their metadata; objects without are read.
    name : str
    has_parts : bool, optional
        Whether there must be the files that are removed once the export is complete.

    Raises
    ------
    PosegenError
        If a link is in place of a folder, so that a file outside the export would be used.
    """
    try:
        record = read_record(out, name)
    except (FileNotFoundError, PosegenError):
        return None
    files = {file: found for file, found in record.files.items() if has_parts or not file.startswith(f"{PARTS}/")}
    folders = {str(folder) for file in files for folder in PurePosixPath(file).parents} - {"."}
    check_real_folders(*(out / folder for folder in sorted(folders)))
    is_damaged = any(storage_of(out).map(lambda item: _is_damaged(out / item[0], item[1]), files.items()))
    return None if is_damaged else record


def _is_damaged(path: AnyPath, expected: StoredFile) -> bool:
    """Return whether a file is missing, or does not have its recorded size and hash."""
    with suppress(FileNotFoundError):  # if it was removed since it was listed
        return bool(find_size_fault(path, expected)) or storage_of(path).find_hash() != expected.xxh3
    return True


def place_all(folder: Path, out: AnyPath) -> dict[str, StoredFile]:
    """Move all files of a folder into the export, or upload them; return their sizes and hashes once they are durable."""
    start = len(str(folder)) + 1
    names = [f"{parent}/{name}"[start:] for parent, _, names in os.walk(folder) for name in names]
    names.sort(key=lambda name: name.split("/"))
    files = {name: StoredFile(*found) for name, found in sync_files(folder, names).items()}
    if local := storage_of(out).local:
        place_files(folder, local, files)
        return files

    def upload(name: str) -> None:
        storage_of(out / name).write((folder / name).read_bytes())

    small = [name for name, file in files.items() if file.bytes < _LARGE_BYTES]
    for _ in map_requests(upload, small):
        pass
    for name in files.keys() - {*small}:
        upload(name)
    return files


def download_folder(source: AnyPath, folder: Path) -> bool:
    """Write all objects of a folder in a bucket to files of the same names; False if one was removed meanwhile."""

    def download(name: str) -> bool:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.write_bytes(storage_of(source / name).read())
            return True
        return False

    return all(map_requests(download, storage_of(source).list()))
