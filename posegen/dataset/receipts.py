"""Decide which shards are complete: a shard is complete when it has a valid receipt and its files exist in their sizes.

A receipt is a small sealed document, written after everything else of its shard is on disk. It contains the hashes of the
shard's samples and files. A layer of a shard has a receipt of its own, which also contains the hashes of what the layer was
derived from: a layer that does not match its samples any more is not complete and is derived again. A dataset with incomplete
layers is valid without them.

Not responsible for the bytes of files, which :mod:`posegen.dataset.checked_files` hashes when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import Field

from posegen.dataset import documents, layout, tables
from posegen.dataset.counts import Counts, count_of_actions
from posegen.dataset.files import read_file
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash

DIGITS = 32
"""Hexadecimal digits of a content hash."""

_RECEIPT_NAME = re.compile(r"([0-9]{5,15})\.json")
_HEX = b"0123456789abcdef"


@dataclass(frozen=True)
class StoredFile(documents.Document):
    """Size and XXH3-128 hash of a file's bytes."""

    bytes: documents.Count
    xxh3: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


def split_hashes(text: str) -> list[str]:
    """Return the content hashes of samples from their concatenation in a receipt."""
    return [text[start : start + DIGITS] for start in range(0, len(text), DIGITS)]


def find_differing(one: str, other: str, first: int) -> list[int]:
    """Return the samples whose content hashes differ, given those of samples from `first` on."""
    pairs = zip(split_hashes(one), split_hashes(other), strict=True)
    return [first + i for i, (a, b) in enumerate(pairs) if a != b]


def stored_file(pieces: Sequence[bytes]) -> StoredFile:
    """Return size and hash of a file with this content."""
    return StoredFile(sum(map(len, pieces)), byte_hash(pieces))


@dataclass(frozen=True)
class Receipt(documents.Document):
    """Content of a receipt.

    Attributes
    ----------
    shard, first, count : int
        Number of the shard, its first sample and its number of samples.
    identity : str
        Identity of the dataset.
    content : dict of str to str
        For each field and for `rows`, the concatenated content hashes of the shard's samples, 32 digits each.
    files : dict of str to StoredFile
        The shard's files by their path inside the dataset. A field without any value has no file.
    rows : int
        Rows of the Parquet file.
    seconds : float
        Time it took to make the samples.
    made_by_run : str
        The run that wrote it; see :mod:`posegen.dataset.runs`.
    counts : Counts or None
        What the samples contain; None in receipts of layers and of older versions.
    """

    shard: documents.Count
    first: documents.Count
    count: layout.Positive
    identity: str
    content: dict[str, str]
    files: dict[str, StoredFile]
    rows: documents.Count
    seconds: float
    made_by_run: str
    counts: Counts | None = None

    @property
    def size(self) -> int:
        """Size of the shard's files in bytes."""
        return sum(file.bytes for file in self.files.values())


def generate_hint(shard: int) -> str:
    """Return the hint for a shard whose receipt or files are missing."""
    return f"Run the same `posegen generate` command again: it makes shard {shard} again."


def derive_hint(path: AnyPath) -> str:
    """Return the hint for incomplete layers."""
    return f"Run: posegen derive {path}"


def receipt_identity(header: layout.Header, layer: layout.Layer | None = None) -> str:
    """Return the identity in receipts: that of the dataset; for a layer, also the version of the algorithm."""
    return header.identity if layer is None else f"{header.identity} {layer.name} {layer.version}"


def read_receipt(
    path: AnyPath, header: layout.Header, shard: int, layer: layout.Layer | None = None, samples: Receipt | None = None
) -> Receipt:
    """Read the receipt of a shard, or of a layer of it, and check it against the header, without looking at files.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
        Its number of samples is used for a layer only, which must have all of them.
    shard : int
    layer : Layer, optional
    samples : Receipt, optional
        With a layer, the receipt of the shard.

    Raises
    ------
    FileNotFoundError
        If there is no receipt.
    PosegenError
        If the receipt is damaged or belongs to something else; states only the reason.
    """
    receipt = _read(path / layout.receipt_path(shard, layer))
    fault = _find_fault(receipt, header, shard, layer, samples)
    if fault:
        raise PosegenError(fault)
    return receipt


