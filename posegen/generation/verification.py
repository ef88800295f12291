"""Verification of content: the samples of a dataset are made again and compared with the receipts, hash by hash.

This finds files and receipts that are consistent with each other, but not with the config. Consistency is left to
:mod:`posegen.dataset.verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from posegen.dataset.header import load_header
from posegen.dataset.layout import ROWS, receipt_path, rows_path, shard_path
from posegen.dataset.receipts import DIGITS, Receipt, load_receipt, read_receipt
from posegen.dataset.tables import hash_rows, to_table
from posegen.dataset.verify import Problem, format_samples
from posegen.errors import PosegenError
from posegen.generation.header import stored_config
from posegen.generation.plan import Span
from posegen.generation.pool import LostJob, run_jobs
from posegen.generation.shard import ShardJob, blocks, compute_arrays, make_samples
from posegen.hashing import canonical, content_hashes
from posegen.machine import available_cores

SHARDS_PER_WORKER = 4
"""Starting a worker takes about as long as making this many small shards."""


def find_content_problems(
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
        Dataset folder.
    shards : iterable of int
        Shards whose files match their receipts; see :func:`posegen.dataset.verify.find_problems`.
    workers : int, optional
        Number of processes; by default as many as are useful.
    progress : callable, optional
        Called with the number of compared shards and their total.

    Yields
    ------
    Problem

    Raises
    ------
    PosegenError
        As for :func:`posegen.generation.header.stored_config`.
    """
    header = load_header(path)
    config = stored_config(path, header)
    jobs = [ShardJob(path, header, config, Span.of(shard, header.shard, header.samples), "") for shard in shards]
    with closing(run_jobs(_compare, jobs, useful_workers(len(jobs)) if workers is None else workers)) as outcomes:
        for done, outcome in enumerate(outcomes, 1):
            progress(done, len(jobs))
            if isinstance(outcome, LostJob):
                shard = outcome.job.span.shard
                reason = "could not be compared: its worker died, possibly for lack of memory"
                yield Problem(shard, receipt_path(shard), reason)
            else:
                yield from outcome


def useful_workers(shards: int) -> int:
    """Return the number of processes worth starting for a number of shards."""
    return min(available_cores(), max(1, shards // SHARDS_PER_WORKER))


def _compare(job: ShardJob) -> list[Problem]:
    """Compare one shard."""
    shard = job.span.shard
    try:
        return _differences(job, load_receipt(job.path, job.header, shard))
    except PosegenError as error:
        return [Problem(shard, receipt_path(shard), f"could not be compared: {error}", repairable=False)]


def _differences(job: ShardJob, receipt: Receipt) -> list[Problem]:
    receipts = _receipts(job, receipt)
    files = {name: shard_path(job.header.field(name), receipt.shard) for name in receipts if name != ROWS}
    files |= {ROWS: rows_path(receipt.shard)}
    different: dict[str, list[int]] = {name: [] for name in files}
    for start, stop in blocks(job.header, receipt.first, receipt.first + receipt.count):
        hashes = _content_hashes(job, start, stop, list(receipts))
        for name in files:
            for position, sample in enumerate(range(start, stop)):
                if hashes[name][position * DIGITS : (position + 1) * DIGITS] != receipts[name].hash_of(name, sample):
                    different[name].append(sample)
    problems = []
    for name, samples in different.items():
        if samples:
            layer = job.header.layer_of(files[name])
            reason = f"matches its receipt, but its {name} differ from what the config makes in {format_samples(samples)}"
            problems.append(Problem(receipt.shard, files[name], reason, layer=None if layer is None else layer.name))
    return problems


def _receipts(job: ShardJob, own: Receipt) -> dict[str, Receipt]:
    """Return the receipt with the hashes of each array and of the rows; incomplete layers are left out."""
    receipts = dict.fromkeys((*(field.name for field in job.header.fields), ROWS), own)
    header = job.header.with_samples(own.first + own.count)  # a layer must have all samples of the shard
    for layer in header.layers:
        with suppress(FileNotFoundError, PosegenError):
            receipt = read_receipt(job.path, header, own.shard, layer, own)
            receipts |= dict.fromkeys((field.name for field in layer.fields), receipt)
    return receipts


def _content_hashes(job: ShardJob, start: int, stop: int, names: list[str]) -> dict[str, str]:
    """Make samples and return their hashes as in a receipt."""
    from posegen.synthesis import rows_schema

    batch = make_samples(job.config, start, stop)
    arrays = compute_arrays(job.config, batch, (name for name in names if name != ROWS))
    hashes = {name: content_hashes(canonical(values)) for name, values in arrays.items()}
    return hashes | {ROWS: hash_rows(to_table(batch.rows, rows_schema(job.header.variants)), len(job.header.variants))}
