"""Data for benchmarks: samples in memory, and datasets made by the command, read and compared with zarr and pyarrow alone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import zarr
from numpy.typing import NDArray

from benchmarks.measure import ROOT, posegen
from posegen import load_config, synthesize
from posegen.dataset.read import Dataset
from posegen.synthesis.synthesize import Batch

AT_ONCE = 50
ONLY_BASE = "variants={speed: null, position: null, scale: null, mirror: false}"
SLAB = 200
"""Samples that are held in memory at once."""


def generate(out: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Path:
    """Generate a dataset with the command."""
    command = posegen("generate", "--quiet", "--out", out, *arguments)
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return out


def blocks(samples: int, preset: str = "default", overrides: Sequence[str] = ()) -> Iterator[Batch]:
    """Make the first samples of a preset with some keys changed."""
    config = load_config(preset, overrides)
    for first in range(0, samples, AT_ONCE):
        yield synthesize(config, range(first, min(first + AT_ONCE, samples)))


def caption_texts(dataset: Dataset) -> list[str]:
    """Return the texts of all captions of a dataset, row by row."""
    lists = [dataset.captions(shard).column("captions").to_pylist() for shard in range(dataset.header.shards())]
    return [text for captions in lists for texts in captions for text in texts]


def slabs(path: Path) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield all arrays of a dataset, some samples at a time."""
    group = zarr.open_group(path / "motion.zarr", mode="r")
    arrays = dict(group.arrays())
    samples = next(iter(arrays.values())).shape[0]
    for start in range(0, samples, SLAB):
        yield {name: np.asarray(array[start : start + SLAB]) for name, array in sorted(arrays.items())}


def differences(one: Path, other: Path) -> list[str]:
    """Return the differences of two datasets: none if every value of every array and table is equal, NaN included."""
    found = []
    tables = [pq.read_table(path / "sequences") for path in (one, other)]
    if not tables[0].equals(tables[1]):
        found.append("the tables of sequences")
    first, second = slabs(one), slabs(other)
    for number, (a, b) in enumerate(zip(first, second, strict=False)):
        if a.keys() != b.keys():
            return [*found, f"the names of arrays, {sorted(a)} and {sorted(b)}"]
        found += [f"{name} from sample {number * SLAB} on" for name in a if not _same(a[name], b[name])]
    if next(first, None) is not None or next(second, None) is not None:
        found.append("the number of samples")
    return found


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
