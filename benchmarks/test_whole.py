"""Guards of `synthesize` compared with copying its arrays, and of forward kinematics compared with NumPy."""

from __future__ import annotations

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import copying
from benchmarks.guards import KINEMATICS, SYNTHESIZE, Guard
from benchmarks.kinematics.own import own
from benchmarks.kinematics.peers import numpy_matrices
from benchmarks.kinematics.poses import drawn
from benchmarks.measure import compare


def test_synthesis_compared_with_copying(benchmark: BenchmarkFixture, guard: Guard) -> None:
    found = benchmark.pedantic(copying.measured_apart, args=(200, 5), rounds=1)
    benchmark.extra_info.update(found)
    guard("synthesize, by copying its arrays", found["ratio"], most=SYNTHESIZE)


def test_forward_kinematics_compared_with_matrices(benchmark: BenchmarkFixture, guard: Guard) -> None:
    poses = drawn(4)
    ours, stacks = own(poses), numpy_matrices(poses)
    compare(stacks, ours, 3)
    comparison = benchmark.pedantic(compare, args=(stacks, ours, 30), rounds=1)
    benchmark.extra_info["ratio"] = comparison.ratio
    guard("forward kinematics, times as fast as NumPy", comparison.ratio, least=KINEMATICS)
