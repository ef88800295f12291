"""Read what this process may use of the machine: processor cores, memory and disk space.

GPUs are not covered: :mod:`posegen.training` and :mod:`posegen.embedding` ask torch for them.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
"""Control groups of version 1 report a number of about this size where there is no limit."""


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
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory(cgroup: Path = _CGROUP) -> Memory:
    """Return the memory that this process may use, within the limit of its control group (version 1 or 2).

    Parameters
    ----------
    cgroup : Path
        Folder in which the kernel describes the control group.

    Returns
    -------
    Memory
    """
    machine = psutil.virtual_memory()
    total, free = int(machine.total), int(machine.available)
    for folder, limit_name, used_name, cache_name in (
        (cgroup, "memory.max", "memory.current", "inactive_file"),
        (cgroup / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, used = _number(folder / limit_name), _number(folder / used_name)
        if limit is not None and used is not None and limit < _UNLIMITED:
            # File pages that nothing reads count as used, but the kernel drops them when memory is needed.
            used -= _statistics(folder / "memory.stat").get(cache_name, 0)
            return Memory(min(total, limit), min(free, max(0, limit - used)))
    return Memory(total, free)


def process_memory() -> int:
    """Return the bytes of memory that this process and its children hold now."""
    own = psutil.Process()
    held = 0
    for process in (own, *own.children(recursive=True)):
        try:
            held += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return held


def free_disk(folder: Path) -> int:
    """Return the free bytes of the disk on which `folder` lies."""
    return shutil.disk_usage(folder).free


def _number(file: Path) -> int | None:
    """Read a number from a file of the kernel; None if the file is absent or holds a word such as ``max``."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdecimal() else None


def _statistics(file: Path) -> dict[str, int]:
    """Read a file of lines such as ``inactive_file 4096``; empty if the file is absent."""
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return {}
    return {name: int(value) for name, _, value in (line.partition(" ") for line in lines) if value.isdecimal()}
