"""Dry run of 10 million samples on 1 to 1,000 machines: time, bytes, requests, cost, and what failures cost.

    python -m benchmarks.nodes

A shard's time, its bytes and the start of a command are measured here; then each machine makes its part shard by shard, as
``posegen generate --part I/N`` would, with shards that take unequally long and machines that are taken away and come back. Only
the clock is simulated: no sample is planned. Prices are those of the list below, and assumptions. Writes
``benchmarks/results/nodes.md``.
"""

from __future__ import annotations

import heapq
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks.figures import RESULTS, described_machine, machine_sentence
from benchmarks.measure import ROOT, posegen
from posegen.quantities import human_bytes, human_time

SAMPLES, SHARD = 10_000_000, 200
NODES = (1, 10, 100, 1000)
CORES = 8
"""Workers of a machine."""
SPREAD = 0.15
"""Standard deviation of the logarithm of a shard's time."""
LIVES = (None, 24.0, 1.0)
"""Mean hours until a machine is taken away; None for never."""
AWAY_SECONDS = 120.0
"""Time until a machine that was taken away is replaced."""
OBJECTS = 5
"""Files of a shard with the stored fields of the default config: joints, action, contact, rows, receipt."""
READS = 4
"""GETs and HEADs of a shard in a bucket: three ask for its receipt, and `finish` reads it."""
DOLLARS_AN_HOUR, DOLLARS_A_REQUEST, DOLLARS_A_READ, DOLLARS_A_GB = 0.36, 5e-6, 4e-7, 0.023
"""Assumed prices: a machine of 8 cores, a PUT, a GET or HEAD, a gigabyte for a month."""
RESULT = RESULTS / "nodes.md"


@dataclass(frozen=True)
class Measured:
    """Seconds of a worker for a shard, of the start of a command with and without kernels, and bytes of a shard."""

    shard: float
    start: float
    cold_start: float
    bytes: float


@dataclass(frozen=True)
class Outcome:
    """Seconds until the last machine is done, hours of all, machines that were taken away, and shards made again."""

    seconds: float
    hours: float
    taken: int
    again: int


def measure(shards: int = 10) -> Measured:
    """Measure one worker on this machine."""
    with tempfile.TemporaryDirectory() as folder:

        def timed(name: str, samples: int, **environment: str) -> float:
            began = time.perf_counter()
            run = posegen("generate", "--samples", str(samples), "--workers", "1", "--quiet", "--out", f"{folder}/{name}")
            subprocess.run(run, cwd=ROOT, check=True, env={**os.environ, **environment})
            return time.perf_counter() - began

        cold = timed("cold", 1, POSEGEN_KERNEL_CACHE=f"{folder}/kernels")
        start = timed("one", 1)
        seconds = timed("many", shards * SHARD)
        size = sum(file.stat().st_size for file in Path(folder, "many").rglob("*") if file.is_file())
    return Measured((seconds - start) / shards, start, cold, size / shards)


def simulate_node(measured: Measured, shards: int, start: float, life: float | None, seed: int) -> Outcome:
    """Make the shards of a part on a machine; each time it is taken away, the shards in progress are lost."""
    random = np.random.default_rng(seed)
    left, now, up, taken, again = shards, 0.0, 0.0, 0, 0
    while left:
        end = now + (random.exponential(life * 3600) if life else np.inf)
        workers = [now + start] * min(CORES, left)
        done = 0
        last = now
        while done < left and workers:
            finish = heapq.heappop(workers) + measured.shard * random.lognormal(0.0, SPREAD)
            if finish > end:
                again += 1  # of this worker, which makes no further shard
                continue
            done, last = done + 1, max(last, finish)
            heapq.heappush(workers, finish)
        left -= done
        stop = min(end, last) if not left else end
        up += stop - now
        now = stop
        if left:
            taken, now = taken + 1, now + AWAY_SECONDS
    return Outcome(now, up / 3600, taken, again)


def simulate(measured: Measured, nodes: int, life: float | None, *, cold: bool) -> Outcome:
    """Make all shards, every N-th on each of N machines."""
    shards = SAMPLES // SHARD
    start = measured.cold_start if cold else measured.start
    parts = [len(range(part, shards, nodes)) for part in range(nodes)]
    each = [simulate_node(measured, count, start, life, seed) for seed, count in enumerate(parts)]
    return Outcome(
        max(node.seconds for node in each), sum(node.hours for node in each),
        sum(node.taken for node in each), sum(node.again for node in each),
    )  # fmt: skip


def main() -> None:
    measured = measure()
    began, used = time.perf_counter(), psutil.Process().memory_info().rss
    head = [
        "machines",
        "kernels",
        "taken away after",
        "time",
        "machine hours",
        "taken away",
        "shards made again",
        "machines, $",
    ]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for nodes in NODES:
        for life in LIVES:
            for cold in (False, True):
                found = simulate(measured, nodes, life, cold=cold)
                away = "never" if life is None else f"{life:g} h"
                lines.append(
                    f"| {nodes:,} | {'compiled on each' if cold else 'in the image'} | {away} | {human_time(found.seconds)} "
                    f"| {found.hours:.1f} | {found.taken:,} | {found.again:,} | {found.hours * DOLLARS_AN_HOUR:.2f} |"
                )
                print(lines[-1], flush=True)
    shards, size = SAMPLES // SHARD, measured.bytes * SAMPLES // SHARD
    seconds, more = time.perf_counter() - began, psutil.Process().memory_info().rss - used
    writes, reads, month = OBJECTS * shards, READS * shards, size / 1e9 * DOLLARS_A_GB
    text = [
        "# Dry run of 10 million samples on 1 to 1,000 machines",
        "",
        f"`python -m benchmarks.nodes`: machines with {CORES} workers. Measured with one worker on",
        f"{machine_sentence(described_machine())}: a shard of {SHARD} samples takes",
        f"{measured.shard:.2f} s and {human_bytes(round(measured.bytes))}, a start {measured.start:.1f} s, or",
        f"{measured.cold_start:.0f} s with the compilation of kernels.",
        f"The dry run itself took {seconds:.0f} s and {human_bytes(max(0, more))} of memory.",
        f"A machine that is taken away is back after {AWAY_SECONDS:.0f} s.",
        "",
        *lines,
        "",
        f"{shards:,} shards, {human_bytes(round(size))}.",
        f"In a bucket: {writes:,} PUTs for {writes * DOLLARS_A_REQUEST:.2f} $, {reads:,} GETs and HEADs for",
        f"{reads * DOLLARS_A_READ:.2f} $, and {month:.0f} $ a month.",
        f"Prices are assumed: {DOLLARS_AN_HOUR} $ for an hour of a machine, {1000 * DOLLARS_A_REQUEST:g} $ for 1,000 PUTs,",
        f"{1000 * DOLLARS_A_READ:g} $ for 1,000 GETs or HEADs, {DOLLARS_A_GB} $ for a GB and month.",
        "",
    ]
    RESULT.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
