"""Encode a field's values to the bytes of a Zarr shard, and decode its chunks.

The format is Zarr's `sharding_indexed` codec: the chunks one after another, each compressed by Blosc and followed by its
CRC-32C, then the index with the offset and the length of each chunk. Zarr's own writer produces the same file from an array in
memory, but takes 1.7 times as long, and its reader costs more per chunk than decoding; the tests compare the two.

Not responsible for files and their hashes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import google_crc32c
import numpy as np
from numcodecs.blosc import Blosc

from posegen.dataset.layout import ArrayField
from posegen.foundations.arrays import Array, grouped

# For motion on its grid, byte shuffling is as small as bit shuffling and a fifth faster. By default, Blosc chooses tiny blocks
# for small lz4 chunks and then barely compresses.
COMPRESSION: dict[str, Any] = {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 2**18}
"""Compression of all fields: the configuration of Zarr's codec `blosc`, without the size of a value."""

ABSENT = 2**64 - 1
"""Offset and length, in the index, of a chunk that is not stored because all of its values are absent."""

Read: TypeAlias = Callable[[Sequence[tuple[int, int]]], list[bytes]]
"""Function that returns parts of a file, given the offset and the number of bytes of each."""

_CHECKSUM_BYTES = 4
_CRC_RESIDUE = 0x48674BC7  # CRC-32C of any bytes followed by their own CRC-32C
_BLOSC_HEADER = struct.Struct("<4xIII")  # bytes of the values, of a block of them, and of the compressed chunk
_DECODER = Blosc()


