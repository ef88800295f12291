"""Read what this process may use of the machine: processor cores, memory, disk space, and folders that only this user changes.

GPUs are not covered: :mod:`posegen.training` and :mod:`posegen.embedding` ask torch for them.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread

import psutil

from posegen.foundations.errors import PosegenError
from posegen.foundations.quantities import human_bytes

_CGROUP, _OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_SAMPLED_EVERY, _SAMPLES_PER_LISTING = 0.05, 20
"""Seconds between two samples of the memory, and samples between two listings of the child processes."""


@dataclass(frozen=True)
class Memory:
    """Memory that this process and its children may use.

    Attributes
    ----------
    total : int
        Bytes of the machine, or of the container's limit where that is lower.
    free : int
        Bytes of `total` that nothing uses now.
    """

    total: int
    free: int


def available_cores() -> int:
    """Return the number of processor cores that this process may use, by its affinity and the quota of its container."""
    from joblib import cpu_count  # takes a quarter of a second

    return int(cpu_count())


def most_workers() -> int:
    """Return the number of processes that are useful for computing: one for each core, but at least two.

    More are slower: on two cores, eight took 22 to 26 s for 10,000 samples, and two took 15 s and a third of the memory. On one
    core two are useful, because a worker that dies then does not end the command.
    """
    return max(2, available_cores())


def available_memory(cgroup: Path = _CGROUP, own: Path = _OWN_CGROUPS) -> Memory:
    """Return the memory that this process may use, within the limits of its control groups.

    Parameters
    ----------
    cgroup : Path
        Folder in which the kernel describes all control groups.
    own : Path
        File in which it names those of this process. A group may lie in others, whose limits hold as well.

    Returns
    -------
    Memory
    """
    machine = psutil.virtual_memory()
    total, free = int(machine.total), int(machine.available)
    for folder in _control_groups(cgroup, own):
        limit, used = _number(folder / "memory.max"), _number(folder / "memory.current")
        if limit is not None and used is not None:
            # File pages that nothing reads count as used, but the kernel drops them when memory is needed.
            used -= _number(folder / "memory.stat", "inactive_file ") or 0
            total, free = min(total, limit), min(free, max(0, limit - used))
    return Memory(total, free)


def _control_groups(cgroup: Path, own: Path) -> Iterator[Path]:
    """Yield the folders of the control groups that this process lies in: a container may show its own group as the root."""
    lines = ["0::/"]
    with suppress(OSError):
        lines += own.read_text(encoding="utf-8").splitlines()
    for path in (cgroup / line.removeprefix("0::/") for line in lines if line.startswith("0::/")):
        yield from (path, *(parent for parent in path.parents if cgroup in (parent, *parent.parents)))


def process_memory() -> int:
    """Return the bytes of memory that this process and its children hold now; see :func:`held_memory`."""
    own = psutil.Process()
    return held_memory(own, own.children(recursive=True))


def held_memory(own: psutil.Process, children: Sequence[psutil.Process]) -> int:
    """Return the bytes that a process and its children hold.

    Of memory that children share, each is counted a part. Only Linux reports these parts; elsewhere each counts all.
    """
    held = 0
    for process in (own, *children):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process is own:
                held += process.memory_info().rss
            else:
                memory = process.memory_full_info()
                held += getattr(memory, "pss", memory.rss)
    return held


def lifetime_peak() -> int:
    """Return the most bytes of memory that this process has held since it began; 0 where there is no /proc."""
    return 1024 * (_number(Path("/proc/self/status"), "VmHWM:") or 0)


class PeakMemory(Thread):
    """Measure the most memory that this process and its children hold inside a context.

    Samples it twenty times a second. What this process alone held for a shorter time is known from the peak that the system
    records, if it is the highest of the process's life; of its children such peaks are missed.
    """

    def __init__(self) -> None:
        super().__init__(name="posegen-memory", daemon=True)
        self._ended = Event()
        self._lock = Lock()
        self._own = psutil.Process()
        self._children: list[psutil.Process] = []
        self._peak = 0
        self._before = lifetime_peak()

    @property
    def peak(self) -> int:
        """Bytes, so far."""
        self._sample()
        return self._peak

    def run(self) -> None:
        """Sample until the context ends."""
        turn = 0
        while not self._ended.wait(_SAMPLED_EVERY):
            if turn % _SAMPLES_PER_LISTING == 0:
                self._children = self._own.children(recursive=True)
            turn += 1
            self._sample()

    def _sample(self) -> None:
        held, recorded = held_memory(self._own, self._children), lifetime_peak()
        if recorded > self._before:
            held = max(held, recorded)
        with self._lock:
            self._peak = max(self._peak, held)

    def __enter__(self) -> PeakMemory:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self.join()


def free_disk(folder: Path) -> int:
    """Return the free bytes of the disk on which `folder` lies."""
    return shutil.disk_usage(folder).free


def describe_full_disk(error: OSError, path: str | Path) -> str:
    """Return the message for a full disk or a used up quota; empty for another error.

    Parameters
    ----------
    error : OSError
    path : str or Path
        What was written, if the error does not name it.
    """
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    place = Path(os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else path).absolute()
    folder = next((each for each in (place, *place.parents) if each.is_dir()), Path.cwd())
    full = f"{place}: the disk is full: {human_bytes(free_disk(folder))} are free"
    return f"{full}. What is complete is kept; free some space and run the same command again"


def user_cache() -> Path:
    """Return the folder of posegen's caches in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "posegen"


