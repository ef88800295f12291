"""End-to-end speed: synthesis / copying, generation / storing, two workers / one, and the config `full`."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import scaling
from benchmarks.figures import Figure
from benchmarks.lower_bounds import generation_by_storing, synthesis_by_copying
from benchmarks.measure import apart, compare, folder_bytes, peak_memory, posegen, run
from benchmarks.speed.targets import (
    GAIN_OF_WORKERS,
    GENERATE_BY_STORING,
    GENERATE_GOAL,
    SYNTHESIZE_BY_COPYING,
    SYNTHESIZE_GOAL,
    TWO_WORKERS_BY_ONE,
)
from posegen.foundations.machine import available_cores

SAMPLES, PAIRS = 30_000, 3
"""Of the comparison of one worker with two, by commands whose start counts: at 10,000 samples it was a sixth of the time."""
MEMORY_INTERVAL = 1.0
"""Seconds between two measurements of memory in a long run, which they slow down."""


def measure(folder: Path) -> Iterator[Figure]:
    yield _synthesis()
    yield from _generation(folder)
    yield from _workers(folder)
    yield _full(folder)


def _synthesis() -> Figure:
    found = apart(synthesis_by_copying, 200, 15)
    each = f"{found['synthesizing_microseconds']:.0f} us per sequence, copying {found['copying_microseconds']:.0f} us"
    target = f"at most {SYNTHESIZE_BY_COPYING:.0f} (goal {SYNTHESIZE_GOAL:.0f})"
    passed = found["ratio"] <= SYNTHESIZE_BY_COPYING
    return Figure(
        "time of `synthesize` with 5 variants / time of copying its arrays",
        f"{found['ratio']:.1f}; {each}",
        target,
        passed,
        found,
    )


def _generation(folder: Path) -> Iterator[Figure]:
    found = apart(generation_by_storing, 1000, 7, folder)
    target = f"at most {GENERATE_BY_STORING} (goal {GENERATE_GOAL})"
    passed = found["ratio"] <= GENERATE_BY_STORING
    each = f"{found['generated_sequences_per_second']:,.0f} and {found['stored_sequences_per_second']:,.0f} sequences/s"
    value = f"{found['ratio']:.2f}; {each}"
    yield Figure("generation time / time to store the same arrays (1 worker)", value, target, passed, found)


def _workers(folder: Path) -> Iterator[Figure]:
    name, target = f"rate of two workers / one, {SAMPLES:,} samples", f"at least {TWO_WORKERS_BY_ONE}"
    if available_cores() < 2:
        yield Figure(name, "not measured: there is only one core", target)
        return
    path = folder / "dataset"

    def generate(workers: int) -> None:
        run("generate", "--samples", SAMPLES, "--workers", workers, "--out", path)
        shutil.rmtree(path)

    comparison = compare(lambda: generate(1), lambda: generate(2), PAIRS)
    one, two = (statistics.median(seconds) for seconds in (comparison.first, comparison.second))
    value = f"{comparison.ratio:.2f}; {one:.1f} s and {two:.1f} s including start-up"
    yield Figure(name, value, target, comparison.ratio >= TWO_WORKERS_BY_ONE, [comparison.first, comparison.second])
    found = scaling.measure(8, 7)
    yield Figure("rate of two processes that only synthesize / one", f"{found['synthesis']:.2f}")
    yield Figure("rate of two processes that only multiply / one", f"{found['multiplication']:.2f}")
    gain, target = comparison.ratio / found["multiplication"], f"at least {GAIN_OF_WORKERS}"
    yield Figure("gain of two workers / gain of two processes that multiply", f"{gain:.2f}", target, gain >= GAIN_OF_WORKERS)


def _full(folder: Path) -> Figure:
    path = folder / "full"
    started = time.monotonic()
    peak = peak_memory(posegen("generate", "--config", "full", "--quiet", "--out", path), every=MEMORY_INTERVAL)
    minutes = (time.monotonic() - started) / 60
    stored = folder_bytes(path)
    shutil.rmtree(path)
    memory = f"{peak.resident / 1e6:,.0f} MB resident, {peak.proportional / 1e6:,.0f} MB with shared memory counted once"
    value = f"{minutes:.1f} minutes, {stored / 1e9:.1f} GB, {memory}; {available_cores()} workers"
    return Figure("`posegen generate --config full`, 100,000 samples", value)
