"""The objects that hold vectors: a Zarr shard for each shard of texts, written and read as one."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import google_crc32c
import numpy as np
from numcodecs.blosc import Blosc
from numpy.typing import NDArray

from posegen.dataset.array_fields import ArrayField
from posegen.dataset.descriptions import sharding
from posegen.dataset.encode import encode_shard
from posegen.dataset.vectors.layout import ZARR, VectorHeader

__all__ = ["decode_object", "encode_object", "vector_descriptions"]

Array = NDArray[Any]

_ABSENT = 2**64 - 1
_CHECKSUM_BYTES = 4
_BLOSC = struct.Struct("<4xI")
_CODEC = Blosc()


def encode_object(header: VectorHeader, field: ArrayField, values: Array) -> list[bytes]:
    """Encode the values of a shard of texts, in pieces; positions that no text of it reaches may be left out."""
    return encode_shard(field, values, header.shard, header.chunk)


def decode_object(header: VectorHeader, field: ArrayField, data: bytes, first: int, stop: int) -> Array:
    """Decode some texts of an object.

    Parameters
    ----------
    header : VectorHeader
    field : ArrayField
    data : bytes
        The object.
    first, stop : int
        Texts within the shard.

    Returns
    -------
    ndarray [stop - first, *shape]

    Raises
    ------
    ValueError
        If it is no such object.
    """
    grid = (header.shard // header.chunk, *(size // step for size, step in zip(field.shape, field.chunk, strict=True)))
    size = 16 * math.prod(grid) + _CHECKSUM_BYTES
    index = np.frombuffer(_whole(data[-size:]), "<u8").reshape(*grid, 2)
    begin, end = first // header.chunk, -(-stop // header.chunk)
    values = np.full(((end - begin) * header.chunk, *field.shape), field.fill, field.dtype)
    steps = (header.chunk, *field.chunk)
    for place in np.ndindex(end - begin, *grid[1:]):
        start, length = index[(place[0] + begin, *place[1:])].tolist()
        if start == length == _ABSENT:
            continue
        part = tuple(slice(at * step, (at + 1) * step) for at, step in zip(place, steps, strict=True))
        values[part] = _chunk(data[start : start + length], steps, field.dtype)
    return values[first - begin * header.chunk : stop - begin * header.chunk]


def _chunk(data: bytes, shape: tuple[int, ...], dtype: str) -> Array:
    encoded = _whole(data)
    values = np.empty(shape, dtype)
    if len(encoded) < _BLOSC.size or _BLOSC.unpack_from(encoded)[0] != values.nbytes:
        msg = "has a chunk of another size"
        raise ValueError(msg)
    try:
        _CODEC.decode(encoded, values)
    except RuntimeError as error:
        msg = f"cannot be decoded ({error})"
        raise ValueError(msg) from error
    return values


def _whole(data: bytes) -> bytes:
    """Take bytes from before their checksum, comparing it."""
    content, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if int(google_crc32c.value(content)).to_bytes(_CHECKSUM_BYTES, "little") != checksum:
        msg = "does not have its checksum"
        raise ValueError(msg)
    return content


def vector_descriptions(header: VectorHeader, texts: int) -> dict[str, bytes]:
    """Describe the arrays for Zarr: the content of each file by its path inside the encoder's folder."""
    group = {
        "attributes": {"encoder": header.encoder, "identity": header.identity, "told": header.told},
        "zarr_format": 3,
        "node_type": "group",
    }
    documents = {f"{ZARR}/zarr.json": group}
    documents |= {f"{ZARR}/{field.name}/zarr.json": _array(header, field, texts) for field in header.fields}
    return {path: json.dumps(document, indent=2, ensure_ascii=False).encode() for path, document in documents.items()}


def _array(header: VectorHeader, field: ArrayField, texts: int) -> dict[str, Any]:
    return {
        "shape": [texts, *field.shape],
        "data_type": field.dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [header.shard, *field.shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "NaN" if math.isnan(field.fill) else field.fill,
        "codecs": [sharding(header.chunk, field)],
        "attributes": field.attributes,
        "dimension_names": ["text", *field.dims],
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }
