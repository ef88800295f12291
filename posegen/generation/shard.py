"""One shard: make its samples, compute its arrays, commit it, and measure the work.

A worker receives a :class:`ShardJob` and returns a receipt; both are small, and motion never travels between processes. A shard
that is too large to be made at once is made in blocks, so that a worker holds the shard and one block. A sample that cannot be
made is named, and the other shards are made without it. For fault injection see :mod:`posegen.dataset.faults`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from posegen.config.identity import digest
from posegen.dataset.faults import inject_sample_fault, inject_shard_fault
from posegen.dataset.layout import Header, Layer
from posegen.dataset.receipts import Receipt, complete_receipt
from posegen.dataset.storage.address import AnyPath
from posegen.fields.field import Sequences, compute_fields, fields_with_arrays
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.machine import lifetime_peak
from posegen.foundations.progress import Progress, compilation_shown
from posegen.foundations.stopwatch import Span, stage, timing
from posegen.generation.header import bytes_per_sample
from posegen.generation.jobs import JobError
from posegen.library.load import Library, load_library, take_library

if TYPE_CHECKING:
    from posegen.config.schema import Config
    from posegen.synthesis.synthesize import Batch


BLOCK_BYTES = 96 << 20
"""Bytes of arrays that are made at once. Planning takes about 18 ms a block of any size, so a usual shard is one block."""

_NOT_KERNELS = ("samples", "seed", "workers")
"""Config keys that do not decide which kernels are called."""


@dataclass(frozen=True)
class ShardJob:
    """A shard to make, derive or compare.

    Attributes
    ----------
    path : Path
        Dataset folder.
    header : Header
        `samples` are those at the end of the run.
    config : Config
    shard : int
    run : str
        Name of the session.
    layer : Layer, optional
        Layer to derive.
    is_shared : bool, optional
        Whether another run may make the shard meanwhile.
    """

    path: AnyPath
    header: Header
    config: Config
    shard: int
    run: str
    layer: Layer | None = None
    is_shared: bool = False

    @property
    def start(self) -> int:
        """The first sample."""
        return self.shard * self.header.shard

    @property
    def stop(self) -> int:
        """The sample behind the last."""
        return self.start + self.header.count(self.shard)


@dataclass(frozen=True)
class ShardMeasures:
    """Time and memory that a shard took.

    Attributes
    ----------
    process : int
        Process that made it.
    samples : int
    started, stopped : float
        Seconds of the system's monotonic clock, which all processes share.
    peak_bytes : int
        Largest memory that the process ever held.
    spans : tuple of posegen.foundations.stopwatch.Span
        Its stages.
    """

    process: int
    samples: int
    started: float
    stopped: float
    peak_bytes: int
    spans: tuple[Span, ...]

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.stopped - self.started


def find_shard(job: ShardJob) -> tuple[Receipt, None] | None:
    """Return the receipt of a shard that is complete, as :func:`make_shard` does without measures; None if it is not."""
    receipt = complete_receipt(job.path, job.header, job.shard)
    return None if receipt is None or receipt.count < job.stop - job.start else (receipt, None)


def make_shard(job: ShardJob) -> tuple[Receipt, ShardMeasures | None]:
    """Make the samples of a shard and commit it, unless another run has made it meanwhile: then there are no measures.

    Raises
    ------
    JobError
        If a sample cannot be made.
    """
    from posegen.dataset.write import commit_shard

    if job.is_shared and (made := find_shard(job)):
        return made
    started, first, count = time.monotonic(), job.start, job.stop - job.start
    arrays: dict[str, Array] = {}
    tables: list[pa.Table] = []
    inject_shard_fault()
    with timing() as spans:
        for start, stop in blocks(job.header, first, job.stop):
            batch = make_samples(job.config, start, stop)
            with stage("fields"):
                block = compute_arrays(job.config, batch, (field.name for field in job.header.fields))
            if len(batch.samples) == count:
                arrays = block
            else:
                for name, values in block.items():
                    if name not in arrays:
                        arrays[name] = np.empty((count, *values.shape[1:]), values.dtype)
                    arrays[name][start - first : stop - first] = values
            tables.append(batch.sequences)
        table, seconds = pa.concat_tables(tables).combine_chunks(), time.monotonic() - started
        receipt = commit_shard(job.path, job.header, job.shard, arrays, table, job.run, seconds)
    measures = ShardMeasures(
        process=os.getpid(),
        samples=receipt.count,
        started=started,
        stopped=time.monotonic(),
        peak_bytes=lifetime_peak(),
        spans=tuple(spans),
    )
    return receipt, measures


def blocks(header: Header, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of the blocks in which the samples from `first` to `end` are made."""
    size = max(1, BLOCK_BYTES // bytes_per_sample(header))
    return ((start, min(start + size, end)) for start in range(first, end, size))


def compute_arrays(config: Config, batch: Batch, names: Iterable[str]) -> dict[str, Array]:
    """Return arrays of a batch by name, and compute those of derived fields."""
    names = list(names)
    arrays = {name: getattr(batch, name) for name in ("joints", "action", "contact")}
    if any(name not in arrays for name in names):
        library = load_library(config.story.library)
        sequences = Sequences(config, library, batch.samples, batch.joints, batch.action, batch.contact, batch.rows)
        arrays |= compute_fields(sequences, fields_with_arrays(names))
    return {name: arrays[name] for name in names}


def make_samples(config: Config, start: int, stop: int) -> Batch:
    """Make the samples of a block.

    Raises
    ------
    JobError
        If a sample cannot be made. The message names the sample.
    """
    from posegen.synthesis.synthesize import synthesize

    try:
        inject_sample_fault(start, stop)
        return synthesize(config, np.arange(start, stop))
    except (MemoryError, UsageError):
        raise
    # Any other error must name the sample and must not end the run.
    except Exception as error:
        if stop - start > 1:
            for sample in range(start, stop):
                make_samples(config, sample, sample + 1)
        name = f"sample {start}" if stop - start == 1 else f"samples {start} to {stop - 1}"
        raise JobError(f"{name} of seed {config.seed} could not be made: {type(error).__name__}: {error}") from error


@stage("start-up")
def warm_up(config: Config, sample: int, progress: Progress, *, here: bool = True) -> None:
    """Load the kernels, so that all are compiled and cached before workers load them.

    Parameters
    ----------
    config : Config
    sample : int
    progress : Progress
        Shows the compilation.
    here : bool, optional
        Whether this process makes samples itself. Otherwise nothing is done if the kernels are known to be cached.
    """
    stamps = [_stamp(), _stamp(config)]
    if stamps[1].exists() and not here:
        return
    with compilation_shown(progress):
        load_kernels(config, sample)
    # Without a writable cache, each process compiles for itself.
    with suppress(OSError):
        for stamp in stamps:
            stamp.touch()


def load_kernels(config: Config, sample: int = 0) -> None:
    """Make two samples and discard them, so that kernels and the library are loaded."""
    from posegen.synthesis.synthesize import synthesize

    # If a sample cannot be made, its own shard reports it.
    with suppress(Exception):
        synthesize(config, np.asarray([sample, max(sample - 1, 0)], np.int64))


def prepare_worker(config: Config, sample: int, library: Library) -> None:
    """Load what the first shard of a worker needs; without a cache of kernels, it compiles them as a part of that."""
    take_library(config.story.library, library)
    if _stamp(config).exists():
        load_kernels(config, sample)


def is_compiled() -> bool:
    """Return whether the kernels are compiled and cached for this kind of processor."""
    return _stamp().exists()


def _stamp(config: Config | None = None) -> Path:
    """Return the file that exists once kernels are cached: those that every config calls, or all of this one."""
    from posegen.foundations.kernels import cache_folder, processor

    keys = {} if config is None else {key: value for key, value in config.as_data().items() if key not in _NOT_KERNELS}
    # numba keeps machine code by the version of Python and by the path of the sources, too.
    place = sys.implementation.cache_tag, str(Path(__file__).parents[1])
    return cache_folder() / f"compiled-{digest([*processor(), *place, keys])[:16]}"
