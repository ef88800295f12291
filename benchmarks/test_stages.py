"""Guards of the stages of a shard, each compared with a lower bound: copying its arrays, writing its texts."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import pytest
from numcodecs.blosc import Blosc
from pytest_benchmark.fixture import BenchmarkFixture

import posegen
from benchmarks.guards import ENCODE, STAGES, Guard
from benchmarks.measure import compare
from posegen.dataset.shard_codec import COMPRESSION, encode_shard
from posegen.foundations.arrays import Array
from posegen.foundations.stopwatch import timing
from posegen.generation.header import new_header
from posegen.library.load import load_library
from posegen.synthesis.synthesize import Batch, synthesize

ROUNDS = 7
SHORTCUTS = ("mirror", "position")
"""Variants that are transformed copies."""


@pytest.fixture(scope="module")
def batch() -> Batch:
    """Return the samples of a shard."""
    return synthesize(posegen.load_config("default"), range(200))


def references(batch: Batch) -> dict[str, Callable[[], object]]:
    """Return the lower bound of each stage."""
    arrays = [batch.joints, batch.action, batch.contact]
    which = {name: _which(batch, name) for name in ("motion", "variants")}
    copied = {name: [np.ascontiguousarray(array[:, parts]) for array in arrays] for name, parts in which.items()}
    targets = {name: [np.zeros_like(array) for array in parts] for name, parts in copied.items()}

    def copy_arrays(name: str) -> Callable[[], object]:
        return lambda: [np.copyto(target, source) for target, source in zip(targets[name], copied[name], strict=True)]

    rows = batch.rows
    return {"motion": copy_arrays("motion"), "variants": copy_arrays("variants"), "captions": lambda: json.dumps(rows)}


def _which(batch: Batch, stage: str) -> list[int]:
    return [i for i, name in enumerate(batch.variants) if (name in SHORTCUTS) == (stage == "variants")]


def test_stages_compared_with_lower_bounds(benchmark: BenchmarkFixture, batch: Batch, guard: Guard) -> None:
    config, functions = posegen.load_config("default"), references(batch)
    ratios: dict[str, list[float]] = {name: [] for name in functions}
    gc.freeze()  # the garbage collector would visit these rows again and again

    def alternate() -> None:
        with timing() as seconds:
            synthesize(config, range(200))
        for name, work in functions.items():
            started = time.perf_counter()
            work()
            ratios[name].append(seconds[name] / (time.perf_counter() - started))

    alternate()
    for each in ratios.values():
        each.clear()
    benchmark.pedantic(alternate, rounds=ROUNDS)
    found = {name: statistics.median(each) for name, each in ratios.items()}
    for name, ratio in found.items():
        guard(f"{name} of a shard", ratio, most=STAGES[name])


def test_encoding_compared_with_compression(batch: Batch, guard: Guard) -> None:
    config = posegen.load_config("default")
    header = new_header(config, load_library(config.story.library))
    field = next(field for field in header.fields if field.name == "joints")
    name, level, shuffle, block = COMPRESSION.values()
    assert shuffle == "shuffle"
    codec = Blosc(name, level, Blosc.SHUFFLE, block, typesize=4)
    chunks = _chunks(batch.joints, header.chunk)

    def encoding() -> None:
        encode_shard(field, batch.joints, header.shard, header.chunk)

    def compressing() -> None:
        for chunk in chunks:
            codec.encode(chunk)

    compare(encoding, compressing, 1)
    comparison = compare(encoding, compressing, ROUNDS)
    guard("encoding of a shard", comparison.ratio, most=ENCODE)


def _chunks(joints: Array, size: int) -> list[Array]:
    """Return chunks of `size` samples, one variant and one actor, without those of absent actors."""
    parts = [
        np.ascontiguousarray(joints[first : first + size, variant, actor])
        for first in range(0, len(joints), size)
        for variant in range(joints.shape[1])
        for actor in range(joints.shape[2])
    ]
    return [part for part in parts if not np.isnan(part).all()]
