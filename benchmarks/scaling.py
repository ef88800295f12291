"""How much faster two processes are than one where nothing is stored: what the machine's cores allow.

Two virtual cores are often one real core that two threads share: then two processes that keep the arithmetic units busy are
hardly faster than one. ``python -m benchmarks.scaling`` prints both as JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import numpy as np

import posegen
from benchmarks.measure import ROOT, compare
from posegen.synthesis import synthesize

SHARD = 200
NUMBERS, TIMES = 8192, 150_000
"""Multiplied within a core's own memory, and how often: so nothing but arithmetic is shared between two processes."""


def synthesizing(shards: int) -> None:
    config = posegen.load_config("default")
    for shard in range(shards):
        synthesize(config, range(shard * SHARD, (shard + 1) * SHARD))


def multiplying(shards: int) -> None:
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


def times_as_fast(work: Callable[[int], None], shards: int, pairs: int) -> float:
    """Give an even number of shards to one process, and half of them to each of two, in turns."""
    with _two(work) as pipes:

        def by(several: list[Connection]) -> None:
            for pipe in several:
                pipe.send(shards // len(several))
            for pipe in several:
                pipe.recv()

        return compare(lambda: by(pipes[:1]), lambda: by(pipes), pairs).ratio


def measured_apart(shards: int, pairs: int) -> dict[str, float]:
    """Measure in a process of its own, whose children find the functions in a module that is not the main one."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--shards", str(shards), "--pairs", str(pairs)]
    result: dict[str, float] = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=8, help="an even number")
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    works = {"synthesizing": synthesizing, "multiplying": multiplying}
    print(json.dumps({name: times_as_fast(work, options.shards, options.pairs) for name, work in works.items()}))


if __name__ == "__main__":
    main()
