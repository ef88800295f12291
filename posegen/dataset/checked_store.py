"""Give Zarr the files of a dataset as a store, so that damage is an error and never zeros.

Apart from :mod:`posegen.dataset.checked_files`, since importing Zarr takes as long as all else that reading a table needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import MemoryStore

from posegen.dataset.checked_files import CheckedFiles
from posegen.dataset.layout import MOTION


class CheckedStore(MemoryStore):
    """The arrays of a dataset as a read-only Zarr store: metadata from memory, chunks through :class:`CheckedFiles`.

    Parameters
    ----------
    files : CheckedFiles
    metadata : mapping of str to bytes
        The `zarr.json` files by their path inside the dataset. They are not read from disk, so that the arrays have the
        header's number of samples even if a run extends them.
    """

    def __init__(self, files: CheckedFiles, metadata: Mapping[str, bytes]) -> None:
        to_buffer = default_buffer_prototype().buffer.from_bytes
        prefix = f"{MOTION}/"
        contents = {name.removeprefix(prefix): to_buffer(data) for name, data in metadata.items() if name.startswith(prefix)}
        super().__init__(contents, read_only=True)
        self._files = files

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read a value or a part of it; None if there is none, which means that all of its chunks are absent."""
        name = f"{MOTION}/{key}"
        file = self._files.find(name)
        if file is None:
            self._files.check_present(name)
            return await super().get(key, prototype, byte_range)
        start, length = _resolve_range(byte_range, file.bytes)
        buffer = (prototype or default_buffer_prototype()).buffer
        return buffer.from_bytes(await asyncio.to_thread(self._files.read, name, start, length))


def _resolve_range(byte_range: ByteRequest | None, size: int) -> tuple[int, int]:
    """Return the offset and the length of a request for a value of `size` bytes."""
    match byte_range:
        case RangeByteRequest(start, end):
            return start, end - start
        case OffsetByteRequest(offset):
            return offset, max(size - offset, 0)
        case SuffixByteRequest(suffix):
            return max(size - suffix, 0), min(suffix, size)
        case _:
            return 0, size
