"""The whole way: synthesizing beside copying, generating beside storing, two workers beside one, and the config `full`."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import copying, scaling
from benchmarks.end_to_end import measured_apart
from benchmarks.figures import Figure
from benchmarks.measure import ROOT, compare, peak_memory, posegen
from benchmarks.speed.wanted import (
    GENERATE_BY_STORING,
    GENERATE_GOAL,
    PUBLISHED_SEQUENCES_PER_SECOND,
    SYNTHESIZE_BY_COPYING,
    SYNTHESIZE_GOAL,
    TIMES_PUBLISHED,
    TIMES_PUBLISHED_GOAL,
    TWO_WORKERS_BY_ONE,
)
from posegen.machine import available_cores

SAMPLES, PAIRS = 10_000, 3
"""Of the runs with one worker and with two, which are commands: their start counts."""
SELDOM = 1.0
"""Seconds between two looks at a long run's memory: looking takes time that the run is not to lose."""


def measure(folder: Path) -> Iterator[Figure]:
    yield _synthesizing()
    yield from _generating(folder)
    yield _workers(folder)
    yield from _processes()
    yield _full(folder)


def _synthesizing() -> Figure:
    found = copying.measured_apart(samples=200, pairs=15)
    each = f"{found['synthesizing_microseconds']:.0f} us a sequence, copying {found['copying_microseconds']:.0f} us"
    wanted = f"at most {SYNTHESIZE_BY_COPYING:.0f} (goal {SYNTHESIZE_GOAL:.0f})"
    good = found["ratio"] <= SYNTHESIZE_BY_COPYING
    return Figure("`synthesize` with 5 variants, by copying its arrays", f"{found['ratio']:.1f}; {each}", wanted, good, found)


def _generating(folder: Path) -> Iterator[Figure]:
    found = measured_apart(samples=1000, pairs=7, folder=folder)
    wanted = f"at most {GENERATE_BY_STORING} (goal {GENERATE_GOAL})"
    good = found["ratio"] <= GENERATE_BY_STORING
    yield Figure("one worker, by storing the same arrays from memory", f"{found['ratio']:.2f}", wanted, good, found)
    rate = found["generated_sequences_per_second"]
    times = rate / PUBLISHED_SEQUENCES_PER_SECOND
    wanted = f"at least {TIMES_PUBLISHED:.0f} (goal {TIMES_PUBLISHED_GOAL:.0f} with the newest zarr)"
    told = f"{times:.0f} times; {rate:,.0f} sequences a second, storing alone {found['stored_sequences_per_second']:,.0f}"
    yield Figure("one worker, by the published generator's 50 sequences a second", told, wanted, times >= TIMES_PUBLISHED)


def _workers(folder: Path) -> Figure:
    name, wanted = f"two workers by one, {SAMPLES:,} samples", f"at least {TWO_WORKERS_BY_ONE} times as fast"
    if available_cores() < 2:
        return Figure(name, "not measured: there is one core only", wanted)
    place = folder / "dataset"

    def making(workers: int) -> None:
        command = posegen("generate", "--quiet", "--samples", str(SAMPLES), "--workers", str(workers), "--out", place)
        subprocess.run(command, cwd=ROOT, check=True)
        shutil.rmtree(place)

    comparison = compare(lambda: making(1), lambda: making(2), PAIRS)
    one, two = (statistics.median(seconds) for seconds in (comparison.first, comparison.second))
    told = f"{comparison.ratio:.2f} times as fast; {one:.1f} s and {two:.1f} s with their starts"
    return Figure(name, told, wanted, comparison.ratio >= TWO_WORKERS_BY_ONE, [comparison.first, comparison.second])


def _processes() -> Iterator[Figure]:
    if available_cores() >= 2:
        found = scaling.measured_apart(shards=8, pairs=7)
        yield Figure("two processes that only synthesize, by one", f"{found['synthesizing']:.2f} times as fast")
        yield Figure("two processes that only multiply, by one", f"{found['multiplying']:.2f} times as fast")


def _full(folder: Path) -> Figure:
    place = folder / "full"
    started = time.monotonic()
    peak = peak_memory(posegen("generate", "--config", "full", "--quiet", "--out", place), every=SELDOM)
    minutes = (time.monotonic() - started) / 60
    stored = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    shutil.rmtree(place)
    memory = f"{peak.resident / 1e6:,.0f} MB resident, {peak.proportional / 1e6:,.0f} MB with shared memory counted once"
    told = f"{minutes:.1f} minutes, {stored / 1e9:.1f} GB, {memory}; {available_cores()} workers"
    return Figure("`posegen generate --config full`, 100,000 samples", told)