def encode_shard(field: ArrayField, array: Array, shard: int, chunk: int) -> list[bytes]:
    """Encode a field's values in a shard.

    Parameters
    ----------
    field : ArrayField
    array : ndarray [n, ...]
        Values of the shard's n samples, canonical, of the field's shape and type; n is at most `shard`.
    shard, chunk : int
        Samples in a full shard and in a chunk.

    Returns
    -------
    list of bytes
        Content of the file in pieces (joining them would take longer than hashing them), in the layout of a full shard even if
        it is not full; empty if all values are absent.
    """
    steps = (chunk, *field.chunk)
    grid = (shard // chunk, *field.chunk_grid)
    index = np.full((*grid, 2), ABSENT, "<u8")
    pieces: list[bytes] = []
    offset = 0
    for cell in np.ndindex(grid):
        encoded = _encode_chunk(field, array, cell, steps)
        if encoded is not None:
            index[cell] = offset, sum(map(len, encoded))
            offset += sum(map(len, encoded))
            pieces += encoded
    return [*pieces, index.tobytes(), _checksum(index.tobytes())] if pieces else []


def read_index(field: ArrayField, read: Read, size: int, shard: int, chunk: int) -> Array:
    """Read the index of a shard.

    Parameters
    ----------
    field : ArrayField
    read : callable
        Returns parts of the file, given the offset and the number of bytes of each.
    size : int
        Size of the file in bytes.
    shard, chunk : int
        Samples in a full shard and in a chunk.

    Returns
    -------
    uint64 [chunk of samples, *field.chunk_grid, 2]
        Offset and length of each chunk, with its checksum; :data:`ABSENT` for chunks that are not stored.

    Raises
    ------
    ValueError
        If the checksum does not match, or chunks overlap or are outside of the file.
    """
    length = 16 * (shard // chunk) * math.prod(field.chunk_grid) + _CHECKSUM_BYTES
    (data,) = read([(max(size - length, 0), length)])
    if len(data) != length or not _is_intact(data):
        raise ValueError("damaged index")
    index = np.frombuffer(data, "<u8", count=len(data) // 8).reshape(-1, *field.chunk_grid, 2)
    offsets, lengths = index[..., 0], index[..., 1]
    limit = np.uint64(size)
    outside = (lengths == 0) | (lengths > limit) | (offsets > limit - np.minimum(lengths, limit))
    if (outside & ~((offsets == ABSENT) & (lengths == ABSENT))).any():
        raise ValueError("the index has a chunk outside of the file")
    # So that all chunks together take no more memory than the file.
    if lengths[lengths != ABSENT].sum() > limit:
        raise ValueError("the index has chunks that overlap")
    return index


def decode_chunk(field: ArrayField, data: bytes, values: Array) -> None:
    """Decode a chunk into `values`.

    Parameters
    ----------
    field : ArrayField
    data : bytes
        The chunk with its checksum; empty if all values are absent.
    values : ndarray
        C-contiguous.

    Raises
    ------
    ValueError
        If the checksum or the size does not match, or Blosc cannot decode it.
    """
    if not data:
        values[...] = field.fill
        return
    if not _is_intact(data):
        raise ValueError("damaged chunk")
    _check_chunk_header(data, values.nbytes, len(data))
    try:
        _DECODER.decode(memoryview(data)[:-_CHECKSUM_BYTES], values)
    except RuntimeError as error:
        raise ValueError(f"damaged chunk ({error})") from error


def check_shard(field: ArrayField, read: Read, size: int, shard: int, chunk: int) -> None:
    """Check the index and the header of each chunk of a file, which may come from an untrusted dataset.

    Blosc allocates the size in the header of a chunk, and reads outside of the chunk if its header is forged. Parameters
    are those of :func:`read_index`.

    Raises
    ------
    ValueError
        If the file is not a shard of the field.
    """
    stored = [each for each in chunk_ranges(read_index(field, read, size, shard, chunk)) if each[1]]
    headers = read([(offset, _BLOSC_HEADER.size) for offset, _ in stored])
    for header, (_, stored_bytes) in zip(headers, stored, strict=True):
        _check_chunk_header(header, field.chunk_bytes(chunk), stored_bytes)


def check_chunk(field: ArrayField, data: bytes, chunk: int) -> None:
    """Check the checksum and the header of a chunk as :func:`check_shard` does; ValueError if it is damaged."""
    if not _is_intact(data):
        raise ValueError("damaged chunk")
    _check_chunk_header(data, field.chunk_bytes(chunk), len(data))


def decode_shard(field: ArrayField, read: Read, size: int, shard: int, chunk: int, rows: Array) -> Array:
    """Decode some samples of a shard, each chunk once.

    Parameters
    ----------
    field, read, size, shard, chunk
        As for :func:`read_index`.
    rows : int64 [n]
        Positions of samples within the shard, in any order.

    Returns
    -------
    ndarray [n, *shape]

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    index = read_index(field, read, size, shard, chunk)
    values = np.empty((len(rows), *field.shape), field.dtype)
    decoded = np.empty((chunk, *field.chunk), field.dtype)  # stays in the processor's cache
    numbers, grid = rows // chunk, list(np.ndindex(field.chunk_grid))
    pieces = iter(read(chunk_ranges(index[np.unique(numbers)])))
    for _, here in grouped(numbers):
        into, within = as_slice(here), as_slice(rows[here] % chunk)
        for cell in grid:
            decode_chunk(field, next(pieces), decoded)
            values[(into, *chunk_slices(cell, field.chunk))] = decoded[within]
    return values


def chunk_ranges(index: Array) -> list[tuple[int, int]]:
    """Return offset and length of chunks, given their entries of an index [..., 2]; (0, 0) for those that are not stored."""
    pairs = index.reshape(-1, 2).tolist()
    return [(0, 0) if length == ABSENT else (offset, length) for offset, length in pairs]


def reader_of(data: bytes) -> Read:
    """Return what reads parts of the bytes of a file in memory."""
    return lambda ranges: [data[start : start + length] for start, length in ranges]


def as_slice(indices: Array) -> slice | Array:
    """Return indices as a slice if they are consecutive: NumPy copies that faster."""
    first, stop = int(indices[0]), int(indices[0]) + len(indices)
    return slice(first, stop) if (indices == np.arange(first, stop)).all() else indices


def _check_chunk_header(data: bytes, values_bytes: int, stored_bytes: int) -> None:
    """Compare the header of a chunk with the sizes that it must have; the stored size includes the checksum."""
    values, block, stored = _BLOSC_HEADER.unpack_from(data.ljust(_BLOSC_HEADER.size, b"\0"))
    if (values, stored) != (values_bytes, stored_bytes - _CHECKSUM_BYTES) or not 0 < block <= values:
        raise ValueError(f"damaged chunk: declares {values} bytes of values instead of {values_bytes}")


def _encode_chunk(field: ArrayField, array: Array, cell: Sequence[int], steps: tuple[int, ...]) -> tuple[bytes, bytes] | None:
    """Encode one chunk and its checksum; None if all of its values are absent."""
    part = array[chunk_slices(cell, steps)]
    if _is_absent(field, part):
        return None
    if part.shape == steps:
        values = np.ascontiguousarray(part)
    else:  # the last samples of a shard that is not full
        values = np.full(steps, field.fill, array.dtype)
        values[: len(part)] = part
    encoded = _encoder(array.dtype.itemsize).encode(values)
    return encoded, _checksum(encoded)


def chunk_slices(cell: Sequence[int], steps: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the part of an array that a chunk holds, given its place in the grid and its size."""
    return tuple(slice(at * step, (at + 1) * step) for at, step in zip(cell, steps, strict=True))


def _is_absent(field: ArrayField, part: Array) -> bool:
    if part.size == 0:
        return True
    if math.isnan(field.fill):
        return bool(np.isnan(part.flat[0])) and bool(np.isnan(part).all())
    return bool(part.flat[0] == field.fill) and bool((part == field.fill).all())


def _checksum(data: bytes) -> bytes:
    return int(google_crc32c.value(data)).to_bytes(_CHECKSUM_BYTES, "little")


def _is_intact(data: bytes) -> bool:
    """Return whether bytes match the checksum at their end."""
    return int(google_crc32c.value(data)) == _CRC_RESIDUE


@cache
def _encoder(itemsize: int) -> Blosc:
    return Blosc(**COMPRESSION | {"shuffle": Blosc.SHUFFLE, "typesize": itemsize})
