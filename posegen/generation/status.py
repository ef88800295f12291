"""How far a dataset is that runs are making, from the names and times of its receipts.

Not responsible for whether shards are sound; see :mod:`posegen.dataset.verify`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from posegen.dataset.bucket import AnyPath, BucketPath, listed, to_path
from posegen.dataset.embeddings import count_embedded, encoder_folders
from posegen.dataset.files import modified_time
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
    running : list of str or None
        Locks that runs may hold: the parts that are being made, such as ``3 of 16``, or ``the dataset``; None for a bucket,
        which has no locks.
    recent : int
        Number of shards made in the last ten minutes.
    seconds_left : float or None
        Estimate at their rate; None if there is none.
    layers : dict of str to int
        Number of published shards for which each derived field has a receipt.
    embeddings : dict of str to (int, int)
        For each folder of embeddings, number of shards of texts that are embedded, and of all that are numbered.
    """

    path: AnyPath
    samples: int
    target: int
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
    path = to_path(path)
    header, record = load_header(path), read_parts(path)
    whole = header.with_samples(max(header.samples, record.samples if record else 0))
    path = listed(path)
    made = [shard for shard in list_receipts(path) if shard < whole.shards()]
    ages = _ages(path, whole, made)
    recent = [age for age in ages if age <= RECENT_SECONDS]
    left = whole.shards() - len(made)
    seconds = max(recent) / len(recent) * left if recent and max(recent) > 0 else None
    running, encoders = _running(path, "the dataset"), encoder_folders(path)
    if running is not None:
        for folder in encoders:
            running += [f"{name} (embeddings {folder.name})" for name in _running(folder, "all texts") or ()]
    visible = header.shards()
    return DatasetStatus(
        path=path,
        samples=header.samples,
        target=whole.samples,
        made=len(made),
        shards=whole.shards(),
        running=running,
        recent=len(recent),
        seconds_left=seconds,
        layers={layer.name: sum(shard < visible for shard in list_receipts(path, layer)) for layer in header.layers},
        embeddings={folder.name: count_embedded(folder) for folder in encoders},
    )


def _running(folder: AnyPath, whole: str) -> list[str] | None:
    """Return what runs may be writing in a folder, by its locks: parts, or `whole`; None for a bucket, which has no locks."""
    if isinstance(folder, BucketPath):
        return None
    parts = [lock.name.removeprefix(f"{LOCK_FILE}-").replace("-", " ") for lock in part_locks(folder) if is_held(lock)]
    return [*parts, whole] if is_held(folder / LOCK_FILE) else parts


def _ages(path: AnyPath, header: Header, shards: list[int]) -> list[float]:
    """Return for each receipt how many seconds ago it was written."""
    now, ages = time.time(), []
    for shard in shards:
        try:
            ages.append(max(now - modified_time(path / receipt_path(shard)), 0.0))
        except FileNotFoundError:  # its shard is being made again
            continue
    return ages
