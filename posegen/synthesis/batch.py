"""What is made of samples: arrays of motion and labels, and a table with a row for each sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from posegen.variants.variant import neutral_parameters

__all__ = ["Batch", "Row", "rows_schema"]

Array = NDArray[Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """Sequences of n samples in all their variants.

    Attributes
    ----------
    samples : int64 [n]
    variants : tuple of str
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres; NaN where absent.
    action : uint16 [n, variants, actors, frames, parts]
        Index into the library's actions for each body part; 65535 where absent.
    contact : uint8 [n, variants, actors, frames, contacts]
        1 while the point touches something; 255 where absent.
    rows : list of dict, n * variants
        Captions, actors and parameters of each sequence; see :func:`rows_schema`. Rows that say the same share it, so
        what is in them is not to be changed.
    """

    samples: Array
    variants: tuple[str, ...]
    joints: Array
    action: Array
    contact: Array
    rows: list[Row]

    @property
    def sequences(self) -> pa.Table:
        """The rows as an Arrow table."""
        return pa.Table.from_pylist(self.rows, schema=rows_schema(self.variants))


def rows_schema(variants: tuple[str, ...] = ()) -> pa.Schema:
    """Columns of the table of sequences: a row for each sample and variant.

    `variants` names those of the dataset; those of other packages add their parameters.
    """
    statement = _statement()
    caption = pa.struct([("text", pa.string()), ("kind", pa.string()), ("statements", pa.list_(statement))])
    parameters = pa.struct(
        [
            (name, pa.bool_() if isinstance(value, bool) else pa.float32())
            for name, value in neutral_parameters(variants).items()
        ]
    )
    return pa.schema(
        [
            ("sample", pa.int64()),
            ("variant", pa.string()),
            ("theme", pa.string()),
            ("length", pa.int32()),
            ("duration", pa.float32()),
            ("captions", pa.list_(caption)),
            ("actors", pa.list_(_actor())),
            ("parameters", parameters),
            ("attempt", pa.int32()),
            ("dropped", pa.list_(statement)),
        ]
    )


def _statement() -> pa.DataType:
    texts = [(name, pa.string()) for name in ("action", "value")]
    return pa.struct([("actor", pa.int32()), ("kind", pa.string()), ("segment", pa.int32()), *texts])


def _actor() -> pa.DataType:
    segment = pa.struct(
        [
            ("action", pa.string()),
            ("parts", pa.list_(pa.string())),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("side", pa.string()),
            ("speed", pa.float32()),
            ("turn", pa.float32()),
            ("repetitions", pa.int32()),
            ("text", pa.string()),
            ("statements", pa.list_(_statement())),
        ]
    )
    return pa.struct(
        [
            ("person", pa.int64()),
            ("stature", pa.float32()),
            ("age", pa.float32()),
            ("male", pa.bool_()),
            ("left_handed", pa.bool_()),
            ("style", pa.string()),
            ("seat_height", pa.float32()),
            ("segments", pa.list_(segment)),
        ]
    )
