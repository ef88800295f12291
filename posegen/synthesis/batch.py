"""Batch: arrays of motion and labels, and a table with a row for each sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from posegen.arrays import Array
from posegen.library.load import Library
from posegen.scene import Scenes
from posegen.variants.variant import neutral_parameters, rows_of

Row = dict[str, Any]


@dataclass(frozen=True, repr=False)
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
        Captions, actors and parameters of each sequence; see :func:`rows_schema`. Rows share equal contents, which must not be
        changed.
    """

    samples: Array
    variants: tuple[str, ...]
    joints: Array
    action: Array
    contact: Array
    rows: list[Row]

    def __repr__(self) -> str:
        return f"Batch({len(self.samples)} samples, variants {', '.join(self.variants)}, joints {list(self.joints.shape)})"

    @property
    def sequences(self) -> pa.Table:
        """The rows as an Arrow table."""
        return pa.Table.from_pylist(self.rows, schema=rows_schema(self.variants))


def rows_schema(variants: tuple[str, ...] = ()) -> pa.Schema:
    """Return the columns of the table of sequences: a row for each sample and variant.

    `variants` are those of the dataset; variants of other packages add their parameters.
    """
    statement = _struct(actor="int32", kind="string", segment="int32", action="string", value="string")
    statements, texts = pa.list_(statement), pa.list_(pa.string())
    numbers = {"speed": "float32", "turn": "float32", "repetitions": "int32"}
    segment = {"action": "string", "parts": texts, "start": "int32", "end": "int32", "side": "string", **numbers}
    body = {"stature": "float32", "age": "float32", "male": "bool", "left_handed": "bool"}
    segments = pa.list_(_struct(**segment, text="string", statements=statements))
    actor = _struct(person="int64", **body, style="string", seat_height="float32", segments=segments)
    parameters = {name: "bool" if isinstance(v, bool) else "float32" for name, v in neutral_parameters(variants).items()}
    columns = {
        "sample": "int64",
        "variant": "string",
        "theme": "string",
        "length": "int32",
        "duration": "float32",
        "captions": pa.list_(_struct(text="string", kind="string", statements=statements)),
        "actors": pa.list_(actor),
        "parameters": _struct(**parameters),
        "attempt": "int32",
        "dropped": statements,
    }
    return pa.schema(list(_struct(**columns)))


def _struct(**columns: str | pa.DataType) -> pa.StructType:
    """Return a struct type; types are given as such or by name."""
    return pa.struct([(name, pa.type_for_alias(t) if isinstance(t, str) else t) for name, t in columns.items()])


def actor_rows(scenes: Scenes, library: Library, segments: list[list[list[Row]]]) -> list[list[Row]]:
    """Return the actors of each sequence: the person, and the segments."""
    persons, styles, most = scenes.persons, list(library.styles), scenes.action.shape[1]
    numbers = {
        "person": persons.index,
        "stature": persons.stature,
        "age": persons.age,
        "male": persons.male,
        "left_handed": persons.left_handed,
        "style": persons.style,
        "seat_height": scenes.seat_height,
    }
    everybody = rows_of({name: values.ravel().tolist() for name, values in numbers.items()})
    for i, cast in enumerate(segments):
        for a, own in enumerate(cast):
            actor = everybody[i * most + a]
            actor["style"], actor["segments"] = styles[actor["style"]], own
    return [everybody[i * most : i * most + len(cast)] for i, cast in enumerate(segments)]


def sequence_rows(
    name: str, scenes: Scenes, library: Library, described: Mapping[str, list[Any]], attempt: int, fps: int
) -> list[Row]:
    """Return the rows of one variant; `described` are the columns for captions, actors, parameters and dropped statements."""
    themes = list(library.themes)
    columns = {
        "sample": scenes.sample.tolist(),
        "variant": [name] * len(scenes),
        "theme": [themes[theme] for theme in scenes.theme.tolist()],
        "length": scenes.length.tolist(),
        "duration": (scenes.length / np.float32(fps)).astype(np.float32).tolist(),
        "captions": described["captions"],
        "actors": described["actors"],
        "parameters": described["parameters"],
        "attempt": [attempt] * len(scenes),
        "dropped": described["dropped"],
    }
    return rows_of(columns)
