"""Read a dataset: samples, arrays, tables, batches. Everything is checked; missing or damaged data is an error with a hint.

Not responsible for the checks themselves; see :mod:`posegen.dataset.checked_files`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from posegen.dataset import layout, object_reader, tables
from posegen.dataset.batches import make_batches
from posegen.dataset.batches.windows import CAPTIONS, ArrayShape
from posegen.dataset.checked_files import CheckedFiles, open_files
from posegen.dataset.counts import Counts, add_counts, count_content, labels_field, no_counts
from posegen.dataset.embeddings import Embeddings, open_embeddings
from posegen.dataset.header import read_config
from posegen.dataset.receipts import Receipt, list_receipts, load_receipt, read_receipt
from posegen.dataset.sample import Sample
from posegen.dataset.shard_codec import as_slice, chunk_ranges, chunk_slices, decode_chunk, decode_shard, read_index
from posegen.dataset.splits import SPLITS, in_split
from posegen.dataset.storage.address import AnyPath, to_path
from posegen.foundations.arrays import Array, grouped
from posegen.foundations.errors import PosegenError
from posegen.foundations.hashing import canonical, content_hashes
from posegen.foundations.wording import counted, verb

if TYPE_CHECKING:
    from posegen.config.schema import Config

TEXT_EMBEDDING = "text_embedding"
"""Name of the field of batches with the embeddings of a sequence's captions, float32 [caption, dimension]."""

