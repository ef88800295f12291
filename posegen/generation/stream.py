"""``posegen.stream``: batches of the samples of a config, made on demand instead of read from a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from posegen.config.load import ConfigSource, load_config
from posegen.config.schema import Config
from posegen.dataset.batches import CAPTIONS, ArrayShape, make_batches
from posegen.dataset.tables import caption_texts
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.hashing import canonical
from posegen.foundations.wording import shown
from posegen.generation.header import array_fields
from posegen.generation.shard import compute_arrays
from posegen.library.load import load_library
from posegen.synthesis.synthesize import rows_schema, synthesize


class Stream:
    """A number of samples of a config, to be read in batches: :class:`posegen.dataset.batches.Source`. See :func:`stream`."""

    batches = make_batches

    # Making samples holds the interpreter lock: more threads would wait for one another.
    most_threads = 1

    def __init__(self, config: Config, samples: int) -> None:
        self.config, self.samples = config, samples
        self.name, self.seed = f"config {config.name}", config.seed
        self.chunk, self.variants = config.store.chunk, config.variants.names

    def __len__(self) -> int:
        return self.samples

    def arrays(self) -> dict[str, ArrayShape]:
        """Return the shape of each array by name."""
        fields = array_fields(self.config, load_library(self.config.story.library))
        return {field.name: ArrayShape(field.shape[1:], field.dtype) for field in fields}

    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table of sequences."""
        return tuple(rows_schema().names)

    def load(self, chunk: int, variants: Sequence[int], into: Mapping[str, Array], columns: tuple[str, ...]) -> pa.Table | None:
        """Make the samples of a chunk; see :class:`posegen.dataset.batches.Source`."""
        first = chunk * self.chunk
        batch = synthesize(self.config, np.arange(first, min(first + self.chunk, self.samples)))
        for name, values in compute_arrays(self.config, batch, into).items():
            for v, variant in enumerate(variants):
                into[name][v, : len(values)] = canonical(values[:, variant])
        if not columns:
            return None
        table = batch.sequences.select(columns)
        if CAPTIONS in columns:
            table = table.set_column(columns.index(CAPTIONS), CAPTIONS, caption_texts(table.column(CAPTIONS)))
        return table


def stream(config: Config | ConfigSource, *, samples: int) -> Stream:
    """Return a stream of the samples of a config, without a dataset on disk.

    Parameters
    ----------
    config : Config, str, Path or mapping
        A config, or what :func:`posegen.load_config` takes.
    samples : int
        Number of samples. The batches are those of a dataset of this size.

    Returns
    -------
    Stream

    Raises
    ------
    UsageError
        If `samples` is not a positive integer.

    Examples
    --------
    >>> import posegen
    >>> batches = posegen.stream("smoke", samples=4).batches(8, seed=1, fields=["joints", "captions"])
    >>> [batch.joints.shape for batch in batches]
    [(8, 1, 100, 22, 3), (8, 1, 100, 22, 3), (4, 1, 100, 22, 3)]
    """
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
        raise UsageError(f"samples must be a positive integer (got {shown(samples)})")
    return Stream(load_config(config), int(samples))
