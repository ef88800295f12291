"""Kernels compared with their naive NumPy oracles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.guards import KERNEL_SPEEDUP, Guard
from benchmarks.measure import compare
from posegen.foundations.randomness import philox_kernel
from posegen.motion.gait_channels import fill_waves
from posegen.motion.gaits import HARMONICS
from posegen.motion.trunk import compose_rotations
from tests.naive import philox

Work = Callable[[], NDArray[np.generic]]

FRAMES = 250


BLOCKS = 4000
"""Blocks of random numbers: few enough for NumPy's temporary arrays to be reused memory. Larger ones are new pages
from the system or not, depending on what the process allocated before, and the ratio was 2.8 or 7.3."""


def philox_pair() -> tuple[Work, Work]:
    counter = np.arange(4 * BLOCKS, dtype=np.uint32).reshape(-1, 4)
    key = np.full((len(counter), 2), 7, np.uint32)
    return lambda: philox_kernel(counter, key), lambda: philox(counter, key)


def waves_pair() -> tuple[Work, Work]:
    phase = np.linspace(0, 9, FRAMES, dtype=np.float32)
    waves, unwarped = np.zeros((2 * HARMONICS, FRAMES), np.float32), np.zeros(FRAMES, np.float32)

    def kernel() -> NDArray[np.generic]:
        fill_waves(phase, unwarped, waves)
        return waves

    def oracle() -> NDArray[np.generic]:
        angle = np.float32(2 * np.pi) * phase * np.arange(1, HARMONICS + 1, dtype=np.float32)[:, None]
        return np.concatenate([np.cos(angle), np.sin(angle)])

    return kernel, oracle


def rotations_pair() -> tuple[Work, Work]:
    generator = np.random.default_rng(0)
    first, second = (generator.uniform(-1, 1, (FRAMES, 3, 3)).astype(np.float32) for _ in range(2))
    rows = [np.ascontiguousarray(turns.reshape(FRAMES, 9).T) for turns in (first, second)]
    product = np.zeros((9, FRAMES), np.float32)

    def kernel() -> NDArray[np.generic]:
        compose_rotations(rows[0], rows[1], product)
        return product

    return kernel, lambda: np.matmul(first, second).reshape(FRAMES, 9).T


PAIRS: dict[str, Callable[[], tuple[Work, Work]]] = {
    "philox": philox_pair,
    "multiples of a phase": waves_pair,
    "product of rotations": rotations_pair,
}
"""For each kernel: itself and its oracle, on the same arguments."""


@pytest.mark.parametrize("name", sorted(KERNEL_SPEEDUP))
def test_kernel_beats_its_oracle(benchmark: BenchmarkFixture, name: str, guard: Guard) -> None:
    kernel, oracle = PAIRS[name]()
    np.testing.assert_allclose(kernel(), oracle(), atol=1e-4)
    comparison = compare(oracle, kernel, 7)
    print(f"\n{name}: {comparison.ratio:.1f} times as fast as its oracle")
    benchmark(kernel)
    guard(f"{name}, times as fast as its oracle", comparison.ratio, least=KERNEL_SPEEDUP[name])