def is_foreign_receipt(path: AnyPath, header: layout.Header, shard: int) -> bool:
    """Return whether a shard's receipt is undamaged and belongs to another dataset or shard."""
    try:
        return _find_fault(_read(path / layout.receipt_path(shard)), header, shard) is not None
    except (FileNotFoundError, PosegenError):
        return False


def load_receipt(path: AnyPath, header: layout.Header, shard: int) -> Receipt:
    """Read a shard's receipt as :func:`read_receipt` does, with complete error messages.

    Raises
    ------
    PosegenError
        If the receipt is missing, damaged or belongs to something else; names the shard and the hint.
    """
    try:
        return read_receipt(path, header, shard)
    except (FileNotFoundError, PosegenError) as error:
        is_missing = isinstance(error, FileNotFoundError)
        fault = "is missing, so the shard is not complete" if is_missing else error
        msg = f"{path}: shard {shard}: {layout.receipt_path(shard)}: the receipt {fault}. {generate_hint(shard)}"
        raise PosegenError(msg) from error


def list_layer_receipts(
    path: AnyPath, header: layout.Header, layer: layout.Layer, shards: Iterable[int] | None = None
) -> Iterator[tuple[int, Receipt | str]]:
    """Check a layer in visible shards that are complete themselves, without hashing bytes.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
    layer : Layer
    shards : iterable of int, optional
        Visible shards; all unless given.

    Yields
    ------
    (int, Receipt or str)
        The shard, and the layer's receipt, or what is wrong with it.
    """

    def check(shard: int) -> tuple[int, Receipt | str] | None:
        try:
            samples = load_receipt(path, header, shard)
        except PosegenError:
            return None
        try:
            receipt = read_receipt(path, header, shard, layer, samples)
        except FileNotFoundError:
            return shard, f"{layer.name} is not derived yet"
        except PosegenError as error:
            return shard, f"the receipt of {layer.name} {error}"
        return shard, find_file_fault(path, receipt) or receipt

    return filter(None, storage_of(path).map(check, range(header.shards()) if shards is None else shards))


def find_file_fault(path: AnyPath, receipt: Receipt) -> str | None:
    """Describe the first file of a shard that is missing or does not have the size in its receipt; None if all have."""
    for name, file in receipt.files.items():
        if fault := find_size_fault(path / name, file):
            return f"{name} {fault}"
    return None


def find_size_fault(path: AnyPath, expected: StoredFile) -> str | None:
    """Describe why a path is not a plain file of the expected size; None if it is."""
    entry = storage_of(path).find()
    if entry is None:
        return "is missing"
    if not entry.is_plain:
        return "is not a plain file"
    return None if entry.size == expected.bytes else f"has {entry.size} bytes instead of {expected.bytes}"


def list_receipts(path: AnyPath, layer: layout.Layer | None = None) -> list[int]:
    """List the shards that have a receipt, or one of a layer, valid or not, in order."""
    folder = path / layout.receipt_path(0, layer).rpartition("/")[0]
    matches = filter(None, map(_RECEIPT_NAME.fullmatch, storage_of(folder).list_names()))
    return sorted(int(match[1]) for match in matches if layout.receipt_path(int(match[1])).endswith(f"/{match[0]}"))


def complete_shards(path: AnyPath, header: layout.Header, among: Callable[[int], bool] = lambda shard: True) -> dict[int, int]:
    """Find the complete shards of a dataset.

    A shard is not complete if its receipt is damaged or belongs to another dataset, or if its files are missing or have another
    size. Bytes are not hashed.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
        Its number of samples is not used.
    among : callable, optional
        Whether to look at a shard, given its number; by default at all.

    Returns
    -------
    dict of int to int
        Number of samples of each complete shard, by its number, in order.

    Raises
    ------
    PosegenError
        If a link is in place of a folder: nothing is read or written through it.
    """
    layout.check_folders(path, header)
    path = storage_of(path).listed()
    shards = list(filter(among, list_receipts(path)))
    receipts = storage_of(path).map(partial(complete_receipt, path, header), shards)
    return {receipt.shard: receipt.count for receipt in receipts if receipt}


