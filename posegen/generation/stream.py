"""Batches without a dataset: sequences are made when they are needed, the same as would be stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from posegen.config.schema import Config
from posegen.dataset.batches import CAPTIONS, ArrayShape, make_batches
from posegen.dataset.tables import caption_texts, to_table
from posegen.errors import UsageError
from posegen.generation.fields import array_fields, made_arrays
from posegen.hashing import canonical
from posegen.library.load import load_library
from posegen.synthesis import rows_schema, synthesize
from posegen.wording import shown

__all__ = ["Made", "Stream", "stream"]

Array = NDArray[Any]

_BLOCK = 100
"""Samples that are made at once, at most."""


@dataclass(frozen=True)
class Made:
    """The samples of a config, as a source of batches; see :class:`posegen.dataset.batches.Source`."""

    config: Config
    samples: int

    # Making samples keeps Python busy itself: more threads would wait for one another.
    most_threads = 1

    @property
    def name(self) -> str:
        """The config's name."""
        return f"config {self.config.name}"

    @property
    def chunk(self) -> int:
        """Samples in a chunk, as a dataset would have it."""
        return self.config.store.chunk

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants in order."""
        return self.config.variants.names

    def arrays(self) -> dict[str, ArrayShape]:
        """Describe the arrays by name."""
        fields = array_fields(self.config, load_library(self.config.story.library))
        return {field.name: ArrayShape(field.shape[1:], field.shape[1:], field.dtype) for field in fields}

    def columns(self) -> tuple[str, ...]:
        """Name the columns of the table of sequences."""
        return tuple(rows_schema().names)

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Make a chunk; see :class:`posegen.dataset.batches.Source`."""
        tables = []
        for start, stop in self._blocks(chunk):
            batch = synthesize(self.config, np.arange(start, stop))
            within = slice(start - chunk * self.chunk, stop - chunk * self.chunk)
            for name, values in made_arrays(self.config, batch, into).items():
                for v, variant in enumerate(variants):
                    plain = canonical(values[:, variant])
                    # An array as a whole is one piece: as many dimensions of one place each come first.
                    into[name][v].reshape(self.chunk, *plain.shape[1:])[within] = plain
            if columns:
                tables.append(_columns(batch.rows, columns))
        return pa.concat_tables(tables) if columns else None

    def _blocks(self, chunk: int) -> Iterator[tuple[int, int]]:
        end = min((chunk + 1) * self.chunk, self.samples)
        for start in range(chunk * self.chunk, end, _BLOCK):
            yield start, min(start + _BLOCK, end)


@dataclass(frozen=True)
class Stream:
    """So many samples of a config, of which batches can be made; made by :func:`stream`."""

    config: Config
    samples: int

    def __len__(self) -> int:
        return self.samples

    batches = make_batches

    def batch_source(self, fields: Sequence[str] | str | None) -> Made:
        """Return the source of batches; see :func:`posegen.dataset.batches.make_batches`."""
        return Made(self.config, self.samples)


def stream(config: Config, *, samples: int) -> Stream:
    """Make batches of a config's samples without a dataset.

    Parameters
    ----------
    config : Config
    samples : int
        How many there are to be: the batches are those of a dataset of so many.

    Returns
    -------
    Stream

    Raises
    ------
    UsageError
        If `samples` is no whole number from 1 on.

    Examples
    --------
    >>> import posegen
    >>> batches = posegen.stream(posegen.load_config("smoke"), samples=4).batches(8, seed=1, fields=["joints", "captions"])
    >>> [batch.joints.shape for batch in batches]
    [(8, 1, 100, 22, 3), (8, 1, 100, 22, 3), (4, 1, 100, 22, 3)]
    """
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
        msg = f"samples must be a whole number from 1 on (got {shown(samples)})"
        raise UsageError(msg)
    return Stream(config, int(samples))


def _columns(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pa.Table:
    schema = pa.schema([rows_schema().field(name) for name in columns])
    table = to_table([{name: row[name] for name in columns} for row in rows], schema)
    if CAPTIONS in columns:
        place = columns.index(CAPTIONS)
        table = table.set_column(place, CAPTIONS, caption_texts(table.column(CAPTIONS)))
    return table
