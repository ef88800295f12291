"""Guard of training: poses take no longer than the motion that they are made of."""

from __future__ import annotations

import time

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.guards import POSES, Guard
from benchmarks.measure import compare
from posegen import load_config, synthesize
from posegen.training.data.features import View
from posegen.training.models.poses import POSE


def test_poses_take_no_longer_than_their_motion(benchmark: BenchmarkFixture, guard: Guard) -> None:
    config, samples = load_config("default"), range(100)
    batch = synthesize(config, samples)
    view = View(config.frames // 2, config.fps / 2, 2, ())

    def poses() -> None:
        for variant in range(batch.joints.shape[1]):
            POSE.compute({name: getattr(batch, name)[:, variant] for name in POSE.fields}, view)

    comparison = benchmark.pedantic(compare, args=(poses, lambda: synthesize(config, samples), 7, time.process_time), rounds=1)
    benchmark.extra_info["ratio"] = comparison.ratio
    guard("poses of motion, by synthesizing it", comparison.ratio, most=POSES)
