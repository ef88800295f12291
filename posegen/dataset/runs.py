"""Runs: which process made a file, and whether it may still be at work.

A run's name is ``host_boot_process_start``. From it, another process on the same machine can prove that the run has ended:
the machine has been started anew since, or no process has that number and that starting time. What cannot be proved, as for
a run on another machine, is taken to live.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

__all__ = ["current_run", "has_ended"]

_RUN = re.compile(r"([A-Za-z0-9.-]+)_([A-Za-z0-9.-]+)_([0-9]{1,10})_([0-9]{1,20})")
_TICKS_OF_DOUBT = 500


@dataclass(frozen=True)
class _Run:
    host: str
    boot: str
    process: int
    start: int


def current_run() -> str:
    """Name this process as a run.

    Examples
    --------
    >>> has_ended(current_run())
    False
    """
    process = os.getpid()
    return f"{_host()}_{_boot()}_{process}_{_start(process)}"


def has_ended(run: str) -> bool:
    """Tell whether a run has provably ended.

    Parameters
    ----------
    run : str
        What :func:`current_run` returned in that run; of any other text nothing can be proved.
    """
    match = _RUN.fullmatch(run)
    if match is None:
        return False
    host, boot, process, start = match.groups()
    if host != _host():
        return False
    if boot != _boot():
        return True
    now = _start(int(process))
    return now is None or abs(now - int(start)) > _TICKS_OF_DOUBT


@cache
def _host() -> str:
    """Name of this machine, with a part of its own id because many machines are called alike."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        machine = ""
    return re.sub(r"[^A-Za-z0-9.-]", "-", f"{platform.node()}-{machine}".strip("-")) or "-"


@cache
def _boot() -> str:
    """Id of the machine's last start, with that of the space in which process numbers count (a container has its own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").replace("-", "").strip()[:12]
        space = re.sub(r"[^0-9]", "", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return "0"
    return f"{boot}-{space}"


def _start(process: int) -> int | None:
    """When a process was started, in hundredths of a second; None if there is none."""
    try:
        # Ticks since the machine's start, which no correction of the clock moves, unlike psutil's seconds since 1970.
        state, *fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if state in "ZX" else int(fields[18])
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(psutil.Process(process).create_time() * 100)
    except psutil.NoSuchProcess:
        return None
