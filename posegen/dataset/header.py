"""Read `dataset.json`, recover it if it is lost, and define the files that follow from it: its copy and the Zarr metadata.

From the `zarr.json` files, Zarr and xarray know the arrays. They are encoded here and not by the installed zarr, so that a
header always has the same ones byte for byte: a reader detects any change. The tests check that zarr itself would write the
same metadata.

Not responsible for what a header may contain; see :mod:`posegen.dataset.layout`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from posegen.dataset import documents, layout, shard_codec
from posegen.dataset.croissant import CROISSANT_FILE, encode_croissant
from posegen.dataset.files import exists, has_content, read_file, write_durably
from posegen.dataset.layout import HEADER_FILE, ArrayField, Header, array_path
from posegen.dataset.receipts import complete_prefix, complete_shards
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import MissingPathError, PosegenError, UsageError, require_local
from posegen.foundations.validation import validated

if TYPE_CHECKING:
    from posegen.config.schema import Config

_MAX_BYTES = 4 * 2**20  # a thousand times the usual size

_GROUP_KEYS = ("name", "identity", "content_version", "seed", "fps", "frames", "variants", "skeleton", "licence")
_SHAPE = re.compile(rb'{\s*"shape": \[\s*([0-9]{1,15})[,\s]')
_EXTRA_DIGITS = 20  # of the number of samples, if an array was extended and the header was not


def is_dataset(path: AnyPath) -> bool:
    """Return whether there is a dataset at `path`, in whatever state."""
    return (path / HEADER_FILE).is_file()


def load_header(path: AnyPath) -> Header:
    """Read the header of the dataset at `path`.

    Parameters
    ----------
    path : Path or BucketPath

    Raises
    ------
    UsageError
        If there is no dataset.
    PosegenError
        If its header is missing, damaged or has a later format version.
    """
    folder = storage_of(path).local
    if folder:
        require_local(folder)
        if folder.suffix == ".json" and os.path.isfile(folder):
            raise UsageError(f"{path}: is a file. If `posegen mix` wrote it, read it with posegen.open_mix")
        if not os.path.isdir(folder):  # False also for names that cannot exist
            made = "Name a folder that `posegen generate` has made"
            raise MissingPathError(f"{path}: is not a dataset: there is no such folder. {made}")
    file = path / HEADER_FILE
    generate = "run the same `posegen generate` command again: complete shards are kept."
    # Without a valid copy, only the generate command knows what the header was.
    repair = f"Run: posegen verify {path} --repair, or " if _load_copy(path) else ""
    try:
        data = read_file(file, _MAX_BYTES)
    except FileNotFoundError as error:
        if exists(path / layout.COPY_FILE):
            raise PosegenError(f"{file}: is missing. {_capitalize(repair + generate)}") from error
        inside = [str(each.parent) for each in sorted(folder.glob(f"*/{HEADER_FILE}"))] if folder else []
        fix = (
            f"It holds datasets; name one: {', '.join(inside)}" if inside else "Name a folder that `posegen generate` has made"
        )
        raise MissingPathError(f"{path}: is not a dataset: it has no {HEADER_FILE}. {fix}") from error
    origin = documents.Origin(str(file), _capitalize(f"{repair}delete it and {generate}"))
    return documents.parse(Header, documents.unseal(data, origin), origin)


def read_config(path: AnyPath, header: Header) -> Config:
    """Return the config in the header of the dataset at `path`; UsageError if it is not valid."""
    from posegen.config.schema import Config

    return validated(Config, header.config, lambda key: f"{path}: in the config of its dataset.json: ")


def inspect_header(path: AnyPath) -> tuple[Header | None, str | None]:
    """Read the header of a dataset in whatever state, or recover it.

    Returns
    -------
    header : Header or None
        None if it is lost and its copy, too.
    fault : str or None
        What is wrong with `dataset.json`; continues a sentence that begins with the file's name.
    """
    copy = _load_copy(path)
    try:
        header = load_header(path)
    except PosegenError as error:
        fault = str(error).removeprefix(f"{path / HEADER_FILE}: ").removeprefix(f"{path}: ")
        return _recover_samples(path, copy) if copy and _is_lost(path) else None, fault
    if copy and header.with_samples(0) != copy and _matches_arrays(path, copy) and not _matches_arrays(path, header):
        return _recover_samples(path, copy), "belongs to another dataset than the arrays and the header's copy"
    return header, None


def repair_header(path: AnyPath, run: str, identity: str | None = None) -> None:
    """Write `dataset.json` again if it is lost and can be recovered.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    run : str
        The run that writes; it must hold the lock.
    identity : str, optional
        Do not change the header of any other dataset.
    """
    header, fault = inspect_header(path)
    if header and fault and identity in (None, header.identity):
        layout.check_folders(path, header)
        write_durably(path / HEADER_FILE, header.to_bytes(), run)


def _is_lost(path: AnyPath) -> bool:
    """Return whether the header is missing, damaged or replaced by another document; one of a later format is not lost."""
    try:
        document = documents.unseal(read_file(path / HEADER_FILE, _MAX_BYTES), documents.Origin(HEADER_FILE, ""))
    except (FileNotFoundError, PosegenError):
        return True
    return layout.COPY_KEY in document or "format_version" not in document


def _load_copy(path: AnyPath) -> Header | None:
    """Read the copy of the header; None if there is no valid one."""
    origin = documents.Origin(layout.COPY_FILE, "")
    try:
        document = documents.unseal(read_file(path / layout.COPY_FILE, _MAX_BYTES), origin)
        document.pop(layout.COPY_KEY, None)  # absent if the two files were exchanged
        return documents.parse(Header, document, origin).with_samples(0)
    except (FileNotFoundError, PosegenError):
        return None


def _recover_samples(path: AnyPath, copy: Header) -> Header:
    """Return the copy with the number of samples that the arrays have.

    If a run died while it published, some arrays may be longer than the header said, but none is shorter. Complete shards
    always count, whatever the arrays say.
    """
    sizes = [size for field in copy.fields if (size := _array_size(path, copy, array_path(field.name))) is not None]
    try:
        complete = complete_shards(path, copy)
    except PosegenError:  # a link in place of a folder, which is reported separately
        complete = {}
    last = max(complete, default=0)
    return copy.with_samples(max(min(sizes, default=0), last * copy.shard + complete.get(last, 0)))


def _array_size(path: AnyPath, copy: Header, name: str) -> int | None:
    """Return the number of samples of an array; None if its metadata is missing or damaged."""
    try:
        data = read_file(path / name, 2 * len(header_metadata(copy)[name]))
    except (FileNotFoundError, PosegenError):
        return None
    samples = described_samples(data)
    return samples if samples is not None and header_metadata(copy.with_samples(samples))[name] == data else None


def _matches_arrays(path: AnyPath, header: Header) -> bool:
    """Return whether the Zarr group belongs to a header."""
    return has_content(path / layout.GROUP_FILE, header_metadata(header)[layout.GROUP_FILE])


def _capitalize(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def header_metadata(header: Header) -> dict[str, bytes]:
    """Return the files that are a function of the header: the Zarr metadata, the header's copy, and `croissant.json`.

    Parameters
    ----------
    header : Header

    Returns
    -------
    dict of str to bytes
        Content of each file by its path inside the dataset.
    """
    document = header.to_json()
    files = {layout.GROUP_FILE: encode_group_metadata({name: document[name] for name in _GROUP_KEYS})}
    for field in header.all_fields:
        files[array_path(field.name)] = encode_array_metadata(field, "sample", header.samples, header.shard, header.chunk)
    return files | {layout.COPY_FILE: header.copy_bytes(), CROISSANT_FILE: encode_croissant(header)}


def encode_group_metadata(attributes: dict[str, Any]) -> bytes:
    """Encode the `zarr.json` of a group."""
    return _encode({"attributes": attributes, "zarr_format": 3, "node_type": "group"})


def encode_array_metadata(field: ArrayField, first_dim: str, size: int, shard: int, chunk: int) -> bytes:
    """Encode the `zarr.json` of an array.

    Parameters
    ----------
    field : ArrayField
    first_dim : str
        Name of the first dimension.
    size, shard, chunk : int
        Size of the array, of a shard and of a chunk along it.
    """
    document = {
        "shape": [size, *field.shape],
        "data_type": field.dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard, *field.shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "NaN" if math.isnan(field.fill) else field.fill,
        "codecs": [_sharding_codec(chunk, field)],
        "attributes": field.attributes,
        "dimension_names": [first_dim, *field.dims],
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }
    return _encode(document)


def described_samples(data: bytes) -> int | None:
    """Return the number of samples in an array's metadata; None if there is none."""
    match = _SHAPE.match(data)
    return int(match[1]) if match else None


