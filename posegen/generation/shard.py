"""One shard: make its samples, compute its arrays and commit it.

A worker receives a :class:`ShardJob` and returns a receipt; both are small, and motion never travels between processes. A shard
that is too large to be made at once is made in blocks, so that a worker holds the shard and one block. A sample that cannot be
made is named, and the other shards are made without it.

Faults of tests are injected here. The environment variable ``POSEGEN_FAULT`` holds them, separated by commas:

- ``kill:sample=13`` kills the process before it makes sample 13, as the out-of-memory killer would;
- ``hang:sample=13`` makes it hang;
- ``memory:sample=13`` raises MemoryError;
- ``raise:sample=13`` raises :class:`InjectedError`;
- ``sleep:seconds=0.2`` delays every block of samples.

With the suffix ``:once=FILE``, a fault of a sample occurs once: FILE must not exist before, and is created. A fault never
changes the content of a sample. Faults of the disk, which are calls of the C library, come from `tests/faults/injection.c`.
"""

from __future__ import annotations

import os
import re
import signal
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
from posegen.dataset.layout import Header, Layer
from posegen.dataset.receipts import Receipt, complete_receipt
from posegen.dataset.storage.address import AnyPath
from posegen.fields.field import Sequences, compute_fields, fields_with_arrays
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.progress import Progress, compilation_shown
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
        """The sample after the last."""
        return self.start + self.header.count(self.shard)


def find_shard(job: ShardJob) -> Receipt | None:
    """Return the receipt of a shard that is complete; None if it is not."""
    receipt = complete_receipt(job.path, job.header, job.shard)
    return None if receipt is None or receipt.count < job.stop - job.start else receipt


def make_shard(job: ShardJob) -> Receipt:
    """Make the samples of a shard and commit it, unless another run has made it meanwhile.

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
    for start, stop in blocks(job.header, first, job.stop):
        batch = make_samples(job.config, start, stop)
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
    return commit_shard(job.path, job.header, job.shard, arrays, table, job.run, seconds)


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
        inject_faults(start, stop)
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
    stamp = _stamp(config)
    if stamp.exists() and not here:
        return
    with compilation_shown(progress):
        load_kernels(config, sample)
    # Without a writable cache, each process compiles for itself.
    with suppress(OSError):
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


def _stamp(config: Config) -> Path:
    """Return the file that exists once the kernels that a config calls are cached."""
    from posegen.foundations.kernels import cache_folder, processor

    keys = {key: value for key, value in config.as_data().items() if key not in _NOT_KERNELS}
    # numba keeps machine code by the version of Python and by the path of the sources, too.
    place = sys.implementation.cache_tag, str(Path(__file__).parents[1])
    return cache_folder() / f"compiled-{digest([*processor(), *place, keys])[:16]}"


VARIABLE = "POSEGEN_FAULT"
_FAULT = re.compile(r"(\w+):(\w+)=([\d.]+)(?::once=([^,]+))?")


class InjectedError(Exception):
    """The error of the fault ``raise``."""


def inject_faults(start: int, stop: int) -> None:
    """Inject the faults of samples `start` to `stop`. Call it before they are made."""
    for action, _, value, once in _FAULT.findall(os.environ.get(VARIABLE, "")):
        if action == "sleep":
            time.sleep(float(value))
            continue
        if not start <= int(value) < stop or (once and Path(once).exists()):
            continue
        if once:
            Path(once).touch()
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while action == "hang":
            time.sleep(1.0)
        message = f"the fault {action} of sample {value} in {VARIABLE}"
        raise MemoryError(message) if action == "memory" else InjectedError(message)
