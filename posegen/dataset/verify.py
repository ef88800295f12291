"""Verify a dataset: read every byte, compare it with receipts and header, and report every problem.

Damage never stops the check. Shards are read one after another in blocks, so that memory does not grow with the dataset. Not
responsible for repairs; see :mod:`posegen.generation.repair`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from posegen.dataset.checked_files import hash_file
from posegen.dataset.files import open_plain, read_file, temporary_run
from posegen.dataset.header import inspect_header
from posegen.dataset.layout import (
    COPY_FILE,
    HEADER_FILE,
    MOTION,
    OVERLAYS,
    RECEIPTS,
    REPAIR_FILE,
    ROWS,
    ArrayField,
    Header,
    Layer,
    dataset_folders,
    find_bad_folder,
    receipt_path,
    rows_path,
    shard_of,
    shard_path,
)
from posegen.dataset.lock import LOCK_FILE, is_being_written, lock_holder
from posegen.dataset.read import Dataset, open_shard
from posegen.dataset.receipts import (
    DIGITS,
    Receipt,
    find_file_fault,
    find_size_fault,
    list_receipts,
    load_receipt,
    read_receipt,
)
from posegen.dataset.runs import has_ended
from posegen.dataset.tables import UNDECODABLE, decode_table, find_rows_fault, hash_rows
from posegen.dataset.zarr_metadata import find_metadata_faults, header_metadata
from posegen.errors import PosegenError, UsageError
from posegen.hashing import canonical, content_hashes

Progress = Callable[[int, int], None]
_MAX_NAMED = 3
_MAX_MISSING = 100_000


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a dataset.

    Attributes
    ----------
    shard : int or None
        The shard that it concerns; None if it concerns none or all.
    file : str
        Path inside the dataset.
    what : str
        What is wrong; continues a sentence that begins with the file's name.
    repairable : bool
        Whether `posegen verify --repair` fixes it. If not, `what` contains the hint.
    layer : str or None
        The layer that it concerns; then only that layer is derived again.
    """

    shard: int | None
    file: str
    what: str
    repairable: bool = True
    layer: str | None = None

    def __str__(self) -> str:
        return f"{'' if self.shard is None else f'shard {self.shard}: '}{self.file}: {self.what}"


def verify(path: str | Path) -> list[Problem]:
    """List everything that is wrong with a dataset; see :func:`find_problems`."""
    return list(find_problems(Path(path)))


def find_problems(
    path: Path, shards: Collection[int] | None = None, progress: Progress = lambda done, total: None
) -> Iterator[Problem]:
    """Find everything that is wrong with a dataset.

    Parameters
    ----------
    path : Path
        Its folder.
    shards : collection of int, optional
        Read only these shards; all unless given. Header, Zarr metadata and orphan files are always checked.
    progress : callable, optional
        Called with the number of shards that were read, and the total.

    Yields
    ------
    Problem

    Raises
    ------
    UsageError
        If there is no dataset at all.
    """
    if not any(os.path.lexists(path / name) for name in (HEADER_FILE, MOTION, RECEIPTS)):
        msg = f"{path}: there is no dataset. Name a folder that `posegen generate` has made"
        raise UsageError(msg)
    state = inspect_header(path)
    if state.fault:
        yield _header_problem(path, state.fault, repairable=state.header is not None)
    header = state.header
    if header is None:
        return
    if bad := find_bad_folder(path, header):
        yield Problem(None, *bad, repairable=False)
        return  # nothing is read through it
    yield from (Problem(None, name, fault) for name, fault in find_metadata_faults(path, header))
    receipts, expected = _list_receipts(path), expected_shards(path, header)
    if expected > len(receipts) + _MAX_MISSING:
        what = f"requires {expected} shards, and there are {len(receipts)} receipts"
        yield Problem(None, HEADER_FILE, what, repairable=False)
        expected = 0
    known = {*receipts, *range(expected)}
    selected = sorted(known if shards is None else known.intersection(shards))
    for done, shard in enumerate(selected):
        progress(done, len(selected))
        yield from _check_shard(path, header, shard)
    progress(len(selected), len(selected))
    yield from _find_orphans(path, header, known)


