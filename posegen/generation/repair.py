"""Repairing a dataset: just the bad shards are made again, by the same run that makes any other shard.

First it is written down how many samples there are to be, and a header that is lost is made from its copy. Then the bad
shards' receipts go, so that they count as not made; then the dataset is generated anew, which makes what is missing, writes
descriptions as they should be, and sweeps what dead runs left. A repair that is killed is ended by the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from posegen.dataset.files import remove_durably, remove_temporary_files
from posegen.dataset.header import inspect_header, load_header, repair_header
from posegen.dataset.layout import Header, check_folders, receipt_path, shard_files
from posegen.dataset.lock import locked
from posegen.dataset.receipts import load_receipt
from posegen.dataset.runs import current_run
from posegen.dataset.verify import Problem, expected_shards, find_problems
from posegen.dataset.write import publish
from posegen.errors import PosegenError
from posegen.generation.deep import worthwhile_workers
from posegen.generation.derive import derive
from posegen.generation.intent import forget, intend, intended_samples
from posegen.generation.progress import Reporter
from posegen.generation.run import generate
from posegen.generation.stored import stored_config

__all__ = ["Repair", "repair"]


@dataclass(frozen=True)
class Repair:
    """What a repair has done.

    Attributes
    ----------
    made : tuple of int
        Shards that were made again.
    dropped : tuple of int
        Unfinished shards behind the dataset's end, whose files were removed.
    derived : tuple of str
        Layers of which shards were derived again.
    left : tuple of Problem
        What is still wrong.
    """

    made: tuple[int, ...]
    dropped: tuple[int, ...]
    derived: tuple[str, ...]
    left: tuple[Problem, ...]


def repair(path: Path, problems: Sequence[Problem], *, workers: int | None = None, progress: Reporter | None = None) -> Repair:
    """Put right what :func:`posegen.dataset.verify.find_problems` and `deep_problems` have found.

    Parameters
    ----------
    path : Path
        Of the dataset.
    problems : sequence of Problem
    workers : int, optional
        How many processes work at once; as many as it is worth unless given.
    progress : Reporter, optional

    Returns
    -------
    Repair

    Raises
    ------
    PosegenError
        If the samples cannot be made any more, if another run is at work, or if something cannot be written.
    """
    header = inspect_header(path).header or load_header(path)
    check_folders(path, header)
    config = stored_config(path, header)
    curable = [problem for problem in problems if problem.repairable and problem.shard is not None]
    bad = sorted({problem.shard for problem in curable if problem.shard is not None and problem.layer is None})
    layered = {(problem.layer, problem.shard) for problem in curable if problem.layer is not None and problem.shard is not None}
    run = current_run()
    with locked(path, run):
        samples = max(_samples(path, header, bad), intended_samples(path))
        made = [shard for shard in bad if shard * header.shard < samples]
        dropped = [shard for shard in bad if shard * header.shard >= samples]
        try:
            intend(path, samples, run)
            repair_header(path, run)
            for name in (*_of_layers(header, layered), *_names(header, made, dropped)):
                remove_durably(path / name)
            if not samples:  # the run that began the dataset died before its first shard was complete
                remove_temporary_files(path)
                publish(path, header, 0, run)
        except OSError as error:
            msg = f"{path}: {error.filename} cannot be replaced ({error.strerror}). See what it is, and take it away yourself"
            raise PosegenError(msg) from error
    if samples:
        at_once = worthwhile_workers(len(made)) if workers is None else workers
        generate(config, samples=samples, workers=at_once, out=path, progress=progress)
    forget(path)
    if load_header(path).layers:
        derive(path, workers=workers, progress=progress)
    derived = tuple(sorted({name for name, _ in layered}))
    seen = {*made, *dropped, *(shard for _, shard in layered)}
    return Repair(tuple(made), tuple(dropped), derived, tuple(find_problems(path, seen)))


def _samples(path: Path, header: Header, bad: Sequence[int]) -> int:
    """Count the samples that there are to be: those that readers see, and those of complete shards behind them."""
    last = expected_shards(path, header, locked=True) - 1
    if last < header.shards():
        return header.samples
    receipt = load_receipt(path, header, last)
    return receipt.first + receipt.count


def _of_layers(header: Header, layered: Collection[tuple[str, int]]) -> Iterator[str]:
    """Name the receipts of layers that go."""
    return (receipt_path(shard, layer) for layer in header.layers for name, shard in sorted(layered) if name == layer.name)


def _names(header: Header, made: Sequence[int], dropped: Sequence[int]) -> Iterator[str]:
    """Name the files that go: receipts first, so that no shard is believed of which a part is gone."""
    yield from (receipt_path(shard) for shard in (*made, *dropped))
    for shard in dropped:
        yield from shard_files(header, shard)
