"""Parts of a dataset that several jobs make, and the record of how many samples they are to make together.

Part 3 of 16 has every 16th shard from the third. Jobs need no coordinator: a shard is a function of its number, a job skips
those that have a receipt, and two jobs that make the same shard at the same time write the same bytes.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from posegen.dataset.documents import LOST_COUNT, Count, Document, seal
from posegen.dataset.files import load_document, remove_durably, write_durably
from posegen.dataset.layout import PARTS_FILE, REPAIR_FILE
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.storage import ConflictError
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.wording import shown

MOST_PARTS = 1_000_000
EVERYTHING = "all"
"""What ``--part`` is to do everything."""
_PART = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True)
class Part:
    """One of several parts of a dataset.

    Attributes
    ----------
    number : int
        From 1 to `count`.
    count : int

    Examples
    --------
    >>> part = Part(3, 16)
    >>> str(part), part.lock_name, [shard for shard in range(40) if shard in part]
    ('3/16', '3-of-16', [2, 18, 34])
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        """Raise UsageError if there is no such part."""
        if not 1 <= self.number <= self.count <= MOST_PARTS:
            msg = f"part {self.number}/{self.count}: the number must be from 1 to the number of parts, at most {MOST_PARTS:,}"
            raise UsageError(msg)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def lock_name(self) -> str:
        """Name of the part in the name of its lock."""
        return f"{self.number}-of-{self.count}"

    def __contains__(self, shard: object) -> bool:
        """Return whether a shard belongs to the part."""
        return isinstance(shard, int) and shard % self.count == self.number - 1


def parse_part(part: Part | str | None) -> Part | None:
    """Return a part that is given as text, such as ``3/16``; None for ``all``; any other value as it is.

    Raises
    ------
    UsageError
        If there is no such part.
    """
    if not isinstance(part, str):
        return part
    if part == EVERYTHING:
        return None
    match = _PART.fullmatch(part)
    if match is None:
        raise UsageError(f"--part {shown(part)}: must be such as 3/16, the third of 16 parts, or {EVERYTHING}")
    return Part(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class PartsRecord(Document):
    """Content of ``parts.json`` and ``repair.json``: what a run, or the parts of a dataset together, are to make.

    Attributes
    ----------
    samples : int
        Number of samples that the dataset will have.
    count : int
        Number of parts of the last job that began; 0 if one run is to make everything.
    """

    samples: Count
    count: Count = 0


def record_parts(path: AnyPath, samples: int, count: int, run: str) -> int:
    """Record what is to be made, in parts or by one run, for which `count` is 0; the caller must hold the lock.

    Returns
    -------
    int
        Number of samples that the dataset will have: `samples`, or more if others make more at this moment.
    """
    while True:
        before = read_parts(path)
        content = seal(before) if before else b""
        has_others = before and (before.count or storage_of(path).local is None)
        most = max(samples, before.samples) if before and has_others else samples
        record = PartsRecord(most, count or (before.count if before else 0))
        try:
            if before != record:
                write_durably(path / PARTS_FILE, seal(record), run, content)
        except ConflictError:  # of another part, in a bucket
            continue
        return record.samples


def read_parts(path: AnyPath, file: str = PARTS_FILE) -> PartsRecord | None:
    """Return the record of a dataset; None if what was to be made is finished.

    Raises
    ------
    PosegenError
        If the record is damaged, because the number of samples is in no other file; names the file and the fix.
    """
    return load_document(PartsRecord, path / file, LOST_COUNT)


def record_repair(path: AnyPath, samples: int, run: str) -> None:
    """Record that a dataset will have `samples` samples again; until then, readers refuse it if it shows fewer."""
    write_durably(path / REPAIR_FILE, seal(PartsRecord(samples)), run)


def samples_after_repair(path: AnyPath) -> int:
    """Return the number of samples that an unfinished repair recorded, as :func:`read_parts` does; 0 if there is none."""
    record = read_parts(path, REPAIR_FILE)
    return record.samples if record else 0


def is_made_in_parts(path: AnyPath) -> bool:
    """Return whether parts may be missing between complete shards, because they are not finished or their record is damaged."""
    try:
        record = read_parts(path)
    except PosegenError:
        return True
    return record is not None and record.count > 0


def remove_parts(path: AnyPath, record: PartsRecord) -> None:
    """Remove the record of what is finished; one that another job has written meanwhile stays."""
    with suppress(ConflictError):
        remove_durably(path / PARTS_FILE, seal(record))
