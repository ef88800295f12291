"""Chunks of a dataset's arrays, decoded straight into where they are wanted.

Zarr's own way to a chunk costs more than to decode it. Here the index of a shard's object says where a chunk lies, and Blosc
unpacks it into the caller's buffer. Nothing is believed that is not checked: the guard hashes an object when it is first
touched, and each chunk's CRC-32C is compared each time, since what has been hashed may be damaged later.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
from numcodecs.blosc import Blosc
from numpy.typing import NDArray

from posegen.dataset.batches.source import CAPTIONS, ArrayShape
from posegen.dataset.guard import Guard
from posegen.dataset.layout import ArrayField, shard_path
from posegen.dataset.limits import chunks_in_shard
from posegen.dataset.rows import caption_texts
from posegen.dataset.tables import CAPTION_TEXTS, read_table
from posegen.dataset.vectors.read import Embeddings
from posegen.errors import PosegenError

__all__ = ["TEXT_EMBEDDING", "Chunks"]

TEXT_EMBEDDING = "text_embedding"
"""Asked for by this name: the vectors of a sequence's captions, float32 [caption, dimension]."""

Array = NDArray[Any]

_ABSENT = 2**64 - 1
_CHECKSUM_BYTES = 4
_RESIDUE = 0x48674BC7  # the CRC-32C of any bytes with their own CRC-32C behind them
_BLOSC = struct.Struct("<4xI")  # bytes of the values
_TABLE_BYTES = 64 << 20
_KEYS = ("sample", "variant")
_CODEC = Blosc()


