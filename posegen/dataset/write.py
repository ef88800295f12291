"""Writing a dataset: made empty, filled shard by shard in any order, published as far as it is complete.

The order of a commit is what makes it safe to die at any moment: all files are brought to the disk beside their places; the
old receipt goes; the files move to their places; then comes the new receipt. Publishing tells readers: first the arrays'
sizes, then `dataset.json`, which alone decides how many samples there are.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from posegen.dataset.complete import complete_prefix, complete_shards
from posegen.dataset.descriptions import descriptions
from posegen.dataset.encode import encode_shard
from posegen.dataset.faults import fault_point
from posegen.dataset.files import Delivery, read_file, remove_durably, sync_folder, write_all_durably, write_durably
from posegen.dataset.headers import header_bytes, load_header
from posegen.dataset.layout import (
    HEADER_FILE,
    RECEIPTS,
    ROWS,
    SEQUENCES,
    ArrayField,
    Header,
    receipt_path,
    rows_path,
    shard_path,
)
from posegen.dataset.receipts import Receipt, StoredFile
from posegen.dataset.rows import encode_table, row_hashes, table_of
from posegen.dataset.runs import current_run, has_ended
from posegen.dataset.vacancy import check_vacant
from posegen.errors import PosegenError, UsageError
from posegen.hashing import byte_hash, canonical, content_hashes
from posegen.stopwatch import stage

__all__ = [
    "checked_arrays",
    "commit_shard",
    "complete_prefix",
    "complete_shards",
    "create",
    "describe",
    "place",
    "publish",
    "send_arrays",
    "write_header",
]

Array = NDArray[Any]


def create(path: Path, header: Header, run: str | None = None) -> None:
    """Make a dataset without samples.

    Parameters
    ----------
    path : Path
        A folder that is empty or not there yet. What a run left that died while making this dataset does not matter.
    header : Header
        Its number of samples is not used: there are none yet.
    run : str, optional
        The run that makes it; this process unless given.

    Raises
    ------
    UsageError
        If the folder holds anything else, or may not be written.
    PosegenError
        If the disk is full or fails.
    """
    run = run or current_run()
    empty = header.with_samples(0)
    try:
        if not path.exists():
            path.mkdir(parents=True)
        check_vacant(path, header)
        for folder in (SEQUENCES, RECEIPTS):
            (path / folder).mkdir(exist_ok=True)
        describe(path, empty, run)
        sync_folder(path)
        fault_point("descriptions_written", 0)
        write_header(path, empty, run)
        sync_folder(path.resolve().parent)
    except OSError as error:
        msg = f"{path}: no dataset can be made there ({error.strerror}). "
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise PosegenError(msg + "See to the disk, then run the same command again") from error
        raise UsageError(msg + "Choose a folder that you may write in") from error


def commit_shard(
    path: Path,
    header: Header,
    shard: int,
    arrays: Mapping[str, Array],
    rows: Sequence[Mapping[str, Any]],
    schema: pa.Schema,
    run: str,
    seconds: float = 0.0,
) -> Receipt:
    """Store a shard; when this returns, it is complete and safe.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
        Its number of samples is not used.
    shard : int
    arrays : mapping of str to ndarray [n, ...]
        For each field, the values of the shard's n samples; n is at most `header.shard`.
    rows : sequence of mappings
        One for each sample and variant, the variants of a sample next to each other in the header's order.
    schema : pyarrow.Schema
        Of the rows. Its columns `sample` and `variant`, where it has them, are checked.
    run : str
        The run that this belongs to; see :mod:`posegen.dataset.runs`. Once it has provably ended, nothing is written any more.
    seconds : float, optional
        How long making the samples took, for the receipt.

    Returns
    -------
    Receipt

    Raises
    ------
    ValueError
        If arrays or rows are not as the header says.
    PosegenError
        If the disk does not take the shard.
    """
    values = checked_arrays(header, header.fields, arrays)
    if has_ended(run):
        msg = f"{path}: shard {shard} is not stored: run {run}, which it was made for, has ended. Run the same command again"
        raise PosegenError(msg)
    count = len(values[header.fields[0].name])
    try:
        with Delivery(run, written=lambda: fault_point("file_written", shard)) as delivery:
            # Large arrays first: the disk takes them while the rest is worked out.
            files = send_arrays(delivery, path, header, header.fields, shard, values)
            with stage("encode"):
                table = table_of(rows, schema)
                _check_rows(header, table, shard, count)
                files[rows_path(shard)] = _send(delivery, path / rows_path(shard), [encode_table(table)])
            with stage("hash"):
                content = {name: content_hashes(array) for name, array in values.items()}
                content[ROWS] = row_hashes(table, len(header.variants))
            receipt = Receipt(
                shard=shard,
                first=shard * header.shard,
                count=count,
                identity=header.identity,
                content=content,
                files=files,
                rows=len(table),
                seconds=float(seconds),
                made_by_run=run,
            )
            fault_point("encoded", shard)
            place(path, header.fields, delivery, receipt, receipt_path(shard))
    except OSError as error:
        msg = (
            f"{path}: shard {shard} could not be stored ({error.strerror}). All complete shards are safe: "
            "see to the disk, then run the same command again"
        )
        raise PosegenError(msg) from error
    return receipt


def publish(path: Path, header: Header, samples: int, run: str | None = None) -> Header:
    """Make the first `samples` samples visible to readers. All of them must be in complete shards.

    Doing it again changes nothing, but mends descriptions of arrays that were changed. Fewer samples than before can be
    published, too: readers then do not miss a shard that is about to be made again.

    Parameters
    ----------
    path : Path
        Of the dataset.
    header : Header
        Of the dataset; its number of samples is not used.
    samples : int
    run : str, optional
        The run that publishes; this process unless given.

    Returns
    -------
    Header
        As it is on disk now.
    """
    run = run or current_run()
    before = load_header(path)
    if header_bytes(before.with_samples(0)) != header_bytes(header.with_samples(0)):
        msg = f"{path}: has become another dataset while it was written. Choose another place and run this again"
        raise PosegenError(msg)
    published = header.with_samples(samples)
    if samples < before.samples:  # whenever one dies here, the arrays are at least as long as the header says
        write_header(path, published, run)
    describe(path, published, run)
    fault_point("descriptions_written", samples)
    if samples > before.samples:
        write_header(path, published, run)
    return published


def describe(path: Path, header: Header, run: str) -> None:
    """Write those descriptions of the arrays that are not there yet as they should be."""
    described = {path / name: data for name, data in descriptions(header).items()}
    write_all_durably(
        [(file, [data]) for file, data in described.items() if not _has(file, data)],
        run,
        written=lambda: fault_point("description_written", header.samples),
        placed=lambda: fault_point("description_placed", header.samples),
    )


def write_header(path: Path, header: Header, run: str) -> None:
    """Write `dataset.json`."""
    write_durably(path / HEADER_FILE, header_bytes(header), run)
    fault_point("header_written", header.samples)


def _has(file: Path, data: bytes) -> bool:
    try:
        return read_file(file, len(data)) == data
    except (FileNotFoundError, PosegenError):
        return False


@stage("encode")
def checked_arrays(header: Header, fields: Sequence[ArrayField], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Check the arrays of fields against the header and bring them into the form that is stored."""
    names = [field.name for field in fields]
    if sorted(arrays) != sorted(names):
        msg = f"arrays {sorted(arrays)} are given, the dataset has {sorted(names)}"
        raise ValueError(msg)
    counts = {len(arrays[name]) for name in names}
    if len(counts) != 1 or not 1 <= max(counts) <= header.shard:
        msg = f"all arrays must hold the same number of samples, from 1 to {header.shard}, not {sorted(counts)}"
        raise ValueError(msg)
    for field in fields:
        array = arrays[field.name]
        if array.shape[1:] != field.shape or array.dtype != np.dtype(field.dtype):
            msg = f"{field.name} must be {field.dtype} [n, {field.shape}], not {array.dtype} {array.shape}"
            raise ValueError(msg)
    return {name: canonical(arrays[name]) for name in names}


