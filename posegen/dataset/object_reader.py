"""Read the objects of a dataset in a bucket so that no byte is used before it has been checked.

Of arrays, only the chunks that are asked for are requested, and each is compared with its checksum. Tables are requested
whole and compared with their receipt. What was read is kept in a cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias

import xxhash

from posegen.dataset.layout import Header
from posegen.dataset.read_cache import ReadCache, open_cache
from posegen.dataset.receipts import StoredFile, stored_file
from posegen.dataset.shard_codec import check_chunk, check_shard, index_bytes, read_index, reader_of
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.bucket import BucketPath

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
        field = self._header.field_of(name)
        if field is None or self._cache is None:
            return reader_of(self._whole(name, file))(ranges)
        length, chunk = index_bytes(field, self._header.shard, self._header.chunk), self._header.chunk
        if ranges == [(file.bytes - length, length)]:
            return [self._index(name, file)]
        return self._fetch(self._cache, name, file, ranges, lambda data: check_chunk(field, data, chunk))

    def _read_index(self, name: str, file: StoredFile) -> bytes:
        """Return the bytes of the index of an object."""
        field, shard, chunk = self._header.field_of(name), self._header.shard, self._header.chunk
        assert field is not None
        assert self._cache is not None
        length = index_bytes(field, shard, chunk)

        def check(data: bytes) -> object:
            return read_index(field, lambda ranges: [data], file.bytes, shard, chunk)

        return self._fetch(self._cache, name, file, [(file.bytes - length, length)], check)[0]

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
        if field := self._header.field_of(name):
            check_shard(field, reader_of(data), len(data), self._header.shard, self._header.chunk)
        return data

    def _entry(self, name: str, file: StoredFile, part: Range) -> str:
        return f"{_entry(self._path / name, file)}-{part[0]}-{part[1]}"


def open_objects(path: AnyPath, header: Header, *, cached: bool) -> ObjectReader | None:
    """Return a reader of the objects of a dataset in a bucket, with the cache of the environment; None for a folder."""
    storage = storage_of(path)
    return None if storage.local else ObjectReader(storage.path, header, cache_of(path) if cached else None)


def cache_of(path: AnyPath) -> ReadCache | None:
    """Return the cache of the environment for what is read of a bucket; None for a folder."""
    return None if storage_of(path).local else open_cache(os.environ)


def read_object(path: AnyPath, file: StoredFile, cache: ReadCache | None) -> bytes:
    """Read a whole file from the cache, if there is one, or its storage, and compare it with its size and hash.

    Raises
    ------
    FileNotFoundError
        If it is missing.
    ValueError
        If it is damaged.
    """
    data = None if cache is None else cache.read(_entry(path, file))
    if data is None or stored_file([data]) != file:
        data = storage_of(path).read(0, file.bytes + 1)
        if stored_file([data]) != file:
            raise ValueError("checksum mismatch")
        if cache is not None:
            cache.write(_entry(path, file), data)
    return data


def _entry(path: AnyPath, file: StoredFile) -> str:
    """Return the name of an object in the cache; one of another dataset, or another content, has another name."""
    return f"{xxhash.xxh3_128_hexdigest(str(path).encode())}-{file.xxh3}"
