"""What a worker does: make one shard and commit it.

A worker gets a :class:`Job`, which is small, and gives back a receipt, which is small: motion never travels between
processes. A shard too large to be made at once is made in blocks that are laid into its arrays, so that a worker holds the
shard once and a block besides. A sample that cannot be made is named; the other shards go on without it.

For faults on demand (``POSEGEN_FAULT``) see :mod:`posegen.generation.faults`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posegen.collecting import no_collecting
from posegen.config.identity import digest
from posegen.dataset.layout import Header
from posegen.dataset.receipts import Receipt
from posegen.errors import PosegenError, UsageError
from posegen.generation.faults import trip_sample, trip_shard
from posegen.generation.fields import made_arrays
from posegen.generation.measures import ShardMeasures, measured
from posegen.generation.plan import Span, bytes_per_sample
from posegen.generation.progress import Reporter
from posegen.stopwatch import stage

if TYPE_CHECKING:
    from posegen.config.schema import Config
    from posegen.synthesis import Batch

__all__ = ["BLOCK_BYTES", "Failure", "Job", "Made", "SampleError", "is_compiled", "make_shard", "make_shard_or_say", "warm_up"]

BLOCK_BYTES = 96 << 20
"""How much motion is made at once. Planning costs some 18 ms a block whatever its size, so a usual shard is one block."""

_NOT_KERNELS = ("samples", "seed", "workers")
"""Parts of a config that never decide which kernels are called."""


@dataclass(frozen=True)
class Job:
    """One shard to make: a span of the samples of a config, for the dataset at `path`."""

    path: Path
    header: Header
    config: Config
    span: Span
    run: str


@dataclass(frozen=True)
class Failure:
    """A shard that was not made, and why."""

    shard: int
    reason: str


@dataclass(frozen=True)
class Made:
    """A shard that was made, and what that took."""

    receipt: Receipt
    measures: ShardMeasures


class SampleError(PosegenError):
    """A sample that could not be made."""


def make_shard(job: Job) -> Receipt:
    """Make the samples of a shard, commit them, and return the receipt.

    Raises
    ------
    SampleError
        If a sample could not be made; it is named with its index and the seed.
    """
    from posegen.dataset.write import commit_shard
    from posegen.synthesis import rows_schema

    started = time.monotonic()
    trip_shard()
    with no_collecting():  # rows are a million small objects without any cycles
        arrays, rows = _collect(job)
    seconds = time.monotonic() - started
    return commit_shard(job.path, job.header, job.span.shard, arrays, rows, rows_schema(job.header.variants), job.run, seconds)


def make_shard_or_say(job: Job) -> Made | Failure:
    """Like :func:`make_shard`, but measured; a sample that could not be made is returned as a :class:`Failure`."""
    try:
        return Made(*measured(lambda: make_shard(job), lambda receipt: (receipt.count, receipt.size)))
    except SampleError as error:
        return Failure(job.span.shard, str(error))


@stage("start-up")
def warm_up(config: Config, sample: int, reporter: Reporter, *, here: bool = True) -> None:
    """Make two samples for nothing, so that all kernels are compiled and cached before workers load them.

    Parameters
    ----------
    config : Config
    sample : int
    reporter : Reporter
        Is told if it will take long.
    here : bool, optional
        Whether this process is to make samples itself. Where only others do, and the kernels are known to be cached, there is
        nothing to be done.
    """
    cached = [_stamp(), _stamp(config)]
    if cached[1].exists() and not here:
        return
    from posegen.synthesis import synthesize

    if not is_compiled():
        reporter.say("compiling, which is done once for each version of posegen and takes a minute or two")
    # If a sample is a bad one, its own shard will say so.
    with suppress(Exception), no_collecting():
        synthesize(config, np.asarray([sample, max(sample - 1, 0)], np.int64))
    # Where the cache cannot be written, each process compiles for itself.
    with suppress(OSError):
        for stamp in cached:
            stamp.touch()


def is_compiled() -> bool:
    """Tell whether the kernels are compiled and cached, for this kind of processor."""
    return _stamp().exists()


def _stamp(config: Config | None = None) -> Path:
    """Give the file that says that kernels are cached: those that every config needs, or all that this one does."""
    from posegen.kernels import cache_folder, processor

    told = {} if config is None else {key: value for key, value in config.as_data().items() if key not in _NOT_KERNELS}
    return cache_folder() / f"compiled-{digest([*processor(), told])[:16]}"


def _collect(job: Job) -> tuple[dict[str, NDArray[Any]], list[dict[str, Any]]]:
    count = job.span.stop - job.span.start
    blocks = list(_blocks(job))
    if len(blocks) == 1:
        batch = _synthesize(job.config, range(job.span.start, job.span.stop))
        with stage("fields"):
            return made_arrays(job.config, batch, (field.name for field in job.header.fields)), batch.rows
    arrays: dict[str, NDArray[Any]] = {field.name: np.empty((count, *field.shape), field.dtype) for field in job.header.fields}
    rows: list[dict[str, Any]] = []
    for start, stop in blocks:
        batch = _synthesize(job.config, range(start, stop))
        with stage("fields"):
            for name, values in made_arrays(job.config, batch, arrays).items():
                arrays[name][start - job.span.start : stop - job.span.start] = values
        rows += batch.rows
    return arrays, rows


def _blocks(job: Job) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_BYTES // bytes_per_sample(job.header))
    for start in range(job.span.start, job.span.stop, size):
        yield start, min(start + size, job.span.stop)


def _synthesize(config: Config, samples: Sequence[int]) -> Batch:
    """Make a block of samples; if that fails, find the sample that does."""
    from posegen.synthesis import synthesize

    try:
        trip_sample(samples[0], samples[-1] + 1)
        return synthesize(config, np.asarray(samples, np.int64))
    except (MemoryError, UsageError):
        raise
    # Whatever is wrong with a sample, it must be named and must not take the run with it.
    except Exception as error:
        if len(samples) > 1:
            for sample in samples:
                _synthesize(config, [sample])
        named = f"sample {samples[0]} of seed {config.seed}" if len(samples) == 1 else f"samples {samples[0]} to {samples[-1]}"
        msg = f"{named} could not be made: {type(error).__name__}: {error}"
        raise SampleError(msg) from error
