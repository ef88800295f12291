"""Faults in real runs: each function starts a run, disturbs it, and returns deviations.

What holds after any of them is checked in :mod:`benchmarks.keep.faults`. Deaths at a step and damages are in
:mod:`benchmarks.keep.attacks`; a disk that fails at any sync is in ``tests/faults/test_disk.py``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from benchmarks.measure import ROOT, posegen
from tests.faults.forks import SETTINGS

SAMPLES = 80
SHARDS = 20
PACE = "sleep:seconds=0.02"
LIMIT = "8"
MOST_SECONDS = 600
CLEAR = "run the same command again"
DISK = 96 << 20
"""Bytes of a disk in memory."""


@dataclass
class Struck:
    """Result of a fault: whether it happened before the run ended, and deviations found at once."""

    struck: bool
    complaints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """A running process and the file with its output."""

    process: subprocess.Popen[bytes]
    path: Path
    words: Path

    def wait_for(self, shards: int) -> None:
        """Wait until `shards` shards are complete, or the run has ended."""
        while self.process.poll() is None and len(receipts(self.path)) < shards:
            time.sleep(0.002)

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes."""
        with suppress(psutil.NoSuchProcess):
            return [c for c in psutil.Process(self.process.pid).children() if "popen_loky" in " ".join(c.cmdline())]
        return []

    def end(self) -> tuple[int, str]:
        """Wait for the end and return exit code and output. A run that does not end is killed, which is a deviation."""
        try:
            code = self.process.wait(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            code = 1000
        return code, self.words.read_text(encoding="utf-8")


def receipts(path: Path) -> list[Path]:
    """List the receipts."""
    return sorted((path / "receipts").glob("[0-9]*.json"))


def start(path: Path, workers: int = 1, *options: str, **environment: str) -> Run:
    """Start a run in its own process group."""
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    command = posegen("generate", "--config", "smoke", *settings, "--samples", str(SAMPLES), "--quiet", "--out", path)
    words = path.parent / "words"
    with words.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--workers", str(workers), *options],
            cwd=ROOT,
            env=os.environ | {"POSEGEN_FAULT": PACE} | environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
            # A background process ignores Ctrl-C, and its children would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
        )
    return Run(process, path, words)


def _moment(run: Run, draw: Random) -> None:
    run.wait_for(draw.randrange(SHARDS - 2))
    time.sleep(draw.uniform(0.0, 0.05))


def killed(path: Path, draw: Random, workers: int = 1) -> Struck:
    """Kill the run with all its workers (SIGKILL) at a random moment."""
    run = start(path, workers)
    _moment(run, draw)
    with suppress(ProcessLookupError):
        os.killpg(run.process.pid, signal.SIGKILL)
    return Struck(run.end()[0] == -signal.SIGKILL)


def killed_with_workers(path: Path, draw: Random) -> Struck:
    """Kill a run with two workers."""
    return killed(path, draw, 2)


def orphaned(path: Path, draw: Random) -> Struck:
    """Kill only the parent process; its workers must end before another command can start."""
    run = start(path, 2)
    _moment(run, draw)
    workers = run.workers()
    run.process.kill()
    struck = run.end()[0] == -signal.SIGKILL
    left = psutil.wait_procs(workers, timeout=5)[1]
    return Struck(struck, ["a worker outlived its parent"] if left else [])


def worker_killed(path: Path, draw: Random) -> Struck:
    """Kill one worker: the run continues and succeeds."""
    return _worker_struck(start(path, 2), draw, signal.SIGKILL)


def worker_stopped(path: Path, draw: Random) -> Struck:
    """Stop one worker (SIGSTOP): it is replaced, and the run succeeds."""
    return _worker_struck(start(path, 2, "--shard-timeout", LIMIT), draw, signal.SIGSTOP)


def _worker_struck(run: Run, draw: Random, number: signal.Signals) -> Struck:
    """Send a signal to one worker of a run."""
    _moment(run, draw)
    workers = run.workers()
    if workers:
        with suppress(psutil.NoSuchProcess):
            draw.choice(workers).send_signal(number)
    code, words = run.end()
    done = code == 0 and len(receipts(run.path)) == SHARDS
    return Struck(bool(workers), [] if done else [f"ended with {code}: {words}"])


def hung(path: Path, draw: Random) -> Struck:
    """Let a shard hang the first time that it is made."""
    mark = path.parent / "mark"
    fault = f"hang:sample={draw.randrange(SAMPLES)}:once={mark}"
    code, words = start(path, draw.choice([1, 2]), "--shard-timeout", LIMIT, POSEGEN_FAULT=fault).end()
    return Struck(mark.exists(), [] if code == 0 else [f"ended with {code}: {words}"])


def terminated(path: Path, draw: Random) -> Struck:
    """Send SIGTERM to a run with one or two workers."""
    run = start(path, draw.choice([1, 1, 2]))
    # Before the first shard, the signal handler may not be installed yet.
    run.wait_for(draw.randrange(1, SHARDS - 2))
    time.sleep(draw.uniform(0.0, 0.05))
    run.process.terminate()
    return _stopped(run)


def interrupted_twice(path: Path, draw: Random) -> Struck:
    """Send SIGINT twice, to the workers too, as a terminal does."""
    run = start(path, draw.choice([1, 1, 2]))
    run.wait_for(draw.randrange(1, SHARDS - 2))
    for _ in range(2):
        time.sleep(draw.uniform(0.0, 0.05))
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGINT)
    return _stopped(run)


def _stopped(run: Run) -> Struck:
    code, words = run.end()
    failures = [f"ended with {code}: {words}"] if code not in (0, 130) or "Traceback" in words else []
    temporary = [str(file) for file in run.path.rglob(".*")]
    return Struck(code == 130, failures + [f"left {name}" for name in temporary])


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """Mount a disk in memory; a run requires 64 MB of free space before it starts."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", place], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def can_mount(folder: Path) -> bool:
    """Return whether this user may mount a disk in memory."""
    try:
        with small_disk(folder / "trial"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def fill_up(filler: Path, room: int) -> None:
    """Fill the disk except `room` bytes."""
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 2**16):
            pass
    with suppress(OSError):
        os.truncate(filler, max(0, filler.stat().st_size - room))


def disk_filled(path: Path, draw: Random) -> Struck:
    """Fill the disk during a run, to the last byte or almost."""
    run = start(path, draw.choice([1, 1, 1, 2]))
    _moment(run, draw)
    there = {file: file.read_bytes() for file in receipts(path)}
    filler = path.parent / "filler"
    fill_up(filler, draw.randrange(0, 60_000))
    code, words = run.end()
    filler.unlink()
    is_clear = CLEAR in words and ("No space" in words or "is full" in words)
    is_expected = code == 0 or (code == 1 and is_clear) or "Free some space" in words
    complaints = [] if is_expected else [f"ended with {code}: {words}"]
    complaints += [f"{file.name} was lost" for file, data in there.items() if not file.exists() or file.read_bytes() != data]
    complaints += [f"left {name}" for name in path.rglob(".*")]
    return Struck(code == 1, complaints)


STRIKES: Mapping[Callable[..., Struck], int] = {
    killed: 90,
    killed_with_workers: 50,
    orphaned: 20,
    worker_killed: 35,
    worker_stopped: 10,
    hung: 10,
    terminated: 35,
    interrupted_twice: 25,
    disk_filled: 25,
}
"""Number of each fault: 300 in all."""
