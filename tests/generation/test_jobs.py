"""No job is lost when workers die, hang or run out of memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import psutil
import pytest

from posegen.foundations.errors import PosegenError
from posegen.generation.jobs import DIED, SHORT_OF_MEMORY, LostJob, TimeLimit, run_jobs
from tests.generation.runs import workers_of
from tests.generation.small_jobs import (
    THREADS,
    at_the_same_time,
    fail,
    fail_unsendably,
    import_path,
    note,
    process,
    slow_square,
    square,
    square_or,
    store_and_die,
    write_soon,
)

# A thread of loky may look for a job that the end of its workers has removed. Nothing depends on it then.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


MEASURE = """
import resource
import numpy as np
from posegen.dataset.runs import keep_freed_memory

def touch():
    np.full(40_000_000, 1, np.uint8)

def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        touch()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

touch()
with keep_freed_memory():
    touch()
    kept = faults(20)
print(kept, faults(20))
"""


IMPORT = partial(square, 0)
"""Loads this module in a worker before its first job, whose time is limited."""


@pytest.fixture(autouse=True)
def _no_worker_stays() -> Iterator[None]:
    yield
    assert workers_of(os.getpid()) == []


@pytest.mark.parametrize("first", ["", "."])
def test_workers_do_not_import_from_the_current_folder(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [first, *sys.path])
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for name in ("multiprocessing", "psutil"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    ((path, is_safe),) = run_jobs(import_path, [1], 2)
    assert is_safe
    assert not {"", ".", str(tmp_path)} & {*path}
    assert path == sys.path[1:]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_is_done_once(workers: int) -> None:
    assert sorted(run_jobs(square, range(7), workers)) == [0, 1, 4, 9, 16, 25, 36]
    assert list(run_jobs(square, [], workers)) == []


def test_one_worker_is_this_process() -> None:
    assert {pid for pid, _ in run_jobs(process, range(3), 1)} == {os.getpid()}


def test_several_workers_are_other_processes_with_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "7")
    outcomes = list(run_jobs(process, range(6), 2))
    assert os.getpid() not in {pid for pid, _ in outcomes}
    assert {threads for _, threads in outcomes} == {"1"}
    assert os.environ[THREADS] == "7"


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_program() -> None:
    program = (
        "import tests.generation.test_jobs as t, time; outcomes = t.run_jobs(t.process, range(10000), 2); "
        "print(*[next(outcomes)[0] for _ in range(6)], flush=True); time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        numbers = set(map(int, run.stdout.readline().split()))
        family = psutil.Process(run.pid).children(recursive=True)
        commands = [" ".join(each.cmdline()) for each in family]
        shared = {path for path in Path("/dev/shm").glob("*") if str(run.pid) in path.name}
        run.kill()
    assert numbers
    assert sum("popen_loky" in line for line in commands) == 2
    _, alive = psutil.wait_procs(family, 10)
    assert alive == []
    assert shared
    assert not any(path.exists() for path in shared)


LIMIT = TimeLimit(3.0)
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("how", "workers", "limit"),  # one worker with a limit is another process
    [("die", 2, None), pytest.param("stop", 1, LIMIT, marks=SLOW), pytest.param("stop", 2, LIMIT, marks=SLOW)],
)
def test_a_job_that_kills_or_stops_its_worker_once_is_made_again(
    how: str, workers: int, limit: TimeLimit | None, tmp_path: Path
) -> None:
    make = partial(square_or, notes=tmp_path, how=how)
    assert sorted(run_jobs(make, range(8), workers, limit, load=IMPORT)) == [job * job for job in range(8)]
    assert len((tmp_path / "tries").read_text()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("how", "limit", "reason"), [("die", None, DIED), ("sleep", LIMIT, "it took longer than 3s")])
def test_a_job_that_always_ends_its_worker_is_lost_and_the_others_are_done(
    how: str, limit: TimeLimit | None, reason: str, tmp_path: Path
) -> None:
    outcomes = list(run_jobs(partial(square_or, notes=tmp_path, how=how, times=1000), range(5), 2, limit, load=IMPORT))
    assert LostJob(1, True, reason) in outcomes
    assert sorted(o for o in outcomes if isinstance(o, int)) == [0, 4, 9, 16]
    assert len((tmp_path / "tries").read_text()) == 3


@pytest.mark.slow
def test_a_job_out_of_memory_is_tried_again_alone(tmp_path: Path) -> None:
    make = partial(square_or, notes=tmp_path, how="memory", times=1)
    assert sorted(run_jobs(make, range(5), 2)) == [0, 1, 4, 9, 16]
    make = partial(square_or, notes=tmp_path, how="memory", times=1000)
    assert set(run_jobs(make, range(3), 2)) == {0, 4, LostJob(1, True, SHORT_OF_MEMORY)}
    assert set(run_jobs(make, range(3), 1)) == {0, 4, LostJob(1, False, SHORT_OF_MEMORY)}


@pytest.mark.slow
def test_too_little_memory_halves_the_work_at_a_time(tmp_path: Path) -> None:
    counts = list(run_jobs(partial(at_the_same_time, notes=tmp_path), range(24), 4, load=IMPORT))
    assert len(counts) == 24
    # Until the first one is received, a job for each of the others, and one that waited, have begun.
    assert set(counts[-12:]) <= {1, 2}
    assert counts[-1] == 1  # the one without memory, alone


@pytest.mark.slow
def test_a_killed_worker_loses_no_job() -> None:
    outcomes = run_jobs(slow_square, range(20), 2)
    done = [next(outcomes)]
    threading.Thread(target=workers_of(os.getpid())[0].kill).start()
    done += outcomes
    assert sorted(d for d in done if isinstance(d, int)) == [job * job for job in range(20)]


def test_an_exception_of_a_job_is_raised() -> None:
    with pytest.raises(LookupError, match="job"):
        list(run_jobs(fail, range(4), 2))


def test_an_exception_that_cannot_be_sent_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(run_jobs(fail_unsendably, [1], 2)) == [LostJob(1, True, DIED)]
    assert "UnsendableError: 1" in capfd.readouterr().err


def test_what_workers_cannot_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_here.py").write_text("def job(number): return number\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PosegenError, match=r"a worker process cannot import what its jobs need .*named 'only_here'"):
        list(run_jobs(import_module("only_here").job, range(4), 2))


@pytest.mark.slow
def test_workers_that_cannot_start_are_reported() -> None:
    with pytest.raises(PosegenError, match="worker processes cannot start"):
        list(run_jobs(square, range(4), 2, load=partial(os._exit, 3)))


def test_a_worker_loads_before_its_first_job_and_does_many(tmp_path: Path) -> None:
    outcomes = list(run_jobs(process, range(8), 2, load=partial(note, tmp_path)))
    assert {str(pid) for pid, _ in outcomes} == {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_a_job_whose_result_was_lost_is_not_done_again(tmp_path: Path) -> None:
    def find(job: int) -> int | None:
        return job if list(tmp_path.glob(f"{job}-*")) else None

    assert sorted(run_jobs(partial(store_and_die, folder=tmp_path), range(5), 2, find=find)) == [0, 1, 2, 3, 4]
    assert len(list(tmp_path.glob("2-*"))) == 1


@pytest.mark.slow
def test_a_job_that_hangs_while_others_are_done_is_noticed_before_their_end(tmp_path: Path) -> None:
    make = partial(square_or, notes=tmp_path, how="sleep", times=1)
    jobs = iter(range(100_000))
    outcomes = run_jobs(make, jobs, 2, TimeLimit(3.0), load=IMPORT)
    assert 1 in outcomes
    outcomes.close()
    assert next(jobs) < 100_000
    assert len((tmp_path / "tries").read_text()) == 2


def test_an_error_of_the_jobs_themselves_is_raised() -> None:
    def jobs() -> Iterator[int]:
        yield from range(5)
        raise LookupError("no more jobs")

    with pytest.raises(LookupError, match="no more jobs"):
        list(run_jobs(square, jobs(), 2))


def test_no_job_is_done_after_the_end(tmp_path: Path) -> None:
    outcomes = run_jobs(write_soon, (tmp_path / str(i) for i in range(100)), 4)
    next(outcomes)  # others may be starting
    outcomes.close()
    assert workers_of(os.getpid()) == []
    done = set(tmp_path.iterdir())
    time.sleep(0.3)
    assert set(tmp_path.iterdir()) == done


def test_a_stopped_idle_worker_does_not_block() -> None:
    outcomes = run_jobs(slow_square, range(4), 2)
    assert sorted(next(outcomes) for _ in range(4)) == [0, 1, 4, 9]
    workers_of(os.getpid())[0].suspend()
    assert list(outcomes) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs the GNU C library")
def test_freed_memory_is_kept_during_a_run() -> None:
    # Without huge pages, which would hide most of the difference.
    printed = subprocess.run(
        [sys.executable, "-c", MEASURE],
        check=True,
        stdout=subprocess.PIPE,
        env={"NUMPY_MADVISE_HUGEPAGE": "0", "PYTHONPATH": ":".join(p for p in sys.path if p)},
    ).stdout.split()
    kept, given_back = map(int, printed)
    assert given_back > 10_000, "this C library keeps memory anyway"
    assert kept < 1_000