def complete_receipt(
    path: AnyPath, header: layout.Header, shard: int, layer: layout.Layer | None = None, samples: Receipt | None = None
) -> Receipt | None:
    """Return the receipt of a shard, or of a layer of it, if that is complete; None if it is not.

    It alone decides which shards are complete. Parameters are those of :func:`read_receipt`.
    """
    with suppress(PosegenError, OSError):
        receipt = read_receipt(path, header, shard, layer, samples)
        return None if find_file_fault(path, receipt) else receipt
    return None


def complete_prefix(path: AnyPath, header: layout.Header, shards: Mapping[int, int] | None = None) -> int:
    """Count the samples, from the first one, in complete shards without a gap.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
    shards : mapping of int to int, optional
        Result of :func:`complete_shards`, if it is known.
    """
    counts = complete_shards(path, header) if shards is None else shards
    samples = 0
    while samples % header.shard == 0 and samples // header.shard in counts:
        samples += counts[samples // header.shard]
    return samples


def _read(file: AnyPath) -> Receipt:
    """Read a receipt; a PosegenError states only the reason."""
    data = read_file(file, documents.MAX_BYTES)
    try:
        return documents.read_sealed(Receipt, data, documents.Origin("receipt", ""))
    except PosegenError as error:
        raise PosegenError(str(error).removeprefix("receipt: ").removesuffix(". ")) from error


def _find_fault(
    receipt: Receipt, header: layout.Header, shard: int, layer: layout.Layer | None = None, samples: Receipt | None = None
) -> str | None:
    """Describe why a receipt cannot be that of this shard, or of this layer of it; None if it can."""
    if receipt.identity != receipt_identity(header, layer):
        version = f" or another version of {layer.name}" if layer else ""
        return f"belongs to another dataset{version} (identity {receipt.identity:.80}, here {receipt_identity(header, layer)})"
    if (receipt.shard, receipt.first) != (shard, shard * header.shard):
        return f"belongs to shard {receipt.shard} from sample {receipt.first}"
    least, most = (header.count(shard), samples.count) if samples else (1, header.shard)
    if not least <= receipt.count <= most or receipt.rows != (0 if layer else receipt.count * len(header.variants)):
        return f"has {receipt.count} samples and {receipt.rows} rows"
    fields = layer.fields if layer else header.fields
    max_bytes = {layout.shard_path(field, shard): header.max_shard_bytes(field) for field in fields}
    if layer is None:
        max_bytes[layout.rows_path(shard)] = tables.max_table_bytes(receipt.rows)
        if layout.rows_path(shard) not in receipt.files:
            return f"does not list {layout.rows_path(shard)}"
    sources = layer.sources if layer else (layout.ROWS,)
    if receipt.content.keys() != {*sources, *(field.name for field in fields)}:
        return f"has content hashes of {', '.join(sorted(receipt.content))}, not of the dataset's fields"
    hashes = [text.encode(errors="replace") for text in receipt.content.values()]
    if any(len(digits) != DIGITS * receipt.count or digits.translate(None, _HEX) for digits in hashes):
        return "does not have one content hash for each sample"
    if receipt.counts and {len(receipt.counts.legs), len(receipt.counts.any_part)} != {count_of_actions(header)}:
        return "counts other actions than those of the dataset"
    if not receipt.files.keys() <= max_bytes.keys():
        return f"lists other files than those of the shard: {', '.join(sorted(receipt.files)):.200}"
    for name, file in receipt.files.items():
        if file.bytes > max_bytes[name]:
            return f"states that {name} has {file.bytes} bytes, more than it can have"
    for source in sources:
        if samples and receipt.content[source] != samples.content[source][: receipt.count * DIGITS]:
            return f"was derived from other {source} than the shard contains"
    return None
