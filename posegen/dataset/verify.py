"""Verifying a dataset: every byte is read and compared with what receipts and header say, and all that is wrong is named.

Damage never stops the check. One shard after another is read, in blocks, so that memory does not grow with the dataset.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import xxhash

from posegen.dataset.complete import files_fault, load_receipt, receipt_fault, shards_with_receipts
from posegen.dataset.documents import MOST_BYTES, Source
from posegen.dataset.files import open_plain, read_file
from posegen.dataset.folders import folder_faults
from posegen.dataset.guard import description_faults
from posegen.dataset.layers import layer_receipt
from posegen.dataset.layout import (
    COPY_FILE,
    HEADER_FILE,
    MOTION,
    RECEIPTS,
    ROWS,
    ArrayField,
    Header,
    Layer,
    receipt_path,
    rows_path,
    shard_path,
)
from posegen.dataset.objects import object_fault
from posegen.dataset.parts import read_part, rows_fault
from posegen.dataset.problems import Problem
from posegen.dataset.read import UNDECODABLE, Dataset, only_shard
from posegen.dataset.receipts import DIGITS, Receipt, StoredFile
from posegen.dataset.recovery import find_header
from posegen.dataset.rows import row_hashes
from posegen.dataset.strays import is_being_written, strays
from posegen.errors import PosegenError, UsageError
from posegen.hashing import canonical, content_hashes

__all__ = ["expected_shards", "find_problems", "numbered", "verify"]

Progress = Callable[[int, int], None]
Fault = Callable[[Dataset, Receipt], str | None]
_READ_BYTES = 1 << 20
_MOST_NAMED = 3
_MOST_MISSING = 100_000


def verify(path: str | Path) -> list[Problem]:
    """List all that is wrong with a dataset; see :func:`find_problems`."""
    return list(find_problems(Path(path)))


def find_problems(
    path: Path, shards: Collection[int] | None = None, progress: Progress = lambda done, total: None
) -> Iterator[Problem]:
    """Find all that is wrong with a dataset.

    Parameters
    ----------
    path : Path
        Its folder.
    shards : collection of int, optional
        Read only these shards; all unless given. Header, descriptions and strays are always checked.
    progress : callable, optional
        Told how many shards are read, and of how many.

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
    found = find_header(path)
    if found.fault:
        yield _header_problem(path, found.fault, curable=found.header is not None)
    header = found.header
    if header is None:
        return
    if astray := list(folder_faults(path, header)):
        yield from (Problem(None, name, fault, curable=False) for name, fault in astray)
        return  # nothing is read through them
    yield from (Problem(None, name, fault) for name, fault in description_faults(path, header))
    receipts, expected = _receipts(path), expected_shards(path, header)
    if expected > len(receipts) + _MOST_MISSING:
        yield Problem(
            None, HEADER_FILE, f"tells of {expected} shards, and there are receipts of {len(receipts)}", curable=False
        )
        expected = 0
    known = {*receipts, *range(expected)}
    chosen = sorted(known if shards is None else known.intersection(shards))
    for done, shard in enumerate(chosen):
        progress(done, len(chosen))
        yield from _shard_problems(path, header, shard)
    progress(len(chosen), len(chosen))
    yield from strays(path, header, known)


def _header_problem(path: Path, fault: str, *, curable: bool) -> Problem:
    if not os.path.lexists(path / HEADER_FILE):
        copy = "" if curable else f", and {COPY_FILE} is no help"
        fault = f"is missing{copy}. Run the generate command that made the dataset again: complete shards are kept"
    return Problem(None, HEADER_FILE, fault, curable)


def expected_shards(path: Path, header: Header, *, locked: bool = False) -> int:
    """Count the shards that ought to be complete: those that readers see, and any before one that is complete.

    While a run is at work, gaps are its business, unless it is who asks and has the dataset `locked`.
    """
    visible = header.shards()
    if locked or not is_being_written(path):
        for shard in reversed(_receipts(path)):
            if shard < visible:
                break
            try:
                if files_fault(path, load_receipt(path, header, shard)) is None:
                    return shard + 1
            except (PosegenError, OSError):
                continue  # the check of this shard names it
    return visible


def _receipts(path: Path) -> list[int]:
    try:
        return shards_with_receipts(path)
    except OSError:
        return []  # the search for strays says that the folder cannot be listed


def _shard_problems(path: Path, header: Header, shard: int) -> Iterator[Problem]:
    name = receipt_path(shard)
    try:
        receipt = _receipt(path, header, shard)
    except FileNotFoundError:
        yield Problem(shard, name, "is missing, so the shard is not complete")
        return
    except PosegenError as error:
        yield Problem(shard, name, str(error))
        return
    visible = header.count(shard)
    if receipt.count < visible:
        yield Problem(shard, name, f"tells of {receipt.count} samples, where the dataset has {visible}")
    dataset = only_shard(path, header, receipt)
    for field in header.fields:
        yield from _file_problems(dataset, receipt, shard_path(field, shard), partial(_field_fault, field=field))
    yield from _file_problems(dataset, receipt, rows_path(shard), _rows_fault)
    if 0 < visible <= receipt.count:
        for layer in header.layers:
            yield from (replace(found, layer=layer.name) for found in _layer_problems(path, header, layer, receipt))


