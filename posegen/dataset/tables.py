"""The table of the sequences of a shard, read and checked."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from posegen.dataset.guard import Guard
from posegen.dataset.layout import rows_path
from posegen.dataset.parts import read_part, rows_fault
from posegen.dataset.rows import caption_texts

__all__ = ["CAPTION_TEXTS", "UNDECODABLE", "read_captions", "read_table"]

CAPTION_TEXTS = "captions.list.element.text"
"""The texts of captions, as Parquet names them."""

UNDECODABLE = (
    *(ValueError, TypeError, RuntimeError, IndexError, KeyError, OverflowError),
    *(pa.ArrowException, OSError),
)
"""What zarr, its codecs and Arrow raise over bytes that are not what they wrote."""


def read_table(guard: Guard, shard: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Read the table of the sequences of a shard.

    Parameters
    ----------
    guard : Guard
        Checks what is read.
    shard : int
    columns : sequence of str, optional
        Columns, or parts of them as Parquet names them; all unless given.

    Raises
    ------
    PosegenError
        If it is missing or damaged; names the shard and the cure.
    """
    name, header = rows_path(shard), guard.header
    first, count, variants = shard * header.shard, guard.counts[shard], len(header.variants)
    try:
        table = read_part(guard.read(name), count * variants, columns)
    except UNDECODABLE as error:
        raise guard.damaged(name, f"cannot be decoded ({error})") from error
    fault = rows_fault(table, header, first, count)
    if fault:
        raise guard.damaged(name, fault)
    return table.slice(0, header.count(shard) * variants)


def read_captions(guard: Guard, shard: int) -> pa.Table:
    """Read ``sample``, ``variant`` and the texts of the ``captions`` of the sequences of a shard.

    Raises
    ------
    PosegenError
        If they are missing or damaged; names the shard and the cure.
    """
    table = read_table(guard, shard, ["sample", "variant", CAPTION_TEXTS])
    return table.set_column(table.column_names.index("captions"), "captions", caption_texts(table.column("captions")))
