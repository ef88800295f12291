"""Generation time / time to store the same arrays from memory: the cost of motion, labels and captions beside storage.

Both use the same writer, hash and sync the same bytes, on one core and alternating. ``python -m benchmarks.end_to_end``
prints the result as JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

import posegen
from benchmarks.measure import compare, module, printed_by, use_one_core
from posegen.config.schema import Config
from posegen.dataset.layout import Header
from posegen.dataset.runs import current_run
from posegen.dataset.write import commit_shard, create, publish
from posegen.generation.header import new_header
from posegen.library.load import load_library
from posegen.synthesis.synthesize import synthesize


@dataclass(frozen=True)
class Shard:
    """Content of a shard."""

    arrays: dict[str, NDArray[Any]]
    table: pa.Table


def make_shards(config: Config, header: Header, samples: int) -> list[Shard]:
    """Return all shards, made in memory."""
    shards = []
    for start in range(0, samples, header.shard):
        batch = synthesize(config, range(start, min(start + header.shard, samples)))
        shards.append(Shard({field.name: getattr(batch, field.name) for field in header.fields}, batch.sequences))
    return shards


def store(path: Path, header: Header, shards: Sequence[Shard], samples: int) -> None:
    """Write shards from memory as a dataset."""
    create(path, header)
    for number, shard in enumerate(shards):
        commit_shard(path, header, number, shard.arrays, shard.table, current_run())
    publish(path, header, samples)


def measure(samples: int, pairs: int, folder: Path) -> dict[str, Any]:
    """Compare on one core, on the disk of `folder`."""
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
        "ratio": comparison.ratio,
        "generated_sequences_per_second": sequences / statistics.median(comparison.first),
        "stored_sequences_per_second": sequences / statistics.median(comparison.second),
        "generating_seconds": comparison.first,
        "storing_seconds": comparison.second,
    }


def measured_apart(samples: int, pairs: int, folder: Path) -> dict[str, Any]:
    """Like :func:`measure`, in a separate process, because a process stays on its one core."""
    return dict(printed_by(module("benchmarks.end_to_end", "--samples", samples, "--pairs", pairs, "--folder", folder)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to write; default: the system's temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(json.dumps(measure(options.samples, options.pairs, Path(folder))))


if __name__ == "__main__":
    main()
