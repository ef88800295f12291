"""Rate of two processes / one without storage: the limit that the machine's cores set.

Two virtual cores are often one real core that two threads share: then two processes that keep the arithmetic units busy are
little faster than one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import posegen
from benchmarks.measure import compare
from posegen.synthesis.synthesize import synthesize

SHARD = 200
NUMBERS, TIMES = 8192, 150_000
"""Numbers that fit into a core's cache, and repetitions, so that two processes share arithmetic units only."""


def synthesize_shards(shards: int) -> None:
    config = posegen.load_config("default")
    for shard in range(shards):
        synthesize(config, range(shard * SHARD, (shard + 1) * SHARD))


def multiply(shards: int) -> None:
    row = np.ones(NUMBERS, np.float32)
    for _ in range(shards * TIMES):
        np.multiply(row, np.float32(1.0), out=row)


def rate_ratio(work: Callable[[int], None], shards: int, pairs: int) -> float:
    """Return the rate of two processes / one: an even number of shards goes to one process, or half of them to each of two."""
    with ProcessPoolExecutor(1, get_context("spawn")) as one, ProcessPoolExecutor(1, get_context("spawn")) as other:

        def by(*pools: ProcessPoolExecutor) -> None:
            for done in [pool.submit(work, shards // len(pools)) for pool in pools]:
                done.result()

        by(one, other)  # starts both, and loads what all shards need
        return compare(lambda: by(one), lambda: by(one, other), pairs).ratio


def measure(shards: int, pairs: int) -> dict[str, float]:
    """Return the ratio for synthesis and for multiplication; `shards` is even."""
    works = {"synthesis": synthesize_shards, "multiplication": multiply}
    return {name: rate_ratio(work, shards, pairs) for name, work in works.items()}
