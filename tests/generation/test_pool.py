"""The pool loses no job, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from posegen.generation.pool import ATTEMPTS, SHORT_OF_MEMORY, Lost, run_jobs
from posegen.generation.watching import Limit
from posegen.machine import available_cores

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


def square_or_hang(job: int, *, notes: Path, times: int, by: str) -> int:
    """Hang at job 1, the first few times that it is tried: asleep, or stopped from outside."""
    if job == 1:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            if by == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(1000)
    return job * job


def square_or_be_short(job: int, *, notes: Path, times: int) -> int:
    """Find too little memory for job 1, the first few times that it is tried."""
    if job == 1:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            raise MemoryError
    return job * job


def fail(job: int) -> int:
    """Do a job that raises."""
    msg = f"job {job}"
    raise LookupError(msg)


def children() -> list[psutil.Process]:
    """Find the workers of this process that live; what other tests have started is none."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it has just gone, or is a zombie
            if "popen_loky" in " ".join(child.cmdline()):
                found.append(child)
    return found


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


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_that_hangs_once_is_made_again(workers: int, tmp_path: Path) -> None:
    make = partial(square_or_hang, notes=tmp_path, times=1, by="stop")
    assert sorted(run_jobs(make, range(5), workers, Limit(1.0))) == [0, 1, 4, 9, 16]
    assert len((tmp_path / "tries").read_text()) == 2
    assert children() == []


def test_a_job_that_always_hangs_is_given_up_after_all_else(tmp_path: Path) -> None:
    make = partial(square_or_hang, notes=tmp_path, times=1000, by="sleep")
    outcomes = list(run_jobs(make, range(4), 2, Limit(1.0)))
    assert outcomes[-1] == Lost(1, ATTEMPTS, "it took longer than 1s")
    assert sorted(o for o in outcomes if isinstance(o, int)) == [0, 4, 9]
    assert len((tmp_path / "tries").read_text()) == 1 + ATTEMPTS
    assert children() == []


def test_a_limit_takes_one_worker_out_of_this_process() -> None:
    outcomes = list(run_jobs(process, range(3), 1, Limit(60.0)))
    assert os.getpid() not in {where for where, _ in outcomes}


def test_a_job_that_is_short_of_memory_is_made_again_alone(tmp_path: Path) -> None:
    make = partial(square_or_be_short, notes=tmp_path, times=1)
    assert sorted(run_jobs(make, range(5), 2)) == [0, 1, 4, 9, 16]
    make = partial(square_or_be_short, notes=tmp_path, times=1000)
    assert set(run_jobs(make, range(3), 2)) == {0, 4, Lost(1, ATTEMPTS, SHORT_OF_MEMORY)}
    assert set(run_jobs(make, range(3), 1)) == {0, 4, Lost(1, 0, SHORT_OF_MEMORY)}


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


def test_a_worker_that_is_stopped_while_it_has_nothing_to_do_holds_nobody_up() -> None:
    outcomes = run_jobs(slow_square, range(4), 2)
    assert sorted(next(outcomes) for _ in range(4)) == [0, 1, 4, 9]
    children()[0].suspend()
    assert list(outcomes) == []
    assert children() == []


def test_there_are_cores() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
