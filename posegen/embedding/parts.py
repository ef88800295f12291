"""Parts of embeddings: committed with a receipt, and believed only as long as their files are what it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from posegen.dataset.embedding_layout import OverlayReceipt, overlay_receipt_path, read_checked, read_overlay_receipt
from posegen.dataset.files import BackgroundWriter, remove_durably, write_durably
from posegen.dataset.receipts import StoredFile
from posegen.errors import PosegenError
from posegen.hashing import byte_hash

__all__ = ["commit", "sound_receipt"]


def commit(
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
    """Put the files of a part in their places, and then its receipt.

    Parameters
    ----------
    folder : Path
        Of the encoder.
    kind, shard, count, source, numbers, run, seconds
        As :class:`posegen.dataset.embedding_layout.OverlayReceipt` has them.
    files : mapping of str to sequence of bytes
        Content of each file in pieces, by its path inside `folder`.
    """
    told = {name: StoredFile(sum(map(len, pieces)), byte_hash(pieces)) for name, pieces in files.items()}
    receipt = OverlayReceipt(kind, shard, count, source, dict(numbers), told, round(seconds, 3), run)
    with BackgroundWriter(run) as delivery:
        for name, pieces in files.items():
            delivery.write(folder / name, pieces)
        delivery.wait()
        if (folder / receipt.name).parent.is_dir():
            remove_durably(folder / overlay_receipt_path(kind, shard))
        delivery.place()
    write_durably(folder / receipt.name, receipt.to_bytes(), run)
    return receipt


def sound_receipt(folder: Path, kind: str, shard: int) -> OverlayReceipt | None:
    """Read a receipt whose files are as they were written; None where it or one of them is not."""
    try:
        receipt = read_overlay_receipt(folder, kind, shard)
        for name in receipt.files:
            read_checked(folder, name, receipt.files)
    except (FileNotFoundError, PosegenError):
        return None
    return receipt
