"""Checking a dataset against what makes it: its samples are made once more and compared, hash by hash.

This finds what no hash on the disk can tell: files and receipts that fit each other and are not what the config makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posegen.config import CONTENT_VERSION, Config
from posegen.errors import PosegenError
from posegen.generation.plan import bytes_per_sample
from posegen.generation.pool import Lost, available_cores, run_jobs
from posegen.generation.worker import BLOCK_BYTES
from posegen.library import load_library
from posegen.store.complete import load_receipt
from posegen.store.hashing import canonical, content_hashes
from posegen.store.headers import load_header
from posegen.store.layout import ROWS, Header, receipt_path, rows_path, shard_path
from posegen.store.problems import Problem
from posegen.store.receipts import DIGITS, Receipt
from posegen.store.rows import row_hashes, table_of
from posegen.store.verify import numbered
from posegen.validation import validated

__all__ = ["deep_problems", "stored_config", "worthwhile_workers"]

SHARDS_A_WORKER = 4
"""A worker takes about as long to start as it does to make so many small shards."""


@dataclass(frozen=True)
class _Job:
    path: Path
    header: Header
    config: Config
    shard: int


def stored_config(path: Path, header: Header) -> Config:
    """Take the config of a dataset from its header, if this posegen makes the same samples of it.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header

    Raises
    ------
    PosegenError
        If the dataset is of another content version, or its config or library give another dataset today.
    """
    if header.content_version != CONTENT_VERSION:
        msg = (
            f"{path}: was made by content version {header.content_version}, and this posegen makes version {CONTENT_VERSION}, "
            "whose samples differ. Its bytes can be verified, but its samples not made again: use the posegen that made it"
        )
        raise PosegenError(msg)
    config = validated(Config, header.config, lambda key: f"{path}: in the config of its dataset.json: ")
    identity = config.identity(load_library(config.story.library))
    if identity != header.identity:
        place = config.story.library or "of this posegen"
        msg = (
            f"{path}: its config has the identity {identity[:8]} here, not {header.identity[:8]} as when it was made: "
            f"the files of actions, themes or words ({place}) have changed since. Its bytes can be verified, but its samples "
            "not made again: bring the files back"
        )
        raise PosegenError(msg)
    return config


def deep_problems(
    path: Path,
    shards: Iterable[int],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Problem]:
    """Make the samples of shards again, in memory, and compare them with the receipts.

    Parameters
    ----------
    path : Path
        Of the dataset.
    shards : iterable of int
        Shards whose files fit their receipts; see :func:`posegen.store.verify.find_problems`.
    workers : int, optional
        How many processes work at once; as many as it is worth unless given.
    progress : callable, optional
        Told how many shards are compared, and of how many.

    Yields
    ------
    Problem

    Raises
    ------
    PosegenError
        As for :func:`stored_config`.
    """
    header = load_header(path)
    config = stored_config(path, header)
    jobs = [_Job(path, header, config, shard) for shard in shards]
    at_once = worthwhile_workers(len(jobs)) if workers is None else workers
    with closing(run_jobs(_compare, jobs, at_once)) as outcomes:
        for done, outcome in enumerate(outcomes):
            progress(done + 1, len(jobs))
            if isinstance(outcome, Lost):
                shard = outcome.job.shard
                yield Problem(
                    shard, receipt_path(shard), "could not be compared: its worker died. There may be too little memory"
                )
            else:
                yield from outcome


def worthwhile_workers(shards: int) -> int:
    """Tell how many processes are worth starting for so many shards."""
    return min(available_cores(), max(1, shards // SHARDS_A_WORKER))


def _compare(job: _Job) -> list[Problem]:
    """Compare one shard."""
    receipt = load_receipt(job.path, job.header, job.shard)
    files = {field.name: shard_path(field, job.shard) for field in job.header.fields} | {ROWS: rows_path(job.shard)}
    bad: dict[str, list[int]] = {name: [] for name in files}
    for start, stop in _blocks(job.header, receipt):
        made = _content(job, start, stop)
        for name in files:
            for position, sample in enumerate(range(start, stop)):
                if made[name][position * DIGITS : (position + 1) * DIGITS] != receipt.hash_of(name, sample):
                    bad[name].append(sample)
    what = "is sound, but holds other {} than the config makes in {}"
    return [Problem(job.shard, files[name], what.format(name, numbered(samples))) for name, samples in bad.items() if samples]


def _blocks(header: Header, receipt: Receipt) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_BYTES // bytes_per_sample(header))
    end = receipt.first + receipt.count
    return ((start, min(start + size, end)) for start in range(receipt.first, end, size))


def _content(job: _Job, start: int, stop: int) -> dict[str, str]:
    """Make samples and hash them as a receipt does."""
    from posegen.synthesis import rows_schema, synthesize

    batch = synthesize(job.config, np.arange(start, stop))
    content = {field.name: content_hashes(canonical(getattr(batch, field.name))) for field in job.header.fields}
    return content | {ROWS: row_hashes(table_of(batch.rows, rows_schema()), len(job.header.variants))}
