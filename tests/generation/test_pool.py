"""The pool loses no job when workers die, hang or run out of memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

import posegen
from posegen.generation.pool import ATTEMPTS, SHORT_OF_MEMORY, LostJob, TimeLimit, run_jobs
from posegen.generation.shard import load_kernels
from posegen.generation.workers import Starter, starter_of

THREADS = "OMP_NUM_THREADS"

MEASURE = """
import resource
import numpy as np
from posegen.dataset.memory import keep_freed_memory

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


def square(job: int) -> int:
    """Return the square."""
    return job * job


def process(job: int) -> tuple[int, str | None]:
    """Return the process of a job and its thread limit."""
    time.sleep(0.02)
    return os.getpid(), os.environ.get(THREADS)


def import_path(job: int) -> tuple[list[str], bool]:
    """Return the import path of a worker, and whether it started without the current folder."""
    del job
    return sys.path, sys.flags.safe_path


def slow_square(job: int) -> int:
    """Return the square after a moment."""
    time.sleep(0.05)
    return job * job


def square_or_die(job: int, *, notes: Path, deadly: int, times: int) -> int:
    """Die on the deadly job, the first few times."""
    time.sleep(0.01)
    if job == deadly:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
    return job * job


def square_or_hang(job: int, *, notes: Path, times: int, by: str) -> int:
    """Hang at job 1, the first few times: asleep, or stopped."""
    if job == 1:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            if by == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(1000)
    return job * job


def square_or_out_of_memory(job: int, *, notes: Path, times: int) -> int:
    """Run out of memory at job 1, the first few times."""
    if job == 1:
        with (notes / "tries").open("a") as file:
            file.write("x")
        if len((notes / "tries").read_text()) <= times:
            raise MemoryError
    return job * job


def fail(job: int) -> int:
    """Raise an error."""
    msg = f"job {job}"
    raise LookupError(msg)


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


