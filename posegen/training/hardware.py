"""Hardware of a run: choose device, precision, threads, micro-batch and loading, and measure what is used.

Trial steps of the run's own model decide threads, precision and micro-batch; the devices that are present decide the rest. Each
choice is reported with its reason and stored with the run, so that a resumed run makes the same choices.
"""

from __future__ import annotations

import ctypes
import gc
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from statistics import median
from typing import Any

import psutil
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from posegen.dataset.batches import WINDOW, make_batches
from posegen.foundations.errors import PosegenError, UsageError
from posegen.foundations.machine import available_cores, available_memory, process_memory
from posegen.foundations.quantities import human_bytes, parse_bytes
from posegen.training.cluster import local_processes, member
from posegen.training.data.feed import batches_of, to_clips
from posegen.training.data.sources import ClipSource
from posegen.training.settings import MOST_LANES, Settings
from posegen.training.setup import Setup
from posegen.training.trained_models import EVALUATION_BATCH

_GB = 10**9
AUTOCAST = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
_STANDARD, _QUICK = (2, 4, 8), (4, 8, 16)
_QUICK_STEPS = 1000
_GAIN = 1.05
"""A larger micro-batch is chosen if it is faster by this factor."""
CLEARLY = 1.1
"""bf16, or one thread, is chosen if it is faster than float32, or all cores, by this factor. It is far from the factor of
a processor that multiplies bf16 matrices (1.3 or more), so that load does not change the choice."""
_ROUNDS = 9
_RECOMPUTATION_GAIN = 0.75
"""The same factor where a smaller micro-batch needs a second forward pass."""
_MEMORY_SHARE = 0.7
_LOADING_SHARE = 0.05
_FEWEST_WORKERS = 2
_REPEATS = 3
_MIN_UTILISATION = 0.8
_MIN_SWAPPED = 64 * 2**20
"""Bytes read back between two calls. Every system writes out rarely used memory once, which slows nothing down."""


@dataclass(frozen=True)
class Choices:
    """Values of a run for the keys of :class:`posegen.training.settings.Machine`."""

    device: str
    precision: str
    threads: int
    micro_batch: int
    workers: int
    compile: bool
    checkpointing: bool
    devices: int = 1

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
            hint = "Use a smaller model, --set model.size=small, or shorter clips, --set data.frames=100"
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
    given = {name: value for name, value in settings.machine if value is not None}
    if place := member():
        given["devices"] = place.processes
    elif given.get("devices") == "all":
        given["devices"] = max(1, torch.cuda.device_count())
    return given


