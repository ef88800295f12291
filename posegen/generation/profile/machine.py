"""How much room there is: on the disk, and in memory."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import psutil

__all__ = ["free_bytes", "usable_memory"]

_GROUP = Path("/sys/fs/cgroup")


def free_bytes(folder: Path) -> int:
    """Bytes free on the disk that a folder lies on."""
    return shutil.disk_usage(folder).free


def usable_memory() -> int:
    """Bytes of memory that this process and its children may hold, what it holds now among them."""
    usable = psutil.virtual_memory().available + psutil.Process().memory_info().rss
    # A container has a limit of its own, beside which the machine's memory does not count.
    with suppress(OSError, ValueError):
        usable = min(usable, int((_GROUP / "memory.max").read_text(encoding="ascii")))
    return int(usable)
