"""What the machine is, and what is chosen for it: in the open, each with its reason.

Micro-batch, precision and threads are chosen by steps that are measured, the rest by what is there. The choices are recorded
when a run is first started and used again when it goes on, so that it goes on as it began.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import nn

from posegen.training.settings import Settings, memory_bytes
from posegen.training.task import Task

__all__ = ["Choices", "Facts", "Reason", "choose", "look", "memory_used", "parts_of"]

_GB = 10**9
_STANDARD, _QUICK = (2, 4, 8), (4, 8, 16)
_QUICK_STEPS = 1000
_GAIN = 1.05
"""How much faster a larger micro-batch, or half precision, must be to be taken."""
_AGAIN = 0.75
"""The same where clips of a smaller micro-batch go through the model once more for the way back."""
_REPEATS = 3
_SHARE_OF_MEMORY = 0.7
_COMPILE_SECONDS = 60.0
_COMPILE_GAIN = 0.2
_READ_SHARE = 0.05
_WORKERS = 2


@dataclass(frozen=True)
class Facts:
    """The machine: processor cores that may be used, bytes of memory in all and free, GPUs and the bytes of the first one."""

    cores: int
    memory: int
    free: int
    gpu: str | None
    gpus: int
    gpu_memory: int


@dataclass(frozen=True)
class Choices:
    """What a run does with the machine; see :class:`posegen.training.settings.Machine`."""

    device: str
    precision: str
    threads: int
    micro_batch: int
    workers: int
    compile: bool
    checkpointing: bool


@dataclass(frozen=True)
class Reason:
    """A line of the table: what, which, and why."""

    name: str
    value: str
    why: str


@dataclass(frozen=True)
class Trial:
    """One measured step: seconds a clip, and bytes that it took beside what was in use."""

    seconds: float
    bytes: int


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


def parts_of(batch: int, micro_batch: int) -> int:
    """Count the micro-batches of a batch: as few as do, of equal size."""
    fewest = -(-batch // micro_batch)
    return next(parts for parts in range(fewest, batch + 1) if batch % parts == 0)


def choose(
    task: Task,
    make: Callable[[], nn.Module],
    clips: Callable[[int], dict[str, Any]],
    settings: Settings,
    facts: Facts,
    loading: float,
) -> tuple[Choices, list[Reason], float]:
    """Choose what is not given, measuring steps where that decides.

    Parameters
    ----------
    task : Task
    make : callable
        Makes a model of the run.
    clips : callable
        Gives so many clips as tensors.
    settings : Settings
        What is given in its group `machine` is taken.
    facts : Facts
    loading : float
        Seconds that a batch takes to load.

    Returns
    -------
    choices : Choices
    reasons : list of Reason
    seconds : float
        That a step will take.
    """
    given = settings.machine
    reasons = list(_facts_told(facts))
    device = given.device or ("cuda" if facts.gpu else "cpu")
    reasons.append(_told("device", device, given.device, "there is a GPU" if facts.gpu else "there is no GPU"))
    bench = _Bench(task, make, clips, device)
    small = _starting(settings, facts, device)
    threads = given.threads or _best_threads(bench, small, facts)
    reasons.append(_told("threads", str(threads), given.threads, bench.why))
    bench.threads = threads
    precision = given.precision or _best_precision(bench, small)
    reasons.append(_told("precision", precision, given.precision, bench.why))
    bench.precision = precision
    room = _room(settings, facts, device)
    checkpointing = given.checkpointing
    # What does not go through at once goes through twice, so it takes much to make a smaller one faster.
    gain = _AGAIN if task.whole else _GAIN
    micro = given.micro_batch or _best_micro(bench, small, settings.batch, room, gain)
    if checkpointing is None:
        checkpointing = bench.run(1).bytes > room
    reasons.append(_told("micro_batch", str(micro), given.micro_batch, bench.why))
    parts = 1 if task.whole else parts_of(settings.batch, micro)
    reasons.append(Reason("accumulation", str(parts), f"steps of {settings.batch} clips on every machine"))
    why = "one clip alone does not fit" if checkpointing else "the memory does not ask for it"
    reasons.append(_told("checkpointing", _yes(checkpointing), given.checkpointing, why))
    seconds = bench.run(micro).seconds * settings.batch
    if task.whole and micro < settings.batch:
        seconds /= _AGAIN
    compiled, why = _compiling(given.compile, device, seconds * settings.steps)
    reasons.append(_told("compile", _yes(compiled), given.compile, why))
    workers, why = _loading(loading, seconds, facts)
    workers = workers if given.workers is None else given.workers
    reasons.append(_told("workers", str(workers), given.workers, why))
    choices = Choices(device, precision, threads, micro, workers, compiled, checkpointing)
    return choices, reasons, seconds


class _Bench:
    """Steps of a model that are measured and then forgotten."""

    def __init__(self, task: Task, make: Callable[[], nn.Module], clips: Callable[[int], dict[str, Any]], device: str) -> None:
        self._task, self._clips, self._device = task, clips, torch.device(device)
        self._model = make().to(self._device)
        self.threads, self.precision = 1, "32-true"
        self.why = ""

    def run(self, size: int) -> Trial:
        """Measure a forward and a backward pass over so many clips: the best of a few."""
        torch.set_num_threads(self.threads)
        made = self._clips(size)
        clips = {name: value.to(self._device) for name, value in made.items() if isinstance(value, torch.Tensor)}
        best, before = float("inf"), self._used()
        for _ in range(_REPEATS):
            begin = time.perf_counter()
            with torch.autocast(self._device.type, torch.bfloat16, enabled=self.precision == "bf16-mixed"):
                loss = self._task.loss(self._task.apply(self._model, clips), clips)
            taken = self._used() - before
            loss.backward()  # type: ignore[no-untyped-call]
            self._model.zero_grad(set_to_none=True)
            if self._device.type == "cuda":
                torch.cuda.synchronize()
                taken = torch.cuda.max_memory_allocated() - before
            best = min(best, (time.perf_counter() - begin) / size)
        return Trial(best, max(0, taken))

    def _used(self) -> int:
        if self._device.type == "cuda":
            return int(torch.cuda.memory_allocated())
        return int(psutil.Process().memory_info().rss)


def _facts_told(facts: Facts) -> Iterator[Reason]:
    yield Reason("cores", str(facts.cores), "that this process may use")
    yield Reason("memory", f"{facts.memory / _GB:.1f} GB", f"{facts.free / _GB:.1f} GB of it free")
    gpu = f"{facts.gpus} x {facts.gpu}, {facts.gpu_memory / _GB:.0f} GB" if facts.gpu else "none"
    yield Reason("GPU", gpu, "")


def _told(name: str, value: str, given: object, why: str) -> Reason:
    return Reason(name, value, why if given is None else f"given by machine.{name}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _starting(settings: Settings, facts: Facts, device: str) -> int:
    """Begin with what is safe: 2, 4 or 8 clips for under 8, up to 16 and over 16 GB; twice that in short runs."""
    memory = (facts.gpu_memory if device == "cuda" else facts.memory) / _GB
    place = 0 if memory < 8 else 1 if memory <= 16 else 2
    return (_QUICK if settings.steps <= _QUICK_STEPS else _STANDARD)[place]


def _room(settings: Settings, facts: Facts, device: str) -> int:
    if device == "cuda":
        return int(facts.gpu_memory * _SHARE_OF_MEMORY)
    if settings.memory.limit is not None:
        return max(0, int((memory_bytes(settings.memory.limit) - memory_used()) * _SHARE_OF_MEMORY))
    return int(facts.free * _SHARE_OF_MEMORY)


def _best_threads(bench: _Bench, size: int, facts: Facts) -> int:
    found = {}
    for threads in sorted({1, facts.cores}):
        bench.threads = threads
        found[threads] = bench.run(size).seconds
    best = min(found, key=lambda threads: found[threads])
    told = ", ".join(f"{threads}: {1000 * seconds:.2f} ms" for threads, seconds in found.items())
    bench.why = f"measured, a clip takes with {told}"
    return best


def _best_precision(bench: _Bench, size: int) -> str:
    plain = bench.run(size).seconds
    bench.precision = "bf16-mixed"
    half = bench.run(size).seconds
    faster = plain > half * _GAIN
    bench.precision = "bf16-mixed" if faster else "32-true"
    bench.why = f"measured, a clip takes {1000 * plain:.2f} ms, with bf16 {1000 * half:.2f} ms"
    return bench.precision


def _best_micro(bench: _Bench, size: int, most: int, room: int, gain: float) -> int:
    """Double as long as clips go through faster and fit."""
    best, trial = min(size, most), bench.run(min(size, most))
    told = [f"{best}: {1000 * trial.seconds:.2f} ms"]
    while best < most:
        larger = min(best * 2, most)
        if trial.bytes * larger / best > room:
            told.append(f"{larger} would not fit")
            break
        found = bench.run(larger)
        told.append(f"{larger}: {1000 * found.seconds:.2f} ms")
        if found.seconds * gain > trial.seconds:
            break
        best, trial = larger, found
    bench.why = f"measured, a clip takes in micro-batches of {', '.join(told)}"
    return best


def _compiling(given: bool | None, device: str, seconds: float) -> tuple[bool, str]:
    if given is not None:
        return given, ""
    if device == "cpu":
        return False, "gains nothing on a CPU"
    pays = seconds * _COMPILE_GAIN > _COMPILE_SECONDS
    return pays, f"takes about {_COMPILE_SECONDS:.0f} s, and the run some {seconds:.0f} s"


def _loading(loading: float, step: float, facts: Facts) -> tuple[int, str]:
    why = f"measured, a batch takes {1000 * loading:.1f} ms to load and {1000 * step:.0f} ms to train on"
    return (0 if loading < step * _READ_SHARE or facts.cores == 1 else min(_WORKERS, facts.cores)), why


def _container_limit() -> int | None:
    """Memory that a container may take, where there is such a limit."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        return int(text) if text.isdigit() and int(text) < 2**60 else None
    return None
