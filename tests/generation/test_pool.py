"""The pool loses no job, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from posegen.generation.pool import ATTEMPTS, Lost, available_cores, run_jobs

HURT = "OMP_NUM_THREADS"


def square(job: int) -> int:
    """Do a job that goes well."""
    return job * job


def process(job: int) -> tuple[int, str | None]:
    """Say where a job ran, and with how many threads it may."""
    time.sleep(0.02)
    return os.getpid(), os.environ.get(HURT)


def slow_square(job: int) -> int:
    """Do a job that takes a moment."""
    time.sleep(0.05)
    return job * job


def square_or_die(job: int, *, notes: Path, deadly: int, times: int) -> int:
    """Die on the deadly job, the first few times that it is tried."""
    time.sleep(0.01)
    if job == deadly:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
    return job * job


def fail(job: int) -> int:
    """Do a job that raises."""
    msg = f"job {job}"
    raise LookupError(msg)


def children() -> list[psutil.Process]:
    """Find the workers of this process; joblib's trackers of resources, which leave with it, are none."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if "resource_tracker" not in " ".join(child.cmdline())]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_is_done_once(workers: int) -> None:
    assert sorted(run_jobs(square, range(7), workers)) == [0, 1, 4, 9, 16, 25, 36]


def test_no_jobs_are_no_trouble() -> None:
    assert list(run_jobs(square, [], 2)) == []


def test_one_worker_is_this_process() -> None:
    assert {where for where, _ in run_jobs(process, range(3), 1)} == {os.getpid()}


def test_more_workers_are_others_with_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HURT, "7")
    outcomes = list(run_jobs(process, range(6), 2))
    assert os.getpid() not in {where for where, _ in outcomes}
    assert {threads for _, threads in outcomes} == {"1"}
    assert os.environ[HURT] == "7"
    assert children() == []


def test_a_job_that_kills_its_worker_once_is_made_again(tmp_path: Path) -> None:
    make = partial(square_or_die, notes=tmp_path, deadly=3, times=1)
    assert sorted(run_jobs(make, range(8), 2)) == [job * job for job in range(8)]
    assert len((tmp_path / "tries").read_text()) == 2


def test_a_job_that_always_kills_its_worker_is_given_up_after_all_else(tmp_path: Path) -> None:
    make = partial(square_or_die, notes=tmp_path, deadly=1, times=1000)
    outcomes = list(run_jobs(make, range(6), 2))
    assert Lost(1, ATTEMPTS) in outcomes
    assert sorted(o for o in outcomes if isinstance(o, int)) == [0, 4, 9, 16, 25]
    assert len((tmp_path / "tries").read_text()) == 1 + ATTEMPTS
    assert children() == []


def test_a_worker_killed_from_outside_costs_nothing_but_time() -> None:
    outcomes = run_jobs(slow_square, range(20), 2)
    done = [next(outcomes)]
    threading.Thread(target=children()[0].kill).start()
    done += outcomes
    assert sorted(d for d in done if isinstance(d, int)) == [job * job for job in range(20)]


def test_what_a_job_raises_is_raised() -> None:
    with pytest.raises(LookupError, match="job"):
        list(run_jobs(fail, range(4), 2))
    assert children() == []


def test_closing_leaves_no_worker_behind() -> None:
    outcomes = run_jobs(slow_square, range(100), 2)
    next(outcomes)
    assert len(children()) == 2
    outcomes.close()
    assert children() == []


def test_there_are_cores() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
