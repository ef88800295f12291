"""Read the embeddings of a dataset's captions, and define their format on disk: a folder per encoder with header and receipts.

::

    DATASET/embeddings/ENCODER/
      embeddings.json             identity of the dataset, encoder, sizes
      vectors.zarr/vector         (text, dimension): the embedding of each distinct text; one file per shard of texts
      texts/part-00000.parquet    texts of a shard: row, text
      rows/part-00000.parquet     for a shard of the dataset: sample, variant, caption, row
      receipts/KIND/00000.json    receipts, each written last; see :mod:`posegen.dataset.overlays`

Texts are numbered in the order in which they first occur, so that a dataset that is extended only adds rows. Everything is
checked on reading; missing or damaged data is an error with a hint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import ArrayLike
from pydantic import Field

from posegen.dataset import documents, files, overlays, tables
from posegen.dataset.header import encode_array_metadata, encode_group_metadata, load_header
from posegen.dataset.layout import ArrayField, Header, Positive, shard_path
from posegen.dataset.object_reader import ReadCache, cache_of
from posegen.dataset.overlays import OverlayReceipt
from posegen.dataset.shard_codec import decode_shard, reader_of
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.foundations.arrays import Array, grouped
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.wording import did_you_mean, shown

FOLDER = "embeddings"
HEADER_FILE = "embeddings.json"
TEXTS_SCHEMA = pa.schema([("row", pa.int64()), ("text", pa.string())])
ROWS_SCHEMA = pa.schema([("sample", pa.int64()), ("variant", pa.string()), ("caption", pa.int32()), ("row", pa.int64())])
"""`caption` is the index of the caption in its sequence, `row` the number of its text."""

VECTORS = "vectors.zarr"
_CACHE_BYTES = 256 << 20


@dataclass(frozen=True)
class EmbeddingHeader(documents.Document):
    """Content of `embeddings.json`.

    Attributes
    ----------
    format_version : int
    identity : str
        Identity of the dataset.
    encoder, fingerprint : str
        Name of the encoder, and a hash of everything in it that decides embeddings.
    details : dict
        More information about the encoder, for the reader.
    dimension, positions : int
        Length of a vector; 0, or the maximum number of tokens of a text where an earlier version stored their embeddings too.
    dtype : str
    shard, chunk : int
        Texts in a shard and in a chunk; the shard is a multiple of the chunk.
    budget : int
        Tokens in a batch, with padding: it decides which texts are embedded together.
    begun : str
        Time of the start, in UTC.
    """

    format_version: Positive
    identity: str
    encoder: str
    fingerprint: str
    details: Annotated[dict[str, Any], Field(alias="told")]
    dimension: Annotated[int, Field(ge=1, le=2**16)]
    positions: Annotated[int, Field(ge=0, le=2**16)]
    dtype: Literal["float32", "float16"]
    shard: Annotated[int, Field(ge=1, le=2**20)]
    chunk: Positive
    budget: Positive
    begun: str

    @property
    def field(self) -> ArrayField:
        """The array of embeddings."""
        return ArrayField("vector", ("dimension",), (self.dimension,), (self.dimension,), self.dtype, math.nan, {"length": 1})

    def source_of(self, digest: str) -> str:
        """Return the `source` of a receipt of vectors: the encoder, the storage, and the hash of the texts."""
        return f"{self.fingerprint} {self.dtype} {self.shard}/{self.chunk} {self.positions} {digest}"

    def __post_init__(self) -> None:
        """Raise ValueError if the shard is no multiple of the chunk."""
        if self.shard % self.chunk:
            raise ValueError("the shard must be a multiple of the chunk")


class Texts(Sequence[str]):
    """Distinct texts by row, read shard by shard on access."""

    def __init__(self, folder: AnyPath, receipts: Sequence[OverlayReceipt], size: int, cache: ReadCache | None) -> None:
        self._count = sum(receipt.count for receipt in receipts)
        self._size = size
        self._read = lru_cache(1)(lambda shard: read_texts(folder, receipts[shard], cache))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        if isinstance(index, slice):
            return [self[row] for row in rows]
        shard, position = divmod(rows, self._size)
        return self._read(shard)[position]


class Embeddings:
    """Embeddings of a dataset's distinct captions by one encoder; made by :func:`open_embeddings`.

    Attributes
    ----------
    folder : Path or BucketPath
    header : EmbeddingHeader
    encoder : str
    dimension, count : int
        Length of an embedding; number of distinct texts.
    texts : Texts
    """

    def __init__(
        self,
        folder: AnyPath,
        header: EmbeddingHeader,
        receipts: Mapping[str, Sequence[OverlayReceipt]],
        dataset: Header,
    ) -> None:
        self.folder = folder
        self.header = header
        self.encoder = header.encoder
        self.dimension = header.dimension
        self._rows, self._texts, self._vectors = (receipts[kind] for kind in ("rows", "texts", "vectors"))
        self._dataset = dataset
        self._cache = cache_of(folder)
        self.shards = len(self._texts)
        self.texts = Texts(folder, self._texts, header.shard, self._cache)
        self.count = len(self.texts)
        shard_bytes = 4 * header.shard * header.dimension
        self._shard = lru_cache(max(1, _CACHE_BYTES // shard_bytes))(self._read_shard)
        grid_bytes = 8 * dataset.shard * len(dataset.variants) * self.captions
        self._grid = lru_cache(max(1, _CACHE_BYTES // 4 // max(1, grid_bytes)))(self._read_grid)

    def __repr__(self) -> str:
        return f"<Embeddings {self.folder}: {self.count} texts, {self.dimension} dimensions>"

    def __reduce__(self) -> tuple[Any, ...]:
        return open_embeddings, (self.folder.parent.parent, self.folder.name)

    @property
    def source(self) -> str:
        """Name or folder from which the encoder is loaded."""
        return str(self.header.details.get("source", self.encoder))

    @property
    def captions(self) -> int:
        """Maximum number of captions of a sequence."""
        return max((receipt.numbers["captions"] for receipt in self._rows), default=0)

    @cached_property
    def rows(self) -> pa.Table:
        """Table of all captions: sample, variant, caption (its index in the sequence) and row (number of its text)."""
        return pa.concat_tables(
            [pa.Table.from_batches([], ROWS_SCHEMA), *(self._table(shard) for shard in range(len(self._rows)))]
        )

    def vectors(self) -> Array:
        """Read all embeddings: float32 [texts, dimension], of unit length."""
        return self.take(np.arange(self.count))

    def take(self, rows: ArrayLike) -> Array:
        """Read the embeddings of some texts.

        Parameters
        ----------
        rows : int [...]
            Numbers of texts; -1 for none.

        Returns
        -------
        float32 [..., dimension]
            NaN where there is none.
        """
        indices = np.asarray(rows, np.int64)
        vectors = np.full((indices.size, self.dimension), np.nan, np.float32)
        for shard, here in grouped(indices.ravel() // self.header.shard):
            if shard >= 0:  # the number -1 is in no shard
                vectors[here] = self._shard(shard)[indices.ravel()[here] % self.header.shard]
        return vectors.reshape(*indices.shape, self.dimension)

    def of_sequences(self, shard: int) -> Array:
        """Return the text numbers of a shard of the dataset: int64 [sample, variant, caption], -1 where there is no caption."""
        return self._grid(shard)

    def of_sample(self, sample: int) -> Array:
        """Read the embeddings of a sample's captions: float32 [variant, caption, dimension], NaN where there is no caption."""
        shard, position = divmod(sample, self._dataset.shard)
        return self.take(self.of_sequences(shard)[position])

    def _read_grid(self, shard: int) -> Array:
        table, samples = self._table(shard), self._rows[shard].count
        variants = self._dataset.variants
        sample, caption, row = (tables.column_numbers(table.column(name)) for name in ("sample", "caption", "row"))
        variant = tables.column_numbers(pc.index_in(table.column("variant"), pa.array(variants)))
        grid = np.full((samples, len(variants), self.captions), -1, np.int64)
        grid[sample - shard * self._dataset.shard, variant, caption] = row
        return grid

    def _table(self, shard: int) -> pa.Table:
        receipt = self._rows[shard]
        return overlays.read_part_table(
            self.folder, receipt, rows_part(shard), receipt.numbers["rows"], ROWS_SCHEMA, self._cache
        )

    def _read_shard(self, shard: int) -> Array:
        """Read the embeddings of a shard of texts; PosegenError, with the file and the hint, if it is missing or damaged."""
        header, receipt = self.header, self._vectors[shard]
        name, rows = shard_path(header.field, receipt.shard, VECTORS), np.arange(receipt.count)
        data = overlays.read_part(self.folder, receipt, name, self._cache)
        try:
            vectors = decode_shard(header.field, reader_of(data), len(data), header.shard, header.chunk, rows)
        except (ValueError, IndexError) as error:
            origin = documents.Origin(str(self.folder / name), overlays.overlay_hint(self.folder))
            raise origin.error(f"cannot be decoded ({error})") from error
        return vectors.astype(np.float32, copy=False)


