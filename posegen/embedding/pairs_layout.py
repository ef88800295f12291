"""How the pair table lies beside the vectors that it was made of.

::

    DATASET/embeddings/ENCODER/
      pairs/pairs.json            of which vectors and labels, with what caps
      pairs/part-00000.parquet    the pairs of a shard of texts: row, other, similarity, kind, reason
      receipts/pairs/00000.json   that they are complete; written last
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import ConfigDict

from posegen.dataset.documents import MAX_BYTES, STRICT, Count, Origin, plain_data, read_sealed, seal
from posegen.dataset.files import read_file
from posegen.errors import PosegenError

__all__ = ["DUPLICATE", "HEADER_FILE", "NEGATIVE", "PAIRS", "SCHEMA", "PairsHeader", "load_pairs_header", "pairs_part"]

PAIRS = "pairs"
HEADER_FILE = "pairs/pairs.json"
FORMAT_VERSION = 1
DUPLICATE, NEGATIVE = "duplicate", "negative"
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("other", pa.int64()),
        ("similarity", pa.float32()),
        ("kind", pa.string()),
        ("reason", pa.string()),
    ]
)
"""`reason` says by what a negative is false, such as ``action`` or ``side``; it is empty for near-duplicates."""


@dataclass(frozen=True)
class PairsHeader:
    """What `pairs.json` says.

    Attributes
    ----------
    format_version : int
    source : str
        Hash of the vectors, the rows of captions and the labels that the pairs were made of, and of all that follows.
    samples : int
        Samples from the first whose texts have pairs.
    texts : int
        Their texts.
    shard : int
        Texts in a shard.
    neighbours, duplicates, negatives : int
        Neighbours that were looked at for a text, and how many pairs of each kind it has at most.
    similarity : float
        That near-duplicates have at least.
    index : str
        How neighbours were found: ``exact``, or through ``lists``.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    format_version: Count
    source: str
    samples: Count
    texts: Count
    shard: Count
    neighbours: Count
    duplicates: Count
    negatives: Count
    similarity: float
    index: str

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return -(-self.texts // self.shard)

    def to_bytes(self) -> bytes:
        """Write it as a sealed document."""
        return seal(plain_data(self), indent=2)


def pairs_part(shard: int) -> str:
    """Path of the pairs of a shard of texts, inside the encoder's folder."""
    return f"{PAIRS}/part-{shard:05}.parquet"


def load_pairs_header(folder: Path, cure: str) -> PairsHeader | None:
    """Read the header of a pair table; None where there is none.

    Parameters
    ----------
    folder : Path
        Of the encoder.
    cure : str
        What to do if it is damaged.

    Raises
    ------
    PosegenError
        If it is damaged, or lies behind a link.
    """
    try:
        if not stat.S_ISDIR(os.lstat(folder / PAIRS).st_mode):
            msg = f"{folder / PAIRS}: is a link or no folder. A dataset's folders are its own: take it away"
            raise PosegenError(msg)
        data = read_file(folder / HEADER_FILE, MAX_BYTES)
    except FileNotFoundError:
        return None
    source = Origin(str(folder / HEADER_FILE), cure)
    header = read_sealed(PairsHeader, data, source)
    if header.format_version > FORMAT_VERSION:
        raise Origin(source.file, "Use a newer posegen.").error("has pairs of a newer format")
    if header.shard < 1:
        raise source.error("has shards of no texts")
    return header
