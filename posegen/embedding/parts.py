"""Commit parts of embeddings with a receipt, and check that the files of a part match their receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from posegen.dataset.documents import seal
from posegen.dataset.embedding_layout import OverlayReceipt, read_checked, read_overlay_receipt
from posegen.dataset.files import BackgroundWriter
from posegen.dataset.receipts import StoredFile
from posegen.errors import PosegenError
from posegen.hashing import byte_hash


def commit_part(
    folder: Path,
    kind: str,
    shard: int,
    count: int,
    source: str,
    numbers: Mapping[str, int],
    files: Mapping[str, Sequence[bytes]],
    run: str,
    *,
    seconds: float = 0.0,
) -> OverlayReceipt:
    """Write the files of a part, and then its receipt.

    Parameters
    ----------
    folder : Path
        Folder of the encoder.
    kind, shard, count, source, numbers, run, seconds
        Attributes of the :class:`posegen.dataset.embedding_layout.OverlayReceipt`.
    files : mapping of str to sequence of bytes
        Content of each file in pieces, by its path inside `folder`.
    """
    stored = {name: StoredFile(sum(map(len, pieces)), byte_hash(pieces)) for name, pieces in files.items()}
    receipt = OverlayReceipt(kind, shard, count, source, dict(numbers), stored, round(seconds, 3), run)
    with BackgroundWriter(run) as writer:
        for name, pieces in files.items():
            writer.write(folder / name, pieces)
        writer.commit(folder / receipt.name, seal(receipt))
    return receipt


def intact_receipt(folder: Path, kind: str, shard: int) -> OverlayReceipt | None:
    """Return a receipt whose files are intact; None if the receipt or one of its files is missing or damaged."""
    try:
        receipt = read_overlay_receipt(folder, kind, shard)
        for name in receipt.files:
            read_checked(folder, name, receipt.files)
    except (FileNotFoundError, PosegenError):
        return None
    return receipt
