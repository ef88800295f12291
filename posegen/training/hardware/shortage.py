"""When memory is short: what tells so, and what is done then."""

from __future__ import annotations

import ctypes
import gc
from dataclasses import replace

import torch

from posegen.errors import PosegenError
from posegen.training.hardware.machine import Choices

__all__ = ["is_short_of_memory", "made_room", "smaller"]


def is_short_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that memory is short: Python's own, a GPU's, and that of torch's allocator on a CPU."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "can't allocate memory" in str(error) or "out of memory" in str(error).lower()


def smaller(choices: Choices, error: BaseException) -> Choices:
    """Halve the micro-batch, so that there are twice as many.

    Raises
    ------
    PosegenError
        If it is one clip already.
    """
    if choices.micro_batch == 1:
        cure = "Take a smaller model, --set model.size=small, or shorter clips, --set data.frames=100"
        msg = f"memory is short even for one clip at a time ({error}). {cure}"
        raise PosegenError(msg) from error
    return replace(choices, micro_batch=max(1, choices.micro_batch // 2))


def made_room() -> None:
    """Give memory that is no longer needed back to the system."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    try:
        # What C's allocator holds back counts as used until it is asked to give it to the system.
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return
