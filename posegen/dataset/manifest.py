"""The manifest of a large dataset: what its receipts state, in one file, so that opening does not read each receipt.

It lists the files of the leading full shards with sizes and hashes. Each entry also has a hash of the shard's receipts and a
link: the hash of the link before it and of the entry. The first line has a hash of all entries, so that a change in the file is
detected on opening, which takes no longer for more shards. Files are compared with their entries when they are read, and
receipts that were changed or removed later are found by :mod:`posegen.dataset.verify`. Receipts alone decide what is complete:
a dataset without a manifest is opened by its receipts, as is a small one, where the existence and size of each file are
compared, too.

Not responsible for when it is written; see :mod:`posegen.generation`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from posegen.arrays import Array
from posegen.dataset.bucket import AnyPath, listed, map_files
from posegen.dataset.counts import Counts, add_counts, count_of_actions, no_counts
from posegen.dataset.documents import Count, Document, Origin, read_sealed, seal, seal_quickly
from posegen.dataset.files import explain_unreadable, modified_time, open_plain, read_file, remove_durably, write_durably
from posegen.dataset.layout import MANIFEST_FILE, ROWS, Header, Layer, receipt_path, rows_path, shard_of, shard_path
from posegen.dataset.receipts import Receipt, StoredFile, complete_shards, find_file_fault, find_size_fault, read_receipt
from posegen.errors import PosegenError
from posegen.hashing import byte_hash

LEAST_SHARDS = 256
"""Full shards of the smallest dataset with a manifest. The receipts of a smaller one are read in a fraction of a second."""

_MAX_BYTES = 2**30
_MAX_HEAD_BYTES = 2**20
_HASH_BYTES = 16


@dataclass(frozen=True)
class _Head(Document):
    """First line of a manifest.

    Attributes
    ----------
    identity : str
        Identity of the dataset.
    contents : list of str
        Names of the fields whose files are listed, and `rows`.
    layers : list of str
        Layers among them, each with its version.
    shards : int
        Number of entries.
    counts : Counts or None
        What all of these shards contain; None if a receipt does not state it.
    entries : str
        Hash of the entries.
    """

    identity: str
    contents: list[str]
    layers: list[str]
    shards: Count
    counts: Counts | None
    entries: str


@dataclass(frozen=True)
class Manifest:
    """The entries of a manifest.

    Attributes
    ----------
    header : Header
        Header of the dataset.
    layers : tuple of Layer
        Layers that are complete in all shards of the manifest.
    counts : Counts or None
        What its shards contain together; None if it is not known.
    entries : structured array [shard]
        ``receipts``, a hash of the shard's receipts; ``sizes`` and ``hashes`` of its files, where size 0 marks a field without
        a file; ``link``.
    """

    header: Header
    layers: tuple[Layer, ...]
    counts: Counts | None
    entries: Array

    @property
    def shards(self) -> int:
        """Number of leading shards that it covers."""
        return len(self.entries)

    @cached_property
    def contents(self) -> list[str]:
        """Names of the fields of the listed files, and `rows`."""
        return _contents(self.header, self.layers)

    def find(self, name: str) -> StoredFile | None:
        """Return the size and hash of a file by its path inside the dataset; None if it is not listed."""
        shard = shard_of(self.header, name)
        if shard is None or shard >= self.shards:
            return None
        for column, content in enumerate(self.contents):
            if _path(self.header, content, shard) == name:
                size = int(self.entries["sizes"][shard, column])
                return StoredFile(size, self.entries["hashes"][shard, column].tobytes().hex()) if size else None
        return None

    def sizes(self) -> dict[str, int]:
        """Return the bytes of the listed files by the name of their field, or `rows`."""
        return dict(zip(self.contents, self.entries["sizes"].sum(axis=0).tolist(), strict=True))

    def find_fault(self, shard: int, receipts: Sequence[Receipt]) -> str | None:
        """Describe how the entry of a shard differs from its receipts, those of :attr:`layers` last; None if it does not."""
        before = self.entries["link"][shard - 1].tobytes() if shard else b""
        if _encode_entry(self.header, self.contents, receipts, before) == self.entries[shard].tobytes():
            return None
        return f"does not match the receipt of shard {shard} any more"


def load_manifest(path: AnyPath, header: Header) -> Manifest | None:
    """Read the manifest of a dataset.

    Returns
    -------
    Manifest or None
        None if there is none.

    Raises
    ------
    PosegenError
        If it is damaged, or belongs to another or an earlier state of the dataset; names the hint.
    """
    origin = Origin(str(path / MANIFEST_FILE), f"Run: posegen finish {path}, or delete the file: it only makes opening faster")
    try:
        with explain_unreadable(path / MANIFEST_FILE), _opened(path / MANIFEST_FILE) as file:
            return _read_manifest(file, header, origin)
    except FileNotFoundError:
        return None


def _opened(path: AnyPath) -> BufferedReader | BytesIO:
    return open_plain(path) if isinstance(path, Path) else BytesIO(read_file(path, _MAX_BYTES))


def _read_manifest(file: BufferedReader | BytesIO, header: Header, origin: Origin) -> Manifest:
    """Check a manifest, and return it; the entries of a file stay on the disk until they are used.

    So opening takes hardly longer for more shards: most of the time of reading them was that of new memory.
    """
    line = file.readline(_MAX_HEAD_BYTES)
    head = read_sealed(_Head, line.removesuffix(b"\n"), origin)
    layers = tuple(layer for layer in header.layers if _layer_text(layer) in head.layers)
    contents = _contents(header, layers)
    if (head.identity, head.contents, head.layers) != (header.identity, contents, _texts(layers)):
        raise origin.error("belongs to another dataset, or to other fields than the header lists")
    if head.shards > header.samples // header.shard:
        raise origin.error(f"is out of date: it lists {head.shards} full shards, but only {header.samples} samples are visible")
    if head.counts and {len(head.counts.legs), len(head.counts.any_part)} != {count_of_actions(header)}:
        raise origin.error("counts other actions than those of the dataset")
    kind, body = _entry_type(len(contents)), b""
    if isinstance(file, BytesIO):  # `file_digest` ignores the position in it
        body = file.read()
        digest = byte_hash([body])
    else:
        digest = hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()
    if file.tell() != len(line) + head.shards * kind.itemsize or digest != head.entries:
        raise origin.error("is damaged: its entries do not match their hash")
    if isinstance(file, BytesIO) or not head.shards:
        entries: Array = np.frombuffer(body, kind)
    else:
        entries = np.memmap(file, kind, "r", len(line), (head.shards,))
    return Manifest(header, layers, head.counts, entries)


def make_manifest(path: AnyPath, header: Header, before: Manifest | None) -> Manifest:
    """Return the manifest of the leading sound full shards of a dataset.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
        The manifest covers at most its samples.
    before : Manifest or None
        A manifest to extend, whose receipts are not read.
    """
    layers = header.layers
    made = _make_manifest(path, header, layers, before)
    while isinstance(made, Layer):
        layers = tuple(layer for layer in layers if layer.name != made.name)
        made = _make_manifest(path, header, layers, before)
    return made


def store_manifest(path: AnyPath, manifest: Manifest, run: str) -> None:
    """Write a manifest, or remove the present one if the dataset is small; the caller must hold the lock of the dataset."""
    if manifest.shards < LEAST_SHARDS:
        remove_durably(path / MANIFEST_FILE)
        return
    entries, layers = manifest.entries.tobytes(), _texts(manifest.layers)
    identity = manifest.header.identity
    head = _Head(identity, manifest.contents, layers, manifest.shards, manifest.counts, byte_hash([entries]))
    write_durably(path / MANIFEST_FILE, seal(head) + b"\n" + entries, run)


def write_manifest(path: AnyPath, header: Header, run: str) -> None:
    """Extend the manifest of a dataset, or write one, or remove it if the dataset is small.

    Parameters
    ----------
    path : Path
        Folder of the dataset; the caller must hold its lock.
    header : Header
        As it is on disk.
    run : str
        The run that writes.
    """
    if header.samples // header.shard < LEAST_SHARDS:
        remove_durably(path / MANIFEST_FILE)
        return
    store_manifest(path, make_manifest(path, header, _present_manifest(path, header)), run)


def unchanged_manifest(path: AnyPath, header: Header) -> Manifest | None:
    """Return the manifest of a dataset; None if anything that it lists was changed since, by sizes and times of files."""
    manifest = _present_manifest(path, header)
    return manifest if manifest and len(_unchanged_shards(path, manifest)) == manifest.shards else None


def find_complete(path: AnyPath, header: Header, among: Callable[[int], bool] = lambda shard: True) -> dict[int, int]:
    """Find the complete shards as :func:`posegen.dataset.receipts.complete_shards` does.

    A receipt that was not changed since the manifest was written is not read, only its time and the sizes of its files.
    """
    manifest = _present_manifest(path, header)
    known = set(_unchanged_shards(path, manifest, among)) if manifest else set()
    found = complete_shards(path, header, lambda shard: shard not in known and among(shard))
    return dict(sorted((dict.fromkeys(known, header.shard) | found).items()))


def _present_manifest(path: AnyPath, header: Header) -> Manifest | None:
    """Return the manifest of a dataset; None if there is none, or it is damaged."""
    with suppress(PosegenError):
        return load_manifest(path, header)
    return None


def _unchanged_shards(path: AnyPath, manifest: Manifest, among: Callable[[int], bool] = lambda shard: True) -> list[int]:
    """Return the shards of a manifest whose receipts are older than it, and whose files have the sizes in it."""
    path, header = listed(path), manifest.header
    try:
        written = modified_time(path / MANIFEST_FILE)
    except FileNotFoundError:  # removed meanwhile
        return []
    sizes = manifest.entries["sizes"]

    def is_unchanged(shard: int) -> bool:
        try:
            # A receipt of the same tick of the clock may be older or newer.
            if any(modified_time(path / receipt_path(shard, layer)) >= written for layer in (None, *manifest.layers)):
                return False
        except OSError:
            return False
        stored = zip(manifest.contents, sizes[shard].tolist(), strict=True)
        return not any(
            size and find_size_fault(path / _path(header, name, shard), StoredFile(size, "")) for name, size in stored
        )

    return [shard for shard in range(manifest.shards) if among(shard) and is_unchanged(shard)]


def _make_manifest(path: AnyPath, header: Header, layers: tuple[Layer, ...], before: Manifest | None) -> Manifest | Layer:
    """Return a manifest of the leading sound full shards, which extends `before`; or a layer that is not complete in them."""
    contents = _contents(header, layers)
    before = before if before and before.shards and _texts(before.layers) == _texts(layers) else None
    counts = before.counts if before else no_counts(header)
    entries = [before.entries.tobytes()] if before else []
    link = before.entries["link"][-1].tobytes() if before else b""
    path, shards = listed(path), range(before.shards if before else 0, header.samples // header.shard)
    for shard, receipt in zip(shards, map_files(path, partial(_sound_receipt, path, header), shards), strict=True):
        if receipt is None:
            break
        receipts = [receipt]
        for layer in layers:
            derived = _sound_receipt(path, header, shard, layer, receipt)
            if derived is None:
                return layer
            receipts.append(derived)
        entries.append(_encode_entry(header, contents, receipts, link))
        link = entries[-1][-_HASH_BYTES:]
        counts = add_counts(counts, receipt.counts) if counts and receipt.counts else None
    return Manifest(header, layers, counts, np.frombuffer(b"".join(entries), _entry_type(len(contents))))


def covers_all(path: AnyPath, header: Header) -> bool:
    """Return whether the manifest of a dataset covers all of its full shards and layers, or none is needed."""
    whole = header.samples // header.shard
    try:
        manifest = load_manifest(path, header)
    except PosegenError:
        return False
    if manifest is None:
        return whole < LEAST_SHARDS
    return (manifest.shards, _texts(manifest.layers)) == (whole, _texts(header.layers))


def drop_manifest(path: AnyPath, header: Header, shard: int, layer: Layer | None = None) -> None:
    """Remove the manifest before a shard, or a layer of it, is stored again, if it covers that, or is damaged."""
    try:
        manifest = load_manifest(path, header)
        is_covered = manifest and shard < manifest.shards and (layer is None or _layer_text(layer) in _texts(manifest.layers))
    except PosegenError:
        is_covered = True
    if is_covered:
        remove_durably(path / MANIFEST_FILE)


def _contents(header: Header, layers: Sequence[Layer]) -> list[str]:
    """Return the names of the fields whose files a manifest lists, and `rows`."""
    return [*(field.name for field in header.fields), ROWS, *(field.name for layer in layers for field in layer.fields)]


def _path(header: Header, content: str, shard: int) -> str:
    """Return the path of the file of a field, or of the rows, in a shard."""
    return rows_path(shard) if content == ROWS else shard_path(header.field(content), shard)


def _layer_text(layer: Layer) -> str:
    return f"{layer.name} {layer.version}"


def _texts(layers: Sequence[Layer]) -> list[str]:
    """Return what identifies layers: two of the same files are not equal, since the fill value of a field is NaN."""
    return list(map(_layer_text, layers))


def _entry_type(contents: int) -> np.dtype[Any]:
    digest = ("u1", (_HASH_BYTES,))
    return np.dtype(
        [
            ("receipts", *digest),
            ("sizes", "<u8", (contents,)),
            ("hashes", "u1", (contents, _HASH_BYTES)),
            ("link", *digest),
        ]
    )


def _encode_entry(header: Header, contents: Sequence[str], receipts: Sequence[Receipt], before: bytes) -> bytes:
    """Return the entry of a shard, given the link of the entry before it."""
    # The same shard may be made twice: neither the run nor the time is part of its content.
    sealed = b"".join(seal_quickly(replace(receipt, seconds=0.0, made_by_run="")) for receipt in receipts)
    stored = {name: file for receipt in receipts for name, file in receipt.files.items()}
    files = [stored.get(_path(header, content, receipts[0].shard)) for content in contents]
    sizes = np.array([file.bytes if file else 0 for file in files], "<u8").tobytes()
    hashes = b"".join(bytes.fromhex(file.xxh3) if file else bytes(_HASH_BYTES) for file in files)
    body = xxhash.xxh3_128_digest(sealed) + sizes + hashes
    return body + xxhash.xxh3_128_digest(before + body)


def _sound_receipt(
    path: AnyPath, header: Header, shard: int, layer: Layer | None = None, samples: Receipt | None = None
) -> Receipt | None:
    """Return the receipt of a full shard, or of a layer of it, if it is valid and its files exist; otherwise None."""
    try:
        receipt = read_receipt(path, header, shard, layer, samples)
    except (FileNotFoundError, PosegenError):
        return None
    return None if find_file_fault(path, receipt) or receipt.count < header.shard else receipt