def split_batch(batch: int, devices: int, micro_batch: int) -> int:
    """Return the smallest number of equal micro-batches, of at most `micro_batch` clips, that each device computes of a batch.

    Raises
    ------
    UsageError
        If the devices would get unequal shares; the average of their gradients requires equal ones.
    """
    if batch % devices:
        hint = f"--set batch={-(-batch // devices) * devices}, or --set machine.devices=1"
        raise UsageError(f"a batch of {batch} clips cannot be split equally between {devices} devices. {hint}")
    share = batch // devices
    return next(parts for parts in range(-(-share // micro_batch), share + 1) if share % parts == 0)


def choose_for_run(setup: Setup) -> tuple[Choices, list[Reason]]:
    """Choose what the settings leave open under `machine`.

    Parameters
    ----------
    setup : Setup

    Returns
    -------
    choices : Choices
    reasons : list of Reason
        The hardware and each choice.

    Raises
    ------
    UsageError
        If a batch cannot be split between the devices.
    """
    task, data, settings = setup.task, setup.data, setup.settings
    source = data.source(task.recipes, "training")
    batches = batches_of(source, settings.batch, settings.seed, settings.data.variants)
    first = to_clips(batches.batch(0), source, settings.seed)
    loading = _loading_seconds(source, settings)
    return _choose(setup, first, loading)


def _loading_seconds(source: ClipSource, settings: Settings) -> float:
    """Measure the mean time to load a batch, over a window of batches."""
    fields = (*source.arrays(), *source.columns())
    batches = make_batches(source, settings.batch, fields=fields, variants=settings.data.variants, drop_last=True, threads=0)
    count = min(batches.per_epoch, max(1, WINDOW // settings.batch))
    best = float("inf")
    # The first pass also verifies the files and reads them from disk.
    for _ in range(2):
        begin = time.perf_counter()
        for batch in batches.at(0, count):
            to_clips(batch, source, settings.seed)
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def _choose(setup: Setup, first: dict[str, Any], loading: float) -> tuple[Choices, list[Reason]]:
    """Return the choices and their reasons, for a first batch and the seconds to load one."""
    settings, given = setup.settings, given_choices(setup.settings)
    cores, memory, gpus = available_cores(), available_memory(), torch.cuda.device_count()
    gpu = torch.cuda.get_device_properties(0) if gpus else None
    rows = [
        Reason("cores", str(cores), "available to this process"),
        Reason("memory", f"{memory.total / _GB:.1f} GB", f"{memory.free / _GB:.1f} GB free"),
        Reason("GPU", f"{gpus} x {gpu.name}, {gpu.total_memory / _GB:.0f} GB" if gpu else "none", ""),
    ]

    def choose(name: str, decide: Callable[[], tuple[Any, str]]) -> Any:
        """Return the value that the settings give, else the one that `decide` returns with its reason; add a row."""
        value, why = (given[name], f"given by machine.{name}") if name in given else decide()
        rows.append(Reason(name, _yes(value) if isinstance(value, bool) else str(value), why))
        return value

    device: str = choose("device", lambda: choose_device(gpus, mps=torch.backends.mps.is_available()))
    devices: int = choose("devices", lambda: (1, "one unless several are requested"))
    split_batch(settings.batch, devices, 1)
    total, free = (gpu.total_memory, gpu.total_memory) if gpu and device == "cuda" else (memory.total, memory.free)
    local = local_processes(devices)
    share, room = settings.batch // devices, _room(settings, device, free) // local
    if setup.task.draw is not None and device != "cpu":  # on a CPU it takes the same cores wherever it happens
        begin = time.perf_counter()
        first = first | setup.task.draw(first, settings.seed, 0)
        loading += time.perf_counter() - begin
    trials = _Trials(setup, first, device)
    half = half_precision(device, bf16=device != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False))
    small = _first_micro_batch(settings, total)
    own_cores = max(1, cores // local) if device == "cpu" else cores
    # A batch that needs several passes is computed twice, so a smaller micro-batch must be much faster.
    whole = setup.task.needs_whole_batch
    trials.threads = threads = choose("threads", lambda: trials.compare("threads", own_cores, 1, small))
    gain = _RECOMPUTATION_GAIN if whole else _GAIN
    if device == "cuda":  # the time of few clips is that of starting kernels, in any precision
        small = given.get("micro_batch") or trials.best_micro_batch(small, share, room, gain)[0]
    trials.precision = choose("precision", lambda: trials.compare("precision", "32-true", half, small))
    micro: int = choose("micro_batch", lambda: trials.best_micro_batch(small, share, room, gain))
    parts = 1 if whole else split_batch(settings.batch, devices, micro)
    rows.append(Reason("accumulation", str(parts), f"steps of {settings.batch} clips on every machine"))
    checkpointing: bool = choose("checkpointing", lambda: _needs_checkpointing(trials, room))
    seconds = trials.run(micro)[0] * settings.batch / devices
    if whole and micro < share:
        seconds /= _RECOMPUTATION_GAIN
    compiled: bool = choose("compile", lambda: (False, "only on request: no gain was measured"))
    workers: int = choose("workers", lambda: loading_workers(loading, seconds, cores // local, settings.data.lanes))
    rows.append(Reason("validation batch", str(evaluation_batch(device, micro)), "no activations are stored"))
    why = "on GPUs" if device == "cuda" else "never on a CPU"
    rows.append(Reason("TF32, pinned memory", _yes(device == "cuda"), why))
    return Choices(device, trials.precision, threads, micro, workers, compiled, checkpointing, devices), rows


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def choose_device(gpus: int, *, mps: bool) -> tuple[str, str]:
    """Return the device of a run and the reason: a GPU if torch finds one. The GPU of an Apple computer must be requested.

    Examples
    --------
    >>> choose_device(1, mps=False), choose_device(0, mps=False)
    (('cuda', 'a GPU is present'), ('cpu', 'no GPU is present'))
    """
    if gpus:
        return "cuda", "a GPU is present"
    hint = "an Apple GPU is present, but not tried by the project. Use it with --set machine.device=mps"
    return "cpu", hint if mps else "no GPU is present"


def half_precision(device: str, *, bf16: bool) -> str:
    """Return the faster precision that is compared with float32: bf16, or fp16 on GPUs that do not compute in bf16.

    Examples
    --------
    >>> half_precision("cuda", bf16=False), half_precision("cpu", bf16=True)
    ('16-mixed', 'bf16-mixed')
    """
    return "16-mixed" if device == "mps" or not bf16 else "bf16-mixed"


def check_machine(settings: Settings) -> None:
    """Raise UsageError if the settings require devices that are absent, or a precision that the device does not compute in."""
    given, gpus, mps = given_choices(settings), torch.cuda.device_count(), torch.backends.mps.is_available()
    device, _ = choose_device(gpus, mps=mps)
    asked = settings.machine.devices
    if member() and asked not in (None, "all", given["devices"]):
        raise UsageError(
            f"machine.devices is {asked}, but torchrun started {given['devices']} processes: leave the setting out"
        )
    check_devices(
        given.get("device", device),
        local_processes(given.get("devices", 1)),
        gpus,
        mps=mps,
        precision=settings.machine.precision,
    )


def check_devices(device: str, devices: int, gpus: int, *, mps: bool, precision: str | None) -> None:
    """Raise UsageError if there are fewer devices than requested, or the device does not compute in the precision."""
    if device == "mps" and (not mps or devices > 1):
        problem = "there is one such device" if mps else "torch finds no Apple GPU"
        raise UsageError(f"machine.device is mps and machine.devices {devices}, but {problem}. Use --set machine.device=cpu")
    if device == "cpu" and precision == "16-mixed":
        raise UsageError("machine.precision is 16-mixed, which needs a GPU. Use --set machine.precision=bf16-mixed or 32-true")
    if device == "cuda" and devices > gpus:
        hint = f"--set machine.devices={gpus}" if gpus else "--set machine.device=cpu"
        raise UsageError(f"machine.device is cuda and machine.devices {devices}, but torch finds {gpus} GPUs. {hint}")


def _first_micro_batch(settings: Settings, memory: int) -> int:
    """Return a safe size: 2, 4 or 8 clips for less than 8, up to 16 and more than 16 GB; twice that in short runs."""
    level = 0 if memory < 8 * _GB else 1 if memory <= 16 * _GB else 2
    return (_QUICK if settings.steps <= _QUICK_STEPS else _STANDARD)[level]


def _room(settings: Settings, device: str, free: int) -> int:
    """Return the bytes that steps may use, of those that are free on a device; memory.limit is that of the process."""
    if device == "cpu" and settings.memory.limit is not None:
        free = max(0, parse_bytes(settings.memory.limit) - process_memory())
    return int(free * _MEMORY_SHARE)


def _needs_checkpointing(trials: _Trials, room: int) -> tuple[bool, str]:
    needed = trials.run(1)[1] > room
    return needed, "one clip alone does not fit into memory" if needed else "the activations fit into memory"


def loading_workers(loading: float, step: float, cores: int, lanes: int) -> tuple[int, str]:
    """Return the number of processes that load, and the reason: none if loading takes little time, else as many as keep up.

    Their number divides that of the lanes. Otherwise each process would load the windows of all lanes.

    Parameters
    ----------
    loading, step : float
        Seconds in which one process loads a batch, and a step trains on it.
    cores : int
        Cores for this training process.
    lanes : int
        Windows of clips that take turns in providing batches.

    Examples
    --------
    >>> [loading_workers(ms / 1000, 0.1, cores=16, lanes=4)[0] for ms in (4, 50, 250, 900)]
    [0, 2, 4, 4]
    """
    why = f"measured: a batch takes {1000 * loading:.1f} ms to load and {1000 * step:.0f} ms to train on"
    if loading < step * _LOADING_SHARE or cores <= 1:
        return 0, why
    needed, fitting = max(_FEWEST_WORKERS, math.ceil(loading / step)), _fitting_workers(cores, lanes)
    return next((count for count in fitting if count >= needed), fitting[-1]), why


def waiting_hint(workers: int, lanes: int, cores: int) -> str:
    """Return what to do where steps wait for the data of some loading processes; see :func:`loading_workers`.

    Examples
    --------
    >>> waiting_hint(2, lanes=4, cores=16)
    'Use more loading processes, --set machine.workers=4, or end other programs'
    >>> waiting_hint(4, lanes=4, cores=16)
    'Use more loading processes, in a new run with --set data.lanes=16, or end other programs'
    >>> waiting_hint(2, lanes=4, cores=2)
    'End other programs, or use a machine with more cores'
    """
    if cores <= workers:
        return "End other programs, or use a machine with more cores"
    more = next((count for count in _fitting_workers(cores, lanes) if count > workers), None)
    setting = f"--set machine.workers={more}" if more else f"in a new run with --set data.lanes={min(cores, MOST_LANES)}"
    return f"Use more loading processes, {setting}, or end other programs"


def _fitting_workers(cores: int, lanes: int) -> list[int]:
    return [count for count in range(1, min(cores, lanes) + 1) if lanes % count == 0]


def clearly_faster(default: Any, other: Any, measure: Callable[[Any], float]) -> tuple[Any, dict[Any, float]]:
    """Return `other` if it is faster than `default` by the factor :data:`CLEARLY`, else `default`.

    Parameters
    ----------
    default, other : object
    measure : callable
        Returns the seconds of a step with one of them.

    Returns
    -------
    chosen : object
    seconds : dict of object to float
        Median of each over some rounds. A round measures both, so that load on the machine slows down both, and the median of
        the ratios of the rounds decides.
    """
    if other == default:
        return default, {default: measure(default)}
    for value in (default, other):
        measure(value)  # the first step of its kind is slower
    rounds = [(measure(default), measure(other)) for _ in range(_ROUNDS)]
    seconds = {value: median(each) for value, each in zip((default, other), zip(*rounds, strict=True), strict=True)}
    return other if median(one / another for one, another in rounds) > CLEARLY else default, seconds


class _Trials:
    """Steps of a model that is thrown away, measured with different settings."""

    def __init__(self, setup: Setup, first: dict[str, Any], device: str) -> None:
        data = setup.settings.data
        self._task, self._first, self._device = setup.task, first, torch.device(device)
        self._frames = None if data.frames is None else max(1, data.frames // data.stride)
        self._model = setup.make_model().to(self._device)
        use_tf32(device)
        self.threads, self.precision = 1, "32-true"

    def _clips(self, size: int) -> dict[str, torch.Tensor]:
        """Return the first clips of the batch, cut to the longest stretch that training shows."""
        tensors = {name: torch.from_numpy(values[:size]).to(self._device) for name, values in self._first.items()}
        if self._frames is None:
            return tensors
        most = tensors["motion"].shape[1]
        cut = {name: v[:, : self._frames] if v.dim() > 1 and v.shape[1] == most else v for name, v in tensors.items()}
        return {**cut, "length": tensors["length"].clamp(max=self._frames)}

    def run(self, size: int, repeats: int = _REPEATS) -> tuple[float, int]:
        """Return the seconds per clip of the fastest of some steps of `size` clips, and the bytes that a step uses."""
        torch.set_num_threads(self.threads)
        clips = self._clips(size)
        gpu_peak(self._device.type, reset=True)
        best, before = float("inf"), self._used()
        for _ in range(repeats):
            begin = time.perf_counter()
            with matrix_attention(self._device.type):
                with torch.autocast(self._device.type, AUTOCAST.get(self.precision), enabled=self.precision in AUTOCAST):
                    loss = self._task.loss(self._task.apply(self._model, clips), clips)
                used = self._used() - before
                loss.backward()  # type: ignore[no-untyped-call]
            self._model.zero_grad(set_to_none=True)
            if self._device.type == "cuda":
                torch.cuda.synchronize()
                used = torch.cuda.max_memory_allocated() - before
            best = min(best, (time.perf_counter() - begin) / size)
        return best, max(0, used)

    def _used(self) -> int:
        if self._device.type == "cuda":
            return int(torch.cuda.memory_allocated())
        return int(psutil.Process().memory_info().rss)

    def compare(self, name: str, default: Any, other: Any, size: int) -> tuple[Any, str]:
        """Choose a value of an attribute by :func:`clearly_faster`, for steps of `size` clips."""

        def measure(value: Any) -> float:
            setattr(self, name, value)
            return self.run(size, repeats=1)[0]

        chosen, seconds = clearly_faster(default, other, measure)
        setattr(self, name, chosen)
        measured = ", ".join(f"{value}: {1000 * each:.2f} ms" for value, each in seconds.items())
        return chosen, f"measured: time per clip by {name}: {measured}; {default} unless {other} is {CLEARLY:g} times as fast"

    def best_micro_batch(self, size: int, most: int, room: int, gain: float) -> tuple[int, str]:
        """Double the micro-batch while that makes clips faster and fits into `room` bytes."""
        best = min(size, most)
        seconds, used = self.run(best)
        measured = [f"{best}: {1000 * seconds:.2f} ms"]
        while best < most:
            larger = min(best * 2, most)
            if used * larger / best > room:
                measured.append(f"{larger} would not fit")
                break
            others, more = self.run(larger)
            measured.append(f"{larger}: {1000 * others:.2f} ms")
            if others * gain > seconds:
                break
            best, seconds, used = larger, others, more
        return best, f"measured: time per clip by micro-batch: {', '.join(measured)}"


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


def gpu_use(utilisation: float | None, batch: int) -> tuple[dict[str, float], str]:
    """Return the shares of the GPU that are in use, by the names of their curves, and a line for the log."""
    memory = torch.cuda.get_device_properties(0).total_memory
    return describe_gpu_use(utilisation, torch.cuda.max_memory_allocated(), memory, batch)


def describe_gpu_use(utilisation: float | None, peak: int, memory: int, batch: int) -> tuple[dict[str, float], str]:
    """Return the values and the line of :func:`gpu_use`; the line is a warning with a hint if the GPU is often idle.

    Parameters
    ----------
    utilisation : float or None
        Share of the time in which the GPU computed.
    peak, memory : int
        Highest number of bytes that training used so far, and bytes in total.
    batch : int
        Clips of a step, for the hint.
    """
    used = f"{human_bytes(peak)} of {human_bytes(memory)} used"
    if utilisation is None:
        return {"gpu/memory": peak / memory}, f"GPU {used}"
    values = {"gpu/utilisation": utilisation, "gpu/memory": peak / memory}
    if utilisation >= _MIN_UTILISATION:
        return values, f"GPU {100 * utilisation:.0f} % utilised, {used}"
    hint = f"Larger steps use more of it: --set batch={2 * batch}, or --set model.size=large"
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
