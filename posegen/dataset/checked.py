"""A Zarr store that gives out only what the guard has checked: through it, damage is an error and never zeros."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from posegen.dataset.guard import Guard
from posegen.dataset.layout import MOTION

__all__ = ["CheckedStore"]


class CheckedStore(Store):
    """The arrays of a dataset, to be read only.

    Parameters
    ----------
    guard : Guard
        Checks the shards.
    descriptions : mapping of str to bytes
        The `zarr.json` files by their path inside the dataset. They are not read from the disk, so that the arrays have the
        header's number of samples whatever a run writes meanwhile.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, guard: Guard, descriptions: Mapping[str, bytes]) -> None:
        super().__init__(read_only=True)
        self._guard = guard
        self._descriptions = descriptions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedStore) and other._guard is self._guard

    def __hash__(self) -> int:
        return id(self._guard)

    def __str__(self) -> str:
        return f"checked://{self._guard.path / MOTION}"

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read a value or a part of it; None if there is none, which means that all of it is absent."""
        name = f"{MOTION}/{key}"
        buffer = (prototype or default_buffer_prototype()).buffer
        if name in self._descriptions:
            data = self._descriptions[name]
            start, length = _span(byte_range, len(data))
            return buffer.from_bytes(data[start : start + length])
        if name not in self._guard.files:
            self._guard.check_there(name)
            return None
        start, length = _span(byte_range, self._guard.files[name].bytes)
        return buffer.from_bytes(await asyncio.to_thread(self._guard.read, name, start, length))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Read parts of several values."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """Tell whether there is such a key."""
        name = f"{MOTION}/{key}"
        return name in self._descriptions or name in self._guard.files

    async def set(self, key: str, value: Buffer) -> None:
        """Refuse: shards are written by commits only."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Refuse, like :meth:`set`."""
        self._check_writable()

    async def list(self) -> AsyncIterator[str]:
        """Go through all keys."""
        for name in [*self._descriptions, *self._guard.files]:
            if name.startswith(f"{MOTION}/"):
                yield name.removeprefix(f"{MOTION}/")

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Go through the keys that begin so."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Go through the names of what lies in a folder."""
        folder = prefix.rstrip("/") + "/" if prefix else ""
        names: dict[str, Any] = {}
        async for key in self.list_prefix(folder):
            names[key.removeprefix(folder).partition("/")[0]] = None
        for name in names:
            yield name


def _span(byte_range: ByteRequest | None, size: int) -> tuple[int, int]:
    """Where a request begins in a value of `size` bytes, and how many bytes it asks for."""
    match byte_range:
        case RangeByteRequest(start, end):
            return start, end - start
        case OffsetByteRequest(offset):
            return offset, max(size - offset, 0)
        case SuffixByteRequest(suffix):
            return max(size - suffix, 0), min(suffix, size)
        case _:
            return 0, size