_CACHED_ROWS, _CACHED_TABLES = 1 << 16, 4
_BLOCK_BYTES, _MAX_BLOCK_BYTES = 8 << 20, 1 << 30


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
        rows = self._header.shard * len(self._header.variants)
        self._table = lru_cache(max(1, _CACHED_ROWS // rows))(partial(read_columns, files))
        self.name = str(files.path)
        self.samples = files.header.samples
        self.seed = files.header.seed
        self.chunk = files.header.chunk
        self.variants = files.header.variants

    def __reduce__(self) -> tuple[Any, ...]:
        encoder = self._embeddings.folder.name if self._embeddings else None
        return _reopen, (self._files.path, self.samples, self._header.identity, self._names, encoder)

    def arrays(self) -> dict[str, ArrayShape]:
        """Return the shape of each array by name."""
        arrays = {name: ArrayShape(field.shape[1:], field.dtype) for name, field in self._fields.items()}
        if self._embeddings:
            shape = (self._embeddings.captions, self._embeddings.dimension)
            arrays[TEXT_EMBEDDING] = ArrayShape(shape, "float32")
        return arrays

    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table of sequences."""
        return tuple(read_table(self._files, 0).column_names)

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Load a chunk; see :class:`posegen.dataset.batches.windows.Source`.

        Raises
        ------
        PosegenError
            If any of it is missing or damaged; names the shard and the hint.
        """
        shard, position = divmod(chunk, self._header.shard // self._header.chunk)
        for name, buffer in into.items():
            if name == TEXT_EMBEDDING and self._embeddings:
                start = position * self._header.chunk
                rows = self._embeddings.of_sequences(shard)[start : start + self._header.chunk][:, list(variants)]
                buffer[:, : len(rows)] = np.moveaxis(self._embeddings.take(rows), 1, 0)
            else:
                self._load_array(self._fields[name], shard, position, variants, buffer)
        if not columns:
            return None
        chunk_rows = self._header.chunk * len(self._header.variants)
        return self._table(shard, columns).slice(position * chunk_rows, chunk_rows)  # the table ends with the visible samples

    def match(self, where: str) -> Array:
        """Return the sequences for which an SQL condition holds; see :meth:`posegen.dataset.batches.windows.Source.match`."""
        dataset, found = Dataset(self._files), np.zeros((self.samples, len(self.variants)), bool)
        for shard in range(self._header.shards()):
            rows = dataset.matching(shard, where)
            names = rows.column("variant").to_pylist()
            found[rows.column("sample").to_numpy(), [self.variants.index(name) for name in names]] = True
        return found

    def _load_array(self, field: layout.ArrayField, shard: int, position: int, variants: Sequence[int], buffer: Array) -> None:
        path = layout.shard_path(field, shard)
        file = self._files.find(path)
        if file is None:
            buffer[...] = field.fill
            return
        header, chunk_variants = self._header, field.chunk[0]
        is_whole = field.chunk[1:] == field.shape[1:] and chunk_variants == 1
        decoded = np.empty((header.chunk, *field.chunk), field.dtype)  # stays in the processor's cache
        try:
            read = partial(self._files.read_ranges, path)
            index = read_index(field, read, file.bytes, header.shard, header.chunk)[position]
            chosen = index[[variant // chunk_variants for variant in variants]]
            for (v, *cell), data in zip(np.ndindex(chosen.shape[:-1]), read(chunk_ranges(chosen)), strict=True):
                decode_chunk(field, data, buffer[v] if is_whole else decoded)
                if not is_whole:
                    buffer[(v, slice(None), *chunk_slices(cell, field.chunk[1:]))] = decoded[:, variants[v] % chunk_variants]
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
    name, header = layout.rows_path(shard), files.header
    first, count, variants = shard * header.shard, files.counts[shard], len(header.variants)
    try:
        table = tables.decode_table(files.read(name), count * variants, columns)
    except tables.UNDECODABLE as error:
        raise files.damaged(name, f"cannot be decoded ({error})") from error
    if fault := tables.find_rows_fault(table, header, first, count):
        raise files.damaged(name, fault)
    return table.slice(0, header.count(shard) * variants)


def read_columns(files: CheckedFiles, shard: int, columns: Sequence[str]) -> pa.Table:
    """Read columns of the table of a shard as :func:`read_table` does, with captions as lists of texts."""
    names = {"sample", "variant", *columns} - {CAPTIONS} | ({tables.CAPTION_TEXTS} if CAPTIONS in columns else set())
    table = read_table(files, shard, sorted(names)).select(columns)
    if CAPTIONS in columns:
        index = table.column_names.index(CAPTIONS)
        table = table.set_column(index, CAPTIONS, tables.caption_texts(table.column(CAPTIONS)))
    return table


def _reopen(path: AnyPath, samples: int, identity: str, fields: tuple[str, ...] | None, encoder: str | None) -> StoredSource:
    """Open the same samples in another process, even if the dataset was extended."""
    files = open_files(path)
    if files.header.identity != identity or files.header.samples < samples:
        raise PosegenError(f"{path}: was replaced by another dataset since it was opened. Open it again")
    files = replace(files, header=files.header.with_samples(samples))
    return StoredSource(files, fields, open_embeddings(path, encoder) if encoder else None)


class Dataset:
    """A dataset on disk; made by :func:`open_dataset`.

    It is a sequence of samples: ``len(dataset)``, ``dataset[3]``, ``dataset[-1]``, ``for sample in dataset``. A slice, a list
    of indices or of bools selects several, as a list of samples.

    Attributes
    ----------
    path : Path or BucketPath
    header : Header

    Examples
    --------
    >>> import tempfile
    >>> import posegen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset = posegen.open(posegen.generate("smoke", samples=4, workers=1, out=f"{folder}/motion").path)
    ...     dataset.fps, len(dataset.variants), [sample.index for sample in dataset[1:3]]
    (25, 5, [1, 2])
    """

    def __init__(self, files: CheckedFiles, encoder: str | None = None) -> None:
        self.path = files.path
        self.header = files.header
        self._files, self._encoder = files, encoder
        self._cached_table = lru_cache(_CACHED_TABLES)(self.table)

    def __repr__(self) -> str:
        return f"<Dataset {self.path}: {counted(len(self), 'sample')}, {counted(len(self.header.variants), 'variant')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return open_dataset, (self.path, self._encoder)

    def __dir__(self) -> list[str]:
        own = ("arrays", "batches", "config", "counts", "embeddings", "fields", "fps", "header", "note", "path")
        return [*own, "sequences", "sizes", "splits", "variants", "view"]

    def __len__(self) -> int:
        return self.header.samples

    def __iter__(self) -> Iterator[Sample]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | Array) -> list[Sample]: ...
    def __getitem__(self, index: int | slice | Sequence[int] | Array) -> Sample | list[Sample]:
        if isinstance(index, slice) or np.ndim(index):
            return [self[sample] for sample in self._indices(index).tolist()]
        sample = self._index(index)  # type: ignore[arg-type]
        arrays = {name: self.arrays(name, slice(sample, sample + 1))[0] for name in self.fields}
        return Sample(sample, arrays, self.rows(sample), self)

    @property
    def fps(self) -> int:
        """Frames per second."""
        return self.header.fps

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants, in the order of the arrays."""
        return self.header.variants

    @property
    def splits(self) -> dict[str, Array]:
        """Indices of the samples of the splits ``training``, ``validation`` and ``test``."""
        return {split: in_split(self.header.seed, np.arange(len(self)), split) for split in reversed(SPLITS)}

    def view(self, samples: int = 20) -> Any:
        """Return the page of `posegen view` with the first samples, as notebooks show it."""
        return resolve_name("posegen.viewing.notebook:view_dataset")(self, samples)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the array fields; those of a layer only if it is complete."""
        absent = {name.split("/")[1] for name in self._files.absent}
        return tuple(field.name for field in self.header.all_fields if field.name not in absent)

    @cached_property
    def hidden_shards(self) -> int:
        """Number of shards after the visible samples: a run that extends the dataset has not ended, or was stopped."""
        return sum(shard >= self.header.shards() for shard in list_receipts(self.path))

    @property
    def note(self) -> str:
        """What a user should know before relying on the number of samples; empty if there is nothing."""
        if not self.hidden_shards:
            return ""
        hint = "A run is extending it, or was stopped: `posegen generate` as before completes it, or `posegen finish` its parts"
        visible, hidden = counted(len(self), "sample"), counted(self.hidden_shards, "further shard")
        return f"{self.path}: {visible} {verb(len(self))} visible; {hidden} not yet. {hint}"

    @cached_property
    def config(self) -> Config:
        """The config that it was generated from."""
        return read_config(self.path, self.header)

    @cached_property
    def embeddings(self) -> Embeddings:
        """Embeddings of its captions, by the encoder that was named on opening, or else by the only one."""
        return open_embeddings(self.path, self._encoder)

    @cached_property
    def sequences(self) -> pa.Table:
        """The table of all sequences, read on first access; :meth:`table` reads that of one shard."""
        if not self.header.shards():
            raise PosegenError(f"{self.path}: has no samples yet. Run the same `posegen generate` command again")
        return pa.concat_tables(self.table(shard) for shard in range(self.header.shards()))

    def arrays(self, field: str, samples: slice | ArrayLike | None = None) -> Array:
        """Read a field of some samples.

        Parameters
        ----------
        field : str
        samples : slice or array of int, optional
            All samples unless given. Each chunk is decoded once, whatever the order.

        Returns
        -------
        ndarray [n, variant, ...]
        """
        if field not in (entry.name for entry in self.header.all_fields):
            raise PosegenError(f"{self.path}: has no field {field!r}, only {', '.join(self.fields)}")
        indices, entry = self._indices(slice(None) if samples is None else samples), self.header.field(field)
        values = np.empty((len(indices), *entry.shape), entry.dtype)
        for shard, here in grouped(indices // self.header.shard):
            values[as_slice(here)] = self._decode(entry, shard, indices[here] % self.header.shard)
        return values

    def blocks(self, field: str, start: int, stop: int) -> Iterator[Array]:
        """Read a field of the samples from `start` to `stop` in blocks, in memory independent of the size of shards."""
        sample_bytes, chunk = self.header.field(field).sample_bytes, self.header.chunk
        # Whole chunks, so that each is decoded once, unless they are too large.
        step = chunk * max(1, _BLOCK_BYTES // (chunk * sample_bytes))
        step = step if step * sample_bytes <= _MAX_BLOCK_BYTES else _MAX_BLOCK_BYTES // sample_bytes
        return (self.arrays(field, slice(first, min(first + step, stop))) for first in range(start, stop, step))

    batches = make_batches

    def batch_source(self, fields: Sequence[str] | str | None) -> StoredSource:
        """Return the source of batches with these fields; see :func:`posegen.dataset.batches.make_batches`."""
        embeddings = self.embeddings if fields is not None and TEXT_EMBEDDING in fields else None
        return StoredSource(self._files, self.fields if fields is None else None, embeddings)

    def rows(self, sample: int) -> list[dict[str, Any]]:
        """Read the rows of a sample, one per variant."""
        shard, position = divmod(self._index(sample), self.header.shard)
        many = len(self.variants)
        return self._cached_table(shard).slice(position * many, many).to_pylist()  # type: ignore[no-any-return]

    def table(self, shard: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the table of the sequences of a shard, or columns of it by their Parquet paths."""
        return read_table(self._files, shard, columns)

    def matching(self, shard: int, where: str) -> pa.Table:
        """Read the rows of a shard for which an SQL condition holds.

        Parameters
        ----------
        shard : int
        where : str
            Expression on the columns of the table of sequences, and on ``quality`` if that field was derived: the lowest of
            the actors (needs DuckDB).

        Raises
        ------
        UsageError
            If DuckDB is not installed, or does not accept the condition.
        """
        table = self.table(shard)
        if tables.QUALITY in where and tables.QUALITY in self.fields:
            first, variants = shard * self.header.shard, len(self.header.variants)
            values = self.arrays(tables.QUALITY, slice(first, first + len(table) // variants))
            lowest = np.where(np.isnan(values), np.inf, values).reshape(len(table), -1).min(axis=1)
            table = table.append_column(tables.QUALITY, pa.array(lowest))
        return tables.matching_rows(table, where)

    def sample_embedding(self, sample: int) -> Array:
        """Read the embeddings of a sample's captions: float32 [variant, caption, dimension], NaN where there is no caption."""
        return self.embeddings.of_sample(self._index(sample))

    def captions(self, shard: int) -> pa.Table:
        """Read ``sample``, ``variant`` and ``captions``, as lists of texts, of the sequences of a shard."""
        return read_columns(self._files, shard, ["sample", "variant", "captions"])

    def receipt(self, shard: int) -> Receipt:
        """Read the receipt of a shard."""
        return load_receipt(self.path, self.header, shard)

    @property
    def listed_shards(self) -> tuple[int, str]:
        """Number of leading shards in the manifest, 0 without one, and a hash of their receipts."""
        manifest = self._files.manifest
        return (manifest.shards, manifest.receipts) if manifest else (0, "")

    def rows_hash(self, shard: int) -> str:
        """Return the hash of the file with the sequences of a shard."""
        return self.receipt(shard).files[layout.rows_path(shard)].xxh3

    def hashes(self, shard: int) -> dict[str, str]:
        """Return the content hashes of a shard, including those of its layers, by field."""
        samples = self.receipt(shard)
        layers = (layer for layer in self.header.layers if layer.fields[0].name in self.fields)
        receipts = [read_receipt(self.path, self.header, shard, layer, samples) for layer in layers]
        return {name: text for receipt in (*receipts, samples) for name, text in receipt.content.items()}

    def check_file(self, file: str) -> None:
        """Read all bytes of a file, given by its path inside the dataset; PosegenError if they are not those of its receipt."""
        self._files.read_ranges(file, [])

    def compute_hashes(self, shard: int, names: Sequence[str] | None = None) -> dict[str, str]:
        """Hash the visible samples of a shard from their values: as in a receipt, by field and for `rows`, or some of them."""
        found, first = dict[str, str](), shard * self.header.shard
        for name in (*self.fields, layout.ROWS) if names is None else names:
            if name == layout.ROWS:
                found[name] = tables.hash_rows(self.table(shard), len(self.header.variants))
            else:
                blocks = self.blocks(name, first, first + self.header.count(shard))
                found[name] = "".join(content_hashes(canonical(block)) for block in blocks)
        return found

    def sizes(self) -> dict[str, int]:
        """Return the size on disk of each field and of the rows, in bytes by name."""
        return self._files.sizes()

    def counts(self) -> Counts:
        """Count what the visible samples contain; tables and arrays are read only for shards whose receipts have no counts."""
        manifest = self._files.manifest
        total, first = (manifest.counts, manifest.shards) if manifest and manifest.counts else (no_counts(self.header), 0)
        for shard in range(first, self.header.shards()):
            total = add_counts(total, self._count_shard(shard))
        return total

    def _count_shard(self, shard: int) -> Counts:
        receipt = self.receipt(shard)
        if receipt.counts and receipt.count == self.header.count(shard):
            return receipt.counts
        labels, start = labels_field(self.header), shard * self.header.shard
        blocks = self.blocks(labels.name, start, start + self.header.count(shard)) if labels else ()
        return count_content(self.header, self.table(shard), (block[:, 0] for block in blocks))

    def _decode(self, field: layout.ArrayField, shard: int, rows: Array) -> Array:
        """Decode samples of a shard, given by their positions in it: ndarray [n, *shape]."""
        name, header = layout.shard_path(field, shard), self.header
        file = self._files.find(name)
        if file is None:
            return np.full((len(rows), *field.shape), field.fill, field.dtype)
        try:
            return decode_shard(field, partial(self._files.read_ranges, name), file.bytes, header.shard, header.chunk, rows)
        except ValueError as error:
            raise self._files.damaged(name, f"cannot be decoded ({error})") from error

    def _indices(self, samples: slice | ArrayLike) -> Array:
        """Return the indices of samples that a slice, indices or bools select."""
        if isinstance(samples, slice):
            return np.arange(len(self))[samples]
        given = np.asarray(samples) if np.size(samples) else np.zeros(0, np.int64)
        given = np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64, casting="same_kind")
        return np.array([self._index(int(index)) for index in given], np.int64)

    def _index(self, index: int) -> int:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"{self.path}: has no sample {position}, there are {len(self)}")
        return position % len(self)


@contextmanager
def content_errors(path: str | AnyPath) -> Iterator[None]:
    """Convert exceptions to a PosegenError: an undamaged dataset has content that posegen does not write."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"{path}: has content that posegen does not write ({type(error).__name__}: {error!s:.200}). Generate it again"
        raise PosegenError(msg) from error


def open_shard(path: AnyPath, header: layout.Header, receipt: Receipt) -> Dataset:
    """Open only one shard of a dataset, with all samples in it, even if fewer are visible.

    Parameters
    ----------
    path : Path
        Folder of the dataset.
    header : Header
    receipt : Receipt
        Receipt of the shard, or of a layer of the shard: only the files in it can be read.
    """
    extended = header.with_samples(receipt.first + receipt.count)
    objects = object_reader.open_objects(path, extended, cached=False)
    return Dataset(CheckedFiles(path, extended, receipt.files, {receipt.shard: receipt.count}, objects=objects))


def open_dataset(path: str | AnyPath, encoder: str | None = None) -> Dataset:
    """Open a dataset and check its header, Zarr metadata, receipts and the sizes of all files.

    Bytes are hashed when a file is read for the first time.

    Parameters
    ----------
    path : str, Path or BucketPath
        Its folder, or its address in a bucket, such as ``s3://BUCKET/PATH``.
    encoder : str, optional
        Encoder of the captions' embeddings, if the dataset has embeddings by several encoders.

    Raises
    ------
    PosegenError
        If it is not a dataset, or anything is missing or damaged; names the shard and the hint.
    """
    return Dataset(open_files(to_path(path)), encoder)
