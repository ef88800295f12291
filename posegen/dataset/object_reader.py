"""Read the objects of a dataset in a bucket so that no byte is used before it has been checked.

Of arrays, only the chunks that are asked for are requested, and each is compared with its checksum. Tables are requested
whole and compared with their receipt. What was read is kept in a folder of this machine while its disk has room: an entry is
named by the address of an object and its hash in the receipt, so that an object that is stored again is another entry. Readers
check what they read there as they check what a server sends. Several processes may share the folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import xxhash

from posegen.dataset.layout import ArrayField, Header
from posegen.dataset.receipts import StoredFile, stored_file
from posegen.dataset.shard_codec import check_chunk, check_shard, read_index, reader_of
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.foundations.errors import PosegenError
from posegen.foundations.machine import free_disk, user_cache

FOLDER_VARIABLE = "POSEGEN_READ_CACHE"
"""Environment variable with the folder of the cache; ``posegen/objects`` in the user's cache by default; empty for no cache."""
LEAST_FREE = 10 * 10**9
"""Bytes of the disk that the cache leaves free."""

Range: TypeAlias = tuple[int, int]
"""Offset and length of a part of an object."""

_GAP = 1 << 16
"""Bytes that are read without need to save a request."""
_INDEXES = 1024


class ReadCache:
    """Bytes by name; nothing is removed.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """Return an entry; None if there is none."""
        with suppress(FileNotFoundError):
            return self._path(name).read_bytes()
        return None

    def write(self, name: str, data: bytes) -> None:
        """Add an entry, unless less than :data:`LEAST_FREE` of the disk would be free.

        Raises
        ------
        PosegenError
            If the folder cannot be written.
        """
        path = self._path(name)
        temporary = path.with_name(f"{name}~{os.getpid()}-{time.monotonic_ns()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if free_disk(path.parent) - len(data) >= LEAST_FREE:
                temporary.write_bytes(data)
                temporary.replace(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            hint = f"Name another folder in {FOLDER_VARIABLE}, or set it to nothing"
            raise PosegenError(f"{self._folder}: the cache cannot be written ({error.strerror}). {hint}") from error

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


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

    def __init__(self, path: Any, header: Header, cache: ReadCache | None) -> None:
        self._path, self._header, self._cache = path, header, cache
        self._whole = lru_cache(2)(self._read_whole)
        self._index = lru_cache(_INDEXES)(self._fetch)

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
        if self._header.field_of(name) is None or self._cache is None:
            return reader_of(self._whole(name, file))(ranges)
        is_index = len(ranges) == 1 and sum(ranges[0]) == file.bytes
        return (self._index if is_index else self._fetch)(name, file, tuple(ranges))

    def _fetch(self, name: str, file: StoredFile, ranges: tuple[Range, ...]) -> list[bytes]:
        """Read parts of an array's object from the cache or the bucket."""
        field, cache, entry = self._header.field_of(name), self._cache, _entry(self._path / name, file)
        assert field is not None
        assert cache is not None
        found = {(0, 0): b""}
        for each in ranges:
            data = cache.read(f"{entry}-{each[0]}-{each[1]}")
            with suppress(ValueError):  # a damaged entry is requested again
                if data is not None:
                    self._check(field, file, each, data)
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
            for each in group:
                found[each] = data[each[0] - first : sum(each) - first]
                self._check(field, file, each, found[each])
                cache.write(f"{entry}-{each[0]}-{each[1]}", found[each])
        return [found[each] for each in ranges]

    def _check(self, field: ArrayField, file: StoredFile, part: Range, data: bytes) -> None:
        """Raise ValueError for a damaged part: the index, which ends the object, or a chunk."""
        shard, chunk = self._header.shard, self._header.chunk
        if sum(part) == file.bytes:
            read_index(field, lambda ranges: [data], file.bytes, shard, chunk)
        else:
            check_chunk(field, data, chunk)

    def _read_whole(self, name: str, file: StoredFile) -> bytes:
        """Read an object from the cache or the bucket and compare it with its receipt, and an array also with its checksums."""
        data = read_object(self._path / name, file, self._cache)
        if field := self._header.field_of(name):
            check_shard(field, reader_of(data), len(data), self._header.shard, self._header.chunk)
        return data


def open_objects(path: AnyPath, header: Header, *, cached: bool) -> ObjectReader | None:
    """Return a reader of the objects of a dataset in a bucket, with the cache of the environment; None for a folder."""
    storage = storage_of(path)
    return None if storage.local else ObjectReader(storage.path, header, cache_of(path) if cached else None)


def cache_of(path: AnyPath) -> ReadCache | None:
    """Return the cache of the environment for what is read of a bucket; None for a folder, and without a cache."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if storage_of(path).local or folder == "":
        return None
    return ReadCache(Path(folder) if folder else user_cache() / "objects")


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
