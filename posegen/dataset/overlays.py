"""Overlays: data of a later stage that is stored beside a dataset, in parts; a part is complete when it has a receipt.

Embeddings, the index of search and paraphrases are overlays. Each has a folder ``DATASET/KIND/NAME`` with a
header, its parts, and ``receipts/KIND/00000.json``, written last. Not responsible for the content of parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from posegen.dataset import documents, layout, receipts, runs, tables
from posegen.dataset.files import check_real_folders, explain_unreadable, read_file
from posegen.dataset.object_reader import ReadCache, read_object
from posegen.dataset.storage.address import AnyPath, storage_of
from posegen.dataset.storage.bucket import ATTEMPTS_TO_COMMIT
from posegen.dataset.storage.storage import ConflictError
from posegen.foundations.errors import PosegenError
from posegen.foundations.wording import shown

KINDS = {
    "rows": ("rows", "captions", "distinct"),
    "texts": (),
    "vectors": ("embedded", "known"),
    "pairs": ("duplicates", "negatives"),  # of texts, which earlier versions mined
    "search": ("phrases", "places", "actions"),
    "paraphrases": ("captions", "kept"),
}
"""The kinds of receipts, and the numbers that each has at least."""

_MAX_NAME_LENGTH = 100


@dataclass(frozen=True)
class OverlayReceipt(documents.Document):
    """Marks a part of an overlay complete.

    - ``rows``, per shard of the dataset: each of its captions has the number of its text. `source` is the hash of the shard's
      table; `numbers` are its ``rows``, the maximum number of ``captions`` of a sequence, and the ``distinct`` texts up to its
      end.
    - ``texts``, per shard of texts: its texts are stored. `source` is their hash.
    - ``vectors``, per shard of texts: its embeddings are stored. `source` is
      :meth:`posegen.dataset.embeddings.EmbeddingHeader.source_of`; `numbers` are the texts that were ``embedded``, and those
      whose embeddings were ``known``.

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
        Its files by their path inside the folder of the overlay.
    seconds : float
    made_by_run : str
    """

    kind: str
    shard: documents.Count
    count: documents.Count
    source: str
    numbers: dict[str, documents.Count]
    files: dict[str, receipts.StoredFile]
    seconds: float
    made_by_run: str

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown kind, or if a number of the kind is missing."""
        if not self.numbers.keys() >= {*KINDS.get(self.kind, ("",))}:
            raise ValueError(f"a receipt of kind {self.kind!r:.40} cannot have the numbers {sorted(self.numbers)!r:.200}")


def overlay_folder(dataset: AnyPath, kind: str, name: str, *inside: str) -> AnyPath:
    """Return the folder of an overlay; PosegenError if it, its parent or one of the folders `inside` is a link."""
    path = dataset / kind / folder_name(name)
    check_real_folders(path.parent, path, *(path / folder for folder in inside))
    return path