def find_metadata_faults(path: AnyPath, header: Header) -> Iterator[tuple[str, str]]:
    """Find metadata files that differ from what the header requires, the header's copy included.

    A run may have died after it extended the arrays and before it extended the header: then an array may be longer, but not
    longer than the complete shards.

    Yields
    ------
    (str, str)
        Path inside the dataset, and what is wrong with the file.
    """
    for name, expected in header_metadata(header).items():
        try:
            data = read_file(path / name, len(expected) + _EXTRA_DIGITS)
        except FileNotFoundError:
            if name != CROISSANT_FILE:  # which datasets of earlier versions do not have
                yield name, "is missing"
            continue
        except PosegenError as error:
            yield name, str(error).removeprefix(f"{path / name}: ")
            continue
        if data == expected:
            continue
        samples = described_samples(data) or 0
        extended = header.with_samples(samples)
        if samples > header.samples and header_metadata(extended)[name] == data and samples <= complete_prefix(path, header):
            continue
        yield name, "does not match the header"


def check_metadata(path: AnyPath, header: Header) -> None:
    """Raise PosegenError if a `zarr.json` file is missing or does not match the header; the header's copy is not checked."""
    for name, fault in find_metadata_faults(path, header):
        if name.startswith(layout.MOTION):
            msg = (
                f"{path}: {name} {fault}. "
                "Run the same `posegen generate` command again: it writes the file again and keeps all shards"
            )
            raise PosegenError(msg)


def _sharding_codec(chunk: int, field: ArrayField) -> dict[str, Any]:
    itemsize = np.dtype(field.dtype).itemsize
    little_endian = {"name": "bytes", "configuration": {"endian": "little"}}
    compressor = {"name": "blosc", "configuration": {"typesize": itemsize, **shard_codec.COMPRESSION}}
    checksum = {"name": "crc32c"}
    return {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [chunk, *field.chunk],
            "codecs": [little_endian if itemsize > 1 else {"name": "bytes"}, compressor, checksum],
            "index_codecs": [little_endian, checksum],
            "index_location": "end",
        },
    }


def _encode(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()