def _layer_problems(path: Path, header: Header, layer: Layer, own: Receipt) -> Iterator[Problem]:
    name = receipt_path(own.shard, layer)
    try:
        receipt = layer_receipt(path, header, layer, own, header.count(own.shard))
    except FileNotFoundError:
        yield Problem(own.shard, name, f"is missing, so {layer.name} is not derived of this shard")
        return
    except PosegenError as error:
        yield Problem(own.shard, name, str(error))
        return
    dataset = only_shard(path, header, receipt)
    for field in layer.fields:
        yield from _file_problems(dataset, receipt, shard_path(field, own.shard), partial(_field_fault, field=field))


def _receipt(path: Path, header: Header, shard: int) -> Receipt:
    """Read a receipt; a PosegenError says what is wrong with it, without its name."""
    data = read_file(path / receipt_path(shard), MOST_BYTES)
    source = Source("receipt", "")
    try:
        receipt = Receipt.from_bytes(data, source)
    except PosegenError as error:
        raise PosegenError(str(error).removeprefix("receipt: ").removesuffix(". ")) from error
    fault = receipt_fault(receipt, header, shard)
    if fault:
        raise PosegenError(fault)
    return receipt


def _file_problems(dataset: Dataset, receipt: Receipt, name: str, content_fault: Fault) -> Iterator[Problem]:
    """Check one file of a shard: that it is there, its size, its bytes, and what they decode to."""
    try:
        fault = _place_fault(dataset.path, receipt, name)
        if fault is None and name in receipt.files:
            fault = _bytes_fault(dataset, receipt, name)
        fault = fault or content_fault(dataset, receipt)
    except OSError as error:
        fault = f"cannot be read ({error.strerror or _first_line(error)})"
    if fault:
        yield Problem(receipt.shard, name, fault)


def _place_fault(path: Path, receipt: Receipt, name: str) -> str | None:
    wanted = receipt.files.get(name)
    try:
        status = os.lstat(path / name)
    except (FileNotFoundError, NotADirectoryError):
        return None if wanted is None else "is missing"
    if wanted is None:
        return "is there, and the shard's receipt does not know it"
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    if status.st_size != wanted.bytes:
        return f"has {status.st_size} bytes instead of {wanted.bytes}"
    return None


def _bytes_fault(dataset: Dataset, receipt: Receipt, name: str) -> str | None:
    digest, size = xxhash.xxh3_128(), 0
    with open_plain(dataset.path / name) as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
            size += len(block)
    if StoredFile(size, digest.hexdigest()) != receipt.files[name]:
        return "does not have the bytes that its receipt tells of"
    return None


def _field_fault(dataset: Dataset, receipt: Receipt, field: ArrayField) -> str | None:
    """Decode a field of a shard, which checks the sum of each chunk, and compare its values with the receipt."""
    name = shard_path(field, receipt.shard)
    try:
        if name in receipt.files:
            with open_plain(dataset.path / name) as file:
                fault = object_fault(file.fileno(), dataset.header, field)
            if fault:
                return fault
        blocks = dataset.blocks(field.name, receipt.first, receipt.first + receipt.count)
        hashes = "".join(content_hashes(canonical(block)) for block in blocks)
    except (PosegenError, MemoryError, *UNDECODABLE) as error:
        return f"cannot be decoded ({_first_line(error.__cause__ or error)})"
    return _content_fault(receipt, field.name, hashes)


def _rows_fault(dataset: Dataset, receipt: Receipt) -> str | None:
    name = rows_path(receipt.shard)
    try:
        table = read_part(read_file(dataset.path / name, receipt.files[name].bytes), receipt.rows)
        fault = rows_fault(table, dataset.header, receipt.first, receipt.count)
        return fault or _content_fault(receipt, ROWS, row_hashes(table, len(dataset.header.variants)))
    except (PosegenError, MemoryError, *UNDECODABLE) as error:
        return f"cannot be decoded ({_first_line(error)})"


def _content_fault(receipt: Receipt, name: str, hashes: str) -> str | None:
    """Compare content hashes, sample by sample, with those of the receipt."""
    samples = range(receipt.first, receipt.first + receipt.count)
    starts = range(0, len(hashes), DIGITS)
    bad = [i for i, start in zip(samples, starts, strict=True) if hashes[start : start + DIGITS] != receipt.hash_of(name, i)]
    if not bad:
        return None
    return f"holds other {name} than its receipt tells of in {numbered(bad)}"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def numbered(samples: list[int]) -> str:
    """Name samples, the first few of many.

    Examples
    --------
    >>> numbered([3]), numbered([3, 5, 8, 9])
    ('sample 3', 'samples 3, 5, 8 and 1 more')
    """
    named = ", ".join(map(str, samples[:_MOST_NAMED]))
    more = f" and {len(samples) - _MOST_NAMED} more" if len(samples) > _MOST_NAMED else ""
    return f"sample{'s' if len(samples) > 1 else ''} {named}{more}"
