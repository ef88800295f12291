"""Verification of content, and repair of a dataset: damaged shards are generated again, and damaged layers derived again.

Verification makes the samples of a dataset again and compares them with the receipts, hash by hash: it finds files and receipts
that are consistent with each other, but not with the config. Consistency is left to :mod:`posegen.dataset.verify`.

For a repair, first the number of samples is written to the file ``REPAIR_FILE``, and a lost header is restored from its copy.
Then the receipts of the damaged shards are removed, so that the shards count as missing, and the dataset is generated as usual,
which also restores metadata and removes temporary files. The file is removed at the end. If a repair is killed, the next one
reads from it how many samples there were, and completes the repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from posegen.config.schema import Config
from posegen.dataset import files, layout, lock, parts, runs, tables
from posegen.dataset.header import inspect_header, load_header, repair_header
from posegen.dataset.layout import ROWS, Header
from posegen.dataset.receipts import Receipt, complete_shards, find_differing, load_receipt, read_receipt
from posegen.dataset.storage.address import AnyPath
from posegen.dataset.verify import Problem, expected_shards, find_problems, format_samples
from posegen.dataset.write import publish
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import canonical, content_hashes
from posegen.foundations.machine import available_cores
from posegen.foundations.progress import Progress
from posegen.generation.derive import derive
from posegen.generation.header import stored_config
from posegen.generation.jobs import LostJob, run_jobs
from posegen.generation.plan import check_free_space
from posegen.generation.run import generate
from posegen.generation.shard import ShardJob, blocks, compute_arrays, make_samples

SHARDS_PER_WORKER = 4
"""Starting a worker takes about as long as making this many small shards."""


def find_content_problems(
    path: AnyPath,
    shards: Iterable[int],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Problem]:
    """Make the samples of shards again, in memory, and compare them with the receipts.

    Parameters
    ----------
    path : Path
        Dataset folder.
    shards : iterable of int
        Shards whose files match their receipts; see :func:`posegen.dataset.verify.find_problems`.
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
    jobs = [ShardJob(path, header, config, shard, "") for shard in shards]
    with closing(run_jobs(_compare, jobs, useful_workers(len(jobs)))) as outcomes:
        for done, outcome in enumerate(outcomes, 1):
            progress(done, len(jobs))
            if isinstance(outcome, LostJob):
                shard = outcome.job.shard
                reason = "could not be compared: its worker died, possibly for lack of memory"
                yield Problem(shard, layout.receipt_path(shard), reason)
            else:
                yield from outcome