def private_folder(folder: Path, own: int = 1) -> Path:
    """Create a folder that no other user can change, and return its path without symbolic links.

    For caches whose files are run or unpickled: a user who can write to them can run code as this one.

    Parameters
    ----------
    folder : Path
        It and its parents are created with mode 0700 if they do not exist.
    own : int, optional
        Number of names at the end of the path that are not shared with other programs: `folder` and some of its parents.

    Returns
    -------
    Path

    Raises
    ------
    PosegenError
        If another user owns or can write to the folder, anything in it, or one of these parents. The message has the fix.
    OSError
        If the folder cannot be created.
    """
    for path in reversed((folder, *folder.parents)):
        if not path.exists():
            path.mkdir(0o700, exist_ok=True)
    folder = folder.resolve()
    for parent in folder.parents[: own - 1]:
        state = parent.stat()
        # In a sticky folder such as /tmp, others cannot replace what this user owns.
        if state.st_uid not in (0, os.getuid()) or (state.st_mode & 0o022 and not state.st_mode & stat.S_ISVTX):
            fix = f"run: chmod go-w {parent}" if state.st_uid == os.getuid() else "use another folder"
            raise _not_private(parent, state, fix)
    # Nobody else can reach what is in a folder without any rights for others.
    closed = not folder.stat().st_mode & 0o077
    for path in (folder, *folder.rglob("*")):
        try:
            state = path.lstat()
        except FileNotFoundError:
            continue  # another process has renamed a file that it wrote
        writable = state.st_mode & 0o022 and not closed
        if state.st_uid != os.getuid() or stat.S_ISLNK(state.st_mode) or writable:
            raise _not_private(path, state, f"run: rm -r {folder}")
    return folder


def _not_private(path: Path, state: os.stat_result, fix: str) -> PosegenError:
    mode = stat.filemode(state.st_mode)
    return PosegenError(f"{path}: other users can change it (owner {state.st_uid}, mode {mode}); {fix}")


def _number(file: Path, name: str = "") -> int | None:
    """Read the number behind `name` from a file of the kernel; None if it is absent, or a word such as ``max``."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except (OSError, ValueError):
        return None
    values = (line.removeprefix(name).split()[0] for line in lines if line.startswith(name))
    return next((int(value) for value in values if value.isdecimal()), None)
