"""Hardware of a run: choose device, precision, threads, micro-batch and loading, and measure what is used.

The devices that are present decide, and for the micro-batch the memory of a trial step of the run's own model. Each choice is
reported with its reason and stored with the run, so that a resumed run makes the same choices.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import psutil
import torch
from llvmlite.binding import get_host_cpu_features  # type: ignore[import-untyped]
from torch.nn.attention import SDPBackend, sdpa_kernel

from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import available_cores, available_memory, process_memory
from posegen.foundations.quantities import human_bytes, parse_bytes
from posegen.training.data.feed import Feed, batches_of
from posegen.training.settings import Machine, Settings
from posegen.training.setup import Setup
from posegen.training.trained_models import EVALUATION_BATCH

AUTOCAST = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
_MULTIPLY_BF16 = ("amx-bf16", "avx512bf16")
"""Features of processors that multiply matrices of bf16: 1.3 times as fast as float32 for the smallest model."""
_MOST_THREADS = 16
"""Matrices of small models leave more threads without work."""
_MOST_ON_CPU = 32
"""Largest micro-batch on a CPU, of tasks whose loss does not need the whole batch."""
_TRIED = {"cpu": 4, "cuda": 32}
"""Clips of the step that measures the memory of a clip. On a GPU, gradients and workspaces count as theirs."""
_MEMORY_SHARE = 0.7
_MIN_UTILISATION = 0.8


@dataclass(frozen=True)
class Choices:
    """Values of a run for the keys of :class:`posegen.training.settings.Machine`."""

    device: str
    precision: str
    threads: int
    micro_batch: int
    workers: int
    checkpointing: bool

    def halve_micro_batch(self, error: BaseException) -> Choices:
        """Return the choices with half the micro-batch.

        Parameters
        ----------
        error : BaseException
            The out-of-memory error, for the message.

        Raises
        ------
        PosegenError
            If the micro-batch is one clip.
        """
        if self.micro_batch == 1:
            hint = "Use --set machine.checkpointing=true, a smaller model, --set model.size=small, or --set data.frames=100"
            raise PosegenError(f"out of memory with one clip at a time ({error}). {hint}") from error
        return replace(self, micro_batch=self.micro_batch // 2)


@dataclass(frozen=True)
class Reason:
    """A row of the table of choices: name, value and reason."""

    name: str
    value: str
    why: str


def evaluation_batch(device: str, micro_batch: int) -> int:
    """Return the batch size of evaluation, which stores no activations and so fits more clips than training."""
    return max(EVALUATION_BATCH, 2 * micro_batch) if device == "cuda" else EVALUATION_BATCH


def given_choices(settings: Settings) -> dict[str, Any]:
    """Return the keys of `machine` that the user set."""
    return {name: value for name, value in settings.machine if value is not None}


def split_batch(batch: int, micro_batch: int) -> int:
    """Return the smallest number of equal micro-batches, of at most `micro_batch` clips, of a batch."""
    return next(parts for parts in range(-(-batch // micro_batch), batch + 1) if batch % parts == 0)


def choose_for_run(setup: Setup) -> tuple[Choices, list[Reason]]:
    """Choose what the settings leave open under `machine`.

    No choice depends on a duration: other programs would change it, and with it the last bits of the weights.

    Parameters
    ----------
    setup : Setup

    Returns
    -------
    choices : Choices
    reasons : list of Reason
        The hardware and each choice.
    """
    settings, given = setup.settings, given_choices(setup.settings)
    cores, memory, gpus = available_cores(), available_memory(), torch.cuda.device_count()
    gpu = torch.cuda.get_device_properties(0) if gpus else None
    device: str = given.get("device", "cuda" if gpu else "cpu")
    usual: dict[str, tuple[Any, str]] = {
        "device": (device, "a GPU is present" if gpu else "no GPU is present"),
        "threads": (min(cores, _MOST_THREADS), f"one for each core, at most {_MOST_THREADS}"),
        "precision": _usual_precision(device),
        "checkpointing": (False, "only on request: it takes time and saves memory"),
        "workers": _usual_workers(device, cores, settings.data.lanes),
    }
    usual |= {name: (value, f"given by machine.{name}") for name, value in given.items()}
    if "micro_batch" not in given:
        free = gpu.total_memory if gpu and device == "cuda" else memory.free
        if device == "cpu" and settings.memory.limit is not None:
            free = max(0, parse_bytes(settings.memory.limit) - process_memory())
        used = _trial_bytes(setup, device, usual["threads"][0], usual["precision"][0])
        usual["micro_batch"] = _usual_micro_batch(setup, device, used, int(free * _MEMORY_SHARE))
    choices = Choices(**{name: value for name, (value, _) in usual.items()})
    parts = 1 if setup.task.needs_whole_batch else split_batch(settings.batch, choices.micro_batch)
    on_gpu = device == "cuda"
    return choices, [
        Reason("cores", str(cores), "available to this process"),
        Reason("memory", human_bytes(memory.total), f"{human_bytes(memory.free)} free"),
        Reason("GPU", f"{gpus} x {gpu.name}, {human_bytes(gpu.total_memory)}" if gpu else "none", ""),
        *(Reason(name, _yes(value) if isinstance(value, bool) else str(value), why) for name, (value, why) in usual.items()),
        Reason("accumulation", str(parts), f"steps of {settings.batch} clips on every machine"),
        Reason("validation batch", str(evaluation_batch(device, choices.micro_batch)), "no activations are stored"),
        Reason("TF32, pinned memory", _yes(on_gpu), "on GPUs" if on_gpu else "never on a CPU"),
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _usual_precision(device: str) -> tuple[str, str]:
    """Return the precision that suits a device, and the reason."""
    if device == "cuda":
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return ("bf16-mixed", "the GPU has bf16") if has_bf16 else ("16-mixed", "the GPU has no bf16")
    has_bf16 = any(get_host_cpu_features().get(name) for name in _MULTIPLY_BF16)
    return ("bf16-mixed", "the CPU multiplies bf16") if has_bf16 else ("32-true", "the CPU does not multiply bf16")


def _usual_workers(device: str, cores: int, lanes: int) -> tuple[int, str]:
    """Return the number of processes that load, and the reason.

    It divides that of the lanes: otherwise each process would load the windows of all lanes.

    Examples
    --------
    >>> [_usual_workers("cuda", cores, lanes=4)[0] for cores in (1, 2, 4, 16)]
    [0, 1, 2, 4]
    """
    if device == "cpu":
        return 0, "threads load while a CPU trains"
    fitting = [count for count in range(cores) if count == 0 or lanes % count == 0]
    return fitting[-1], "so many cores can load for a GPU"


def _usual_micro_batch(setup: Setup, device: str, used: float, room: int) -> tuple[int, str]:
    """Return the largest micro-batch that fits into `room` bytes if a clip takes `used` bytes, and the reason."""
    size = setup.settings.batch if device == "cuda" or setup.task.needs_whole_batch else min(setup.settings.batch, _MOST_ON_CPU)
    while size > 1 and size * used > room:
        size //= 2
    return size, f"takes about {human_bytes(size * used)}, and {human_bytes(room)} may be used"


def _trial_bytes(setup: Setup, device: str, threads: int, precision: str) -> float:
    """Return the bytes of the activations of a clip, by a step of a model that is thrown away."""
    task, data, settings = setup.task, setup.settings.data, setup.settings
    source = setup.data.source(task.recipes, "training")
    batches = batches_of(source, settings.batch, settings.seed, data.variants)
    parts = split_batch(settings.batch, _TRIED[device])
    clips = Feed(batches, source, settings.seed, data.cropped_frames, parts).tensors(batches.batch(0))[0]
    tensors = on_device(clips, device)
    model = setup.make_model().to(device)
    torch.set_num_threads(threads)
    use_tf32(device)
    gpu_peak(device, reset=True)
    before = _used_bytes(device)
    with matrix_attention(device):
        with torch.autocast(device, AUTOCAST.get(precision), enabled=precision in AUTOCAST):
            loss = task.loss(task.apply(model, tensors), tensors)
        used = _used_bytes(device) - before
        loss.backward()  # type: ignore[no-untyped-call]
    return max(0, used, (gpu_peak(device) or before) - before) / len(tensors["length"])


def on_device(clips: dict[str, Any], device: str) -> dict[str, Any]:
    """Return clips with their tensors on a device."""
    tensors = {name: value.to(device, non_blocking=True) for name, value in clips.items() if isinstance(value, torch.Tensor)}
    return clips | tensors


def _used_bytes(device: str) -> int:
    return torch.cuda.memory_allocated() if device == "cuda" else int(psutil.Process().memory_info().rss)


def check_machine(machine: Machine, gpus: int) -> None:
    """Raise UsageError if the settings require a GPU where there is none, or a precision that the device lacks."""
    device = machine.device or ("cuda" if gpus else "cpu")
    if device == "cpu" and machine.precision == "16-mixed":
        raise UsageError("machine.precision is 16-mixed, which needs a GPU. Use --set machine.precision=bf16-mixed or 32-true")
    if device == "cuda" and not gpus:
        raise UsageError("machine.device is cuda, but torch finds no GPU. Use --set machine.device=cpu")


def use_tf32(device: str) -> None:
    """Compute products of float32 matrices in TF32 on a GPU, until torch's settings are restored."""
    if device == "cuda":
        torch.set_float32_matmul_precision("high")


