"""Roofline of the kernels of a shard: processor time, the bytes that must move, and the rate of both beside that of copying.

A kernel near the rate of copying is bound by memory; one far below it, by arithmetic. The bytes are those of the joints and
labels that a kernel reads and writes, so caches do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import posegen
from benchmarks.figures import Figure
from benchmarks.measure import on_one_core
from posegen.config.schema import Config
from posegen.dataset.runs import current_run
from posegen.dataset.write import create
from posegen.generation.header import new_header
from posegen.generation.shard import ShardJob, make_shard
from posegen.library.load import load_library
from posegen.synthesis.synthesize import synthesize

SHARDS = 10
KERNELS = {
    "animate_scenes": "posegen.motion.engine",
    "copy_joints": "posegen.variants.copies",
    "copy_labels": "posegen.variants.copies",
    "fill_limits": "posegen.checks.limits",
    "fill_evidence": "posegen.checks.evidence",
    "_fill": "posegen.foundations.randomness",
    "count_noncanonical": "posegen.foundations.canonical_floats",
}
"""The kernels that make a shard, and the modules that call them."""


def measure(folder: Path) -> Iterator[Figure]:
    with on_one_core():
        config = posegen.load_config("default")
        copied = _copying_rate(config)
        yield Figure("copying of joints and labels, GB/s read and written", f"{copied / 1e9:.1f}")
        frames = SHARDS * config.store.shard * len(config.variants.names) * config.frames
        for name, (seconds, moved) in timed_kernels(config, folder, SHARDS).items():
            rate = f"; {moved / seconds / 1e9:.2f} GB/s, {moved / seconds / copied:.0%} of copying" if moved else ""
            yield Figure(f"kernel `{name}`, ns per stored frame", f"{1e9 * seconds / frames:.1f}{rate}")


def timed_kernels(config: Config, folder: Path, shards: int) -> dict[str, tuple[float, int]]:
    """Make shards, and return the processor time in seconds and the bytes of joints and labels moved of each kernel."""
    header = new_header(config, load_library(config.story.library))
    header = header.with_samples((shards + 1) * header.shard)
    create(folder / "kernels", header)
    found = dict.fromkeys(KERNELS, (0.0, 0))

    def timed(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            start = time.process_time()
            result = kernel(*arguments)
            seconds, moved = found[name]
            found[name] = seconds + time.process_time() - start, moved + _moved_bytes(name, arguments)
            return result

        return run

    make_shard(ShardJob(folder / "kernels", header, config, 0, current_run()))  # loads the kernels
    with ExitStack() as stack:
        for name, module in KERNELS.items():
            stack.enter_context(patch(f"{module}.{name}", timed(name, getattr(import_module(module), name))))
        for number in range(1, shards + 1):
            make_shard(ShardJob(folder / "kernels", header, config, number, current_run()))
    return found


def _moved_bytes(name: str, arguments: tuple[Any, ...]) -> int:
    """Return the bytes of joints and labels that one call of a kernel must read and write; 0 where it reads a few of them."""
    if name == "animate_scenes":
        motion = arguments[5]
        return int(sum(array[:, 0].nbytes for array in motion))
    if name in ("copy_joints", "copy_labels"):
        return 2 * int(arguments[0][:, 0].nbytes)
    if name == "fill_limits":
        return int(arguments[0][:, 0].nbytes + arguments[1][:, 0].nbytes)
    return int(arguments[0].nbytes) if name == "count_noncanonical" else 0


def _copying_rate(config: Config) -> float:
    """Return the bytes per second of copying the arrays of a shard, read and written."""
    batch = synthesize(config, range(config.store.shard))
    arrays = [batch.joints, batch.action, batch.contact]
    targets = [np.zeros_like(array) for array in arrays]
    seconds = []
    for _ in range(SHARDS):
        start = time.process_time()
        for target, source in zip(targets, arrays, strict=True):
            np.copyto(target, source)
        seconds.append(time.process_time() - start)
    return 2 * sum(array.nbytes for array in arrays) / float(np.median(seconds))
