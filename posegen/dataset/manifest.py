"""The manifest of a large dataset: what its receipts state together, so that opening does not read each receipt.

It states how many leading full shards are complete, with which layers, what they contain and how large they are, and has a hash
of their receipts. Of these shards, a reader takes a receipt when it reads a file of the shard for the first time. The manifest
is a cache for readers, and may be deleted at any time: :func:`posegen.dataset.receipts.complete_receipt` alone decides what is
complete, and does not look at it. A dataset without a manifest is opened by its receipts, as is a small one, where the
existence and size of each file are compared, too.

Not responsible for when it is written; see :mod:`posegen.generation`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import xxhash

from posegen.dataset.counts import Counts, add_counts, count_of_actions, no_counts
from posegen.dataset.documents import Count, Document, Origin, seal
from posegen.dataset.files import load_document, remove_durably, write_durably
from posegen.dataset.layout import MANIFEST_FILE, ROWS, Header, Layer, content_of
from posegen.dataset.receipts import complete_receipt
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import PosegenError

LEAST_SHARDS = 256
"""Full shards of the smallest dataset with a manifest. The receipts of a smaller one are read in a fraction of a second."""


@dataclass(frozen=True)
class Manifest(Document):
    """Content of a manifest.

    Attributes
    ----------
    identity : str
        Identity of the dataset.
    layers : list of str
        Layers that are complete in all of its shards, each with its version.
    shards : int
        Number of leading full shards that it covers.
    counts : Counts or None
        What these shards contain together; None if a receipt does not state it.
    sizes : dict of str to int
        Bytes of their files by the name of the field, or `rows`.
    receipts : str
        Hash of their receipts.
    """

    identity: str
    layers: list[str]
    shards: Count
    counts: Counts | None
    sizes: dict[str, Count]
    receipts: str

    def covers(self, layer: Layer) -> bool:
        """Return whether a layer is complete in all of its shards."""
        return _layer_text(layer) in self.layers


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
    found = load_document(Manifest, path / MANIFEST_FILE, origin.hint)
    if found is None:
        return None
    layers, contents = map(_layer_text, header.layers), {ROWS, *(field.name for field in header.all_fields)}
    if found.identity != header.identity or not ({*found.layers} <= {*layers} and found.sizes.keys() <= contents):
        raise origin.error("belongs to another dataset, or to other fields than the header lists")
    if found.shards > header.samples // header.shard:
        raise origin.error(f"is out of date: it has {found.shards} full shards, but only {header.samples} samples are visible")
    if found.counts and {len(found.counts.legs), len(found.counts.any_part)} != {count_of_actions(header)}:
        raise origin.error("counts other actions than those of the dataset")
    return found


def make_manifest(path: AnyPath, header: Header, layers: tuple[Layer, ...] | None = None) -> Manifest:
    """Return the manifest of the leading complete full shards of a dataset; of a small dataset, one without shards.

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
    counts: Counts | None = no_counts(header)
    sizes, digest, made = dict[str, int](), xxhash.xxh3_128(), 0
    whole = header.samples // header.shard
    seen = storage_of(path).listed() if whole >= LEAST_SHARDS else path
    shards = range(whole if whole >= LEAST_SHARDS else 0)
    for receipt in storage_of(path).map(partial(complete_receipt, seen, header), shards):
        if receipt is None or receipt.count < header.shard:
            break
        receipts = [receipt]
        for layer in layers:
            derived = complete_receipt(seen, header, receipt.shard, layer, receipt)
            if derived is None:
                return make_manifest(path, header, tuple(each for each in layers if each is not layer))
            receipts.append(derived)
        for each in receipts:
            # The same shard may be made twice: neither the run nor the time is part of its content.
            digest.update(seal(replace(each, seconds=0.0, made_by_run="")))
            for name, file in each.files.items():
                sizes[content_of(name)] = sizes.get(content_of(name), 0) + file.bytes
        counts = add_counts(counts, receipt.counts) if counts and receipt.counts else None
        made += 1
    return Manifest(header.identity, list(map(_layer_text, layers)), made, counts, sizes, digest.hexdigest())


def store_manifest(path: AnyPath, manifest: Manifest, run: str) -> None:
    """Write a manifest, or remove the present one if the dataset is small; the caller must hold the lock of the dataset."""
    if manifest.shards < LEAST_SHARDS:
        remove_durably(path / MANIFEST_FILE)
    else:
        write_durably(path / MANIFEST_FILE, seal(manifest), run)


def covers_all(path: AnyPath, header: Header) -> bool:
    """Return whether the manifest of a dataset covers all of its full shards and layers, or none is needed."""
    whole = header.samples // header.shard
    try:
        manifest = load_manifest(path, header)
    except PosegenError:
        return False
    if manifest is None:
        return whole < LEAST_SHARDS
    return manifest.shards == whole and all(map(manifest.covers, header.layers))


def _layer_text(layer: Layer) -> str:
    """Return what identifies a layer; NaN fill values prevent direct comparison."""
    return f"{layer.name} {layer.version}"