def expected_shards(path: Path, header: Header, *, locked: bool = False) -> int:
    """Count the shards that must be complete: the visible ones, and any before a complete one.

    Gaps are expected while another run writes; pass `locked` if the caller itself holds the lock.
    """
    visible = header.shards()
    if locked or not is_being_written(path):
        for shard in reversed(_list_receipts(path)):
            if shard < visible:
                break
            try:
                if find_file_fault(path, load_receipt(path, header, shard)) is None:
                    return shard + 1
            except (PosegenError, OSError):
                continue  # reported by the check of this shard
    return visible


def format_samples(samples: list[int]) -> str:
    """Format a list of samples; of many, only the first few.

    Examples
    --------
    >>> format_samples([3]), format_samples([3, 5, 8, 9])
    ('sample 3', 'samples 3, 5, 8 and 1 more')
    """
    named = ", ".join(map(str, samples[:_MAX_NAMED]))
    more = f" and {len(samples) - _MAX_NAMED} more" if len(samples) > _MAX_NAMED else ""
    return f"sample{'s' if len(samples) > 1 else ''} {named}{more}"


def _header_problem(path: Path, fault: str, *, repairable: bool) -> Problem:
    if not os.path.lexists(path / HEADER_FILE):
        copy = "" if repairable else f", and {COPY_FILE} is missing or damaged, too"
        fault = f"is missing{copy}. Run the same `posegen generate` command again: complete shards are kept"
    return Problem(None, HEADER_FILE, fault, repairable)


def _list_receipts(path: Path) -> list[int]:
    try:
        return list_receipts(path)
    except OSError:
        return []  # reported by the search for orphan files


def _check_shard(
    path: Path, header: Header, shard: int, layer: Layer | None = None, samples: Receipt | None = None
) -> Iterator[Problem]:
    """Check a shard with its layers, or a layer of it, given the receipt of the shard."""
    problem = partial(Problem, shard, layer=layer.name if layer else None)
    name = receipt_path(shard, layer)
    try:
        receipt = read_receipt(path, header, shard, layer, samples)
    except FileNotFoundError:
        yield problem(name, f"is missing, so {f'{layer.name} of this shard' if layer else 'the shard'} is not complete")
        return
    except PosegenError as error:
        yield problem(name, str(error))
        return
    dataset = open_shard(path, header, receipt)
    finders: dict[str, Callable[[Dataset, Receipt], str | None]] = {
        shard_path(field, shard): partial(_field_fault, field=field) for field in (layer or header).fields
    }
    if layer is None:
        finders[rows_path(shard)] = _rows_fault
        if receipt.count < header.count(shard):
            yield problem(name, f"has {receipt.count} samples, the dataset has {header.count(shard)} in this shard")
    for file, find_content_fault in finders.items():
        try:
            fault = _stored_fault(path, receipt, file) or find_content_fault(dataset, receipt)
        except OSError as error:
            fault = f"cannot be read ({error.strerror or _first_line(error)})"
        if fault:
            yield problem(file, fault)
    if layer is None and 0 < header.count(shard) <= receipt.count:
        for each in header.layers:
            yield from _check_shard(path, header, shard, each, receipt)


def _stored_fault(path: Path, receipt: Receipt, name: str) -> str | None:
    """Compare a file with its receipt, without decoding it."""
    expected = receipt.files.get(name)
    if expected is None:
        return "exists, and the shard's receipt does not list it" if os.path.lexists(path / name) else None
    if fault := find_size_fault(path / name, expected):
        return fault
    with open_plain(path / name) as file:
        is_intact = hash_file(file) == expected
    return None if is_intact else f"checksum mismatch (receipt {Path(receipt_path(receipt.shard)).name})"


