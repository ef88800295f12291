"""A Dask cluster makes the same dataset, whatever happens to its workers, and a local one serves nobody else."""

from __future__ import annotations

import http.client
import logging
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import posegen
from posegen.cli.main import main
from posegen.config.schema import Config
from posegen.dataset.verify import verify
from posegen.foundations.errors import PosegenError, UsageError
from posegen.generation.backends import Backend
from posegen.generation.jobs import LostJob, TimeLimit, run_jobs
from posegen.generation.run import GenerationError
from posegen.generation.shard import ShardMeasures

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
pytest.importorskip("cryptography")
pytestmark = pytest.mark.slow

SameContent = Callable[[Path, Path], None]
WORKERS = 4

CLIENT = """
import os, sys, threading, time
from distributed import Client, Security
os.setgroups([]), os.setgid(65534), os.setuid(65534)
def attempt(address, security):
    try:
        print("ran as", Client(address, timeout=3, security=security).submit(os.getuid).result(timeout=3), flush=True)
    except Exception as error:
        print("refused", address, flush=True)
temporary = Security.temporary()
for scheme, seconds in (("tls", 120), ("tcp", 5)):
    threads = [
        threading.Thread(target=attempt, args=(f"{scheme}://127.0.0.1:{port}", security), daemon=True)
        for port in sys.argv[1:] for security in (None, temporary)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
os._exit(0)
"""
"""Tries to run code at each port as another user. A client that speaks plain TCP to a port of pages waits for ever."""


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


def kill_worker(number: int) -> int:
    """Kill the worker at a negative number."""
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_two_of_four_workers_are_killed(cluster: Any, small: Config, tmp_path: Path, assert_equal_content: SameContent) -> None:
    whole, path, made, killed = tmp_path / "whole", tmp_path / "dataset", list[ShardMeasures](), list[int]()
    posegen.generate(small, samples=82, workers=1, out=whole)
    with distributed.Client(cluster) as client:
        processes = list(client.run(os.getpid).values())
    assert len(set(processes)) == WORKERS

    def kill_some(measures: ShardMeasures) -> None:
        made.append(measures)
        if len(made) in (5, 9):
            killed.append(processes.pop())
            os.kill(killed[-1], signal.SIGKILL)

    # Dask gives up a shard that was running on both, which joblib does not report.
    options: Any = {"backend": "dask", "scheduler": cluster.scheduler_address, "on_shard": kill_some, "shard_timeout": 10.0}
    result = posegen.generate(small, samples=82, out=path, **options)
    assert len(processes) == WORKERS - 2
    # What the killed ones had made may arrive late, and not all of the others need to have begun.
    assert made[-1].process not in killed
    assert (result.samples, result.shards_made) == (82, 21)
    assert verify(path) == []
    assert_equal_content(path, whole)
    assert {file.name for file in path.iterdir()} == {file.name for file in whole.iterdir()}
    again = posegen.generate(small, samples=82, out=path, **options)
    assert again.nothing_to_do


def test_a_job_that_kills_its_workers_is_lost_and_the_others_are_done(cluster: Any) -> None:
    where = Backend("dask", cluster.scheduler_address)
    outcomes = list(run_jobs(kill_worker, iter([1, 2, -1, *range(3, 40)]), 1, TimeLimit(5.0), backend=where))
    assert sorted(outcome for outcome in outcomes if isinstance(outcome, int)) == list(range(1, 40))
    assert [outcome for outcome in outcomes if isinstance(outcome, LostJob)] == [LostJob(-1, True, "it took longer than 5s")]


def tasks(dask_scheduler: Any) -> int:
    """Return the number of jobs at the scheduler."""
    return len(dask_scheduler.tasks)


def test_few_jobs_are_at_the_scheduler(cluster: Any) -> None:
    outcomes = run_jobs(kill_worker, range(300), 1, backend=Backend("dask", cluster.scheduler_address))
    with distributed.Client(cluster, set_as_default=False) as client:
        at_once = [client.run_on_scheduler(tasks) for _ in outcomes]
    assert len(at_once) == 300
    assert 1 < max(at_once) <= 2 * 2 * WORKERS + 2


