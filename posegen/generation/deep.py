"""Checking a dataset against what makes it: its samples are made once more and compared, hash by hash.

This finds what no hash on the disk can tell: files and receipts that fit each other and are not what the config makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posegen.config.schema import Config
from posegen.dataset.header import load_header
from posegen.dataset.layout import ROWS, Header, receipt_path, rows_path, shard_path
from posegen.dataset.receipts import DIGITS, Receipt, load_layer_receipt, load_receipt
from posegen.dataset.tables import hash_rows, to_table
from posegen.dataset.verify import Problem, format_samples
from posegen.errors import PosegenError, UsageError
from posegen.generation.faults import trip_sample
from posegen.generation.fields import made_arrays
from posegen.generation.plan import bytes_per_sample
from posegen.generation.pool import Lost, run_jobs
from posegen.generation.stored import stored_config
from posegen.generation.worker import BLOCK_BYTES, SampleError
from posegen.hashing import canonical, content_hashes
from posegen.machine import available_cores

__all__ = ["deep_problems", "worthwhile_workers"]

SHARDS_A_WORKER = 4
"""A worker takes about as long to start as it does to make so many small shards."""


@dataclass(frozen=True)
class _Job:
    path: Path
    header: Header
    config: Config
    shard: int


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
        Shards whose files fit their receipts; see :func:`posegen.dataset.verify.find_problems`.
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
        As for :func:`posegen.generation.stored.stored_config`.
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
    try:
        return _differences(job, load_receipt(job.path, job.header, job.shard))
    except PosegenError as error:
        return [Problem(job.shard, receipt_path(job.shard), f"could not be compared: {error}", repairable=False)]


def _differences(job: _Job, receipt: Receipt) -> list[Problem]:
    receipts = _receipts(job, receipt)
    files = {name: shard_path(job.header.field(name), job.shard) for name in receipts if name != ROWS}
    files |= {ROWS: rows_path(job.shard)}
    bad: dict[str, list[int]] = {name: [] for name in files}
    for start, stop in _blocks(job.header, receipt):
        made = _content(job, start, stop, list(receipts))
        for name in files:
            for position, sample in enumerate(range(start, stop)):
                if made[name][position * DIGITS : (position + 1) * DIGITS] != receipts[name].hash_of(name, sample):
                    bad[name].append(sample)
    what = "is sound, but holds other {} than the config makes in {}"
    return [
        Problem(job.shard, files[name], what.format(name, format_samples(samples)), layer=_layer(job.header, files[name]))
        for name, samples in bad.items()
        if samples
    ]


def _receipts(job: _Job, own: Receipt) -> dict[str, Receipt]:
    """Tell in which receipt the hashes of each array and of the rows stand, those of layers as far as they are complete."""
    receipts = dict.fromkeys((*(field.name for field in job.header.fields), ROWS), own)
    for layer in job.header.layers:
        with suppress(FileNotFoundError, PosegenError):
            receipt = load_layer_receipt(job.path, job.header, layer, own, own.count)
            receipts |= dict.fromkeys((field.name for field in layer.fields), receipt)
    return receipts


def _layer(header: Header, name: str) -> str | None:
    layer = header.layer_of(name)
    return None if layer is None else layer.name


def _blocks(header: Header, receipt: Receipt) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_BYTES // bytes_per_sample(header))
    end = receipt.first + receipt.count
    return ((start, min(start + size, end)) for start in range(receipt.first, end, size))


def _content(job: _Job, start: int, stop: int, names: list[str]) -> dict[str, str]:
    """Make samples and hash them as a receipt does."""
    from posegen.synthesis import rows_schema, synthesize

    try:
        trip_sample(start, stop)
        batch = synthesize(job.config, np.arange(start, stop))
    except UsageError:
        raise
    # Whatever is wrong with a sample, it must not keep the other shards from being compared.
    except Exception as error:
        msg = f"samples {start} to {stop - 1} of seed {job.config.seed} could not be made: {type(error).__name__}: {error}"
        raise SampleError(msg) from error
    arrays = made_arrays(job.config, batch, (name for name in names if name != ROWS))
    content = {name: content_hashes(canonical(values)) for name, values in arrays.items()}
    return content | {ROWS: hash_rows(to_table(batch.rows, rows_schema(job.header.variants)), len(job.header.variants))}
