"""Guards of whole commands and functions: estimate of a run, start, poses for training, synthesis, forward kinematics."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.guards import KINEMATICS, POSES, PROFILE_BYTES, PROFILE_WIDENED, START, SYNTHESIZE, Guard
from benchmarks.lower_bounds import synthesis_by_copying
from benchmarks.measure import ROOT, apart, compare
from benchmarks.speed.forward_kinematics import drawn, numpy_matrices, own
from benchmarks.speed.profile_accuracy import measure_accuracy
from benchmarks.speed.startup import command_seconds
from posegen import load_config, synthesize
from posegen.training.data.features import View
from posegen.training.data.poses import POSE


def test_estimate_of_a_larger_run(tmp_path: Path) -> None:
    found = measure_accuracy(600, 5, tmp_path, repeats=3)
    low, high = found.widened(PROFILE_WIDENED)
    print(f"\nestimate {found.estimate:.1f} s ({found.low:.1f} to {found.high:.1f}), measured {found.seconds:.1f} s")
    assert low <= found.seconds <= high
    assert abs(found.estimated_bytes / found.bytes - 1) < PROFILE_BYTES


DEPENDENCIES = "import click, numba, numpy, psutil, pyarrow.parquet, pydantic, rich, xxhash, yaml, zarr"
PAIRS = 3


def test_start_compared_with_imports(tmp_path: Path, guard: Guard) -> None:
    def starting() -> None:
        command_seconds(tmp_path / "dataset")

    def importing() -> None:
        subprocess.run([sys.executable, "-c", DEPENDENCIES], cwd=ROOT, check=True)

    compare(starting, importing, 1)  # kernels are compiled, files are read for the first time
    comparison = compare(starting, importing, PAIRS)
    guard("start of a run", comparison.ratio, most=START)


def test_poses_take_no_longer_than_their_motion(guard: Guard) -> None:
    config, samples = load_config("default"), range(100)
    batch = synthesize(config, samples)
    view = View(config.frames // 2, config.fps / 2, 2, ())

    def poses() -> None:
        for variant in range(batch.joints.shape[1]):
            POSE.compute({name: getattr(batch, name)[:, variant] for name in POSE.fields}, view)

    comparison = compare(poses, lambda: synthesize(config, samples), 7, time.process_time)
    guard("poses of motion, by synthesizing it", comparison.ratio, most=POSES)


def test_synthesis_compared_with_copying(guard: Guard) -> None:
    found = apart(synthesis_by_copying, 200, 5)
    guard("synthesize, by copying its arrays", found["ratio"], most=SYNTHESIZE)


def test_forward_kinematics_compared_with_matrices(guard: Guard) -> None:
    poses = drawn(4)
    ours, stacks = own(poses), numpy_matrices(poses)
    compare(stacks, ours, 3)
    comparison = compare(stacks, ours, 30)
    guard("forward kinematics, times as fast as NumPy", comparison.ratio, least=KINEMATICS)
