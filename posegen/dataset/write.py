"""Write a dataset: create it empty, commit shards and layers in any order, and publish the complete ones.

The order of a commit makes it safe to die at any time: all files are written to temporary names and synced; the old receipt is
removed; the files get their final names; the new receipt is written. Publishing makes samples visible to readers: first it
extends the arrays, then it writes `dataset.json`, which alone decides how many samples there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from posegen.dataset import documents, layout, lock, parts, receipts, runs, shard_codec, tables
from posegen.dataset.counts import count_content, labels_field
from posegen.dataset.croissant import CROISSANT_FILE
from posegen.dataset.files import remove_durably, write_changed, write_durably
from posegen.dataset.header import header_metadata, load_header
from posegen.dataset.layout import ArrayField, Header, Layer
from posegen.dataset.receipts import DIGITS, Receipt, StoredFile, receipt_identity, stored_file
from posegen.dataset.storage.address import AnyPath, Writer, storage_of
from posegen.dataset.storage.bucket import ATTEMPTS_TO_COMMIT
from posegen.dataset.storage.folder import sync_folder, temporary_run
from posegen.dataset.storage.storage import ConflictError
from posegen.foundations.arrays import Array
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.hashing import canonical, content_hashes


def create(path: AnyPath, header: Header, run: str | None = None) -> Header:
    """Create a dataset without samples.

    Parameters
    ----------
    path : Path or BucketPath
        A folder that does not exist or is empty, apart from the remains of a run that died while it created this dataset.
    header : Header
        Its number of samples is not used.
    run : str, optional
        The run that creates it; this process unless given.

    Returns
    -------
    Header
        Of the dataset that is there now. In a bucket, another run may have created it meanwhile.

    Raises
    ------
    UsageError
        If the folder is not empty, or another run makes another dataset there at the same time.
    OSError
        If the folder cannot be written.
    """
    empty = header.with_samples(0)
    local = storage_of(path).local
    if local is None:
        return _create_in_bucket(path, empty, run)
    local.mkdir(parents=True, exist_ok=True)
    _check_empty(path, header)
    for folder in (layout.SEQUENCES, layout.RECEIPTS):
        (local / folder).mkdir(exist_ok=True)
    _write_metadata(path, empty, run)
    sync_folder(local)
    _write_header(path, empty, run, b"")
    sync_folder(local.resolve().parent)
    return empty


def _create_in_bucket(path: AnyPath, empty: Header, run: str | None) -> Header:
    """Create a dataset as :func:`create` does, unless another run does so: then that one writes the metadata."""
    _check_empty(path, empty)
    try:
        _write_header(path, empty, run, b"")
    except ConflictError:
        found = load_header(path)
        # Its config may have another number of samples: the identity decides.
        if replace(empty, created=found.created, config=found.config).to_bytes() == found.with_samples(0).to_bytes():
            return found
        msg = f"{path}: another run makes a dataset of another config or seed there at this moment"
        raise UsageError(f"{msg}. Choose another address with --out") from None
    _write_metadata(path, empty, run)
    return empty


def commit_shard(
    path: AnyPath,
    header: Header,
    shard: int,
    arrays: Mapping[str, Array],
    table: pa.Table,
    run: str,
    seconds: float = 0.0,
) -> Receipt:
    """Store a shard; when this returns, it is complete and on disk.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
        Its number of samples is not used.
    shard : int
    arrays : mapping of str to ndarray [n, ...]
        For each field, the values of the shard's n samples; n is at most `header.shard`.
    table : pyarrow.Table
        A row per sample and variant, in the order of the samples and of the header's variants. Its columns `sample` and
        `variant`, if it has them, are checked.
    run : str
        The run that writes; see :mod:`posegen.dataset.runs`. Nothing is written once it has certainly ended.
    seconds : float, optional
        Time it took to make the samples, for the receipt.

    Returns
    -------
    Receipt

    Raises
    ------
    ValueError
        If arrays or the table do not match the header.
    PosegenError
        If writing to the disk fails.
    """
    if runs.has_ended(run):
        raise PosegenError(f"{path}: shard {shard} is not stored: its run {run} has ended. Run the same command again")
    receipt = Receipt(shard, shard * header.shard, 1, receipt_identity(header), {}, {}, len(table), float(seconds), run)
    return _commit(path, header, None, receipt, arrays, table)


def add_layer(path: AnyPath, header: Header, layer: Layer, run: str) -> Header:
    """Add a layer to a dataset's header; none of its shards needs to be complete.

    Parameters
    ----------
    path : Path
        Folder of the dataset; the caller must hold its lock.
    header : Header
    layer : Layer
    run : str

    Returns
    -------
    Header
        The header that is on disk now.
    """
    before = load_header(path)
    extended = replace(before, layers=(*header.layers, layer))
    _write_metadata(path, extended, run)
    _write_header(path, extended, run, before.to_bytes())
    return extended


def commit_layer(
    path: AnyPath,
    header: Header,
    layer: Layer,
    samples: Receipt,
    arrays: Mapping[str, Array],
    run: str,
    seconds: float = 0.0,
) -> Receipt:
    """Store a layer of a shard; when this returns, it is complete and on disk.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
    layer : Layer
    samples : Receipt
        Receipt of the shard.
    arrays : mapping of str to ndarray [n, ...]
        For each field of the layer, the values of the shard's first n samples.
    run : str
        The run that writes.
    seconds : float, optional
        Time it took to derive the layer.

    Raises
    ------
    PosegenError
        If writing to the disk fails.
    """
    sources, identity = {name: samples.content[name] for name in layer.sources}, receipt_identity(header, layer)
    receipt = Receipt(samples.shard, samples.first, 1, identity, sources, {}, 0, float(seconds), run)
    return _commit(path, header, layer, receipt, arrays, None)


def publish(path: AnyPath, header: Header, samples: int, run: str | None = None) -> Header:
    """Make the first `samples` samples visible to readers. All of them must be in complete shards.

    Publishing again only repairs damaged Zarr metadata. Publishing fewer samples than before hides a shard that is about to be
    made again. If another run publishes in a bucket at the same time, the larger number of samples is published.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
        Its number of samples is used in a bucket only: fewer `samples` than these hide a shard.
    samples : int
    run : str, optional
        The run that publishes; this process unless given.

    Returns
    -------
    Header
        The header that is on disk now.
    """
    while True:
        try:
            return _publish(path, header, samples, run)
        except ConflictError:
            samples = max(samples, load_header(path).samples)


def _publish(path: AnyPath, header: Header, samples: int, run: str | None) -> Header:
    before = load_header(path)
    if before.with_samples(0).to_bytes() != header.with_samples(0).to_bytes():
        msg = f"{path}: was replaced by another dataset while it was written. Choose another path and run the command again"
        raise PosegenError(msg)
    is_locked = storage_of(path).local is not None
    if not is_locked and samples >= header.samples:  # it is not to hide a shard, which another run has made
        samples = max(samples, before.samples)
    published = header.with_samples(samples)
    if samples < before.samples:  # so that the arrays are always at least as long as the header says
        _write_header(path, published, run, before.to_bytes())
    _write_metadata(path, published, run)
    if samples > before.samples:
        _write_header(path, published, run, before.to_bytes())
    if samples >= parts.samples_after_repair(path):
        remove_durably(path / layout.REPAIR_FILE)
    if not is_locked and load_header(path).samples != samples:
        raise ConflictError(f"{path}: another run publishes it")  # whose metadata may have been replaced above
    return published


def unfinished_files(path: AnyPath, header: Header, shards: int) -> list[str]:
    """List the files of shards that have no receipt and that this run will not store again.

    In a bucket there are none: another run may be storing them at this moment.

    Parameters
    ----------
    path : Path
        Folder of the dataset; the caller must hold its lock.
    header : Header
    shards : int
        Number of shards at the end of the run, which makes all that are missing.
    """
    if storage_of(path).local is None:
        return []
    kept, unfinished = set(receipts.list_receipts(path)), []
    for folder in layout.dataset_folders(header):
        for name in (f"{folder}/{entry}" for entry in storage_of(path / folder).list_names()):
            shard, entry = layout.shard_of(header, name), storage_of(path / name).find()
            if shard is not None and shard not in kept and shard >= shards and entry and entry.is_plain:
                unfinished.append(name)
    return sorted(unfinished)


def _check_empty(path: AnyPath, header: Header) -> None:
    """Raise UsageError if a folder has anything but the remains of a run that died while it created this very dataset."""
    known = {layout.MOTION, layout.SEQUENCES, layout.RECEIPTS, layout.COPY_FILE, CROISSANT_FILE}
    known |= {layout.REPAIR_FILE, layout.PARTS_FILE, layout.MANIFEST_FILE, lock.LOCK_FILE}
    known |= set() if storage_of(path).local else {layout.HEADER_FILE}  # of a run that creates it at the same time
    known |= {layout.GROUP_FILE, *(f"{layout.MOTION}/{field.name}" for field in header.fields)}
    path = storage_of(path).listed()
    arrays = (f"{layout.MOTION}/{name}" for name in storage_of(path / layout.MOTION).list_names())
    names = [*storage_of(path).list_names(), *arrays]
    foreign = [name for name in names if not (name in known or lock.PART_LOCK.fullmatch(name) or temporary_run(name))]
    shards = () if foreign else receipts.list_receipts(path)
    foreign += [layout.receipt_path(shard) for shard in shards if receipts.is_foreign_receipt(path, header, shard)]
    if foreign:
        raise UsageError(f"{path}: is not empty: it contains {', '.join(sorted(foreign)[:3])}. Choose an empty or a new folder")


def _write_metadata(path: AnyPath, header: Header, run: str | None) -> None:
    """Write the metadata files that are missing or differ."""
    write_changed({path / name: data for name, data in header_metadata(header).items()}, run)


def _write_header(path: AnyPath, header: Header, run: str | None, before: bytes) -> None:
    write_durably(path / layout.HEADER_FILE, header.to_bytes(), run, before)


def _commit(
    path: AnyPath, header: Header, layer: Layer | None, receipt: Receipt, arrays: Mapping[str, Array], table: pa.Table | None
) -> Receipt:
    """Store a shard with its table, or a layer of a shard; the receipt has the content hashes of its sources so far.

    In a bucket, other runs may store it at the same time: then it is stored again, a few times.
    """
    fields, shard = header.fields if layer is None else layer.fields, receipt.shard
    values = _check_arrays(header, fields, arrays)
    count, place = len(values[fields[0].name]), path / layout.receipt_path(shard, layer)
    derived_from = {name: text[: count * DIGITS] for name, text in receipt.content.items()}
    receipt = replace(receipt, count=count, content=derived_from)
    try:
        for _ in range(ATTEMPTS_TO_COMMIT):
            with suppress(ConflictError), storage_of(path).writer(receipt.made_by_run, place) as writer:
                written = _write_files(writer, path, header, receipt, fields, values, table)
                if stored := _stored_meanwhile(path, header, layer, written):
                    return stored
                absent = [name for name in (layout.shard_path(field, shard) for field in fields) if name not in written.files]
                writer.commit(documents.seal(written), [path / name for name in absent])
                return written
            if stored := _stored_meanwhile(path, header, layer, written):
                return stored
    except OSError as error:
        what = f"shard {shard}" if layer is None else f"{layer.name} of shard {shard}"
        msg = (
            f"{path}: {what} could not be stored ({error.strerror}). All complete shards are safe: "
            "free or check the disk, then run the same command again"
        )
        raise PosegenError(msg) from error
    remove_durably(place)
    raise PosegenError(f"{path}: shard {shard}: other runs store it all the time. Run the same command again")


def _write_files(
    writer: Writer,
    path: AnyPath,
    header: Header,
    receipt: Receipt,
    fields: Sequence[ArrayField],
    values: Mapping[str, Array],
    table: pa.Table | None,
) -> Receipt:
    """Begin to write the files of a shard, and add them to its receipt; a field without any value has no file."""
    files: dict[str, StoredFile] = {}

    def write(name: str, pieces: Sequence[bytes]) -> None:
        writer.write(path / name, pieces)
        files[name] = stored_file(pieces)

    # Large arrays first: they are written while the table is encoded.
    for field in fields:
        if pieces := shard_codec.encode_shard(field, values[field.name], header.shard, header.chunk):
            write(layout.shard_path(field, receipt.shard), pieces)
    if table is not None:
        if fault := tables.find_rows_fault(table, header, receipt.first, receipt.count):
            raise ValueError(f"the table of sequences {fault}")
        write(layout.rows_path(receipt.shard), [tables.encode_table(table)])
    content = {name: content_hashes(array) for name, array in values.items()} | receipt.content
    if table is None:
        return replace(receipt, content=content, files=files)
    content[layout.ROWS] = tables.hash_rows(table, len(header.variants))
    labels = labels_field(header)
    counts = count_content(header, table, [values[labels.name][:, 0]] if labels else [])
    return replace(receipt, content=content, files=files, counts=counts)


def _stored_meanwhile(path: AnyPath, header: Header, layer: Layer | None, own: Receipt) -> Receipt | None:
    """Return the receipt of a shard that another run has stored in a bucket, where there is no lock; None if none has.

    Raises
    ------
    PosegenError
        If its content differs from that of the receipt `own`.
    """
    if storage_of(path).local:
        return None
    extended = header.with_samples(own.first + own.count)
    found = receipts.complete_receipt(path, extended, own.shard, layer, own if layer else None)
    if found is None or found.count < own.count:
        return None
    if differing := [name for name, text in own.content.items() if not found.content[name].startswith(text)]:
        msg = (
            f"{path}: shard {own.shard}: another run has stored other {', '.join(differing)}, so not all runs make the same "
            "samples. Stop them, and run: posegen verify --deep"
        )
        raise PosegenError(f"{msg} {path}")
    return found


def _check_arrays(header: Header, fields: Sequence[ArrayField], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Check the arrays of fields against the header and return them in canonical form."""
    names = [field.name for field in fields]
    if sorted(arrays) != sorted(names):
        raise ValueError(f"arrays {sorted(arrays)} are given, the dataset has {sorted(names)}")
    counts = {len(arrays[name]) for name in names}
    if len(counts) != 1 or not 1 <= max(counts) <= header.shard:
        raise ValueError(f"all arrays must have the same number of samples, from 1 to {header.shard}, not {sorted(counts)}")
    for field in fields:
        array = arrays[field.name]
        if array.shape[1:] != field.shape or array.dtype != np.dtype(field.dtype):
            raise ValueError(f"{field.name} must be {field.dtype} [n, {field.shape}], not {array.dtype} {array.shape}")
    return {name: canonical(arrays[name]) for name in names}
