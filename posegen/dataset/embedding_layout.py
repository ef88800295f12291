"""The format of the embeddings of a dataset's captions on disk: a folder per encoder, its header and its receipts.

::

    DATASET/embeddings/ENCODER/
      embeddings.json             identity of the dataset, encoder, sizes
      vectors.zarr/vector         (text, dimension): the embedding of each distinct text; one file per shard of texts
      vectors.zarr/token          (text, position, dimension) and
      vectors.zarr/mask           (text, position): embeddings of tokens, if requested
      texts/part-00000.parquet    texts of a shard: row, text
      rows/part-00000.parquet     for a shard of the dataset: sample, variant, caption, row
      receipts/KIND/00000.json    receipts, each written last; see :class:`OverlayReceipt`

Texts are numbered in the order in which they first occur, so that a dataset that is extended only adds rows. Not responsible
for reading embeddings; see :mod:`posegen.dataset.embeddings`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
import xxhash
from pydantic import ConfigDict, Field

from posegen.dataset.documents import (
    MAX_BYTES,
    STRICT,
    Count,
    Origin,
    check_version,
    parse,
    read_sealed,
    unseal,
)
from posegen.dataset.files import check_real_folders, read_file
from posegen.dataset.layout import ArrayField, Positive
from posegen.dataset.receipts import StoredFile
from posegen.dataset.zarr_metadata import encode_array_metadata, encode_group_metadata
from posegen.errors import PosegenError
from posegen.hashing import byte_hash

FOLDER = "embeddings"
HEADER_FILE = "embeddings.json"
FORMAT_VERSION = 1
VECTOR, TOKEN, MASK = "vector", "token", "mask"
TEXTS_SCHEMA = pa.schema([("row", pa.int64()), ("text", pa.string())])
ROWS_SCHEMA = pa.schema([("sample", pa.int64()), ("variant", pa.string()), ("caption", pa.int32()), ("row", pa.int64())])
"""`caption` is the index of the caption in its sequence, `row` the number of its text."""

POSITIONS_PER_CHUNK = 16
_ZARR = "vectors.zarr"
_MAX_HEADER_BYTES = 1 << 20
_MAX_NAME_LENGTH = 100


@dataclass(frozen=True)
class EmbeddingHeader:
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

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

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

    @classmethod
    def from_bytes(cls, data: bytes, origin: Origin) -> EmbeddingHeader:
        """Read `embeddings.json`; PosegenError if it is damaged, out of bounds, or has a later format version."""
        document = unseal(data, origin)
        check_version(document, FORMAT_VERSION, "folder of embeddings", origin)
        header = parse(cls, document, origin)
        if header.shard % header.chunk or header.positions % POSITIONS_PER_CHUNK:
            msg = f"the shard must be a multiple of the chunk, and the positions of {POSITIONS_PER_CHUNK}"
            raise origin.error(msg)
        return header


KINDS = {
    "rows": ("rows", "captions", "distinct"),
    "texts": (),
    "vectors": ("embedded", "known"),
    "pairs": ("duplicates", "negatives"),
    "search": ("phrases", "places", "actions"),
    "paraphrases": ("captions", "kept"),
}
"""The kinds of receipts, and the numbers that each has at least."""


@dataclass(frozen=True)
class OverlayReceipt:
    """Marks a part of the embeddings complete, or of what is computed from them.

    - ``rows``, per shard of the dataset: each of its captions has the number of its text. `source` is the hash of the shard's
    table;
      `numbers` are its ``rows``, the maximum number of ``captions`` of a sequence, and the ``distinct`` texts up to its end.
    - ``texts``, per shard of texts: its texts are stored. `source` is their hash.
    - ``vectors``, per shard of texts: its embeddings are stored. `source` is :meth:`EmbeddingHeader.source_of`; `numbers` are
    the
      texts that were ``embedded``, and those whose embeddings were ``known``.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    shard, count : int
        Number of the shard, and of samples or texts in it.
    source : str
        What it was computed from.
    numbers : dict of str to int
    files : dict of str to StoredFile
        Its files by their path inside the encoder's folder.
    seconds : float
    made_by_run : str
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    kind: str
    shard: Count
    count: Count
    source: str
    numbers: dict[str, Count]
    files: dict[str, StoredFile]
    seconds: float
    made_by_run: str

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown kind, or if a number of the kind is missing."""
        if not self.numbers.keys() >= {*KINDS.get(self.kind, ("",))}:
            msg = f"a receipt of kind {self.kind!r:.40} cannot have the numbers {sorted(self.numbers)!r:.200}"
            raise ValueError(msg)

    @property
    def name(self) -> str:
        """Path inside the encoder's folder."""
        return overlay_receipt_path(self.kind, self.shard)


