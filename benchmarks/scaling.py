"""Rate of two processes / one without storage: the limit that the machine's cores set.

Two virtual cores are often one real core that two threads share: then two processes that keep the arithmetic units busy are
hardly faster than one. ``python -m benchmarks.scaling`` prints both as JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import numpy as np

import posegen
from benchmarks.measure import compare, module, printed_by
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


def _serve(work: Callable[[int], None], orders: Connection) -> None:
    work(1)
    orders.send("ready")
    while shards := orders.recv():
        work(shards)
        orders.send("done")


@contextmanager
def _two(work: Callable[[int], None]) -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=_serve, args=(work, theirs)) for _, theirs in pipes]
    ours = [mine for mine, _ in pipes]
    for process in processes:
        process.start()
    for pipe in ours:
        pipe.recv()
    yield ours
    for pipe in ours:
        pipe.send(0)
    for process in processes:
        process.join()


def rate_ratio(work: Callable[[int], None], shards: int, pairs: int) -> float:
    """Return the rate of two processes / one: an even number of shards goes to one process, or half of them to each of two."""
    with _two(work) as pipes:

        def by(several: list[Connection]) -> None:
            for pipe in several:
                pipe.send(shards // len(several))
            for pipe in several:
                pipe.recv()

        return compare(lambda: by(pipes[:1]), lambda: by(pipes), pairs).ratio


def measured_apart(shards: int, pairs: int) -> dict[str, float]:
    """Measure in a separate process, whose children import the functions from a module other than the main one."""
    return dict(printed_by(module("benchmarks.scaling", "--shards", shards, "--pairs", pairs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=8, help="an even number")
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    works = {"synthesis": synthesize_shards, "multiplication": multiply}
    print(json.dumps({name: rate_ratio(work, options.shards, options.pairs) for name, work in works.items()}))


if __name__ == "__main__":
    main()
