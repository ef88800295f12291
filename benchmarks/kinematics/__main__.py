"""Takes all ways in turns and prints what each needs for a pose, as JSON."""

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
from posegen.skeleton import JOINTS

WAYS: dict[str, tuple[str, Callable[[Poses], Work]]] = {
    "posegen": ("numba", own),
    "NumPy": ("numpy", numpy_matrices),
    "torch by matrices": ("torch", torch_matrices),
    "torch by rows": ("torch", torch_rows),
    "MuJoCo": ("mujoco", mujoco_kinematics),
}
"""Each way, with the package that it needs."""

SEQUENCES = (1, 4, 16, 64)
"""At a time: small ones stay in the core's own memory, large ones pay what a call costs once."""
TOLERANCE = 1e-5
"""Metres by which ways may differ: float32 over a chain of nine joints."""


def measure(rounds: int, poses_a_round: int) -> dict[str, dict[str, float]]:
    """Give for each way the nanoseconds of processor time for a pose, at the number of sequences that suits it best.

    In each round every way has its turn at every number. It is processor time, since each works on one thread and waits for
    nothing: what others do on the core meanwhile does not count.
    """
    ways = {name: make for name, (package, make) in WAYS.items() if find_spec(package)}
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
    """Median over the rounds of one way's time by another's, which takes the number that suits it best."""
    other = min((each for which, each in spent.items() if which[0] == name), key=statistics.median)
    return statistics.median(one / two for one, two in zip(seconds, other, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--poses", type=int, default=64 * FRAMES, help="that each way finds in a round, at each number at a time"
    )
    options = parser.parse_args()
    use_one_core()
    print(json.dumps(measure(options.rounds, options.poses)))


if __name__ == "__main__":
    main()
