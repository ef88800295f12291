"""A dataset as a source of batches: its chunks are decoded straight into the buffers of batches.

Zarr's own way to a chunk takes longer than decoding it. Here, the index of a shard gives the offset of a chunk, and Blosc
unpacks it into the buffer. All bytes are checked: a file is hashed when it is read for the first time, and the CRC-32C of a
chunk is compared each time it is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from posegen.arrays import Array
from posegen.dataset.batches.source import CAPTIONS, ArrayShape
from posegen.dataset.checked_files import CheckedFiles, open_files
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.layout import ArrayField, rows_path, shard_path
from posegen.dataset.shard_codec import ABSENT, decode_chunk, read_index
from posegen.dataset.tables import CAPTION_TEXTS, UNDECODABLE, caption_texts, decode_table, find_rows_fault
from posegen.errors import PosegenError

TEXT_EMBEDDING = "text_embedding"
"""Name of the field of batches with the embeddings of a sequence's captions, float32 [caption, dimension]."""


_CACHED_TABLE_BYTES = 64 << 20
_KEY_COLUMNS = ("sample", "variant")


class StoredSource:
    """The chunks of a dataset; see :class:`posegen.dataset.batches.Source`.

    Parameters
    ----------
    files : CheckedFiles
    fields : sequence of str, optional
        Array fields to offer; all unless given.
    embeddings : Embeddings, optional
        Embeddings of the captions, to be offered as :data:`TEXT_EMBEDDING`.
    """

    most_threads = 64

    def __init__(self, files: CheckedFiles, fields: Sequence[str] | None = None, embeddings: Embeddings | None = None) -> None:
        self._files = files
        self._header = files.header
        self._names = None if fields is None else tuple(fields)
        self._embeddings = embeddings
        # Only such arrays are part of a sequence, in datasets of any origin.
        fields_by_name = {field.name: field for field in self._header.all_fields if field.dims[:1] == ("variant",)}
        self._fields = {name: field for name, field in fields_by_name.items() if fields is None or name in fields}
        self._tables: dict[tuple[int, tuple[str, ...]], pa.Table] = {}
        self._lock = Lock()
        self.name = str(files.path)
        self.samples = files.header.samples
        self.chunk = files.header.chunk
        self.variants = files.header.variants

    def __reduce__(self) -> tuple[Any, ...]:
        encoder = self._embeddings.folder.name if self._embeddings else None
        return _reopen, (self._files.path, self.samples, self._header.identity, self._names, encoder)

    def arrays(self) -> dict[str, ArrayShape]:
        """Return the shape of each array by name."""
        arrays = {name: ArrayShape(field.shape[1:], field.chunk[1:], field.dtype) for name, field in self._fields.items()}
        if self._embeddings:
            shape = (self._embeddings.captions, self._embeddings.dimension)
            arrays[TEXT_EMBEDDING] = ArrayShape(shape, shape, "float32")
        return arrays

    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table of sequences."""
        return tuple(read_table(self._files, 0).column_names)

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Load a chunk; see :class:`posegen.dataset.batches.source.Source`.

        Raises
        ------
        PosegenError
            If any of it is missing or damaged; names the shard and the hint.
        """
        shard, position = divmod(chunk, self._header.shard // self._header.chunk)
        for name, buffer in into.items():
            if name == TEXT_EMBEDDING and self._embeddings:
                self._load_embeddings(self._embeddings, shard, position, variants, buffer)
            else:
                self._load_array(self._fields[name], shard, position, variants, buffer)
        if not columns:
            return None
        chunk_rows = self._header.chunk * len(self._header.variants)
        rows = min(chunk_rows, self._header.samples * len(self._header.variants) - chunk * chunk_rows)
        return self._table(shard, columns).slice(position * chunk_rows, rows)

    def _table(self, shard: int, columns: tuple[str, ...]) -> pa.Table:
        """Return columns of a shard's table, from a cache of bounded size."""
        table = self._tables.get((shard, columns))
        if table is None:
            table = read_columns(self._files, shard, columns)
            with self._lock:
                self._tables[shard, columns] = table
                while len(self._tables) > 1 and sum(kept.nbytes for kept in self._tables.values()) > _CACHED_TABLE_BYTES:
                    del self._tables[next(iter(self._tables))]  # the oldest
        return table

    def _load_embeddings(
        self, embeddings: Embeddings, shard: int, position: int, variants: Sequence[int], buffer: Array
    ) -> None:
        start = position * self._header.chunk
        rows = embeddings.of_sequences(shard)[start : start + self._header.chunk][:, list(variants)]
        shaped = buffer.reshape(len(variants), self._header.chunk, *rows.shape[2:], embeddings.dimension)
        shaped[:, : len(rows)] = np.moveaxis(embeddings.take(rows), 1, 0)

    def _load_array(self, field: ArrayField, shard: int, position: int, variants: Sequence[int], buffer: Array) -> None:
        path = shard_path(field, shard)
        if path not in self._files.files:
            self._files.check_present(path)
            buffer[...] = field.fill
            return
        chunk_variants = field.chunk[0]  # of which all but one are discarded
        try:
            size, read = self._files.files[path].bytes, partial(self._files.read, path)
            index = read_index(field, read, size, self._header.shard, self._header.chunk)[position]
            cells = [(v, cell) for v in range(len(variants)) for cell in np.ndindex(index.shape[1:-1])]
            entries = [index[(variants[v] // chunk_variants, *cell)].tolist() for v, cell in cells]
            ranges = [(0, 0) if length == ABSENT else (offset, length) for offset, length in entries]
            for (v, cell), data in zip(cells, self._files.read_ranges(path, ranges), strict=True):
                if chunk_variants == 1:
                    decode_chunk(field, data, buffer[(v, *cell)])
                else:
                    values = np.empty((self._header.chunk, *field.chunk), field.dtype)
                    decode_chunk(field, data, values)
                    buffer[(v, *cell)] = values[:, variants[v] % chunk_variants]
        except ValueError as error:
            raise self._files.damaged(path, str(error)) from error


def read_table(files: CheckedFiles, shard: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Read the table of the sequences of a shard.

    Parameters
    ----------
    files : CheckedFiles
    shard : int
    columns : sequence of str, optional
        Parquet paths of columns; all unless given.

    Raises
    ------
    PosegenError
        If it is missing or damaged; names the shard and the hint.
    """
    name, header = rows_path(shard), files.header
    first, count, variants = shard * header.shard, files.counts[shard], len(header.variants)
    try:
        table = decode_table(files.read(name), count * variants, columns)
    except UNDECODABLE as error:
        raise files.damaged(name, f"cannot be decoded ({error})") from error
    if fault := find_rows_fault(table, header, first, count):
        raise files.damaged(name, fault)
    return table.slice(0, header.count(shard) * variants)


def read_columns(files: CheckedFiles, shard: int, columns: Sequence[str]) -> pa.Table:
    """Read columns of the table of a shard as :func:`read_table` does, with captions as lists of texts."""
    names = {*_KEY_COLUMNS, *columns} - {CAPTIONS} | ({CAPTION_TEXTS} if CAPTIONS in columns else set())
    table = read_table(files, shard, sorted(names)).select(columns)
    if CAPTIONS in columns:
        index = table.column_names.index(CAPTIONS)
        table = table.set_column(index, CAPTIONS, caption_texts(table.column(CAPTIONS)))
    return table


def _reopen(path: Path, samples: int, identity: str, fields: tuple[str, ...] | None, encoder: str | None) -> StoredSource:
    """Open the same samples in another process, even if the dataset was extended."""
    files = open_files(path)
    if files.header.identity != identity or files.header.samples < samples:
        msg = f"{path}: was replaced by another dataset since it was opened. Open it again"
        raise PosegenError(msg)
    files = replace(files, header=files.header.with_samples(samples))
    return StoredSource(files, fields, open_embeddings(path, encoder) if encoder else None)
