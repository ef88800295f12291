"""The process that writes a file: its name, whether it may still be running, and a setting that makes its work faster.

The name of a run is ``host_boot_process_start``. With it, another process on the same machine can prove that the run has ended:
the machine was restarted since, or there is no process with that number and start time in the process namespace of both. A run
whose end cannot be proved, such as one on another machine or in another container, counts as running.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psutil

_RUN = re.compile(r"([A-Za-z0-9.-]+)_([A-Za-z0-9.-]+)_([0-9]{1,10})_([0-9]{1,20})")
_TOLERANCE_TICKS = 500
_UNKNOWN = "unknown"


def current_run() -> str:
    """Return the name of this process as a run.

    Examples
    --------
    >>> has_ended(current_run())
    False
    """
    process = os.getpid()
    return f"{_host()}_{_boot()}_{process}_{_start_ticks(process)}"


def has_ended(run: str) -> bool:
    """Return whether a run has certainly ended.

    Parameters
    ----------
    run : str
        What :func:`current_run` returned in that run; of other text, nothing can be proved.
    """
    match = _RUN.fullmatch(run)
    if match is None:
        return False
    host, boot, process, start = match.groups()
    if host != _host():
        return False
    restart, _, namespaces = boot.partition("-")
    own_restart, _, own_namespaces = _boot().partition("-")
    if restart != own_restart:
        return True
    # Other namespaces, such as a container's, number other processes, or count the time from another moment.
    if namespaces != own_namespaces or namespaces == _UNKNOWN:
        return False
    current = _start_ticks(int(process))
    return current is None or abs(current - int(start)) > _TOLERANCE_TICKS


@cache
def _host() -> str:
    """Return the name of this machine with a part of its id, because many machines have the same name."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        machine = ""
    return re.sub(r"[^A-Za-z0-9.-]", "-", f"{platform.node()}-{machine}".strip("-")) or "-"


@cache
def _boot() -> str:
    """Return the id of the machine's last start with those of the process and time namespaces (a container has its own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").replace("-", "").strip()[:12]
        links = [link for kind in ("pid", "time") if (link := Path("/proc/self/ns", kind)).is_symlink()]
        namespaces = "-".join(re.sub(r"[^0-9]", "", str(link.readlink())) for link in links)
        if str(Path("/proc/self").readlink()) != str(os.getpid()):  # /proc shows another namespace
            namespaces = _UNKNOWN
    except OSError:
        return "0"
    return f"{boot}-{namespaces}"


def _start_ticks(process: int) -> int | None:
    """Return the start time of a process in hundredths of a second; None if there is no such process."""
    try:
        # Ticks since the machine's start, which do not change with the clock, unlike psutil's seconds since 1970.
        state, *fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):  # there is no such process, or no /proc
        with suppress(psutil.NoSuchProcess):
            return int(psutil.Process(process).create_time() * 100)
        return None


LARGEST_SETTING = 2**31 - 1
"""Largest value of a setting of the C library."""


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Make the C library keep freed memory inside this context.

    By default it returns large blocks to the system, which zeroes them again page by page for the next shard: a tenth to a
    fifth of the time of a run. Only the GNU C library has this setting.
    """
    trim_threshold, mmap_max = -1, -4  # constants of its malloc.h
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        yield
        return
    library.mallopt(mmap_max, 0)
    library.mallopt(trim_threshold, LARGEST_SETTING)
    try:
        yield
    finally:
        library.mallopt(mmap_max, 65536)
        library.mallopt(trim_threshold, 128 * 1024)
        library.malloc_trim(0)
