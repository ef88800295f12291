"""Write the `zarr.json` files, from which Zarr and xarray know the arrays, as a function of the header.

They are written here and not by the installed zarr, so that a header always has the same ones byte for byte: a reader detects
any change. The tests check that zarr itself would write the same metadata.

Not responsible for the shards themselves; see :mod:`posegen.dataset.shard_codec`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.files import read_file
from posegen.dataset.layout import COPY_FILE, GROUP_FILE, MOTION, ArrayField, Header, array_path
from posegen.dataset.receipts import complete_prefix
from posegen.dataset.shard_codec import COMPRESSION
from posegen.errors import PosegenError

_GROUP_KEYS = ("name", "identity", "content_version", "seed", "fps", "frames", "variants", "skeleton", "licence")
_SHAPE = re.compile(rb'{\s*"shape": \[\s*([0-9]{1,15})[,\s]')
_EXTRA_DIGITS = 20  # of the number of samples, if an array was extended and the header was not


def header_metadata(header: Header) -> dict[str, bytes]:
    """Return the files that are a function of the header: the Zarr metadata, and the header's copy.

    Parameters
    ----------
    header : Header

    Returns
    -------
    dict of str to bytes
        Content of each file by its path inside the dataset.
    """
    document = header.to_json()
    files = {GROUP_FILE: encode_group_metadata({name: document[name] for name in _GROUP_KEYS})}
    for field in header.all_fields:
        files[array_path(field.name)] = encode_array_metadata(field, "sample", header.samples, header.shard, header.chunk)
    return files | {COPY_FILE: header.copy_bytes()}


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


def find_metadata_faults(path: Path, header: Header) -> Iterator[tuple[str, str]]:
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


def check_metadata(path: Path, header: Header) -> None:
    """Raise PosegenError if a `zarr.json` file is missing or does not match the header; the header's copy is not checked."""
    for name, fault in find_metadata_faults(path, header):
        if name.startswith(MOTION):
            msg = (
                f"{path}: {name} {fault}. "
                "Run the same `posegen generate` command again: it writes the file again and keeps all shards"
            )
            raise PosegenError(msg)


def _sharding_codec(chunk: int, field: ArrayField) -> dict[str, Any]:
    itemsize = np.dtype(field.dtype).itemsize
    little_endian = {"name": "bytes", "configuration": {"endian": "little"}}
    compressor = {"name": "blosc", "configuration": {"typesize": itemsize, **COMPRESSION}}
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
