"""Repair of a dataset: damaged shards are generated again, and damaged layers derived again.

First the number of samples is written to the file ``REPAIR_FILE``, and a lost header is restored from its copy. Then the
receipts of the damaged shards are removed, so that the shards count as missing, and the dataset is generated as usual, which
also restores metadata and removes temporary files. The file is removed at the end. If a repair is killed, the next one reads
from it how many samples there were, and completes the repair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from posegen.dataset.files import remove_durably, remove_temporary_files
from posegen.dataset.header import inspect_header, load_header, record_repair, repair_header, samples_after_repair
from posegen.dataset.layout import REPAIR_FILE, Header, check_folders, receipt_path, shard_files
from posegen.dataset.lock import locked
from posegen.dataset.receipts import load_receipt
from posegen.dataset.runs import current_run
from posegen.dataset.verify import Problem, expected_shards, find_problems
from posegen.dataset.write import publish
from posegen.errors import PosegenError
from posegen.generation.derive import derive
from posegen.generation.header import stored_config
from posegen.generation.run import generate
from posegen.generation.verification import useful_workers
from posegen.progress import Progress


@dataclass(frozen=True)
class RepairResult:
    """Summary of a repair.

    Attributes
    ----------
    made : tuple of int
        Shards that were generated again.
    dropped : tuple of int
        Unfinished shards behind the end of the dataset, whose files were removed.
    derived : tuple of str
        Layers of which shards were derived again.
    left : tuple of Problem
        Remaining problems.
    """

    made: tuple[int, ...]
    dropped: tuple[int, ...]
    derived: tuple[str, ...]
    left: tuple[Problem, ...]


def repair(
    path: Path, problems: Sequence[Problem], *, workers: int | None = None, progress: Progress | None = None
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
    header = inspect_header(path).header or load_header(path)
    check_folders(path, header)
    config = stored_config(path, header)
    repairable = [(problem.layer, problem.shard) for problem in problems if problem.repairable and problem.shard is not None]
    damaged = sorted({shard for layer, shard in repairable if layer is None})
    damaged_layers = sorted({(layer, shard) for layer, shard in repairable if layer is not None})
    run = current_run()
    with locked(path, run):
        samples = max(_sample_count(path, header), samples_after_repair(path))
        made = [shard for shard in damaged if shard * header.shard < samples]
        dropped = [shard for shard in damaged if shard * header.shard >= samples]
        layers = {layer.name: layer for layer in header.layers}
        receipts = [receipt_path(shard, layers[name]) for name, shard in damaged_layers]
        try:
            record_repair(path, samples, run)
            repair_header(path, run)
            for name in (*receipts, *_files_to_remove(header, made, dropped)):
                remove_durably(path / name)
            if not samples:  # the session that began the dataset died before its first shard was complete
                remove_temporary_files(path)
                publish(path, header, 0, run)
        except OSError as error:
            msg = f"{path}: {error.filename} cannot be replaced ({error.strerror}). Check what it is, and remove it"
            raise PosegenError(msg) from error
    if samples:
        generate(config, samples=samples, workers=workers or useful_workers(len(made)), out=path, progress=progress)
    remove_durably(path / REPAIR_FILE)
    if load_header(path).layers:
        derive(path, workers=workers, progress=progress)
    derived = tuple(sorted({name for name, _ in damaged_layers}))
    shards = {*made, *dropped, *(shard for _, shard in damaged_layers)}
    return RepairResult(tuple(made), tuple(dropped), derived, tuple(find_problems(path, shards)))


def _sample_count(path: Path, header: Header) -> int:
    """Return the number of samples after the repair: the published ones, and those of complete shards behind them."""
    last = expected_shards(path, header, locked=True) - 1
    if last < header.shards():
        return header.samples
    receipt = load_receipt(path, header, last)
    return receipt.first + receipt.count


def _files_to_remove(header: Header, made: Sequence[int], dropped: Sequence[int]) -> Iterator[str]:
    """Yield files to remove: receipts first, so that no shard counts as complete while a part of it is missing."""
    yield from (receipt_path(shard) for shard in (*made, *dropped))
    for shard in dropped:
        yield from shard_files(header, shard)
