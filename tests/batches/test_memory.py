"""Memory during iteration is bounded by the window, for a dataset of any size."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from posegen.dataset.layout import ArrayField
from posegen.dataset.read import open_dataset
from posegen.dataset.write import commit_shard, create, publish
from tests.dataset.tiny import make_header, make_table

FRAMES, AXES = 256, 128
ROOM = 3 << 20
"""Memory for stored bytes, a batch and Python objects."""


def fill(path: Path, samples: int) -> None:
    shape = (2, FRAMES, AXES)
    field = ArrayField("joints", ("variant", "frame", "axis"), shape, (1, FRAMES, AXES), "float32", math.nan, {})
    header = make_header(shard=10, chunk=5, fields=(field,))
    create(path, header, "a-run")
    values = np.arange(10, dtype=np.float32)[:, None, None, None] + np.zeros(shape, np.float32)
    for shard in range(samples // 10):
        arrays = {"joints": values + np.float32(10 * shard)}
        commit_shard(path, header, shard, arrays, make_table(10 * shard, 10 * shard + 10), "a-run", 0.1)
    publish(path, header, samples, "a-run")


@pytest.mark.parametrize(("lanes", "threads"), [(1, 0), (2, 1)])
def test_memory_is_bounded_by_the_window(tmp_path: Path, lanes: int, threads: int) -> None:
    fill(tmp_path / "a", 200)
    batches = open_dataset(tmp_path / "a").batches(8, window=20, lanes=lanes, threads=threads, fields=["joints", "captions"])
    everything = 400 * FRAMES * AXES * 4
    assert batches.window_bytes == 20 * FRAMES * AXES * 4 == everything // 20
    tracemalloc.start()
    try:
        read = sum(batch.joints.nbytes for batch in batches)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == everything
    assert peak < (2 * lanes + 1) * batches.window_bytes + ROOM < everything // 2
