"""The `zarr.json` files, by which Zarr and xarray know the arrays, and the copy of the header.

They are written here, not by the installed zarr, so that a header always has the same ones, byte by byte: opening a dataset
can then tell whether any of them was changed. The tests check that zarr itself would describe the arrays so.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from posegen.dataset.encode import COMPRESSION
from posegen.dataset.headers import copy_bytes
from posegen.dataset.layout import COPY_FILE, ArrayField, Header, array_path, group_path

__all__ = ["described_samples", "descriptions", "sharding"]


def descriptions(header: Header) -> dict[str, bytes]:
    """Describe the arrays of a dataset of `header.samples` samples.

    Parameters
    ----------
    header : Header

    Returns
    -------
    dict of str to bytes
        Content of each file by its path inside the dataset.
    """
    documents = {group_path(): _group(header)} | {array_path(field.name): _array(header, field) for field in header.all_fields}
    files = {path: json.dumps(document, indent=2, ensure_ascii=False).encode() for path, document in documents.items()}
    return files | {COPY_FILE: copy_bytes(header)}


def described_samples(data: bytes) -> int | None:
    """Read from an array's description how many samples it has; None if it does not say so."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    shape = document.get("shape") if isinstance(document, dict) else None
    if isinstance(shape, list) and shape and type(shape[0]) is int and shape[0] >= 0:
        return shape[0]
    return None


def _group(header: Header) -> dict[str, Any]:
    names = ("name", "identity", "content_version", "seed", "fps", "frames", "variants", "skeleton", "licence")
    told = header.to_json()
    return {"attributes": {name: told[name] for name in names}, "zarr_format": 3, "node_type": "group"}


def _array(header: Header, field: ArrayField) -> dict[str, Any]:
    return {
        "shape": [header.samples, *field.shape],
        "data_type": field.dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [header.shard, *field.shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "NaN" if math.isnan(field.fill) else field.fill,
        "codecs": [sharding(header.chunk, field)],
        "attributes": field.attributes,
        "dimension_names": ["sample", *field.dims],
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def sharding(chunk: int, field: ArrayField) -> dict[str, Any]:
    """Describe how the object of a shard is encoded, whose chunks have `chunk` samples."""
    itemsize = np.dtype(field.dtype).itemsize
    order: dict[str, Any] = {"name": "bytes"}
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    compress = {
        "name": "blosc",
        "configuration": {
            "typesize": itemsize,
            "cname": COMPRESSION.name,
            "clevel": COMPRESSION.level,
            "shuffle": COMPRESSION.shuffle,
            "blocksize": COMPRESSION.block,
        },
    }
    checksum = {"name": "crc32c"}
    return {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [chunk, *field.chunk],
            "codecs": [little if itemsize > 1 else order, compress, checksum],
            "index_codecs": [little, checksum],
            "index_location": "end",
        },
    }
