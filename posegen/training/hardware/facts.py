"""What the machine is: its cores, its memory, its GPUs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

__all__ = ["Facts", "look", "memory_used"]


@dataclass(frozen=True)
class Facts:
    """The machine: processor cores that may be used, bytes of memory in all and free, GPUs and the bytes of the first one."""

    cores: int
    memory: int
    free: int
    gpu: str | None
    gpus: int
    gpu_memory: int


def look() -> Facts:
    """Look at the machine."""
    memory = psutil.virtual_memory()
    total, free = memory.total, memory.available
    limit = _container_limit()
    if limit is not None:
        total, free = min(total, limit), min(free, limit - memory_used())
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    size = torch.cuda.get_device_properties(0).total_memory if gpu else 0
    return Facts(len(os.sched_getaffinity(0)), total, free, gpu, torch.cuda.device_count(), size)


def memory_used() -> int:
    """Bytes that this process and its children hold now."""
    own = psutil.Process()
    used = 0
    for process in (own, *own.children(recursive=True)):
        try:
            used += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return used


def _container_limit() -> int | None:
    """Memory that a container may take, where there is such a limit."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        return int(text) if text.isdigit() and int(text) < 2**60 else None
    return None
