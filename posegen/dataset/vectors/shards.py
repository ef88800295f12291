"""The files of a shard of embeddings, read, compared with their receipt, and decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from posegen.dataset.array_fields import ArrayField
from posegen.dataset.documents import Source
from posegen.dataset.parts import read_part
from posegen.dataset.tables import UNDECODABLE
from posegen.dataset.vectors.layout import TEXTS_SCHEMA, VectorHeader, object_path, texts_part
from posegen.dataset.vectors.objects import decode_object
from posegen.dataset.vectors.receipts import OverlayReceipt, cure, read_checked

__all__ = ["read_columns", "read_object", "read_texts"]

Array = NDArray[Any]


def read_object(
    folder: Path, header: VectorHeader, receipt: OverlayReceipt, field: ArrayField, position: int | None = None
) -> Array:
    """Read an array of a shard of texts, or of one text of it, comparing the file with its receipt.

    Raises
    ------
    PosegenError
        If it is missing or damaged; names it, and the cure.
    """
    name = object_path(field, receipt.shard)
    data = read_checked(folder, name, receipt.files)
    first, stop = (0, receipt.count) if position is None else (position, position + 1)
    try:
        return decode_object(header, field, data, first, stop)
    except (ValueError, IndexError) as error:
        raise Source(str(folder / name), cure(folder)).error(f"cannot be decoded ({error})") from error


def read_texts(folder: Path, receipt: OverlayReceipt) -> list[str]:
    """Read the texts of a shard of texts; raises as :func:`read_object` does."""
    name = texts_part(receipt.shard)
    data = read_checked(folder, name, receipt.files)
    table = read_columns(folder, name, data, receipt.count, TEXTS_SCHEMA)
    return list(table.column("text").to_pylist())


def read_columns(folder: Path, name: str, data: bytes, rows: int, schema: pa.Schema) -> pa.Table:
    """Make a table of a part's bytes; PosegenError if it has other rows or columns than it should."""
    source = Source(str(folder / name), cure(folder))
    try:
        table = read_part(data, rows)
    except UNDECODABLE as error:
        raise source.error(f"cannot be decoded ({error})") from error
    if table.schema.names != schema.names:
        raise source.error("has other columns than it should")
    return table.cast(schema)