def folder_name(name: str) -> str:
    """Return the name of the folder for an encoder or another model.

    >>> folder_name("BAAI/bge-large-en-v1.5")
    'BAAI-bge-large-en-v1.5'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:_MAX_NAME_LENGTH] or "encoder"


def list_differences(stored: Mapping[str, object], requested: Mapping[str, object]) -> list[str]:
    """List the settings in which a stored overlay differs from the requested one."""
    names = [name for name, value in requested.items() if stored[name] != value]
    return [f"{name} {shown(stored[name])} stored, {shown(requested[name])} requested" for name in names]


def commit_part(
    folder: AnyPath,
    kind: str,
    shard: int,
    count: int,
    source: str,
    numbers: Mapping[str, int],
    files: Mapping[str, Sequence[bytes]],
    *,
    seconds: float = 0.0,
) -> OverlayReceipt:
    """Write the files of a part, and then its receipt, unless another run has stored the same part in a bucket meanwhile.

    Parameters
    ----------
    folder : Path
        Folder of the overlay.
    kind, shard, count, source, numbers, seconds
        Attributes of the :class:`OverlayReceipt`.
    files : mapping of str to sequence of bytes
        Content of each file in pieces, by its path inside `folder`.
    """
    stored = {name: receipts.stored_file(pieces) for name, pieces in files.items()}
    receipt = OverlayReceipt(kind, shard, count, source, dict(numbers), stored, round(seconds, 3), runs.current_run())
    for attempt in range(ATTEMPTS_TO_COMMIT):
        try:
            with storage_of(folder).writer(receipt=_receipt_path(folder, kind, shard)) as writer:
                for name, pieces in files.items():
                    writer.write(folder / name, pieces)
                writer.commit(documents.seal(receipt))
            break
        except ConflictError:
            found = intact_receipt(folder, kind, shard)  # None if a third run is about to store the part
            if found and (found.source, found.count, found.files) == (source, count, stored):
                return found
            if found or attempt == ATTEMPTS_TO_COMMIT - 1:
                raise
    return receipt


def read_overlay_receipt(folder: AnyPath, kind: str, shard: int) -> OverlayReceipt:
    """Read a receipt.

    Raises
    ------
    FileNotFoundError
        If there is none.
    PosegenError
        If it is damaged or belongs to something else.
    """
    path = _receipt_path(folder, kind, shard)
    origin = documents.Origin(str(path), overlay_hint(folder))
    receipt = documents.read_sealed(OverlayReceipt, read_file(path, documents.MAX_BYTES), origin)
    if (receipt.kind, receipt.shard) != (kind, shard):
        raise origin.error("belongs to another shard")
    return receipt


def intact_receipt(folder: AnyPath, kind: str, shard: int) -> OverlayReceipt | None:
    """Return a receipt whose files are intact; None if the receipt or one of its files is missing or damaged."""
    try:
        receipt = read_overlay_receipt(folder, kind, shard)
        for name in receipt.files:
            read_part(folder, receipt, name)
    except (FileNotFoundError, PosegenError):
        return None
    return receipt


def read_part(folder: AnyPath, receipt: OverlayReceipt, name: str, cache: ReadCache | None = None) -> bytes:
    """Read a file of a part, given by its path inside `folder`, and compare it with the receipt.

    Of a bucket, it is read from the cache if one is given.

    Raises
    ------
    PosegenError
        If it is missing or damaged; names it and the hint.
    """
    origin = documents.Origin(str(folder / name), overlay_hint(folder))
    if name not in receipt.files:
        raise origin.error("is not in its receipt")
    path, file = folder / name, receipt.files[name]
    try:
        with explain_unreadable(path):
            return read_object(path, file, cache)
    except FileNotFoundError as error:
        raise origin.error("is missing") from error
    except (ValueError, PosegenError) as error:
        raise origin.error(f"is damaged: {error}") from error


def read_part_table(
    folder: AnyPath, receipt: OverlayReceipt, name: str, rows: int, schema: pa.Schema, cache: ReadCache | None = None
) -> pa.Table:
    """Read a Parquet file as :func:`read_part` does; PosegenError also if it has another number of rows or other columns."""
    data = read_part(folder, receipt, name, cache)
    try:
        return tables.decode_table(data, rows).cast(schema)
    except tables.UNDECODABLE as error:
        raise documents.Origin(str(folder / name), overlay_hint(folder)).error(f"cannot be decoded ({error})") from error


def overlay_hint(folder: AnyPath) -> str:
    """Return the hint for a damaged or incomplete overlay."""
    command = f"posegen {layout.OVERLAYS[folder.parent.name]} {folder.parent.parent}"
    return f"Run the same `{command}` command again: it makes only what is damaged or missing"


def _receipt_path(folder: AnyPath, kind: str, shard: int) -> AnyPath:
    return folder / "receipts" / kind / f"{shard:05}.json"
