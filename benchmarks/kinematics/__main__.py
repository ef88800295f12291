"""Measure all implementations in turns and print the time per pose as JSON."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.kinematics.own import own
from benchmarks.kinematics.peers import mujoco_kinematics, numpy_matrices, torch_matrices, torch_rows
from benchmarks.kinematics.poses import FRAMES, Poses, Work, drawn
from benchmarks.measure import use_one_core
from posegen.foundations.skeleton import JOINTS

IMPLEMENTATIONS: dict[str, tuple[str, Callable[[Poses], Work]]] = {
    "posegen": ("numba", own),
    "NumPy": ("numpy", numpy_matrices),
    "torch by matrices": ("torch", torch_matrices),
    "torch by rows": ("torch", torch_rows),
    "MuJoCo": ("mujoco", mujoco_kinematics),
}
"""Implementations, with the package that each needs."""

SEQUENCES = (1, 4, 16, 64)
"""Batch sizes: small batches fit into the cache of the core, large ones have less overhead per call."""
TOLERANCE = 1e-5
"""Largest difference in metres: float32 over a chain of nine joints."""


def measure(rounds: int, poses_a_round: int) -> dict[str, dict[str, float]]:
    """Return the nanoseconds of processor time per pose of each implementation, at its best batch size.

    Each round measures every implementation at every batch size. Processor time excludes other processes on the core; each
    implementation uses one thread and does not wait.
    """
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--poses", type=int, default=64 * FRAMES, help="Poses per round, implementation and batch size (default: 16000)"
    )
    options = parser.parse_args()
    use_one_core()
    print(json.dumps(measure(options.rounds, options.poses)))


if __name__ == "__main__":
    main()
