"""Receipts: the small files that say that a shard is complete. A shard without one counts as not made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from posegen.dataset.documents import Source, check_keys, mapping, number, seal, unseal, whole, words

__all__ = ["DIGITS", "ROWS", "Receipt", "StoredFile"]

DIGITS = 32
"""Hexadecimal digits of a content hash."""

ROWS = "rows"
"""What receipts call the table of sequences beside the array fields."""


@dataclass(frozen=True)
class StoredFile:
    """Size and XXH3-128 hash of a file's bytes."""

    bytes: int
    xxh3: str


@dataclass(frozen=True)
class Receipt:
    """What a complete shard consists of.

    Attributes
    ----------
    shard, first, count : int
        Number of the shard, its first sample and how many samples it holds.
    identity : str
        Identity of the dataset.
    content : dict of str to str
        For each field and for `rows`, the content hashes of the shard's samples one after another, 32 digits each.
    files : dict of str to StoredFile
        The shard's files by their path inside the dataset. A field of which all is absent has no file.
    rows : int
        Rows of the Parquet part.
    seconds : float
        How long making the shard took.
    made_by_run : str
        The run that made it; see :mod:`posegen.dataset.runs`.
    """

    shard: int
    first: int
    count: int
    identity: str
    content: dict[str, str]
    files: dict[str, StoredFile]
    rows: int
    seconds: float
    made_by_run: str

    @property
    def size(self) -> int:
        """Bytes on disk of the shard's files."""
        return sum(file.bytes for file in self.files.values())

    def hash_of(self, field: str, sample: int) -> str:
        """Look up the content hash of a sample (by its number in the dataset) in a field or in `rows`."""
        start = (sample - self.first) * DIGITS
        return self.content[field][start : start + DIGITS]

    def to_json(self) -> dict[str, Any]:
        """Describe the receipt as plain data."""
        return asdict(self)

    def to_bytes(self) -> bytes:
        """Write the receipt as a sealed document."""
        return seal(self.to_json())

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: Source) -> Receipt:
        """Read what :meth:`to_json` wrote, checking types."""
        document = check_keys(data, frozenset(cls.__dataclass_fields__), source)
        content = mapping(document, "content", source)
        files = mapping(document, "files", source)
        return cls(
            shard=whole(document, "shard", source),
            first=whole(document, "first", source),
            count=whole(document, "count", source, least=1),
            identity=words(document, "identity", source),
            content={name: words(content, name, source) for name in content},
            files={path: _stored_file(files[path], source) for path in files},
            rows=whole(document, "rows", source),
            seconds=number(document, "seconds", source),
            made_by_run=words(document, "made_by_run", source),
        )

    @classmethod
    def from_bytes(cls, data: bytes, source: Source) -> Receipt:
        """Read a sealed receipt, checking its hash and its types."""
        return cls.from_json(unseal(data, source), source)


def _stored_file(data: object, source: Source) -> StoredFile:
    document = check_keys(data, frozenset(("bytes", "xxh3")), source, "files.")
    return StoredFile(bytes=whole(document, "bytes", source), xxh3=words(document, "xxh3", source))
