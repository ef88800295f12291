"""A Dask cluster makes the same dataset, whatever happens to its workers."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.verify import verify
from posegen.errors import UsageError
from posegen.generation.pool import LostJob
from posegen.generation.run import GenerationError
from posegen.generation.shard import ShardMeasures

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

SameContent = Callable[[Path, Path], None]
WORKERS = 4
DASK = "posegen.generation.dask_cluster"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Four workers with slow shards; a job that kills two of them is given up."""
    slow = {"POSEGEN_FAULT": "sleep:seconds=0.1"}
    options = {
        "env": slow,
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


def kill_worker(number: int) -> None:
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)


def test_two_of_four_workers_are_killed(cluster: Any, small: Config, tmp_path: Path, assert_equal_content: SameContent) -> None:
    whole, path, made = tmp_path / "whole", tmp_path / "dataset", list[ShardMeasures]()
    posegen.generate(small, samples=82, workers=1, out=whole)
    with distributed.Client(cluster) as client:
        processes = list(client.run(os.getpid).values())
    assert len(set(processes)) == WORKERS

    def kill_some(measures: ShardMeasures) -> None:
        made.append(measures)
        if len(made) in (5, 9):
            os.kill(processes.pop(), signal.SIGKILL)

    options: Any = {"backend": "dask", "scheduler": cluster.scheduler_address, "on_shard": kill_some}
    result = posegen.generate(small, samples=82, out=path, **options)
    assert len(processes) == WORKERS - 2
    assert len({measures.process for measures in made}) >= WORKERS - 1
    assert (result.samples, result.shards_made) == (82, 21)
    assert verify(path) == []
    assert_equal_content(path, whole)
    assert {file.name for file in path.iterdir()} == {file.name for file in whole.iterdir()}
    again = posegen.generate(small, samples=82, out=path, **options)
    assert again.nothing_to_do


def test_a_job_that_kills_its_workers_is_lost_and_the_others_are_done(cluster: Any) -> None:
    with distributed.Client(cluster) as client:
        outcomes = list(import_module(DASK).run_on_dask(kill_worker, iter([1, 2, -1, *range(3, 40)]), client))
    lost = [outcome for outcome in outcomes if isinstance(outcome, LostJob)]
    assert [(each.job, each.attempts, each.reason) for each in lost] == [(-1, 3, "its worker died")]
    assert len(outcomes) == 40


@pytest.mark.parametrize("most", [3, 2000])
def test_few_jobs_are_at_the_scheduler(most: int, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dask_cluster, drawn = import_module(DASK), list[int]()
    monkeypatch.setattr(dask_cluster, "MOST_TASKS", most)

    def jobs() -> Iterator[int]:
        for number in range(100):
            drawn.append(number)
            yield number

    with distributed.Client(cluster) as client:
        at_once = [len(drawn) - done for done, _ in enumerate(dask_cluster.run_on_dask(kill_worker, jobs(), client))]
    assert len(at_once) == 100
    assert 1 < max(at_once) <= min(most, dask_cluster.TASKS_PER_THREAD * WORKERS * 2)


def test_it_starts_a_cluster_of_its_own(
    small: Config, fourteen: Path, tmp_path: Path, assert_equal_content: SameContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSEGEN_FAULT", "raise:sample=9")
    with pytest.raises(GenerationError, match=r"1 of 4 shards could not be made.*\n  shard 2 .*sample 9 of seed 0 could not"):
        posegen.generate(small, samples=14, workers=2, out=tmp_path / "dataset", backend="dask")
    monkeypatch.delenv("POSEGEN_FAULT")
    assert posegen.generate(small, samples=14, workers=2, out=tmp_path / "dataset", backend="dask").shards_made == 1
    assert_equal_content(tmp_path / "dataset", fourteen)


def test_what_cannot_be_used_is_refused(small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{DASK}._SECONDS_TO_CONNECT", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(UsageError, match="cannot be reached"):
            posegen.generate(small, samples=4, out=tmp_path / "dataset", backend="dask", scheduler=address)
    with pytest.raises(UsageError, match="backend must be processes or dask"):
        posegen.generate(small, samples=4, out=tmp_path / "dataset", backend="ray")
    command = ["generate", "--config", "smoke", "--out", str(tmp_path / "x")]
    assert main([*command, "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert main([*command, "--backend", "dask", "--shard-timeout", "9"]) == 2
