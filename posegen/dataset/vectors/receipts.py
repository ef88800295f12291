"""Receipts of embeddings, three kinds of them, each written last.

- ``rows``, for each shard of the dataset: that each of its captions has the number of its text. `source` is the hash of the
  dataset's table; `numbers` are its ``rows``, the most ``captions`` of a sequence, and the ``distinct`` texts up to its end.
- ``texts``, for each shard of texts: that its texts are written down. `source` is their digest.
- ``vectors``, for each shard of texts: that it has its vectors. `source` is what the header says of the encoder and of the
  storage, and the texts' digest; `numbers` tell how many texts were ``embedded``, and that the others' vectors were ``known``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import xxhash

from posegen.dataset.documents import MOST_BYTES, Source, check_keys, mapping, number, seal, unseal, whole, words
from posegen.dataset.files import read_file
from posegen.dataset.receipts import StoredFile
from posegen.errors import PosegenError
from posegen.hashing import byte_hash

__all__ = ["KINDS", "OverlayReceipt", "cure", "digest_of_texts", "read_checked", "read_receipt", "receipt_name"]

KINDS = {
    "rows": ("rows", "captions", "distinct"),
    "texts": (),
    "vectors": ("embedded", "known"),
    "pairs": ("duplicates", "negatives"),
    "search": ("phrases", "places", "actions"),
}
"""The kinds of receipts, and the numbers that each has."""


@dataclass(frozen=True)
class OverlayReceipt:
    """That a part of embeddings is complete.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    shard, count : int
        Its number, and how many samples or texts it has.
    source : str
        What it was made of.
    numbers : dict of str to int
    files : dict of str to StoredFile
        Its files by their path inside the encoder's folder.
    seconds : float
    made_by_run : str
    """

    kind: str
    shard: int
    count: int
    source: str
    numbers: dict[str, int]
    files: dict[str, StoredFile]
    seconds: float
    made_by_run: str

    @property
    def name(self) -> str:
        """Path inside the encoder's folder."""
        return receipt_name(self.kind, self.shard)

    def to_bytes(self) -> bytes:
        """Write the receipt as a sealed document."""
        return seal(asdict(self))


def receipt_name(kind: str, shard: int) -> str:
    """Path of a receipt inside the encoder's folder."""
    return f"receipts/{kind}/{shard:05}.json"


def digest_of_texts(texts: Sequence[str]) -> str:
    """Hash texts and their order.

    >>> digest_of_texts(["ab", "c"]) == digest_of_texts(["a", "bc"])
    False
    """
    return byte_hash(xxhash.xxh3_128_digest(text.encode()) for text in texts)


def read_receipt(folder: Path, kind: str, shard: int) -> OverlayReceipt:
    """Read a receipt.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    PosegenError
        If it is damaged, or of something else.
    """
    name = receipt_name(kind, shard)
    source = Source(str(folder / name), cure(folder))
    fields = frozenset(OverlayReceipt.__dataclass_fields__)
    document = check_keys(unseal(read_file(folder / name, MOST_BYTES), source), fields, source)
    told = check_keys(document["numbers"], frozenset(KINDS[kind]), source, "numbers.")
    receipt = OverlayReceipt(
        kind=words(document, "kind", source),
        shard=whole(document, "shard", source),
        count=whole(document, "count", source),
        source=words(document, "source", source),
        numbers={key: whole(told, key, source) for key in told},
        files=_files(mapping(document, "files", source), source),
        seconds=number(document, "seconds", source),
        made_by_run=words(document, "made_by_run", source),
    )
    if (receipt.kind, receipt.shard) != (kind, shard):
        raise source.error("belongs to another shard")
    return receipt


def read_checked(folder: Path, name: str, files: Mapping[str, StoredFile]) -> bytes:
    """Read a file that a receipt tells of.

    Parameters
    ----------
    folder : Path
        Of the encoder.
    name : str
        Path inside it.
    files : mapping of str to StoredFile
        What the receipt says.

    Raises
    ------
    PosegenError
        If it is missing or does not have the bytes that the receipt tells of; names it, and the cure.
    """
    source = Source(str(folder / name), cure(folder))
    if name not in files:
        raise source.error("is not in its receipt")
    try:
        data = read_file(folder / name, files[name].bytes)
    except FileNotFoundError as error:
        raise source.error("is missing") from error
    except PosegenError as error:
        raise source.error("is damaged: it cannot be read, or is larger than its receipt tells") from error
    if StoredFile(len(data), byte_hash([data])) != files[name]:
        raise source.error("is damaged: it does not have the bytes that its receipt tells of")
    return data


def cure(folder: Path) -> str:
    """Say how embeddings are mended."""
    return f"Run `posegen embed {folder.parent.parent}` as before: it makes just what is damaged or missing anew"


def _files(files: Mapping[str, object], source: Source) -> dict[str, StoredFile]:
    told = {name: check_keys(file, frozenset(("bytes", "xxh3")), source, "files.") for name, file in files.items()}
    return {name: StoredFile(whole(file, "bytes", source), words(file, "xxh3", source)) for name, file in told.items()}
