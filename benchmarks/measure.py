"""Measurements for benchmarks: alternating timings, and processes that are run, killed, and whose memory is measured."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent

SCALE = float(os.environ.get("POSEGEN_JUDGE_SCALE", "1"))
POLL, KILL_POLL = 0.02, 0.002
"""Seconds between two looks at a process: at its memory, and at what it has written."""


@dataclass(frozen=True)
class Comparison:
    """Seconds of two functions that were called alternately."""

    first: list[float]
    second: list[float]

    @property
    def ratio(self) -> float:
        """Median over the pairs of first / second."""
        return statistics.median(a / b for a, b in zip(self.first, self.second, strict=True))


@dataclass(frozen=True)
class Peak:
    """Peak memory of a command and all its children, in bytes.

    `resident` counts shared memory once for each process, `proportional` once in all (0 where the system does not report it).
    """

    resident: int
    proportional: int


def scaled(count: int, least: int = 1) -> int:
    """Return the number scaled by POSEGEN_JUDGE_SCALE."""
    return max(least, round(count * SCALE))


def use_one_core() -> None:
    """Restrict this process, and its future threads and children, to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextmanager
def on_one_core() -> Iterator[None]:
    """Restrict this process, and the children that it starts meanwhile, to one core."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
    use_one_core()
    try:
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)


def compare(
    first: Callable[[], object], second: Callable[[], object], pairs: int, clock: Callable[[], float] = time.perf_counter
) -> Comparison:
    """Time two functions alternately; the order changes from pair to pair."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            start = clock()
            (first, second)[which]()
            seconds[which].append(clock() - start)
    return Comparison(*seconds)


def apart(function: Callable[..., Any], *arguments: object, **named: object) -> Any:
    """Return the result of a function in a process of its own, which has no memory, caches or restricted cores of this one."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()


def posegen(*arguments: object) -> list[str]:
    """Return a posegen command for this Python."""
    return [sys.executable, "-m", "posegen", *map(str, arguments)]


def run(*arguments: object) -> None:
    """Run a posegen command in the repository."""
    subprocess.run(posegen(*arguments, "--quiet"), cwd=ROOT, check=True)


def printed_by(command: Sequence[str], environment: Mapping[str, str] = os.environ) -> Any:
    """Run a command, and return the JSON document that it prints."""
    return json.loads(subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def peak_memory(command: Sequence[str], environment: Mapping[str, str] = os.environ, every: float = POLL) -> Peak:
    """Run a command, and measure its memory and that of its children every few seconds."""
    resident = proportional = 0
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            now = [_held(each) for each in _family(process.pid)]
            resident = max(resident, sum(held[0] for held in now))
            proportional = max(proportional, sum(held[1] for held in now))
            time.sleep(every)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Peak(resident, proportional)


def killed(command: Sequence[str], until: Callable[[], bool], moment: float = 0.0, poll: float = KILL_POLL) -> bool:
    """Kill a command and its children some seconds after a condition holds; return whether it was still running then."""
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not until():
            time.sleep(poll)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        if process.poll() is None:
            kill_family(process)
    return process.returncode == -signal.SIGKILL


def kill_family(process: subprocess.Popen[bytes]) -> None:
    """Kill a command, then its children; in the other order it would replace them."""
    for one in _family(process.pid):
        with suppress(psutil.NoSuchProcess):
            one.kill()


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _held(process: psutil.Process) -> tuple[int, int]:
    try:
        memory = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0, 0
    return memory.rss, getattr(memory, "pss", 0)
