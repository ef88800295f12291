"""How busy the GPU is and how much of its memory is taken, where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from posegen.quantities import human_bytes

__all__ = ["GpuUse", "gpu_use"]

_BUSY = 0.8


@dataclass(frozen=True)
class GpuUse:
    """What one GPU does.

    Attributes
    ----------
    busy : float or None
        Share of the last moment in which it computed; None where its driver's library for Python is not there to tell.
    taken, memory : int
        Bytes that training took at most so far, and that there are.
    """

    busy: float | None
    taken: int
    memory: int

    def values(self) -> dict[str, float]:
        """Give shares, as curves show them."""
        busy = {} if self.busy is None else {"gpu/busy": self.busy}
        return {**busy, "gpu/memory": self.taken / self.memory}

    def told(self) -> str:
        """Tell it in words."""
        busy = "" if self.busy is None else f"{100 * self.busy:.0f} % busy, "
        return f"GPU {busy}{human_bytes(self.taken)} of {human_bytes(self.memory)} taken"

    def warning(self) -> str | None:
        """Tell what helps where it is often idle."""
        if self.busy is None or self.busy >= _BUSY:
            return None
        cure = "A larger batch, --set batch=1024, or more processes that load, --set machine.workers=4, keep it busy"
        return f"warning: the GPU is idle {100 * (1 - self.busy):.0f} % of the time. {cure}"


def gpu_use(device: str) -> GpuUse | None:
    """Look at the GPU; None if training is on something else."""
    if device != "cuda":
        return None
    try:
        busy: float | None = torch.cuda.utilization() / 100
    except (ModuleNotFoundError, RuntimeError):
        busy = None
    return GpuUse(busy, torch.cuda.max_memory_allocated(), torch.cuda.get_device_properties(0).total_memory)
