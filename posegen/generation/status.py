"""How far a dataset is that runs are making, from the names and times of its receipts.

Not responsible for whether shards are sound; see :mod:`posegen.dataset.verify`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from posegen.dataset.header import load_header
from posegen.dataset.layout import Header, receipt_path
from posegen.dataset.lock import LOCK_FILE, is_held, part_locks
from posegen.dataset.parts import read_parts
from posegen.dataset.receipts import list_receipts

RECENT_SECONDS = 600.0
"""Time before now over which the rate of a dataset in progress is measured."""


@dataclass(frozen=True)
class DatasetStatus:
    """How far a dataset is.

    Attributes
    ----------
    path : Path
        Dataset folder.
    samples : int
        Published: readers see them.
    target : int
        Number of samples that the parts are to make, or of the dataset.
    made, shards : int
        Number of shards with a receipt, and of all.
    running : list of str
        Locks that runs may hold: the parts that are being made, such as ``3 of 16``, or ``the dataset``.
    recent : int
        Number of shards made in the last ten minutes.
    seconds_left : float or None
        Estimate at their rate; None if there is none.
    """

    path: Path
    samples: int
    target: int
    made: int
    shards: int
    running: list[str]
    recent: int
    seconds_left: float | None


def find_status(path: str | Path) -> DatasetStatus:
    """Describe how far a dataset is, by the names and times of its receipts.

    Parameters
    ----------
    path : str or Path
        Dataset folder.

    Raises
    ------
    UsageError
        If it is not a dataset.
    """
    path = Path(path)
    header, record = load_header(path), read_parts(path)
    whole = header.with_samples(max(header.samples, record.samples if record else 0))
    made = [shard for shard in list_receipts(path) if shard < whole.shards()]
    ages = _ages(path, whole, made)
    recent = [age for age in ages if age <= RECENT_SECONDS]
    left = whole.shards() - len(made)
    seconds = max(recent) / len(recent) * left if recent and max(recent) > 0 else None
    running = [lock.name.removeprefix(f"{LOCK_FILE}-").replace("-", " ") for lock in part_locks(path) if is_held(lock)]
    if is_held(path / LOCK_FILE):
        running.append("the dataset")
    return DatasetStatus(path, header.samples, whole.samples, len(made), whole.shards(), running, len(recent), seconds)


def _ages(path: Path, header: Header, shards: list[int]) -> list[float]:
    """Return for each receipt how many seconds ago it was written."""
    now, ages = time.time(), []
    for shard in shards:
        try:
            ages.append(max(now - os.stat(path / receipt_path(shard)).st_mtime, 0.0))
        except FileNotFoundError:  # its shard is being made again
            continue
    return ages
