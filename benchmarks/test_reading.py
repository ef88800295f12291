"""Guards of reading: beside unpacking the same chunks and copying them once, and beside hashing the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numcodecs.blosc import Blosc

import posegen
from benchmarks.datasets import generate
from benchmarks.guards import READING, VERIFYING, Guard
from benchmarks.lower_bounds import verifying_by_hashing
from benchmarks.measure import apart, compare

SAMPLES, VERIFIED_SAMPLES = 400, 2000
PAIRS = 7


def test_batches_take_little_longer_than_unpacking(tmp_path: Path, guard: Guard) -> None:
    path = generate(tmp_path / "dataset", "--samples", str(SAMPLES))
    batches = posegen.open(path).batches(64, fields=["joints"], threads=0)
    field = batches.source.arrays()["joints"]
    header = posegen.open(path).header
    index_bytes = 16 * len(header.variants) * header.shard // header.chunk + 4
    objects = [file.read_bytes() for file in sorted((path / "motion.zarr/joints").glob("c.*"))]
    places = [np.frombuffer(data[-index_bytes:-4], "<u8").reshape(-1, 2).tolist() for data in objects]
    sequences = SAMPLES * len(header.variants)
    unpacked = np.zeros((batches.order.chunk, *field.shape), np.float32)
    copied = np.zeros_like(unpacked)

    def unpacking() -> None:
        for data, index in zip(objects, places, strict=True):
            for begin, length in index:
                Blosc().decode(memoryview(data)[begin : begin + length - 4], unpacked)
                np.copyto(copied, unpacked)

    def reading() -> None:
        assert sum(len(batch) for batch in batches) == sequences

    compare(reading, unpacking, 1)
    comparison = compare(reading, unpacking, PAIRS)
    rate = sequences / float(np.median(comparison.first))
    print(f"\nshuffled batches: {rate:,.0f} sequences per second, {comparison.ratio:.2f} times as long as unpacking")
    guard("shuffled batches, by unpacking their chunks", comparison.ratio, most=READING)


def test_verifying_takes_little_longer_than_hashing(tmp_path: Path, guard: Guard) -> None:
    path = generate(tmp_path / "dataset", "--samples", str(VERIFIED_SAMPLES))
    found = apart(verifying_by_hashing, path)
    rate, ratio = found["bytes_per_processor_second"], found["ratio"]
    print(f"\nverifying: {rate / 1e9:.1f} GB a second of a core, {ratio:.2f} times as long as hashing")
    guard("verifying, by hashing the same files", ratio, most=VERIFYING)