def test_it_starts_a_cluster_of_its_own(
    small: Config, fourteen: Path, tmp_path: Path, assert_equal_content: SameContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSEGEN_FAULT", "raise:sample=9")
    with pytest.raises(GenerationError, match=r"1 of 4 shards could not be made.*\n  shard 2 .*sample 9 of seed 0 could not"):
        posegen.generate(small, samples=14, workers=2, out=tmp_path / "dataset", backend="dask")
    monkeypatch.delenv("POSEGEN_FAULT")
    assert posegen.generate(small, samples=14, workers=2, out=tmp_path / "dataset", backend="dask").shards_made == 1
    assert_equal_content(tmp_path / "dataset", fourteen)


def listening(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    """Return the addresses and ports at which processes listen."""
    connections = [each for process in processes for each in process.net_connections(kind="inet")]
    return {(each.laddr.ip, each.laddr.port) for each in connections if each.status == psutil.CONN_LISTEN}


def page_at(port: int) -> int | None:
    """Return the status of the page at a port; None if it does not speak HTTP."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except (OSError, http.client.HTTPException):
        return None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_another_user_runs_no_code_in_a_local_cluster(tmp_path: Path) -> None:
    """Each port that the cluster opens is asked, as Dask's client and as a browser would."""
    command = [sys.executable, "-m", "posegen", "generate", "--config", "smoke", "--samples", "4000", "--workers", "2"]
    settings = ["store.shard=4", "--set", "store.chunk=2"]
    command += ["--backend", "dask", "--quiet", "--out", str(tmp_path / "x"), "--set", *settings]
    with subprocess.Popen(command, env=os.environ | {"POSEGEN_FAULT": "sleep:seconds=0.5"}) as run:
        try:
            receipts = tmp_path / "x" / "receipts"
            while run.poll() is None and (not receipts.is_dir() or len(list(receipts.iterdir())) < 3):
                time.sleep(0.1)
            family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
            found = listening(family)
            assert len(found) >= 3
            assert {address for address, _ in found} == {"127.0.0.1"}
            ports = sorted(port for _, port in found)
            client = subprocess.run(
                [sys.executable, "-c", CLIENT, *map(str, ports)], capture_output=True, text=True, check=False
            )
            assert "ran as" not in client.stdout
            assert {f"refused tls://127.0.0.1:{port}" for port in ports} <= {*client.stdout.splitlines()}, client
            pages = [page_at(port) for port in ports]
            assert sorted(map(str, pages)) == ["404"] * 3 + ["None"] * (len(pages) - 3)
            assert run.poll() is None
        finally:
            run.terminate()


def test_what_cannot_be_used_is_refused(small: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posegen.generation.backends._SECONDS_TO_CONNECT", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(UsageError, match="cannot be reached"):
            posegen.generate(small, samples=4, out=tmp_path / "dataset", backend="dask", scheduler=address)
    with pytest.raises(UsageError, match="backend must be loky, dask or one that is registered with joblib, not 'nowhere'"):
        posegen.generate(small, samples=4, out=tmp_path / "dataset", backend="nowhere")
    command = ["generate", "--config", "smoke", "--out", str(tmp_path / "x")]
    assert main([*command, "--scheduler", "tcp://127.0.0.1:1"]) == 2


def test_a_scheduler_that_dies_is_reported(small: Config, tmp_path: Path) -> None:
    options = ("--no-dashboard", "--host", "127.0.0.1")
    module = [sys.executable, "-m"]
    with subprocess.Popen(
        [*module, "distributed.cli.dask_scheduler", "--port", "0", *options], stderr=subprocess.PIPE, text=True
    ) as scheduler:
        assert scheduler.stderr is not None
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at" in line)
        with subprocess.Popen(
            [*module, "distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1", *options],
            env=os.environ | {"POSEGEN_FAULT": "sleep:seconds=0.2"},
            stderr=subprocess.DEVNULL,
        ) as worker:
            try:
                with pytest.raises(PosegenError, match=r"connection to the scheduler was lost\. Complete shards are kept"):
                    posegen.generate(
                        small,
                        samples=82,
                        out=tmp_path / "x",
                        backend="dask",
                        scheduler=address,
                        on_shard=lambda measures: scheduler.kill(),
                    )
            finally:
                for process in (worker, scheduler):
                    process.kill()
    assert verify(tmp_path / "x") == []
