"""Whether a dataset can be made in a folder: what lies there must be nobody else's."""

from __future__ import annotations

from pathlib import Path

from posegen.dataset.complete import receipt_fault, shards_with_receipts
from posegen.dataset.documents import MOST_BYTES, Source
from posegen.dataset.files import is_temporary, read_file
from posegen.dataset.layout import COPY_FILE, MOTION, RECEIPTS, REPAIR_FILE, SEQUENCES, Header, receipt_path
from posegen.dataset.lock import LOCK_FILE
from posegen.dataset.receipts import Receipt
from posegen.errors import PosegenError, UsageError

__all__ = ["check_vacant"]


def check_vacant(path: Path, header: Header) -> None:
    """Refuse a folder that holds anything but what a run left that died while making this very dataset.

    Parameters
    ----------
    path : Path
    header : Header
        Of the dataset that is to be made there.

    Raises
    ------
    UsageError
        If it does, or is a file; names what is there.
    """
    if not path.is_dir():
        msg = f"{path}: is a file. Choose another place for the dataset"
        raise UsageError(msg)
    known = {MOTION, SEQUENCES, RECEIPTS, COPY_FILE, REPAIR_FILE, LOCK_FILE}
    strange = [entry.name for entry in path.iterdir() if entry.name not in known and not is_temporary(entry)]
    fields = {field.name for field in header.fields}
    if (path / MOTION).is_dir():
        strange += [f"{MOTION}/{x.name}" for x in (path / MOTION).iterdir() if x.is_dir() and x.name not in fields]
    if not strange:
        strange = [receipt_path(shard) for shard in shards_with_receipts(path) if _is_foreign(path, header, shard)]
    if strange:
        msg = f"{path}: holds something else already: {', '.join(sorted(strange)[:3])}. Choose an empty or a new folder"
        raise UsageError(msg)


def _is_foreign(path: Path, header: Header, shard: int) -> bool:
    """Tell whether a receipt is that of another dataset; a damaged one is nobody's."""
    source = Source(receipt_path(shard), "")
    try:
        receipt = Receipt.from_bytes(read_file(path / receipt_path(shard), MOST_BYTES), source)
    except (FileNotFoundError, PosegenError):
        return False
    return receipt_fault(receipt, header, shard) is not None
