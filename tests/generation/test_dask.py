"""A Dask cluster makes the same dataset, whatever happens to its workers."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.progress import Progress
from posegen.generation.jobs import LostJob, TimeLimit, run_jobs
from posegen.generation.run import GenerationError
from tests.generation.runs import assert_equal_content

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

WORKERS = 4
SLOW = "sleep:seconds=0.1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Four workers with slow shards; a job that kills two of them is given up."""
    options = {
        "env": {"POSEGEN_FAULT": SLOW},
        "n_workers": WORKERS,
        "threads_per_worker": 2,
        "memory_limit": 0,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as started,
    ):
        yield started


def kill_worker(number: int) -> int:
    """Kill the worker at a negative number."""
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def generate(config: Config, samples: int, path: Path, cluster: Any, progress: Progress | None = None) -> Any:
    """Generate on the cluster. Dask gives up a shard of several killed workers, which joblib does not report."""
    options: Any = {"backend": "dask", "scheduler": cluster.scheduler_address, "shard_timeout": 10.0}
    return posegen.generate(config, samples=samples, out=path, progress=progress, **options)


def test_two_of_four_workers_are_killed(cluster: Any, small: Config, tmp_path: Path) -> None:
    whole, path = tmp_path / "whole", tmp_path / "dataset"
    posegen.generate(small, samples=82, workers=1, out=whole)
    with distributed.Client(cluster) as client:
        processes = list(client.run(os.getpid).values())
    assert len(set(processes)) == WORKERS

    class Killer(Progress):
        """Kill a worker after the fifth shard and after the ninth."""

        shards = 0

        def update(self, done: int, details: str = "") -> None:
            self.shards += 1
            if self.shards in (5, 9):
                os.kill(processes.pop(), signal.SIGKILL)

    result = generate(small, 82, path, cluster, Killer())
    assert len(processes) == WORKERS - 2
    assert (result.samples, result.shards_made) == (82, 21)
    assert verify(path) == []
    assert_equal_content(path, whole)
    assert {file.name for file in path.iterdir()} == {file.name for file in whole.iterdir()}
    assert generate(small, 82, path, cluster).nothing_to_do


def test_a_job_that_kills_its_workers_is_lost_and_the_others_are_done(cluster: Any) -> None:
    jobs = iter([1, 2, -1, *range(3, 40)])
    outcomes = list(run_jobs(kill_worker, jobs, 1, TimeLimit(5.0), scheduler=cluster.scheduler_address))
    assert sorted(outcome for outcome in outcomes if isinstance(outcome, int)) == list(range(1, 40))
    assert [outcome for outcome in outcomes if isinstance(outcome, LostJob)] == [LostJob(-1, True, "it took longer than 5s")]


def tasks(dask_scheduler: Any) -> int:
    """Return the number of jobs at the scheduler."""
    return len(dask_scheduler.tasks)


def test_few_jobs_are_at_the_scheduler(cluster: Any) -> None:
    outcomes = run_jobs(kill_worker, range(300), 1, scheduler=cluster.scheduler_address)
    with distributed.Client(cluster, set_as_default=False) as client:
        at_once = [client.run_on_scheduler(tasks) for _ in outcomes]
    assert len(at_once) == 300
    assert 1 < max(at_once) <= 2 * 2 * WORKERS + 2


def inject(fault: str) -> None:
    """Inject a fault into the shards that this worker makes from now on."""
    os.environ["POSEGEN_FAULT"] = fault


def test_a_sample_that_cannot_be_made_is_named(small: Config, cluster: Any, tmp_path: Path) -> None:
    with distributed.Client(cluster, set_as_default=False) as client:
        client.run(inject, "raise:sample=9")
        try:
            with pytest.raises(GenerationError, match=r"1 of 4 shards could not be made.*\n  shard 2 .*sample 9 of seed 0"):
                generate(small, 14, tmp_path / "dataset", cluster)
        finally:
            client.run(inject, SLOW)
    assert generate(small, 14, tmp_path / "dataset", cluster).shards_made == 1


def test_what_cannot_be_used_is_refused(small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posegen.generation.backends._SECONDS_TO_CONNECT", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(UsageError, match="cannot be reached"):
            posegen.generate(small, samples=4, out=tmp_path / "dataset", scheduler=address)
    command = ["generate", "--config", "smoke", "--out", str(tmp_path / "x"), "--backend"]
    assert [main([*command, name]) for name in ("dask", "nowhere")] == [2, 2]


@pytest.mark.parametrize("looks", [0.5, 5.0], ids=["while results are awaited", "by the next call"])
def test_a_scheduler_that_dies_is_reported(
    looks: float, small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("posegen.generation.backends._SECONDS_BETWEEN_LOOKS", looks)
    options = ("--no-dashboard", "--host", "127.0.0.1")
    module = [sys.executable, "-m"]
    with subprocess.Popen(
        [*module, "distributed.cli.dask_scheduler", "--port", "0", *options], stderr=subprocess.PIPE, text=True
    ) as scheduler:
        assert scheduler.stderr is not None

        class Killer(Progress):
            def update(self, done: int, details: str = "") -> None:
                scheduler.kill()

        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at" in line)
        with subprocess.Popen(
            [*module, "distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1", *options],
            env=os.environ | {"POSEGEN_FAULT": "sleep:seconds=0.2"},
            stderr=subprocess.DEVNULL,
        ) as worker:
            try:
                with pytest.raises(PosegenError, match=r"connection to the scheduler was lost\. Complete shards are kept"):
                    posegen.generate(small, samples=82, out=tmp_path / "x", scheduler=address, progress=Killer())
            finally:
                for process in (worker, scheduler):
                    process.kill()
    # A worker that was killed in a shard leaves files without a receipt, which are no shard yet.
    assert [problem for problem in verify(tmp_path / "x") if "not complete" not in problem.what] == []