def children() -> list[psutil.Process]:
    """Return the live processes of the pool that this process or one of them has started: the template first."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended, or is a zombie
            if "posegen.generation.workers" in " ".join(child.cmdline()):
                found.append(child)
    return found


def workers_of_pool() -> list[psutil.Process]:
    """Return the live workers."""
    return children()[1:]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_is_done_once(workers: int) -> None:
    assert sorted(run_jobs(square, range(7), workers)) == [0, 1, 4, 9, 16, 25, 36]


def test_no_jobs_give_no_results() -> None:
    assert list(run_jobs(square, [], 2)) == []


def test_one_worker_is_this_process() -> None:
    assert {pid for pid, _ in run_jobs(process, range(3), 1)} == {os.getpid()}


def test_several_workers_are_other_processes_with_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "7")
    outcomes = list(run_jobs(process, range(6), 2))
    assert os.getpid() not in {pid for pid, _ in outcomes}
    assert {threads for _, threads in outcomes} == {"1"}
    assert os.environ[THREADS] == "7"
    assert children() == []


def parent(job: int) -> tuple[int, int]:
    """Return the process of a job, and the one that has started it."""
    time.sleep(0.02 * job)
    return os.getpid(), os.getppid()


def note(folder: Path) -> None:
    """Note the process."""
    (folder / str(os.getpid())).touch()


def test_workers_are_forked_from_one_process_that_has_loaded_what_they_need(tmp_path: Path) -> None:
    with Starter(parent) as starter:
        starter.prepare(partial(note, tmp_path))
        outcomes = list(run_jobs(parent, range(6), 2, starter=starter))
        (template,) = children()  # workers end with their run
        dead = template.children()
        assert {above for _, above in outcomes} == {template.pid}
        assert template.pid not in {pid for pid, _ in outcomes}
        assert [path.name for path in tmp_path.iterdir()] == [str(template.pid)]
        assert len(list(run_jobs(parent, range(6), 2, starter=starter))) == 6
        dead += template.children()
    assert children() == []
    assert len(dead) > 2
    assert not any(psutil.pid_exists(each.pid) for each in dead)  # not even as zombies
    with starter_of(parent, 1) as none:
        assert none is None


@pytest.mark.slow
def test_a_template_with_all_that_samples_need_has_one_thread() -> None:
    """A fork has no copy of other threads, and may wait forever for what one of them held."""
    with Starter(square) as starter:
        starter.prepare(partial(load_kernels, posegen.load_config("smoke")))
        assert list(run_jobs(square, [3], 1, TimeLimit(60.0), starter)) == [9]
        (template,) = children()
        assert template.num_threads() == 1
        assert template.memory_info().rss > 1.2e8  # it has loaded them


@pytest.mark.slow
def test_the_template_is_started_again_once_it_has_died(tmp_path: Path) -> None:
    with Starter(square) as starter:
        starter.prepare(partial(note, tmp_path))
        assert sorted(run_jobs(square, range(1, 5), 2, starter=starter)) == [1, 4, 9, 16]
        (template,) = children()
        template.kill()
        template.wait()
        assert sorted(run_jobs(square, range(1, 5), 2, starter=starter)) == [1, 4, 9, 16]
    assert len(list(tmp_path.iterdir())) == 2
    assert children() == []


@pytest.mark.slow
def test_a_template_that_dies_in_a_run_loses_no_job() -> None:
    outcomes = run_jobs(slow_square, range(20), 2)
    done = [next(outcomes)]
    children()[0].kill()
    done += outcomes
    assert sorted(d for d in done if isinstance(d, int)) == [job * job for job in range(20)]
    assert children() == []


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_program() -> None:
    program = (
        "import tests.generation.test_pool as t, time; outcomes = t.run_jobs(t.process, range(10000), 2); "
        "print(*[next(outcomes)[0] for _ in range(6)], flush=True); time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        numbers = set(map(int, run.stdout.readline().split()))
        family = psutil.Process(run.pid).children(recursive=True)
        run.kill()
    assert len(numbers) == 2
    assert len(family) == 3
    _, alive = psutil.wait_procs(family, 10)
    assert alive == []


def test_a_job_that_kills_its_worker_once_is_made_again(tmp_path: Path) -> None:
    make = partial(square_or_die, notes=tmp_path, deadly=3, times=1)
    assert sorted(run_jobs(make, range(8), 2)) == [job * job for job in range(8)]
    assert len((tmp_path / "tries").read_text()) == 2


@pytest.mark.slow
def test_a_job_that_always_kills_its_worker_is_lost_after_all_others(tmp_path: Path) -> None:
    make = partial(square_or_die, notes=tmp_path, deadly=1, times=1000)
    outcomes = list(run_jobs(make, range(6), 2))
    assert LostJob(1, ATTEMPTS) in outcomes
    assert sorted(o for o in outcomes if isinstance(o, int)) == [0, 4, 9, 16, 25]
    assert len((tmp_path / "tries").read_text()) == 1 + ATTEMPTS
    assert children() == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_that_hangs_once_is_made_again(workers: int, tmp_path: Path) -> None:
    make = partial(square_or_hang, notes=tmp_path, times=1, by="stop")
    assert sorted(run_jobs(make, range(5), workers, TimeLimit(1.0))) == [0, 1, 4, 9, 16]
    assert len((tmp_path / "tries").read_text()) == 2
    assert children() == []


@pytest.mark.slow
def test_a_job_that_always_hangs_is_lost_after_all_others(tmp_path: Path) -> None:
    make = partial(square_or_hang, notes=tmp_path, times=1000, by="sleep")
    outcomes = list(run_jobs(make, range(4), 2, TimeLimit(1.0)))
    assert outcomes[-1] == LostJob(1, ATTEMPTS, "it took longer than 1s")
    assert sorted(o for o in outcomes if isinstance(o, int)) == [0, 4, 9]
    assert len((tmp_path / "tries").read_text()) == 1 + ATTEMPTS
    assert children() == []


def test_with_a_limit_one_worker_is_another_process() -> None:
    outcomes = list(run_jobs(process, range(3), 1, TimeLimit(60.0)))
    assert os.getpid() not in {pid for pid, _ in outcomes}


@pytest.mark.slow
def test_a_job_out_of_memory_is_tried_again_alone(tmp_path: Path) -> None:
    make = partial(square_or_out_of_memory, notes=tmp_path, times=1)
    assert sorted(run_jobs(make, range(5), 2)) == [0, 1, 4, 9, 16]
    make = partial(square_or_out_of_memory, notes=tmp_path, times=1000)
    assert set(run_jobs(make, range(3), 2)) == {0, 4, LostJob(1, ATTEMPTS, SHORT_OF_MEMORY)}
    assert set(run_jobs(make, range(3), 1)) == {0, 4, LostJob(1, 0, SHORT_OF_MEMORY)}


@pytest.mark.slow
def test_a_killed_worker_loses_no_job() -> None:
    outcomes = run_jobs(slow_square, range(20), 2)
    done = [next(outcomes)]
    threading.Thread(target=workers_of_pool()[0].kill).start()
    done += outcomes
    assert sorted(d for d in done if isinstance(d, int)) == [job * job for job in range(20)]


def test_an_exception_of_a_job_is_raised() -> None:
    with pytest.raises(LookupError, match="job"):
        list(run_jobs(fail, range(4), 2))
    assert children() == []


def test_closing_stops_the_workers() -> None:
    outcomes = run_jobs(slow_square, range(100), 2)
    next(outcomes)
    assert len(workers_of_pool()) == 2
    outcomes.close()
    assert children() == []


class UnsendableError(Exception):
    """An exception that another process cannot receive."""

    def __reduce__(self) -> str:
        raise TypeError("it stays here")


def fail_unsendably(job: int) -> int:
    """Raise it."""
    raise UnsendableError(job)


def test_an_exception_that_cannot_be_sent_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(run_jobs(fail_unsendably, [1], 2)) == [LostJob(1, ATTEMPTS)]
    assert capfd.readouterr().err.count("UnsendableError: 1") >= 1
    assert children() == []


def write_soon(job: Path) -> None:
    """Write a file after a moment."""
    time.sleep(0.05)
    job.touch()


def test_no_job_is_done_after_the_end(tmp_path: Path) -> None:
    outcomes = run_jobs(write_soon, (tmp_path / str(i) for i in range(100)), 4)
    next(outcomes)  # others may be starting
    outcomes.close()
    done = set(tmp_path.iterdir())
    time.sleep(0.3)
    assert set(tmp_path.iterdir()) == done


def test_a_stopped_idle_worker_does_not_block() -> None:
    outcomes = run_jobs(slow_square, range(4), 2)
    assert sorted(next(outcomes) for _ in range(4)) == [0, 1, 4, 9]
    workers_of_pool()[0].suspend()
    assert list(outcomes) == []
    assert children() == []


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
