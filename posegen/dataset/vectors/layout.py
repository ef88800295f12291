"""How embeddings lie beside a dataset: a folder for each encoder.

::

    DATASET/embeddings/ENCODER/
      embeddings.json             of which dataset, by which encoder, how large
      vectors.zarr/vector         (text, dimension): the vector of each distinct text; one object for a shard of texts
      vectors.zarr/token          (text, position, dimension) and
      vectors.zarr/mask           (text, position), where they were asked for
      texts/part-00000.parquet    the texts of a shard: row, text
      rows/part-00000.parquet     for a shard of the dataset: sample, variant, caption, row
      receipts/texts/00000.json   that a shard of texts has its vectors; written last
      receipts/rows/00000.json    that each caption of a shard of the dataset has its row

Texts are numbered in the order in which they first appear, so a dataset that grows only adds rows.
"""

from __future__ import annotations

import math
import os
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from posegen.dataset.array_fields import ArrayField
from posegen.dataset.documents import Source, check_keys, mapping, seal, unseal, whole, words
from posegen.dataset.files import read_file
from posegen.errors import PosegenError

__all__ = [
    "FOLDER",
    "HEADER_FILE",
    "MASK",
    "POSITIONS_TOGETHER",
    "ROWS_SCHEMA",
    "TEXTS_SCHEMA",
    "TOKEN",
    "VECTOR",
    "VectorHeader",
    "encoder_folder",
    "encoders_at",
    "folder_name",
    "load_vector_header",
    "object_path",
    "rows_part",
    "texts_part",
]

FOLDER = "embeddings"
HEADER_FILE = "embeddings.json"
FORMAT_VERSION = 1
ZARR = "vectors.zarr"
VECTOR, TOKEN, MASK = "vector", "token", "mask"
TEXTS_SCHEMA = pa.schema([("row", pa.int64()), ("text", pa.string())])
ROWS_SCHEMA = pa.schema([("sample", pa.int64()), ("variant", pa.string()), ("caption", pa.int32()), ("row", pa.int64())])
"""`caption` is the number of the caption in its sequence, `row` that of its text."""

POSITIONS_TOGETHER = 16
_MOST_BYTES = 1 << 20
_LONGEST_NAME = 100
_DTYPES = ("float32", "float16")


@dataclass(frozen=True)
class VectorHeader:
    """What `embeddings.json` says.

    Attributes
    ----------
    format_version : int
    identity : str
        Of the dataset.
    encoder, fingerprint : str
        Name of the encoder, and a hash of everything in it that decides vectors.
    told : dict
        What else there is to know of the encoder, for the reader.
    dimension, positions : int
        Length of a vector; most tokens of a text whose vectors are kept, 0 where none are.
    dtype : str
    shard, chunk : int
        Texts in a shard and in a chunk, which divides it.
    budget : int
        Tokens in a batch, with padding: it decides which texts are embedded together.
    begun : str
        When, in UTC.
    """

    format_version: int
    identity: str
    encoder: str
    fingerprint: str
    told: dict[str, Any]
    dimension: int
    positions: int
    dtype: str
    shard: int
    chunk: int
    budget: int
    begun: str

    @property
    def fields(self) -> tuple[ArrayField, ...]:
        """The arrays."""
        size = self.dimension
        vector = ArrayField(VECTOR, ("dimension",), (size,), (size,), self.dtype, math.nan, {"length": 1})
        if not self.positions:
            return (vector,)
        dims, together = ("position", "dimension"), POSITIONS_TOGETHER
        token = ArrayField(TOKEN, dims, (self.positions, size), (together, size), self.dtype, math.nan, {})
        mask = ArrayField(MASK, dims[:1], (self.positions,), (together,), "uint8", 0, {"meaning": "1: there is a token"})
        return vector, token, mask

    def source_of(self, digest: str) -> str:
        """Say what vectors are of: the encoder, how they are stored, and the texts of that digest."""
        return f"{self.fingerprint} {self.dtype} {self.shard}/{self.chunk} {self.positions} {digest}"

    def to_bytes(self) -> bytes:
        """Write it as a sealed document."""
        return seal(asdict(self), indent=2)

    @classmethod
    def from_bytes(cls, data: bytes, source: Source) -> VectorHeader:
        """Read what :meth:`to_bytes` wrote, checking it."""
        document = unseal(data, source)
        version = document.get("format_version")
        if type(version) is int and version > FORMAT_VERSION:
            reason = f"the embeddings have format {version}, this posegen reads up to {FORMAT_VERSION}"
            raise Source(source.file, "Use a newer posegen.").error(reason)
        check_keys(document, frozenset(cls.__dataclass_fields__), source)
        texts: dict[str, Any] = {
            name: words(document, name, source) for name in ("identity", "encoder", "fingerprint", "dtype", "begun")
        }
        least = {"format_version": 1, "dimension": 1, "positions": 0, "shard": 1, "chunk": 1, "budget": 1}
        numbers: dict[str, Any] = {name: whole(document, name, source, least=value) for name, value in least.items()}
        header = cls(**texts, **numbers, told=mapping(document, "told", source))
        fault = _fault(header)
        if fault:
            raise source.error(fault)
        return header


