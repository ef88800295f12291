"""Looking at a shard's object before it is decoded: whether its chunks are as large as the header says.

Blosc takes as much memory as a chunk says of itself that it has bytes, so that is read first and compared.
"""

from __future__ import annotations

import os
import struct

import google_crc32c
import numpy as np

from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.limits import chunks_in_shard

__all__ = ["most_object_bytes", "object_fault"]

_ABSENT = 2**64 - 1
_CHECKSUM_BYTES = 4
_BLOSC = struct.Struct("<4xIII")  # bytes of the values, of a block of them, and of all that is stored
_CHUNK_EXTRA = 16 + _CHECKSUM_BYTES  # what Blosc takes at most if nothing can be compressed


def most_object_bytes(header: Header, field: ArrayField) -> int:
    """Count the bytes that the object of a shard has at most."""
    chunks = chunks_in_shard(header, field)
    return chunks * (_chunk_bytes(header, field) + _CHUNK_EXTRA) + _index_bytes(chunks)


def object_fault(handle: int, header: Header, field: ArrayField) -> str | None:
    """Say why a shard's object cannot be what the header describes, without decoding it.

    Parameters
    ----------
    handle : int
        Of the open file.
    header : Header
    field : ArrayField

    Returns
    -------
    str or None
        None if nothing is wrong.
    """
    size, chunks = os.fstat(handle).st_size, chunks_in_shard(header, field)
    start = size - _index_bytes(chunks)
    if start < 0 or size > most_object_bytes(header, field):
        return f"has {size} bytes, which a shard of {header.shard} samples cannot have"
    data = os.pread(handle, size - start, start)
    index, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if int(google_crc32c.value(index)).to_bytes(_CHECKSUM_BYTES, "little") != checksum:
        return "has a damaged index"
    wanted = _chunk_bytes(header, field)
    begins, lengths = np.frombuffer(index, "<u8").reshape(-1, 2).T
    present = (begins != _ABSENT) | (lengths != _ABSENT)
    limit = np.uint64(start)
    outside = present & ((lengths < _CHUNK_EXTRA) | (lengths > limit) | (begins > limit - np.minimum(lengths, limit)))
    if outside.any():
        return f"has an index in which chunk {outside.argmax()} lies outside of it"
    for chunk in np.flatnonzero(present):
        values, block, stored = _BLOSC.unpack(os.pread(handle, _BLOSC.size, int(begins[chunk])))
        if (values, stored) != (wanted, int(lengths[chunk]) - _CHECKSUM_BYTES) or not 0 < block <= values:
            return f"has a chunk {chunk} that says that it holds {values} bytes, not {wanted}"
    return None


def _chunk_bytes(header: Header, field: ArrayField) -> int:
    return header.chunk * int(np.prod(field.chunk, dtype=object)) * np.dtype(field.dtype).itemsize


def _index_bytes(chunks: int) -> int:
    return 16 * chunks + _CHECKSUM_BYTES
