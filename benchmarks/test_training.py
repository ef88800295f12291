"""Guards of training: a clip goes through it no slower than with the published settings in their best form, and poses take no
longer than the motion that they are made of.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.datasets import generate
from benchmarks.guards import POSES, TRAINING, Guard
from benchmarks.measure import compare
from benchmarks.train.as_posegen import begun, posegen_trains
from benchmarks.train.published import Way, held, train
from posegen import load_config, synthesize
from posegen.dataset.read import open_dataset
from posegen.training.data.features import View
from posegen.training.models.poses import POSE

SAMPLES = 60
CLIPS = 96
PAIRS = 3
ONE_THREAD = {"device": "cpu", "threads": "1", "precision": "32-true", "micro_batch": "32", "workers": "0"}


def test_a_clip_takes_no_longer_than_with_published_settings(benchmark: BenchmarkFixture, tmp_path: Path, guard: Guard) -> None:
    path = generate(tmp_path / "dataset", "--samples", str(SAMPLES))
    ours = begun(path, SAMPLES, ONE_THREAD)
    source = ours.material.source(ours.task.recipes, "training")
    clips = held(open_dataset(path), source.sample_numbers, ours.material.view)
    spent: dict[str, list[float]] = {"posegen": [], "published": []}

    def timed(name: str, work: Callable[[Callable[[], None]], object]) -> None:
        marks: list[float] = []
        work(lambda: marks.append(time.perf_counter()))
        # Without the first step, in which all begins.
        spent[name].append((marks[-1] - marks[0]) / (len(marks) - 1))

    def posegen() -> None:
        run = tmp_path / str(len(spent["posegen"]))
        timed("posegen", lambda tell: posegen_trains(ours, 1 + CLIPS // 32, run, tell))

    def published() -> None:
        way = Way(3, threads=1)
        timed("published", lambda tell: train(ours.model(), ours.task, clips, way, ours.settings, 1 + CLIPS // 3, tell))

    benchmark.pedantic(compare, args=(posegen, published, PAIRS), rounds=1)
    pairs = zip(spent["posegen"], spent["published"], strict=True)
    ratio = sorted((own / 32) / (other / 3) for own, other in pairs)[PAIRS // 2]
    benchmark.extra_info["ratio"] = ratio
    guard("training on a clip, by the published settings", ratio, most=TRAINING)


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
