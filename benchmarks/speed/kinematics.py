"""Speed of forward kinematics alone on one core, each implementation in turns and at the best of several batch sizes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.measure import apart, use_one_core
from benchmarks.speed.forward_kinematics import FRAMES, IMPLEMENTATIONS, drawn
from benchmarks.speed.targets import KINEMATICS_BY_MUJOCO, KINEMATICS_BY_TORCH
from posegen.foundations.skeleton import JOINTS

SEQUENCES = (1, 4, 16, 64)
"""Batch sizes: small batches fit into the cache of the core, large ones have less overhead per call."""
TOLERANCE = 1e-5
"""Largest difference in metres: float32 over a chain of nine joints."""


def measure(folder: Path) -> Iterator[Figure]:
    del folder  # nothing is written
    found = apart(timed)
    own = f"{found['posegen']['nanoseconds']:.0f}"
    yield Figure("forward kinematics of 22 joints: posegen, ns per pose", own, detail=found)
    for name, way in found.items():
        if name != "posegen":
            value = f"{way['nanoseconds']:.0f}; posegen is {way['by_posegen']:.1f} times as fast"
            value += f"; {way['sequences_at_a_time']} sequences at a time"
            yield Figure(f"forward kinematics: {name}, ns per pose", value)
    for name, least in (("torch", KINEMATICS_BY_TORCH), ("MuJoCo", KINEMATICS_BY_MUJOCO)):
        yield _compared(name, found.get(name, {}).get("by_posegen"), least)


def _compared(name: str, ratio: float | None, least: float) -> Figure:
    target = f"at least {least:.0f} times" if least != 1 else "faster"
    if ratio is None:
        return Figure(f"rate of forward kinematics / {name}", "not measured: not installed", target)
    return Figure(f"rate of forward kinematics / {name}", f"{ratio:.2f}", target, ratio >= least)


def timed(rounds: int = 7, poses_a_round: int = 64 * FRAMES) -> dict[str, dict[str, float]]:
    """Return the nanoseconds of processor time per pose of each implementation, at its best batch size.

    Each round measures every implementation at every batch size. Processor time excludes other processes on the core; each
    implementation uses one thread and does not wait. For a process of its own, because it stays on one core.
    """
    use_one_core()
    ways = {name: make for name, (package, make) in IMPLEMENTATIONS.items() if find_spec(package)}
    works = {(name, count): make(drawn(count)) for name, make in ways.items() for count in SEQUENCES}
    for (_, count), work in works.items():
        np.testing.assert_allclose(work().reshape(-1, len(JOINTS), 3), works["NumPy", count](), atol=TOLERANCE)
    spent: dict[tuple[str, int], list[float]] = {which: [] for which in works}
    for _ in range(rounds):
        for which, work in works.items():
            times = max(1, poses_a_round // (which[1] * FRAMES))
            started = time.process_time()
            for _ in range(times):
                work()
            spent[which].append(1e9 * (time.process_time() - started) / (times * which[1] * FRAMES))
    found = {}
    for name in ways:
        best = min(SEQUENCES, key=lambda count: statistics.median(spent[name, count]))
        found[name] = {"nanoseconds": statistics.median(spent[name, best]), "sequences_at_a_time": best}
        found[name]["by_posegen"] = _ratio(spent[name, best], spent, "posegen")
    return found


def _ratio(seconds: list[float], spent: dict[tuple[str, int], list[float]], name: str) -> float:
    """Return the median over the rounds of the ratio to the time of another implementation at its best batch size."""
    other = min((each for which, each in spent.items() if which[0] == name), key=statistics.median)
    return statistics.median(one / two for one, two in zip(seconds, other, strict=True))
