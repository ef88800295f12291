"""Work of posegen compared with the least that it can take, alternating.

Call each function by `apart`: two stay on one core, and objects of other benchmarks would slow them down.
"""

from __future__ import annotations

import gc
import hashlib
import statistics
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

import posegen
from benchmarks.measure import compare, use_one_core
from posegen.config.schema import Config
from posegen.dataset.layout import Header
from posegen.dataset.runs import current_run
from posegen.dataset.verify import verify
from posegen.dataset.write import commit_shard, create, publish
from posegen.foundations.arrays import Array
from posegen.generation.header import new_header
from posegen.library.load import load_library
from posegen.synthesis.synthesize import synthesize

PAIRS = 31
"""Of verifying and hashing."""


def synthesis_by_copying(samples: int, pairs: int) -> dict[str, Any]:
    """Compare `synthesize` with all variants, captions and labels with copying its arrays to allocated memory."""
    use_one_core()
    config = posegen.load_config("default")
    batch = synthesize(config, range(samples))
    arrays = [batch.joints, batch.action, batch.contact]
    targets = [np.zeros_like(array) for array in arrays]

    def copy() -> None:
        for target, source in zip(targets, arrays, strict=True):
            np.copyto(target, source)

    def synthesize_again() -> None:
        synthesize(config, range(samples))

    compare(synthesize_again, copy, 1)  # warm-up
    gc.freeze()
    comparison = compare(synthesize_again, copy, pairs)
    sequences = samples * len(config.variants.names)
    return {
        "samples": samples,
        "ratio": comparison.ratio,
        "synthesizing_microseconds": 1e6 * statistics.median(comparison.first) / sequences,
        "copying_microseconds": 1e6 * statistics.median(comparison.second) / sequences,
        "megabytes": sum(array.nbytes for array in arrays) / 1e6,
    }


def verifying_by_hashing(path: Path) -> dict[str, Any]:
    """Compare the shortest processor times of verifying a dataset and of hashing its files.

    Both are 20 to 30 ms, and medians of unchanged code differed by a third between processes.
    """
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]

    def hashing() -> None:
        for file in files:
            with file.open("rb", buffering=0) as opened:
                hashlib.file_digest(opened, xxhash.xxh3_128)

    def verifying() -> None:
        assert verify(path) == []

    compare(verifying, hashing, 1)  # warm-up
    gc.freeze()
    comparison = compare(verifying, hashing, PAIRS, time.process_time)
    least, least_of_hashing = min(comparison.first), min(comparison.second)
    size = sum(file.stat().st_size for file in files)
    return {"ratio": least / least_of_hashing, "bytes_per_processor_second": size / least}


Shard = tuple[dict[str, Array], pa.Table]


def make_shards(config: Config, header: Header, samples: int) -> list[Shard]:
    """Return arrays and table of all shards, made in memory."""
    shards = []
    for start in range(0, samples, header.shard):
        batch = synthesize(config, range(start, min(start + header.shard, samples)))
        shards.append(({field.name: getattr(batch, field.name) for field in header.fields}, batch.sequences))
    return shards


def store(path: Path, header: Header, shards: Sequence[Shard], samples: int) -> None:
    """Write shards from memory as a dataset."""
    create(path, header)
    for number, (arrays, table) in enumerate(shards):
        commit_shard(path, header, number, arrays, table, current_run())
    publish(path, header, samples)


def generation_by_storing(samples: int, pairs: int, folder: Path) -> dict[str, Any]:
    """Compare generation with storing the same arrays from memory: same writer, hashes and syncs, on the disk of `folder`.

    What else runs only adds time: the least of several times is taken of either side.
    """
    use_one_core()
    config = posegen.load_config("default")
    library = load_library(config.story.library)
    header = new_header(config, library)
    shards = make_shards(config, header, samples)
    # A new folder each time: removing the last one would be timed as well.
    folders = (folder / str(number) for number in count())

    def generate() -> None:
        posegen.generate(config, samples=samples, workers=1, out=next(folders))

    def store_again() -> None:
        store(next(folders), header, shards, samples)

    compare(generate, store_again, 1)  # warm-up
    comparison = compare(generate, store_again, pairs)
    sequences = samples * len(header.variants)
    return {
        "samples": samples,
        "sequences": sequences,
        "pairs": pairs,
        "ratio": min(comparison.first) / min(comparison.second),
        "generated_sequences_per_second": sequences / min(comparison.first),
        "stored_sequences_per_second": sequences / min(comparison.second),
        "generating_seconds": comparison.first,
        "storing_seconds": comparison.second,
    }
