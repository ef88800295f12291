"""Read the objects of a dataset in a bucket so that no byte is used before it has been checked.

Of arrays, only the chunks that are asked for are requested, and each is compared with its checksum. Tables are requested
whole and compared with their receipt. What was read is kept in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias

import xxhash

from posegen.arrays import Array
from posegen.dataset.bucket import BucketPath
from posegen.dataset.layout import MOTION, ArrayField, Header
from posegen.dataset.read_cache import ReadCache
from posegen.dataset.receipts import StoredFile, stored_file
from posegen.dataset.shard_codec import check_chunk, check_shard, index_bytes, read_index

Range: TypeAlias = tuple[int, int]
"""Offset and length of a part of an object."""

_GAP = 1 << 16
"""Bytes that are read without need to save a request."""
_INDEXES = 1024


class ObjectReader:
    """Reads objects by their path inside the dataset.

    Parameters
    ----------
    path : BucketPath
        Folder of the dataset.
    header : Header
    cache : ReadCache, optional
        Without one, all objects are requested whole and compared with their receipts.
    """

    def __init__(self, path: BucketPath, header: Header, cache: ReadCache | None) -> None:
        self._path, self._header, self._cache = path, header, cache
        self._whole = lru_cache(2)(self._read_whole)
        self._index = lru_cache(_INDEXES)(self._read_index)

    def read(self, name: str, file: StoredFile, ranges: Sequence[Range]) -> list[bytes]:
        """Read parts of an object, each given by its offset and length.

        Parameters
        ----------
        name : str
        file : StoredFile
            Its expected size and hash.
        ranges : sequence of (int, int)

        Raises
        ------
        FileNotFoundError
            If it is missing.
        ValueError
            If it is damaged, or not the one of the receipt.
        """
        field = _field(self._header, name)
        if field is not None and self._cache is not None:
            start, index, chunks = self._index(name, file)
            if ranges == [(start, len(index))]:
                return [index]
            if chunks.issuperset(ranges):
                return self._fetch(self._cache, name, file, ranges, lambda data: check_chunk(field, data, self._header.chunk))
        data = self._whole(name, file)
        return [data[start : start + length] for start, length in ranges]

    def _read_index(self, name: str, file: StoredFile) -> tuple[int, bytes, frozenset[tuple[int, int]]]:
        """Return the offset and the bytes of the index of an object, and the offset and length of each chunk."""
        assert self._cache is not None
        field, shard, chunk = self._header.field(name.split("/")[1]), self._header.shard, self._header.chunk
        start = max(file.bytes - index_bytes(field, shard, chunk), 0)

        def decode(data: bytes) -> Array:
            return read_index(field, lambda start, length: data, file.bytes, shard, chunk)

        data = self._fetch(self._cache, name, file, [(start, file.bytes - start)], decode)[0]
        return start, data, frozenset(map(tuple, decode(data).reshape(-1, 2).tolist())) | {(0, 0)}

    def _fetch(
        self, cache: ReadCache, name: str, file: StoredFile, ranges: Sequence[Range], check: Callable[[bytes], object]
    ) -> list[bytes]:
        """Read parts of an object from the cache or the bucket; `check` raises ValueError for a damaged part."""
        found = {(0, 0): b""}
        for each in ranges:
            data = cache.read(self._entry(name, file, each))
            with suppress(ValueError):  # a damaged entry is requested again
                if data is not None:
                    check(data)
                    found[each] = data
        groups: list[list[Range]] = []
        for each in sorted({*ranges} - found.keys()):
            if groups and each[0] - sum(groups[-1][-1]) <= _GAP:
                groups[-1].append(each)
            else:
                groups.append([each])
        for group in groups:
            first = group[0][0]
            data = (self._path / name).read(first, sum(group[-1]), expected=(file.bytes, file.xxh3))
            for start, length in group:
                found[start, length] = data[start - first : start - first + length]
                check(found[start, length])
                cache.write(self._entry(name, file, (start, length)), found[start, length])
        return [found[each] for each in ranges]

    def _read_whole(self, name: str, file: StoredFile) -> bytes:
        """Read an object from the cache or the bucket and compare it with its receipt, and an array also with its checksums."""
        data = read_object(self._path / name, file, self._cache)
        if (field := _field(self._header, name)) is not None:
            check_shard(
                field, lambda start, length: data[start : start + length], len(data), self._header.shard, self._header.chunk
            )
        return data

    def _entry(self, name: str, file: StoredFile, part: Range) -> str:
        return f"{_entry(self._path / name, file)}-{part[0]}-{part[1]}"


def read_object(path: BucketPath, file: StoredFile, cache: ReadCache | None) -> bytes:
    """Read a whole object from the cache, if there is one, or the bucket, and compare it with its size and hash.

    Raises
    ------
    FileNotFoundError
        If it is missing.
    ValueError
        If it is damaged.
    """
    data = None if cache is None else cache.read(_entry(path, file))
    if data is None or stored_file([data]) != file:
        data = path.read(0, file.bytes + 1)
        if stored_file([data]) != file:
            raise ValueError("checksum mismatch")
        if cache is not None:
            cache.write(_entry(path, file), data)
    return data


def _entry(path: BucketPath, file: StoredFile) -> str:
    """Return the name of an object in the cache; one of another dataset, or another content, has another name."""
    return f"{xxhash.xxh3_128_hexdigest(str(path).encode())}-{file.xxh3}"


def _field(header: Header, name: str) -> ArrayField | None:
    """Return the field that an object belongs to; None for a table."""
    folder, _, rest = name.partition("/")
    return header.field(rest.partition("/")[0]) if folder == MOTION else None
