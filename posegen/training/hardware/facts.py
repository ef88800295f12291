"""What the machine is: its cores, its memory, its GPUs."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from posegen.machine import available_cores, available_memory

__all__ = ["Facts", "look"]


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
    memory = available_memory()
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    size = torch.cuda.get_device_properties(0).total_memory if gpu else 0
    return Facts(available_cores(), memory.total, memory.free, gpu, torch.cuda.device_count(), size)
