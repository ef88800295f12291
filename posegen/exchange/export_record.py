"""Records of an export: what the files of a shard hold, and the size and hash of each, so that no other file is used.

The last record, written when all clips are there, lists the files about all clips. A record is written when its files are on
the disk. Not responsible for which shards are exported; see :mod:`posegen.exchange.export`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from posegen.dataset.documents import Count, Document, Origin, parse, plain_data
from posegen.dataset.files import check_real_folders, read_file, write_durably
from posegen.dataset.receipts import StoredFile, find_size_fault
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.exchange.export_format import PARTS, RECORDS
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash

COMPLETE = "complete"
"""Name of the last record."""
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class ExportRecord(Document):
    """Record of a shard.

    Attributes
    ----------
    clips : int
    left_out : dict of str to int
        Selected sequences that the format cannot hold, by reason.
    content : dict
        What the files about all clips are made of.
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


def recorded_files(out: AnyPath, names: Iterable[str]) -> Mapping[str, StoredFile]:
    """Return the files of a complete export by their paths inside it, given the names of its records."""
    records = storage_of(out).map(partial(read_record, out), [*names, COMPLETE])
    files = {file: found for record in records for file, found in record.files.items()}
    return {file: found for file, found in files.items() if not file.startswith(f"{PARTS}/")}