def _check_rows(header: Header, table: pa.Table, shard: int, count: int) -> None:
    """Check that the rows are those of these samples and variants, in order."""
    variants = len(header.variants)
    if len(table) != count * variants:
        msg = f"{len(table)} rows are given for {count} samples of {variants} variants"
        raise ValueError(msg)
    first = shard * header.shard
    expected = {"sample": np.repeat(np.arange(first, first + count), variants).tolist(), "variant": header.variants * count}
    for name, values in expected.items():
        if name in table.schema.names and table.column(name).to_pylist() != list(values):
            msg = f"the rows' column `{name}` does not go through the shard's samples and their variants in order"
            raise ValueError(msg)


@stage("encode")
def send_arrays(
    delivery: Delivery, path: Path, header: Header, fields: Sequence[ArrayField], shard: int, values: Mapping[str, Array]
) -> dict[str, StoredFile]:
    """Encode the fields of a shard and send each on its way at once; a field of which all is absent has no file."""
    files = {}
    for field in fields:
        if pieces := encode_shard(field, values[field.name], header.shard, header.chunk):
            name = shard_path(field, shard)
            files[name] = _send(delivery, path / name, pieces)
    return files


def _send(delivery: Delivery, place: Path, pieces: Sequence[bytes]) -> StoredFile:
    delivery.write(place, pieces)
    with stage("hash"):
        return StoredFile(sum(map(len, pieces)), byte_hash(pieces))


@stage("sync")
def place(path: Path, fields: Sequence[ArrayField], delivery: Delivery, receipt: Receipt, name: str) -> None:
    """Bring a shard's files and its receipt `name` to their places in the order that makes it safe to die in between."""
    shard, run = receipt.shard, receipt.made_by_run
    # While the disk may still refuse the new files, the old shard stays.
    delivery.wait()
    remove_durably(path / name)
    fault_point("receipt_removed", shard)
    delivery.place(lambda: fault_point("file_placed", shard))
    for field in fields:
        # A field of which all is absent has no file.
        if shard_path(field, shard) not in receipt.files:
            remove_durably(path / shard_path(field, shard))
    fault_point("files_durable", shard)
    try:
        write_all_durably(
            [(path / name, [receipt.to_bytes()])],
            run,
            written=lambda: fault_point("receipt_written", shard),
            placed=lambda: fault_point("receipt_placed", shard),
        )
    except OSError:
        # It may be in its place and not on the disk: what nobody is sure of must not be believed.
        with suppress(OSError):
            (path / name).unlink(missing_ok=True)
        raise