def _fault(header: VectorHeader) -> str | None:
    """Say what cannot be stored, or would take memory that no encoder needs."""
    if header.dtype not in _DTYPES:
        return f"cannot store {header.dtype!r:.40}"
    if header.shard % header.chunk or header.positions % POSITIONS_TOGETHER:
        return "the shard must be a multiple of the chunk, and the positions of 16"
    if header.dimension > 2**16 or header.shard > 2**20 or header.positions > 2**16:
        return "is larger than any encoder's"
    return None


def folder_name(encoder: str) -> str:
    """Give the name of an encoder's folder.

    >>> folder_name("BAAI/bge-large-en-v1.5")
    'BAAI-bge-large-en-v1.5'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", encoder).strip(".-")[:_LONGEST_NAME] or "encoder"


def encoder_folder(dataset: Path, encoder: str) -> Path:
    """Give the place of an encoder's vectors, refusing links on the way there."""
    place = dataset / FOLDER / folder_name(encoder)
    for folder in (place.parent, place, place / "receipts", place / "texts", place / "rows", place / ZARR):
        try:
            mode = os.lstat(folder).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(mode):
            msg = f"{folder}: is a link or no folder. A dataset's folders are its own: take it away"
            raise PosegenError(msg)
    return place


def encoders_at(dataset: Path) -> list[str]:
    """List the folders of encoders whose vectors lie beside a dataset."""
    try:
        with os.scandir(dataset / FOLDER) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in names if (dataset / FOLDER / name / HEADER_FILE).is_file())


def load_vector_header(folder: Path) -> VectorHeader | None:
    """Read the header of an encoder's vectors; None where there are none.

    Raises
    ------
    PosegenError
        If it is damaged.
    """
    try:
        data = read_file(folder / HEADER_FILE, _MOST_BYTES)
    except FileNotFoundError:
        return None
    cure = f"Delete {folder / HEADER_FILE} and run `posegen embed` as before: what it still finds sound is kept"
    return VectorHeader.from_bytes(data, Source(str(folder / HEADER_FILE), cure))


def object_path(field: ArrayField, shard: int) -> str:
    """Path of the object of a shard of texts, inside the encoder's folder."""
    return f"{ZARR}/{field.name}/" + ".".join(["c", str(shard), *("0" * len(field.dims))])


def texts_part(shard: int) -> str:
    """Path of the texts of a shard of texts."""
    return f"texts/part-{shard:05}.parquet"


def rows_part(shard: int) -> str:
    """Path of the rows of a shard of the dataset."""
    return f"rows/part-{shard:05}.parquet"
