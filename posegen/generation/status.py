"""How far a dataset is that runs are making, from the names and times of its receipts.

Not responsible for whether shards are sound; see :mod:`posegen.dataset.verify`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from posegen.dataset.embeddings import count_embedded, encoder_folders
from posegen.dataset.header import load_header
from posegen.dataset.layout import Header, receipt_path
from posegen.dataset.lock import LOCK_FILE, is_held, part_locks
from posegen.dataset.parts import read_parts
from posegen.dataset.receipts import list_receipts
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.foundations.wording import printable

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
        Number of samples that the last run, or the parts together, are to make.
    parts : int
        Number of parts of the last job; 0 unless the dataset is made in parts.
    state : str
        ``complete``, ``running``, ``stopped``, or ``unknown`` for a bucket with shards to make.
    made, shards : int
        Number of shards with a receipt, and of all.
    running : list of str or None
        Locks that runs may hold: the parts that are being made, such as ``3 of 16``, or ``the dataset``; None for a bucket,
        which has no locks.
    recent : int
        Number of shards made in the last ten minutes.
    seconds_left : float or None
        Estimate at their rate; None if there is none, or nothing runs.
    layers : dict of str to int
        Number of published shards for which each derived field has a receipt.
    embeddings : dict of str to (int, int)
        For each folder of embeddings, number of shards of texts that are embedded, and of all that are numbered.
    """

    path: AnyPath
    samples: int
    target: int
    parts: int
    state: str
    made: int
    shards: int
    running: list[str] | None
    recent: int
    seconds_left: float | None
    layers: dict[str, int]
    embeddings: dict[str, tuple[int, int]]


def find_status(path: str | AnyPath) -> DatasetStatus:
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
    place = to_path(path)
    header, record = load_header(place), read_parts(place)
    whole = header.with_samples(max(header.samples, record.samples if record else 0))
    seen: AnyPath = storage_of(place).listed()
    made = [shard for shard in list_receipts(seen) if shard < whole.shards()]
    ages = _ages(seen, whole, made)
    recent = [age for age in ages if age <= RECENT_SECONDS]
    left = whole.shards() - len(made)
    running, encoders = _running(seen, "the dataset"), encoder_folders(seen)
    state = "complete" if not left else "unknown" if running is None else "running" if running else "stopped"
    has_rate = recent and max(recent) > 0 and state in ("running", "unknown")
    seconds = max(recent) / len(recent) * left if has_rate else None
    if running is not None:
        for folder in encoders:
            running += [f"{name} (embeddings {folder.name})" for name in _running(folder, "all texts") or ()]
    visible = header.shards()
    return DatasetStatus(
        path=place,
        samples=header.samples,
        target=whole.samples,
        parts=record.count if record else 0,
        state=state,
        made=len(made),
        shards=whole.shards(),
        running=running,
        recent=len(recent),
        seconds_left=seconds,
        layers={layer.name: sum(shard < visible for shard in list_receipts(seen, layer)) for layer in header.layers},
        embeddings={printable(folder.name): count_embedded(folder) for folder in encoders},
    )


def _running(folder: AnyPath, whole: str) -> list[str] | None:
    """Return what runs may be writing in a folder, by its locks: parts, or `whole`; None for a bucket, which has no locks."""
    local = storage_of(folder).local
    if local is None:
        return None
    parts = [lock.name.removeprefix(f"{LOCK_FILE}-").replace("-", " ") for lock in part_locks(local) if is_held(lock)]
    return [*parts, whole] if is_held(local / LOCK_FILE) else parts


def _ages(path: AnyPath, header: Header, shards: list[int]) -> list[float]:
    """Return for each receipt how many seconds ago it was written."""
    # None for a shard that is being made again.
    now, entries = time.time(), (storage_of(path / receipt_path(shard)).find() for shard in shards)
    return [max(now - entry.modified, 0.0) for entry in entries if entry]