def open_embeddings(dataset: str | AnyPath, encoder: str | None = None) -> Embeddings:
    """Open the embeddings of a dataset.

    Parameters
    ----------
    dataset : str, Path or BucketPath
    encoder : str, optional
        Name of the encoder or of its folder; required if there are several.

    Returns
    -------
    Embeddings

    Raises
    ------
    UsageError
        If there are none, none by this encoder, or several and `encoder` is not given.
    PosegenError
        If they belong to another dataset, are incomplete or damaged; names the file and the hint.
    """
    path = to_path(dataset)
    dataset_header = load_header(path)
    folder = encoder_folder(path, _select_encoder(path, encoder))
    header = load_embedding_header(folder)
    if header is None or header.identity != dataset_header.identity:
        raise PosegenError(f"{folder}: belongs to another dataset. Delete that folder, then run: posegen embed {path}")
    return Embeddings(folder, header, _read_receipts(folder, header, dataset_header), dataset_header)


def _read_receipts(folder: AnyPath, header: EmbeddingHeader, dataset: Header) -> dict[str, list[OverlayReceipt]]:
    """Read all receipts and check that they cover all captions of the dataset."""
    hint = overlays.overlay_hint(folder)
    try:
        rows = list(storage_of(folder).map(partial(overlays.read_overlay_receipt, folder, "rows"), range(dataset.shards())))
        distinct = max((receipt.numbers["distinct"] for receipt in rows), default=0)
        shards = range(-(-distinct // header.shard))
        texts, vectors = (
            list(storage_of(folder).map(partial(overlays.read_overlay_receipt, folder, kind), shards))
            for kind in ("texts", "vectors")
        )
    except FileNotFoundError as error:
        name = str(error.filename).removeprefix(f"{folder}/")
        raise PosegenError(f"{folder}: is incomplete: {name} is missing. {hint}") from error
    is_shorter = any(receipt.count < dataset.count(shard) for shard, receipt in enumerate(rows))
    if is_shorter or sum(receipt.count for receipt in texts) < distinct:
        raise PosegenError(f"{folder}: has embeddings of fewer samples than the dataset. {hint}")
    for text, receipt in zip(texts, vectors, strict=True):
        if receipt.source != header.source_of(text.source) or receipt.count != text.count:
            raise PosegenError(f"{folder}: shard {text.shard} has embeddings of other texts. {hint}")
    return {"rows": rows, "texts": texts, "vectors": vectors}


def encoder_folders(dataset: AnyPath) -> list[AnyPath]:
    """List the folders of the embeddings of a dataset, complete or not."""
    folders = [dataset / FOLDER / name for name in sorted(storage_of(dataset / FOLDER).list_names())]
    return [folder for folder in folders if files.exists(folder / HEADER_FILE)]


def count_embedded(folder: AnyPath) -> tuple[int, int]:
    """Return the number of shards of texts that are embedded, and of all that are numbered, by the names of receipts."""
    embedded, numbered = (
        sum(name.endswith(".json") and name[0] != "." for name in storage_of(folder / "receipts" / kind).list_names())
        for kind in ("vectors", "texts")
    )
    return embedded, numbered


def _select_encoder(path: AnyPath, encoder: str | None) -> str:
    known = [folder.name for folder in encoder_folders(path)]
    name = known[0] if encoder is None and len(known) == 1 else encoder and overlays.folder_name(encoder)
    if name in known:
        return name
    if not known:
        fault = f"no embeddings. Run: posegen embed {path}"
    elif encoder is None:
        fault = f"embeddings by several encoders; name one of: {', '.join(known)}"
    else:
        fault = f"no embeddings by {shown(encoder)}{did_you_mean(encoder, known)}"
    raise UsageError(f"{path}: has {fault}")


def read_texts(folder: AnyPath, receipt: OverlayReceipt, cache: ReadCache | None = None) -> list[str]:
    """Read the texts of a shard of texts; PosegenError, with the file and the hint, if it is missing or damaged."""
    table = overlays.read_part_table(folder, receipt, texts_part(receipt.shard), receipt.count, TEXTS_SCHEMA, cache)
    return list(table.column("text").to_pylist())


def encoder_folder(dataset: AnyPath, encoder: str) -> AnyPath:
    """Return the folder of an encoder's embeddings; PosegenError if a link is in its path."""
    return overlays.overlay_folder(dataset, FOLDER, encoder, "receipts", "texts", "rows", VECTORS, "pairs", "search")


def load_embedding_header(folder: AnyPath) -> EmbeddingHeader | None:
    """Read the header of an encoder's embeddings; None if there is none, PosegenError if it is damaged."""
    file = folder / HEADER_FILE
    hint = f"Delete {file} and run the same `posegen embed` command again: undamaged files are kept"
    return files.load_document(EmbeddingHeader, file, hint)


def embedding_metadata(header: EmbeddingHeader, texts: int) -> dict[str, bytes]:
    """Return the Zarr metadata: the content of each file by its path inside the encoder's folder."""
    attributes, field = {"encoder": header.encoder, "identity": header.identity, "told": header.details}, header.field
    return {
        f"{VECTORS}/zarr.json": encode_group_metadata(attributes),
        f"{VECTORS}/{field.name}/zarr.json": encode_array_metadata(field, "text", texts, header.shard, header.chunk),
    }


def texts_part(shard: int) -> str:
    """Return the path of the texts of a shard of texts."""
    return f"texts/part-{shard:05}.parquet"


def rows_part(shard: int) -> str:
    """Return the path of the rows of a shard of the dataset."""
    return f"rows/part-{shard:05}.parquet"


def hash_texts(texts: Sequence[str]) -> str:
    """Hash texts and their order.

    >>> hash_texts(["ab", "c"]) == hash_texts(["a", "bc"])
    False
    """
    return byte_hash(xxhash.xxh3_128_digest(text.encode()) for text in texts)
