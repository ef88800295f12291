"""Kernels beside the naive NumPy that says what they must equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.guards import KERNEL_SPEEDUP
from benchmarks.measure import compare
from posegen.randomness import philox, philox_kernel

Work = Callable[[], NDArray[np.generic]]


def philox_pair() -> tuple[Work, Work]:
    counter = np.arange(200_000, dtype=np.uint32).reshape(-1, 4)
    key = np.full((len(counter), 2), 7, np.uint32)
    return lambda: philox_kernel(counter, key), lambda: philox(counter, key)


PAIRS: dict[str, Callable[[], tuple[Work, Work]]] = {"philox": philox_pair}
"""For each kernel: itself and its oracle, on the same arguments."""


@pytest.mark.parametrize("name", sorted(KERNEL_SPEEDUP))
def test_kernel_beats_its_oracle(benchmark: BenchmarkFixture, name: str) -> None:
    kernel, oracle = PAIRS[name]()
    np.testing.assert_array_equal(kernel(), oracle())
    comparison = compare(oracle, kernel, 7)
    benchmark.extra_info["ratio"] = comparison.ratio
    benchmark(kernel)
    print(f"\n{name}: {comparison.ratio:.1f} times as fast as its oracle")
    assert comparison.ratio > KERNEL_SPEEDUP[name]