def _field_fault(dataset: Dataset, receipt: Receipt, field: ArrayField) -> str | None:
    """Decode a field of a shard, which checks the checksum of each chunk, and compare its values with the receipt."""
    try:
        blocks = dataset.blocks(field.name, receipt.first, receipt.first + receipt.count)
        hashes = "".join(content_hashes(canonical(block)) for block in blocks)
    except (PosegenError, *UNDECODABLE) as error:
        return f"cannot be decoded ({_first_line(error.__cause__ or error)})"
    return _content_fault(receipt, field.name, hashes)


def _rows_fault(dataset: Dataset, receipt: Receipt) -> str | None:
    name = rows_path(receipt.shard)
    try:
        table = decode_table(read_file(dataset.path / name, receipt.files[name].bytes), receipt.rows)
        fault = find_rows_fault(table, dataset.header, receipt.first, receipt.count)
        return fault or _content_fault(receipt, ROWS, hash_rows(table, len(dataset.header.variants)))
    except (PosegenError, *UNDECODABLE) as error:
        return f"cannot be decoded ({_first_line(error)})"


def _content_fault(receipt: Receipt, name: str, hashes: str) -> str | None:
    """Compare content hashes, sample by sample, with those of the receipt."""
    samples = range(receipt.first, receipt.first + receipt.count)
    starts = range(0, len(hashes), DIGITS)
    differing = [
        i for i, start in zip(samples, starts, strict=True) if hashes[start : start + DIGITS] != receipt.hash_of(name, i)
    ]
    return f"content of {name} does not match the receipt in {format_samples(differing)}" if differing else None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _find_orphans(path: Path, header: Header, known: Container[int]) -> Iterator[Problem]:
    """Find files and folders that do not belong to a dataset whose shards are `known`."""
    folders = {"", *dataset_folders(header)}
    files = {HEADER_FILE, *header_metadata(header)}
    is_busy = is_being_written(path)
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(path / folder) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}".lstrip("/")
                    if name in folders and entry.is_dir(follow_symlinks=False):
                        pending.append(name)
                    elif name in OVERLAYS and entry.is_dir(follow_symlinks=False):
                        continue
                    elif name not in files:
                        yield from _check_entry(path, header, known, name, entry, is_busy=is_busy)
        except OSError as error:
            what = f"cannot be listed ({error.strerror}). Check its permissions"
            yield Problem(None, folder or ".", what, repairable=False)


def _check_entry(
    path: Path, header: Header, known: Container[int], name: str, entry: os.DirEntry[str], *, is_busy: bool
) -> Iterator[Problem]:
    """Describe what is wrong with an entry that is neither a folder of the dataset nor one of its metadata files."""
    run = temporary_run(entry.name)
    shard = shard_of(header, name)
    if shard is not None and shard in known:
        return  # checked with its shard
    if not entry.is_file(follow_symlinks=False):
        kind = "a link" if entry.is_symlink() else "a folder" if entry.is_dir(follow_symlinks=False) else "no plain file"
        yield Problem(shard, name, f"is {kind} that does not belong to the dataset. Remove it", repairable=False)
    elif name == LOCK_FILE:
        holder = lock_holder(path)
        if holder is None or has_ended(holder):
            yield Problem(None, name, "is the lock of a run that has ended")
    elif name == REPAIR_FILE:
        if not is_busy:
            yield Problem(None, name, "is the record of a repair that did not finish")
    elif run is not None:
        if has_ended(run):
            yield Problem(None, name, "is a temporary file of a run that has ended")
        elif not is_busy:
            what = f"is a temporary file of run {run}, which may be running elsewhere. Delete it if that run has ended"
            yield Problem(None, name, what, repairable=False)
    elif shard is None:
        yield Problem(None, name, "does not belong to the dataset. Remove it", repairable=False)
    elif not is_busy:
        yield Problem(shard, name, "belongs to an unfinished shard: there is no receipt")
