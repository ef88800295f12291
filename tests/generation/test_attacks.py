"""Killed, interrupted and failing runs: complete shards stay, and the same command makes the rest."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import posegen
from posegen.config.schema import Config
from tests.generation.runs import Runs, assert_equal_content, receipts, wait_for, workers_of

pytestmark = pytest.mark.slow


KILLS = int(os.environ.get("POSEGEN_TEST_KILLS", "3"))
"""Number of runs that are killed at random moments."""

SHARDS = 20
SLOW = "sleep:seconds=0.05"


@pytest.fixture(scope="module")
def whole(small: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the dataset of an undisturbed run."""
    path = tmp_path_factory.mktemp("whole") / "dataset"
    posegen.generate(small, samples=4 * SHARDS, workers=1, out=path)
    return path


def orphan_files(path: Path) -> list[str]:
    """Return temporary and hidden files in a dataset."""
    return [str(file) for file in path.rglob("*") if file.name.startswith(".") or file.name.endswith(".temporary")]


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_run_killed_with_its_workers_is_resumed(seed: int, small: Config, whole: Path, tmp_path: Path, runs: Runs) -> None:
    moment = random.Random(seed)
    path = tmp_path / "killed"
    run = runs.start(path, "--samples", str(4 * SHARDS), "--workers", "2", fault=SLOW)
    wait_for(run, path, moment.randrange(SHARDS - 4))
    time.sleep(moment.random() * 0.1)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    completed = len(receipts(path))
    assert completed < SHARDS
    # In this process, where the kernels are loaded; another test resumes with the command.
    result = posegen.generate(small, samples=4 * SHARDS, workers=1, out=path)
    assert (result.samples, result.shards_made) == (4 * SHARDS, SHARDS - completed)
    assert_equal_content(path, whole)
    assert orphan_files(path) == []


def test_a_sample_that_kills_its_worker_is_named_and_other_shards_are_made(
    small: Config, whole: Path, tmp_path: Path, runs: Runs
) -> None:
    path = tmp_path / "poisoned"
    code, _, error = runs.finish(path, "--samples", "40", "--workers", "2", fault="kill:sample=13")
    assert code == 1
    assert "1 of 10 shards could not be made" in error
    assert "shard 3 (samples 12 to 15 of seed 0): its worker died, also without other shards" in error
    assert len(receipts(path)) == 9
    assert len(posegen.open(path)) == 12
    assert posegen.generate(small, samples=4 * SHARDS, workers=1, out=path).shards_made == SHARDS - 9
    assert_equal_content(path, whole)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_sample_that_raises_is_named_and_other_shards_are_made(workers: str, tmp_path: Path, runs: Runs) -> None:
    path = tmp_path / "poisoned"
    code, out, error = runs.finish(path, "--samples", "12", "--workers", workers, "--json", fault="raise:sample=6")
    assert (code, out) == (1, "")
    assert "sample 6 of seed 0 could not be made: InjectedError" in error
    assert "Traceback" not in error
    assert receipts(path) == ["00000.json", "00002.json"]
    assert len(posegen.open(path)) == 4


# Pressing Ctrl-C again must not lose more.
@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 3), (signal.SIGTERM, 1)])
def test_an_interrupted_run_stops_cleanly_and_resumes(
    number: signal.Signals,
    times: int,
    small: Config,
    whole: Path,
    tmp_path: Path,
    runs: Runs,
) -> None:
    path = tmp_path / "stopped"
    options = ("--samples", str(4 * SHARDS), "--workers", "2")
    run = runs.start(path, *options, fault=SLOW)
    wait_for(run, path, 4)
    workers = workers_of(run.pid)
    assert len(workers) == 2
    for _ in range(times):
        # A terminal sends Ctrl-C to the workers too.
        os.killpg(run.pid, number) if number == signal.SIGINT else run.send_signal(number)
        time.sleep(0.02)
    _, error = run.communicate(timeout=120)
    assert run.returncode == 130
    assert "same command" in error
    assert "Traceback" not in error
    assert not any(worker.is_running() for worker in workers)
    assert orphan_files(path) == []
    completed = len(receipts(path))
    assert 4 <= completed < SHARDS
    # The first shard may have been in the slower worker.
    assert len(posegen.open(path)) in range(0, 4 * completed + 1, 4)
    if number == signal.SIGTERM:
        made = posegen.generate(small, samples=4 * SHARDS, workers=1, out=path).shards_made
    else:
        made = json.loads(runs.finish(path, *options, "--json")[1])["shards_made"]
    assert made == SHARDS - completed
    assert_equal_content(path, whole)


@pytest.mark.skipif(not shutil.which("unshare") or os.geteuid() != 0, reason="needs the right to mount a file system")
def test_workers_without_shared_memory_are_refused(tmp_path: Path) -> None:
    read_only = 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$@"'
    options = ["--config=smoke", "--set=frames=40", "--set=store.shard=4", "--set=store.chunk=2", "--samples=12", "--workers=2"]
    command = [sys.executable, "-m", "posegen", "generate", *options, "--quiet", "--out", str(tmp_path / "dataset")]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", read_only, "sh", *command], capture_output=True, text=True, check=False, timeout=300
    )
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"needs the right to mount a file system: {done.stderr}")
    assert done.returncode == 2, done.stderr
    assert "worker processes need shared memory, and /dev/shm cannot be used" in done.stderr
    assert "Use --workers 1" in done.stderr
    assert "Traceback" not in done.stderr