class Chunks:
    """The chunks of a dataset: a source of batches.

    Parameters
    ----------
    guard : Guard
        Checks what is read.
    embeddings : Embeddings, optional
        Vectors of the captions, to be joined to the sequences.
    """

    most_threads = 64

    def __init__(self, guard: Guard, embeddings: Embeddings | None = None) -> None:
        self._guard = guard
        self._embeddings = embeddings
        self._header = guard.header
        # Whoever made the dataset, a sequence is a part of such arrays only.
        self._fields = {field.name: field for field in self._header.all_fields if field.dims[:1] == ("variant",)}
        self._tables = _Tables(guard)

    def __reduce__(self) -> tuple[Any, ...]:
        encoder = self._embeddings.folder.name if self._embeddings else None
        return _reopened, (self._guard.path, self.samples, self._header.identity, encoder)

    def with_embeddings(self, embeddings: Embeddings) -> Chunks:
        """Join the vectors of captions to these chunks."""
        return Chunks(self._guard, embeddings)

    @property
    def name(self) -> str:
        """The dataset's folder."""
        return str(self._guard.path)

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return self._header.samples

    @property
    def chunk(self) -> int:
        """Samples in a chunk."""
        return self._header.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return self._header.variants

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        arrays = {name: ArrayShape(field.shape[1:], field.chunk[1:], field.dtype) for name, field in self._fields.items()}
        if self._embeddings:
            shape = (self._embeddings.captions, self._embeddings.dimension)
            arrays[TEXT_EMBEDDING] = ArrayShape(shape, shape, "float32")
        return arrays

    def columns(self) -> tuple[str, ...]:
        """Name the columns of the table of sequences."""
        return tuple(self._tables.read(0, None).column_names)

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Load a chunk; see :class:`posegen.dataset.batches.source.Source`.

        Raises
        ------
        PosegenError
            If any of it is missing or damaged; names the shard and the cure.
        """
        for name, buffer in into.items():
            if name == TEXT_EMBEDDING and self._embeddings:
                self._load_vectors(self._embeddings, chunk, variants, buffer)
            else:
                self._load_array(self._fields[name], chunk, variants, buffer)
        if not columns:
            return None
        shard, position = divmod(chunk, self._header.shard // self._header.chunk)
        each = self._header.chunk * len(self._header.variants)
        rows = min(each, self._header.samples * len(self._header.variants) - chunk * each)
        return self._tables.kept(shard, columns).slice(position * each, rows)

    def _load_vectors(self, embeddings: Embeddings, chunk: int, variants: Sequence[int], buffer: Array) -> None:
        shard, position = divmod(chunk, self._header.shard // self._header.chunk)
        start = position * self._header.chunk
        rows = embeddings.of_sequences(shard)[start : start + self._header.chunk][:, list(variants)]
        held = buffer.reshape(len(variants), self._header.chunk, *rows.shape[2:], embeddings.dimension)
        held[:, : len(rows)] = np.moveaxis(embeddings.take(rows), 1, 0)

    def _load_array(self, field: ArrayField, chunk: int, variants: Sequence[int], buffer: Array) -> None:
        shard, position = divmod(chunk, self._header.shard // self._header.chunk)
        path = shard_path(field, shard)
        if path not in self._guard.files:
            self._guard.check_there(path)
            buffer[...] = field.fill
            return
        places = self._index(field, path)[position]
        together = field.chunk[0]  # variants in a stored chunk, of which all but one are thrown away
        wanted = [(v, at) for v, variant in enumerate(variants) for at in np.ndindex(places.shape[1:-1])]
        ranges = [_range(places[(variants[v] // together, *at)]) for v, at in wanted]
        for (v, at), data in zip(wanted, self._guard.ranges(path, ranges), strict=True):
            if together == 1:
                self._decode(field, path, data, buffer[(v, *at)])
            else:
                values = np.empty((self._header.chunk, *field.chunk), field.dtype)
                self._decode(field, path, data, values)
                buffer[(v, *at)] = values[:, variants[v] % together]

    def _index(self, field: ArrayField, path: str) -> Array:
        """Read where the chunks of an object lie."""
        size = 16 * chunks_in_shard(self._header, field) + _CHECKSUM_BYTES
        data = self._guard.read(path, self._guard.files[path].bytes - size, size)
        if not _is_whole(data):
            raise self._guard.damaged(path, "has a damaged index")
        grid = tuple(total // step for total, step in zip(field.shape, field.chunk, strict=True))
        return np.frombuffer(data, "<u8", offset=0, count=(size - _CHECKSUM_BYTES) // 8).reshape(-1, *grid, 2)

    def _decode(self, field: ArrayField, path: str, data: bytes, values: Array) -> None:
        if not data:
            values[...] = field.fill
            return
        if not _is_whole(data) or _BLOSC.unpack_from(data)[0] != values.nbytes:
            raise self._guard.damaged(path, "has a chunk that is not what was written")
        try:
            _CODEC.decode(memoryview(data)[:-_CHECKSUM_BYTES], values)
        except (RuntimeError, ValueError) as error:
            raise self._guard.damaged(path, f"cannot be decoded ({error})") from error


class _Tables:
    """Tables of sequences by shard; as many are kept as a fixed amount of memory holds."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._kept: OrderedDict[tuple[int, tuple[str, ...]], pa.Table] = OrderedDict()
        self._lock = Lock()

    def kept(self, shard: int, columns: tuple[str, ...]) -> pa.Table:
        """Read columns of a shard's table, unless they are kept."""
        with self._lock:
            if (shard, columns) in self._kept:
                self._kept.move_to_end((shard, columns))
                return self._kept[shard, columns]
        table = self.read(shard, columns)
        with self._lock:
            self._kept[shard, columns] = table
            while len(self._kept) > 1 and sum(kept.nbytes for kept in self._kept.values()) > _TABLE_BYTES:
                self._kept.popitem(last=False)
        return table

    def read(self, shard: int, columns: tuple[str, ...] | None) -> pa.Table:
        """Read columns of a shard's table, all unless given, with captions as texts."""
        stored = None if columns is None else [CAPTION_TEXTS if name == CAPTIONS else name for name in (*_KEYS, *columns)]
        table = read_table(self._guard, shard, stored)
        if CAPTIONS in table.column_names:
            place = table.column_names.index(CAPTIONS)
            table = table.set_column(place, CAPTIONS, caption_texts(table.column(CAPTIONS)))
        return table if columns is None else table.select(columns)


def _range(place: Array) -> tuple[int, int]:
    """Where a chunk begins and how long it is; nothing where all of it is absent."""
    begin, length = place.tolist()
    return (0, 0) if begin == length == _ABSENT else (begin, length)


def _is_whole(data: bytes) -> bool:
    """Compare bytes with the checksum behind them."""
    return int(google_crc32c.value(data)) == _RESIDUE


def _reopened(path: Path, samples: int, identity: str, encoder: str | None) -> Chunks:
    """Open the same samples in another process, though there may be more of them by now."""
    from posegen.dataset.read import open_dataset

    dataset = open_dataset(path, encoder)
    if dataset.header.identity != identity or len(dataset) < samples:
        msg = f"{path}: is not the dataset any more that was opened. Open it again"
        raise PosegenError(msg)
    chunks = dataset.chunks(samples)
    return chunks.with_embeddings(dataset.embeddings) if encoder else chunks