def useful_workers(shards: int) -> int:
    """Return the number of processes worth starting for a number of shards."""
    return min(available_cores(), max(1, shards // SHARDS_PER_WORKER))


def _compare(job: ShardJob) -> list[Problem]:
    """Compare one shard."""
    shard = job.shard
    try:
        return _differences(job, load_receipt(job.path, job.header, shard))
    except PosegenError as error:
        return [Problem(shard, layout.receipt_path(shard), f"could not be compared: {error}", repairable=False)]


def _differences(job: ShardJob, receipt: Receipt) -> list[Problem]:
    stored = _stored_content(job, receipt)
    made = dict.fromkeys(stored, "")
    for start, stop in blocks(job.header, receipt.first, receipt.first + receipt.count):
        for name, hashes in hash_samples(job.config, start, stop, list(stored)).items():
            made[name] += hashes
    problems = []
    for name, own in stored.items():
        if samples := find_differing(made[name], own, receipt.first):
            file = layout.rows_path(receipt.shard) if name == ROWS else layout.shard_path(job.header.field(name), receipt.shard)
            layer = job.header.layer_of(file)
            reason = f"matches its receipt, but its {name} differ from what the config makes in {format_samples(samples)}"
            problems.append(Problem(receipt.shard, file, reason, layer=None if layer is None else layer.name))
    return problems


def _stored_content(job: ShardJob, own: Receipt) -> dict[str, str]:
    """Return the hashes of each array and of the rows by the receipts; incomplete layers are left out."""
    content, header = own.content, job.header.with_samples(own.first + own.count)  # a layer must have all samples of the shard
    for layer in header.layers:
        with suppress(FileNotFoundError, PosegenError):
            content = content | read_receipt(job.path, header, own.shard, layer, own).content
    return content


def hash_samples(config: Config, start: int, stop: int, names: list[str]) -> dict[str, str]:
    """Make samples and return the content hashes of some fields, or of `rows`, as in a receipt."""
    batch = make_samples(config, start, stop)
    arrays = compute_arrays(config, batch, (name for name in names if name != ROWS))
    hashes = {name: content_hashes(canonical(values)) for name, values in arrays.items()}
    return hashes | {ROWS: tables.hash_rows(batch.sequences, len(batch.variants))}


@dataclass(frozen=True)
class RepairResult:
    """Summary of a repair.

    Attributes
    ----------
    made : tuple of int
        Shards that were generated again.
    dropped : tuple of int
        Unfinished shards after the end of the dataset; their files were removed.
    derived : tuple of str
        Layers with shards that were derived again.
    left : tuple of Problem
        Remaining problems.
    """

    made: tuple[int, ...]
    dropped: tuple[int, ...]
    derived: tuple[str, ...]
    left: tuple[Problem, ...]


def repair(
    path: AnyPath, problems: Sequence[Problem], *, workers: int | None = None, progress: Progress | None = None
) -> RepairResult:
    """Repair the problems that :func:`posegen.dataset.verify.find_problems` and `find_content_problems` found.

    Parameters
    ----------
    path : Path
        Dataset folder.
    problems : sequence of Problem
    workers : int, optional
        Number of processes; by default as many as are useful.
    progress : Progress, optional

    Returns
    -------
    RepairResult

    Raises
    ------
    PosegenError
        If the samples cannot be made any more, another session writes the dataset, or the disk fails.
    """
    header = inspect_header(path)[0] or load_header(path)
    layout.check_folders(path, header)
    config = stored_config(path, header)
    repairable = [(problem.layer, problem.shard) for problem in problems if problem.repairable and problem.shard is not None]
    damaged = sorted({shard for layer, shard in repairable if layer is None})
    damaged_layers = sorted({(layer, shard) for layer, shard in repairable if layer is not None})
    run = runs.current_run()
    with lock.locked(path, run):
        samples = max(_sample_count(path, header), parts.samples_after_repair(path))
        made = [shard for shard in damaged if shard * header.shard < samples]
        dropped = [shard for shard in damaged if shard * header.shard >= samples]
        # Before anything is removed: a damaged header may state any number of samples.
        sound = {shard: count for shard, count in complete_shards(path, header).items() if shard not in damaged}
        check_free_space(path, header, sound, samples)
        layers = {layer.name: layer for layer in header.layers}
        receipts = [layout.receipt_path(shard, layers[name]) for name, shard in damaged_layers]
        try:
            parts.record_repair(path, samples, run)
            files.remove_durably(path / layout.MANIFEST_FILE)  # written again by the run below
            repair_header(path, run)
            # Receipts first, so that no shard counts as complete while a part of it is missing.
            receipts += [layout.receipt_path(shard) for shard in (*made, *dropped)]
            for name in (*receipts, *(name for shard in dropped for name in layout.shard_files(header, shard))):
                files.remove_durably(path / name)
            if not samples:  # the session that began the dataset died before its first shard was complete
                publish(path, header, 0, run)
        except OSError as error:
            msg = f"{path}: {error.filename} cannot be replaced ({error.strerror}). Check what it is, and remove it"
            raise PosegenError(msg) from error
    if samples:
        generate(config, samples=samples, workers=workers or useful_workers(len(made)), out=path, progress=progress)
    files.remove_durably(path / layout.REPAIR_FILE)
    if load_header(path).layers:
        derive(path, workers=workers, progress=progress)
    derived = tuple(sorted({name for name, _ in damaged_layers}))
    shards = {*made, *dropped, *(shard for _, shard in damaged_layers)}
    return RepairResult(tuple(made), tuple(dropped), derived, tuple(find_problems(path, shards)))


def _sample_count(path: AnyPath, header: Header) -> int:
    """Return the number of samples after the repair: the published ones, and those of complete shards after them."""
    last = expected_shards(path, header, locked=True) - 1
    if last < header.shards():
        return header.samples
    receipt = load_receipt(path, header, last)
    return receipt.first + receipt.count
