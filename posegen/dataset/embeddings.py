"""Read the embeddings of a dataset's captions, and define their format on disk: a folder per encoder with header and receipts.

::

    DATASET/embeddings/ENCODER/
      embeddings.json             identity of the dataset, encoder, sizes
      vectors.zarr/vector         (text, dimension): the embedding of each distinct text; one file per shard of texts
      vectors.zarr/token          (text, position, dimension) and
      vectors.zarr/mask           (text, position): embeddings of tokens, if requested
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
from typing import Annotated, Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import ArrayLike
from pydantic import Field

from posegen.dataset.documents import Document, Origin
from posegen.dataset.files import exists
from posegen.dataset.header import encode_array_metadata, encode_group_metadata, load_header
from posegen.dataset.layout import ArrayField, Header, Positive, shard_path
from posegen.dataset.object_reader import cache_of
from posegen.dataset.overlays import (
    OverlayReceipt,
    folder_name,
    load_overlay_header,
    overlay_folder,
    overlay_hint,
    read_overlay_receipt,
    read_part,
    read_part_table,
)
from posegen.dataset.read_cache import ReadCache
from posegen.dataset.shard_codec import decode_shard, reader_of
from posegen.dataset.storage.address import AnyPath, storage_of, to_path
from posegen.dataset.tables import column_numbers
from posegen.foundations.arrays import Array, grouped
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.hashing import byte_hash
from posegen.foundations.wording import did_you_mean, shown

FOLDER = "embeddings"
HEADER_FILE = "embeddings.json"
VECTOR, TOKEN, MASK = "vector", "token", "mask"
TEXTS_SCHEMA = pa.schema([("row", pa.int64()), ("text", pa.string())])
ROWS_SCHEMA = pa.schema([("sample", pa.int64()), ("variant", pa.string()), ("caption", pa.int32()), ("row", pa.int64())])
"""`caption` is the index of the caption in its sequence, `row` the number of its text."""

POSITIONS_PER_CHUNK = 16
VECTORS = "vectors.zarr"
_CACHE_BYTES = 256 << 20


@dataclass(frozen=True)
class EmbeddingHeader(Document):
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
        Length of a vector; maximum number of tokens of a text with embeddings of tokens, 0 without.
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
    def fields(self) -> tuple[ArrayField, ...]:
        """The arrays."""
        size = self.dimension
        vector = ArrayField(VECTOR, ("dimension",), (size,), (size,), self.dtype, math.nan, {"length": 1})
        if not self.positions:
            return (vector,)
        dims, step = ("position", "dimension"), POSITIONS_PER_CHUNK
        token = ArrayField(TOKEN, dims, (self.positions, size), (step, size), self.dtype, math.nan, {})
        mask = ArrayField(MASK, dims[:1], (self.positions,), (step,), "uint8", 0, {"meaning": "1: there is a token"})
        return vector, token, mask

    def source_of(self, digest: str) -> str:
        """Return the `source` of a receipt of vectors: the encoder, the storage, and the hash of the texts."""
        return f"{self.fingerprint} {self.dtype} {self.shard}/{self.chunk} {self.positions} {digest}"

    def __post_init__(self) -> None:
        """Raise ValueError if sizes are not multiples of each other."""
        if self.shard % self.chunk or self.positions % POSITIONS_PER_CHUNK:
            raise ValueError(f"the shard must be a multiple of the chunk, and the positions of {POSITIONS_PER_CHUNK}")


class Texts(Sequence[str]):
    """Distinct texts by row, read shard by shard on access."""

    def __init__(self, folder: AnyPath, receipts: Sequence[OverlayReceipt], size: int, cache: ReadCache | None) -> None:
        self._count = sum(receipt.count for receipt in receipts)
        self._size = size
        self._read = lru_cache(1)(lambda shard: read_texts(folder, receipts[shard], cache))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        rows = range(len(self))[index]
        if isinstance(rows, range):
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
        self, folder: AnyPath, header: EmbeddingHeader, receipts: Mapping[str, Sequence[OverlayReceipt]], dataset: Header
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

    def tokens(self, rows: ArrayLike) -> tuple[Array, Array]:
        """Read the embeddings of the tokens of some texts.

        Returns
        -------
        token : float32 [n, position, dimension]
            NaN where a text has no token.
        mask : bool [n, position]

        Raises
        ------
        UsageError
            If there are none.
        """
        if not self.header.positions:
            msg = f"{self.folder}: has no embeddings of tokens. Run `posegen embed` with --tokens and another --name"
            raise UsageError(msg)
        indices = np.asarray(rows, np.int64).ravel()
        fields = {field.name: field for field in self.header.fields}
        token = np.empty((len(indices), self.header.positions, self.dimension), np.float32)
        mask = np.empty(token.shape[:2], bool)
        for number, row in enumerate(indices.tolist()):
            shard, position = divmod(row, self.header.shard)
            for name, values in ((TOKEN, token), (MASK, mask)):
                receipt = self._vectors[shard]
                (values[number],) = read_array(self.folder, self.header, receipt, fields[name], position, self._cache)
        return token, mask

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
        sample, caption, row = (column_numbers(table.column(name)) for name in ("sample", "caption", "row"))
        variant = column_numbers(pc.index_in(table.column("variant"), pa.array(variants)))
        grid = np.full((samples, len(variants), self.captions), -1, np.int64)
        grid[sample - shard * self._dataset.shard, variant, caption] = row
        return grid

    def _table(self, shard: int) -> pa.Table:
        receipt = self._rows[shard]
        return read_part_table(self.folder, receipt, rows_part(shard), receipt.numbers["rows"], ROWS_SCHEMA, self._cache)

    def _read_shard(self, shard: int) -> Array:
        field = self.header.fields[0]
        return read_array(self.folder, self.header, self._vectors[shard], field, cache=self._cache).astype(
            np.float32, copy=False
        )


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
    hint = overlay_hint(folder)
    try:
        rows = list(storage_of(folder).map(partial(read_overlay_receipt, folder, "rows"), range(dataset.shards())))
        distinct = max((receipt.numbers["distinct"] for receipt in rows), default=0)
        shards = range(-(-distinct // header.shard))
        texts, vectors = (
            list(storage_of(folder).map(partial(read_overlay_receipt, folder, kind), shards)) for kind in ("texts", "vectors")
        )
    except FileNotFoundError as error:
        name = str(error.filename).removeprefix(f"{folder}/")
        msg = f"{folder}: is incomplete: {name} is missing. {hint}"
        raise PosegenError(msg) from error
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
    return [folder for folder in folders if exists(folder / HEADER_FILE)]


def count_embedded(folder: AnyPath) -> tuple[int, int]:
    """Return the number of shards of texts that are embedded, and of all that are numbered, by the names of receipts."""
    embedded, numbered = (
        sum(name.endswith(".json") and name[0] != "." for name in storage_of(folder / "receipts" / kind).list_names())
        for kind in ("vectors", "texts")
    )
    return embedded, numbered


def _select_encoder(path: AnyPath, encoder: str | None) -> str:
    known = [folder.name for folder in encoder_folders(path)]
    name = known[0] if encoder is None and len(known) == 1 else encoder and folder_name(encoder)
    if name in known:
        return name
    if not known:
        fault = f"no embeddings. Run: posegen embed {path}"
    elif encoder is None:
        fault = f"embeddings by several encoders; name one of: {', '.join(known)}"
    else:
        fault = f"no embeddings by {shown(encoder)}{did_you_mean(encoder, known)}"
    raise UsageError(f"{path}: has {fault}")


def read_array(
    folder: AnyPath,
    header: EmbeddingHeader,
    receipt: OverlayReceipt,
    field: ArrayField,
    position: int | None = None,
    cache: ReadCache | None = None,
) -> Array:
    """Read an array of a shard of texts, or of one text of it, as :func:`posegen.dataset.overlays.read_part` reads a file.

    Raises
    ------
    PosegenError
        If the file is missing or damaged; names it and the hint.
    """
    name = shard_path(field, receipt.shard, VECTORS)
    data = read_part(folder, receipt, name, cache)
    rows = np.arange(receipt.count) if position is None else np.array([position])
    try:
        return decode_shard(field, reader_of(data), len(data), header.shard, header.chunk, rows)
    except (ValueError, IndexError) as error:
        raise Origin(str(folder / name), overlay_hint(folder)).error(f"cannot be decoded ({error})") from error


def read_texts(folder: AnyPath, receipt: OverlayReceipt, cache: ReadCache | None = None) -> list[str]:
    """Read the texts of a shard of texts; raises as :func:`read_array` does."""
    table = read_part_table(folder, receipt, texts_part(receipt.shard), receipt.count, TEXTS_SCHEMA, cache)
    return list(table.column("text").to_pylist())


def encoder_folder(dataset: AnyPath, encoder: str) -> AnyPath:
    """Return the folder of an encoder's embeddings; PosegenError if a link is in its path."""
    return overlay_folder(dataset, FOLDER, encoder, "receipts", "texts", "rows", VECTORS, "pairs", "search")


def load_embedding_header(folder: AnyPath) -> EmbeddingHeader | None:
    """Read the header of an encoder's embeddings; None if there is none, PosegenError if it is damaged."""
    file = folder / HEADER_FILE
    hint = f"Delete {file} and run the same `posegen embed` command again: undamaged files are kept"
    return load_overlay_header(EmbeddingHeader, file, hint)


def embedding_metadata(header: EmbeddingHeader, texts: int) -> dict[str, bytes]:
    """Return the Zarr metadata: the content of each file by its path inside the encoder's folder."""
    attributes = {"encoder": header.encoder, "identity": header.identity, "told": header.details}
    files = {f"{VECTORS}/zarr.json": encode_group_metadata(attributes)}
    for field in header.fields:
        name = f"{VECTORS}/{field.name}/zarr.json"
        files[name] = encode_array_metadata(field, "text", texts, header.shard, header.chunk)
    return files


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
