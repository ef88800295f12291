"""Parts of a dataset that several jobs make, and the record of how many samples they are to make together.

Part 3 of 16 has every 16th shard from the third. Jobs need no coordinator: a shard is a function of its number, a job skips
those that have a receipt, and two jobs that make the same shard at the same time write the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from posegen.dataset.bucket import AnyPath, ConflictError
from posegen.dataset.documents import Count, Document, Origin, read_sealed, seal
from posegen.dataset.files import read_file, write_durably
from posegen.dataset.layout import PARTS_FILE, Positive
from posegen.errors import PosegenError, UsageError
from posegen.wording import shown

MOST_PARTS = 1_000_000
PARTS_VARIABLE = "POSEGEN_PARTS"
"""Environment variable with the number of parts, for a scheduler from which a job learns only its index."""

_MAX_RECORD_BYTES = 1000
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


def parse_part(text: str, environment: Mapping[str, str]) -> Part:
    """Read a part.

    Parameters
    ----------
    text : str
        Such as ``3/16``; ``auto`` takes the part from the environment of a job.
    environment : mapping of str to str
        Variables of a Slurm array (``SLURM_ARRAY_TASK_ID``, ``_MIN``, ``_STEP`` and ``_COUNT``), or of a Kubernetes indexed job
        (``JOB_COMPLETION_INDEX``, from 0) with the number of its completions in ``POSEGEN_PARTS``.

    Raises
    ------
    UsageError
        If there is no such part, or the environment does not name one.

    Examples
    --------
    >>> str(parse_part("auto", {"JOB_COMPLETION_INDEX": "0", "POSEGEN_PARTS": "8"}))
    '1/8'
    """
    if text != "auto":
        match = _PART.fullmatch(text)
        if match is None:
            raise UsageError(f"--part {shown(text)}: must be such as 3/16, the third of 16 parts, or auto")
        return Part(int(match[1]), int(match[2]))
    if "SLURM_ARRAY_TASK_ID" in environment:
        first = _variable(environment, "SLURM_ARRAY_TASK_MIN", 0)
        step = max(_variable(environment, "SLURM_ARRAY_TASK_STEP", 1), 1)
        offset = _variable(environment, "SLURM_ARRAY_TASK_ID") - first
        if offset % step == 0:
            return Part(offset // step + 1, _variable(environment, "SLURM_ARRAY_TASK_COUNT"))
        raise UsageError("--part auto: the numbers of the Slurm array are not evenly spaced; use an array such as 0-15")
    if "JOB_COMPLETION_INDEX" in environment:
        return Part(_variable(environment, "JOB_COMPLETION_INDEX") + 1, _variable(environment, PARTS_VARIABLE))
    msg = "--part auto: neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; state the part, such as --part 3/16"
    raise UsageError(msg)


def _variable(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environment.get(name, "" if default is None else str(default))
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise UsageError(f"--part auto: {name} must be a number, not {shown(text)}. Set it, or state the part: --part 3/16")
    return int(text)


@dataclass(frozen=True)
class PartsRecord(Document):
    """Content of ``parts.json``: what the parts of a dataset are to make together.

    Attributes
    ----------
    samples : int
        Number of samples that the dataset will have.
    count : int
        Number of parts of the last job that began.
    """

    samples: Count
    count: Positive


def record_parts(path: AnyPath, samples: int, count: int, run: str) -> int:
    """Record that a dataset is made in parts; the caller must hold the lock.

    Returns
    -------
    int
        Number of samples that it will have: `samples`, or more if it was to have more.
    """
    while True:
        before = read_parts(path)
        record = PartsRecord(max(samples, before.samples if before else 0), count)
        try:
            if before != record:
                write_durably(path / PARTS_FILE, seal(record), run, seal(before) if before else None)
        except ConflictError:  # of another part, in a bucket
            continue
        return record.samples


def read_parts(path: AnyPath) -> PartsRecord | None:
    """Return the record of a dataset; None if it is not made in parts, or they are finished, or the record is damaged."""
    try:
        return read_sealed(PartsRecord, read_file(path / PARTS_FILE, _MAX_RECORD_BYTES), Origin(PARTS_FILE, ""))
    except (FileNotFoundError, PosegenError):
        return None