def gpu_peak(device: str, *, reset: bool = False) -> int | None:
    """Return the most bytes that tensors took on the GPU since the last reset; None on other devices."""
    if device != "cuda":
        return None
    peak = int(torch.cuda.max_memory_allocated())
    if reset:
        torch.cuda.reset_peak_memory_stats()
    return peak


def gpu_utilisation() -> float | None:
    """Return the share of the last moment in which the GPU computed; None if its driver or NVML does not report it."""
    if find_spec("pynvml") is None:
        return None
    from pynvml import NVMLError

    try:
        return float(torch.cuda.utilization() / 100)
    except (NVMLError, RuntimeError):
        return None  # parts of a GPU (MIG), and old drivers


def describe_gpu_use(utilisation: float | None, peak: int, memory: int, batch: int) -> tuple[dict[str, float], str]:
    """Return the shares of the GPU that are in use, by the names of their curves, and a line for the log.

    The line is a warning with a hint if the GPU is often idle.

    Parameters
    ----------
    utilisation : float or None
        Share of the time in which the GPU computed.
    peak, memory : int
        Highest number of bytes that training used so far, and bytes in total.
    batch : int
        Clips of a step, for the hint.
    """
    used, values = f"{human_bytes(peak)} of {human_bytes(memory)} used", {"gpu/memory": peak / memory}
    if utilisation is None:
        return values, f"GPU {used}"
    values["gpu/utilisation"] = utilisation
    if utilisation >= _MIN_UTILISATION:
        return values, f"GPU {100 * utilisation:.0f} % utilised, {used}"
    hint = f"Larger steps use more of it: --set batch={2 * batch}, or --set model.size=large"
    return values, f"warning: the GPU is idle {100 * (1 - utilisation):.0f} % of the time. {hint}"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error reports a lack of memory: Python's MemoryError, and torch's errors for GPUs and for the CPU."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "can't allocate memory" in text or "out of memory" in text


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