def folder_name(encoder: str) -> str:
    """Return the name of an encoder's folder.

    >>> folder_name("BAAI/bge-large-en-v1.5")
    'BAAI-bge-large-en-v1.5'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", encoder).strip(".-")[:_MAX_NAME_LENGTH] or "encoder"


def encoder_folder(dataset: Path, encoder: str) -> Path:
    """Return the folder of an encoder's embeddings; PosegenError if a link is in its path."""
    return check_overlay(dataset / FOLDER / folder_name(encoder), "receipts", "texts", "rows", _ZARR, "pairs", "search")


def check_overlay(path: Path, *inside: str) -> Path:
    """Return a folder that is stored beside a dataset; PosegenError if it, its parent or a folder inside it is a link."""
    check_real_folders(path.parent, path, *(path / name for name in inside))
    return path


def encoders_at(dataset: Path) -> list[str]:
    """List the folders of encoders with embeddings of a dataset."""
    return sorted(file.parent.name for file in (dataset / FOLDER).glob(f"*/{HEADER_FILE}"))


def load_embedding_header(folder: Path) -> EmbeddingHeader | None:
    """Read the header of an encoder's embeddings; None if there is none, PosegenError if it is damaged."""
    try:
        data = read_file(folder / HEADER_FILE, _MAX_HEADER_BYTES)
    except FileNotFoundError:
        return None
    hint = f"Delete {folder / HEADER_FILE} and run the same `posegen embed` command again: undamaged files are kept"
    return EmbeddingHeader.from_bytes(data, Origin(str(folder / HEADER_FILE), hint))


def embedding_metadata(header: EmbeddingHeader, texts: int) -> dict[str, bytes]:
    """Return the Zarr metadata: the content of each file by its path inside the encoder's folder."""
    attributes = {"encoder": header.encoder, "identity": header.identity, "told": header.details}
    files = {f"{_ZARR}/zarr.json": encode_group_metadata(attributes)}
    for field in header.fields:
        name = f"{_ZARR}/{field.name}/zarr.json"
        files[name] = encode_array_metadata(field, "text", texts, header.shard, header.chunk)
    return files


def object_path(field: ArrayField, shard: int) -> str:
    """Return the path of the file of an array in a shard of texts, inside the encoder's folder."""
    return f"{_ZARR}/{field.name}/" + ".".join(["c", str(shard), *("0" * len(field.dims))])


def texts_part(shard: int) -> str:
    """Return the path of the texts of a shard of texts."""
    return f"texts/part-{shard:05}.parquet"


def rows_part(shard: int) -> str:
    """Return the path of the rows of a shard of the dataset."""
    return f"rows/part-{shard:05}.parquet"


def overlay_receipt_path(kind: str, shard: int) -> str:
    """Return the path of a receipt inside the encoder's folder."""
    return f"receipts/{kind}/{shard:05}.json"


def hash_texts(texts: Sequence[str]) -> str:
    """Hash texts and their order.

    >>> hash_texts(["ab", "c"]) == hash_texts(["a", "bc"])
    False
    """
    return byte_hash(xxhash.xxh3_128_digest(text.encode()) for text in texts)


def read_overlay_receipt(folder: Path, kind: str, shard: int) -> OverlayReceipt:
    """Read a receipt.

    Raises
    ------
    FileNotFoundError
        If there is none.
    PosegenError
        If it is damaged or belongs to something else.
    """
    path = folder / overlay_receipt_path(kind, shard)
    origin = Origin(str(path), embed_hint(folder))
    receipt = read_sealed(OverlayReceipt, read_file(path, MAX_BYTES), origin)
    if (receipt.kind, receipt.shard) != (kind, shard):
        raise origin.error("belongs to another shard")
    return receipt


def read_checked(folder: Path, name: str, files: Mapping[str, StoredFile]) -> bytes:
    """Read a file and compare it with its receipt.

    Parameters
    ----------
    folder : Path
        The encoder's folder.
    name : str
        Path inside it.
    files : mapping of str to StoredFile
        Files of the receipt.

    Raises
    ------
    PosegenError
        If it is missing or damaged; names it and the hint.
    """
    origin = Origin(str(folder / name), embed_hint(folder))
    if name not in files:
        raise origin.error("is not in its receipt")
    try:
        data = read_file(folder / name, files[name].bytes)
    except FileNotFoundError as error:
        raise origin.error("is missing") from error
    except PosegenError as error:
        raise origin.error("is damaged: it cannot be read, or is larger than in its receipt") from error
    if StoredFile(len(data), byte_hash([data])) != files[name]:
        raise origin.error("is damaged: checksum mismatch")
    return data


def embed_hint(folder: Path) -> str:
    """Return the hint for damaged or missing embeddings."""
    return f"Run the same `posegen embed {folder.parent.parent}` command again: it makes only what is damaged or missing"
