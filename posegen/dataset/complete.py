"""Which shards are complete: those with a sound receipt whose files are all there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from posegen.dataset.documents import MOST_BYTES, Source
from posegen.dataset.files import read_file
from posegen.dataset.folders import check_folders
from posegen.dataset.layout import RECEIPTS, ROWS, ArrayField, Header, Receipt, receipt_path, rows_path, shard_path
from posegen.dataset.objects import most_object_bytes
from posegen.dataset.parts import most_part_bytes
from posegen.dataset.receipts import DIGITS
from posegen.errors import PosegenError

__all__ = [
    "again",
    "complete_prefix",
    "complete_shards",
    "files_fault",
    "hashes_fault",
    "load_receipt",
    "receipt_fault",
    "shards_with_receipts",
]

_RECEIPT_NAME = re.compile(r"([0-9]{5,15})\.json")
_HEX = frozenset("0123456789abcdef")


def receipt_fault(receipt: Receipt, header: Header, shard: int) -> str | None:
    """Say why a receipt cannot be that of this shard of this dataset.

    Parameters
    ----------
    receipt : Receipt
    header : Header
        Its number of samples does not matter here.
    shard : int
        The shard that the receipt's name says it is for.

    Returns
    -------
    str or None
        None if nothing is wrong.
    """
    if receipt.identity != header.identity:
        return f"belongs to another dataset (identity {receipt.identity:.40}, here {header.identity})"
    if receipt.shard != shard or receipt.first != shard * header.shard:
        return f"is that of shard {receipt.shard} from sample {receipt.first}"
    if receipt.count > header.shard or receipt.rows != receipt.count * len(header.variants):
        return f"says {receipt.count} samples and {receipt.rows} rows"
    names = {ROWS, *(field.name for field in header.fields)}
    return hashes_fault(receipt, header, names, {shard_path(field, shard): field for field in header.fields}, rows_path(shard))


def hashes_fault(
    receipt: Receipt, header: Header, names: Collection[str], paths: Mapping[str, ArrayField], part: str | None = None
) -> str | None:
    """Say what is wrong with the hashes and the files that a receipt tells of.

    Parameters
    ----------
    receipt : Receipt
    header : Header
    names : collection of str
        What it must have content hashes of.
    paths : mapping of str to ArrayField
        The objects that it may tell of.
    part : str, optional
        Path of the Parquet part that it must tell of.
    """
    if receipt.content.keys() != {*names}:
        return f"has content hashes of {', '.join(sorted(receipt.content))}, not of the dataset's fields"
    if any(len(text) != DIGITS * receipt.count or not _HEX.issuperset(text) for text in receipt.content.values()):
        return "does not have one content hash for each sample"
    most = {name: most_object_bytes(header, field) for name, field in paths.items()}
    if part is not None:
        most[part] = most_part_bytes(receipt.rows)
    if not receipt.files.keys() <= most.keys() or (part is not None and part not in receipt.files):
        return f"lists other files than those of the shard: {', '.join(sorted(receipt.files)):.200}"
    for name, file in receipt.files.items():
        if file.bytes > most[name]:
            return f"says that {name} has {file.bytes} bytes, more than it can have"
    return None


def load_receipt(path: Path, header: Header, shard: int) -> Receipt:
    """Read a shard's receipt, checking all that can be checked without its files.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    shard : int

    Raises
    ------
    PosegenError
        If it is not there, or not as it should be; names the shard and the cure.
    """
    source = Source(f"{path}: shard {shard}: {receipt_path(shard)}", again(shard))
    try:
        data = read_file(path / receipt_path(shard), MOST_BYTES)
    except FileNotFoundError as error:
        raise source.error("the receipt is missing, so the shard is not complete") from error
    receipt = Receipt.from_bytes(data, source)
    fault = receipt_fault(receipt, header, shard)
    if fault:
        raise source.error(f"the receipt {fault}")
    return receipt


def again(shard: int) -> str:
    """Say how a shard whose receipt or files are not there is made again."""
    return f"Run the generate command that made the dataset again: it makes shard {shard} again."


def files_fault(path: Path, receipt: Receipt) -> str | None:
    """Say which file of a shard is missing or has another size than its receipt says; None if none is."""
    for name, file in receipt.files.items():
        try:
            status = os.lstat(path / name)
        except (FileNotFoundError, NotADirectoryError):
            return f"{name} is missing"
        if not stat.S_ISREG(status.st_mode):
            return f"{name} is not a plain file"
        if status.st_size != file.bytes:
            return f"{name} has {status.st_size} bytes instead of {file.bytes}"
    return None


def shards_with_receipts(path: Path) -> list[int]:
    """List the shards that have a receipt, sound or not, in order."""
    return sorted(_receipts_in(path))


def complete_shards(path: Path, header: Header) -> dict[int, int]:
    """Find the complete shards of a dataset.

    A shard whose receipt is damaged or belongs to another dataset, or whose files are missing or of another size, is not
    complete. Bytes are not hashed.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
        Its number of samples does not matter.

    Returns
    -------
    dict of int to int
        How many samples each complete shard has, by its number, in order.

    Raises
    ------
    PosegenError
        If a link is in the place of a folder: nothing is read or written through it.
    """
    check_folders(path, header)
    counts = {}
    for shard in shards_with_receipts(path):
        try:
            receipt = load_receipt(path, header, shard)
        except PosegenError:
            continue
        if files_fault(path, receipt) is None:
            counts[shard] = receipt.count
    return counts


def complete_prefix(path: Path, header: Header, shards: Mapping[int, int] | None = None) -> int:
    """Count the samples from the first one on that are in complete shards, without a gap.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
    shards : mapping of int to int, optional
        What :func:`complete_shards` returned, if it is known.
    """
    counts = complete_shards(path, header) if shards is None else shards
    samples = 0
    while samples % header.shard == 0 and samples // header.shard in counts:
        samples += counts[samples // header.shard]
    return samples


def _receipts_in(path: Path) -> Iterator[int]:
    folder = path / RECEIPTS
    if not folder.is_dir():
        return
    for entry in os.scandir(folder):
        match = _RECEIPT_NAME.fullmatch(entry.name)
        if match and receipt_path(int(match[1])) == f"{RECEIPTS}/{entry.name}":
            yield int(match[1])
