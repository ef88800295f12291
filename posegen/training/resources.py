"""Measure what a run uses of the machine while it trains: GPU, swap, memory; and change settings of torch for its duration.

How a run is adapted to the machine before it starts is decided in :mod:`posegen.training.hardware`.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import psutil
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from posegen.quantities import human_bytes

_MIN_UTILISATION = 0.8
_MIN_SWAPPED = 64 * 2**20
"""Bytes read back between two calls. Every system writes out rarely used memory once, which slows nothing down."""


def gpu_use() -> tuple[dict[str, float], str]:
    """Return the shares of the GPU that are in use, by the names of their curves, and a line for the log."""
    try:
        utilisation: float | None = torch.cuda.utilization() / 100
    except (ModuleNotFoundError, RuntimeError):
        utilisation = None  # the Python package of its driver is missing
    return describe_gpu_use(utilisation, torch.cuda.max_memory_allocated(), torch.cuda.get_device_properties(0).total_memory)


def describe_gpu_use(utilisation: float | None, peak: int, memory: int) -> tuple[dict[str, float], str]:
    """Return the values and the line of :func:`gpu_use`; the line is a warning with a hint if the GPU is often idle.

    Parameters
    ----------
    utilisation : float or None
        Share of the last moment in which the GPU computed.
    peak, memory : int
        Highest number of bytes that training used so far, and bytes in total.
    """
    used = f"{human_bytes(peak)} of {human_bytes(memory)} used"
    if utilisation is None:
        return {"gpu/memory": peak / memory}, f"GPU {used}"
    values = {"gpu/utilisation": utilisation, "gpu/memory": peak / memory}
    if utilisation >= _MIN_UTILISATION:
        return values, f"GPU {100 * utilisation:.0f} % utilised, {used}"
    hint = "Use a larger batch, --set batch=1024, or more loading processes, --set machine.workers=4"
    return values, f"warning: the GPU is idle {100 * (1 - utilisation):.0f} % of the time. {hint}"


class SwapMonitor:
    """Detect swapping, which makes steps many times slower."""

    def __init__(self) -> None:
        self._before = psutil.swap_memory()
        self._warned = False

    def warning(self, *, limit: str | None, micro_batch: int) -> str | None:
        """Return a warning with a hint the first time that much was read back since the last call, else None."""
        now = psutil.swap_memory()
        read, written = now.sin - self._before.sin, now.sout - self._before.sout
        self._before = now
        if self._warned or read < _MIN_SWAPPED:
            return None
        self._warned = True
        if limit is None:
            hint = f"Reduce memory with --set machine.micro_batch={max(1, micro_batch // 2)} or --set memory.limit=4GB"
        else:
            hint = f"Reduce memory with a lower --set memory.limit than {limit}"
        return (
            f"warning: the machine is swapping, which slows down each step: {human_bytes(read)} read back and "
            f"{human_bytes(written)} written within a few steps. {hint}, or end other programs. "
            f"The same command resumes a stopped run"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error reports a lack of memory.

    Covers Python's MemoryError, torch's errors for GPUs and for the CPU, and errors of another process that quote one of these.
    """
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error)
    return "can't allocate memory" in text or "out of memory" in text.lower() or "MemoryError" in text


def release_memory() -> None:
    """Return unused memory to the system."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    try:
        # The C allocator keeps freed memory, which counts as used, until this call.
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return


def matrix_attention(device: str) -> AbstractContextManager[None]:
    """Return a context in which attention is computed by plain matrix products if the device is a CPU.

    Flash attention saves memory for long sequences; clips and captions are short. Its backward pass in bf16 takes most of a
    step on CPUs that multiply bf16 matrices natively: without it, steps took 144 instead of 200 ms for `motion` and 1.0 instead
    of 1.45 s for `text`; float32 was equally fast. Inference keeps torch's own implementation.
    """
    return sdpa_kernel(SDPBackend.MATH) if device == "cpu" else nullcontext()


@contextmanager
def restored_torch_settings() -> Iterator[None]:
    """Restore the number of threads and the precision of float32 products at the end of the context.

    Sums over one and two threads differ in the last bits. Without this, later predictions of the same process would depend on
    whether it trained before.
    """
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
