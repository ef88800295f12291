"""The manifest of a large dataset: what its receipts state, in one file, so that opening does not read each receipt.

It lists the files of the leading full shards with sizes and hashes. Each entry also has a hash of the shard's receipts and a
link: the hash of the link before it and of the entry. The first line has a hash of all entries, so that a change in the file is
detected on opening, which takes hardly longer for more shards. Files are compared with their entries when they are read, and
receipts that were changed or removed later are found by :mod:`posegen.dataset.verify`. It is a cache for readers, and may be
deleted at any time: :func:`posegen.dataset.receipts.complete_receipt` alone decides what is complete, and does not look at it.
A dataset without a manifest is opened by its receipts, as is a small one, where the existence and size of each file are
compared, too.

Not responsible for when it is written; see :mod:`posegen.generation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import xxhash

from posegen.dataset.counts import Counts, add_counts, count_of_actions, no_counts
from posegen.dataset.documents import Count, Document, Origin, read_sealed, seal, seal_quickly
from posegen.dataset.files import read_file, remove_durably, write_durably
from posegen.dataset.layout import MANIFEST_FILE, ROWS, Header, Layer, rows_path, shard_of, shard_path
from posegen.dataset.receipts import Receipt, StoredFile, complete_receipt
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import byte_hash

LEAST_SHARDS = 256
"""Full shards of the smallest dataset with a manifest. The receipts of a smaller one are read in a fraction of a second."""

_MAX_BYTES = 2**30
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
        return _decode_manifest(read_file(path / MANIFEST_FILE, _MAX_BYTES), header, origin)
    except FileNotFoundError:
        return None


def _decode_manifest(data: bytes, header: Header, origin: Origin) -> Manifest:
    line, _, body = data.partition(b"\n")
    head = read_sealed(_Head, line, origin)
    layers = tuple(layer for layer in header.layers if _layer_text(layer) in head.layers)
    contents = _contents(header, layers)
    if (head.identity, head.contents, head.layers) != (header.identity, contents, _texts(layers)):
        raise origin.error("belongs to another dataset, or to other fields than the header lists")
    if head.shards > header.samples // header.shard:
        raise origin.error(f"is out of date: it lists {head.shards} full shards, but only {header.samples} samples are visible")
    if head.counts and {len(head.counts.legs), len(head.counts.any_part)} != {count_of_actions(header)}:
        raise origin.error("counts other actions than those of the dataset")
    kind = _entry_type(len(contents))
    if len(body) != head.shards * kind.itemsize or byte_hash([body]) != head.entries:
        raise origin.error("is damaged: its entries do not match their hash")
    return Manifest(header, layers, head.counts, np.frombuffer(body, kind))


def make_manifest(path: AnyPath, header: Header, layers: tuple[Layer, ...] | None = None) -> Manifest:
    """Return the manifest of the leading complete full shards of a dataset.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
        The manifest covers at most its samples.
    layers : tuple of Layer, optional
        Layers that are listed if they are complete in these shards; by default those of the header.
    """
    layers = header.layers if layers is None else layers
    contents, link, entries = _contents(header, layers), b"", list[bytes]()
    counts: Counts | None = no_counts(header)
    seen, shards = storage_of(path).listed(), range(header.samples // header.shard)
    for receipt in storage_of(path).map(partial(complete_receipt, seen, header), shards):
        if receipt is None or receipt.count < header.shard:
            break
        receipts = [receipt]
        for layer in layers:
            derived = complete_receipt(seen, header, receipt.shard, layer, receipt)
            if derived is None:
                return make_manifest(path, header, tuple(each for each in layers if each is not layer))
            receipts.append(derived)
        entries.append(_encode_entry(header, contents, receipts, link))
        link = entries[-1][-_HASH_BYTES:]
        counts = add_counts(counts, receipt.counts) if counts and receipt.counts else None
    return Manifest(header, layers, counts, np.frombuffer(b"".join(entries), _entry_type(len(contents))))


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
    """Write the manifest of a dataset, or remove it if the dataset is small.

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
    else:
        store_manifest(path, make_manifest(path, header), run)


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
    """Return what identifies layers; NaN fill values prevent direct comparison."""
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
