"""What the machine is, and what is chosen for it: in the open, each with its reason.

Micro-batch, precision and threads are chosen by steps that are measured, the rest by what is there. The choices are recorded
when a run is first started and used again when it goes on, so that it goes on as it began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from posegen.errors import UsageError
from posegen.machine import process_memory
from posegen.quantities import parse_bytes
from posegen.training.hardware.bench import GAIN, Bench, best_micro, best_precision, best_threads
from posegen.training.hardware.facts import Facts
from posegen.training.measures.judging import SIZE
from posegen.training.settings import Machine, Settings, logged_every, warm_up
from posegen.training.steps.place import parts_in
from posegen.training.task import Task

__all__ = ["Choices", "Reason", "checked_at_once", "choose", "given_choices"]

_GB = 10**9
_STANDARD, _QUICK = (2, 4, 8), (4, 8, 16)
_QUICK_STEPS = 1000
_AGAIN = 0.75
"""The same where clips of a smaller micro-batch go through the model once more for the way back."""
_SHARE_OF_MEMORY = 0.7
_COMPILE_SECONDS = 60.0
_COMPILE_GAIN = 0.2
_READ_SHARE = 0.05
_WORKERS = 2


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
    devices: int = 1


@dataclass(frozen=True)
class Reason:
    """A line of the table: what, which, and why."""

    name: str
    value: str
    why: str


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
    devices = _devices(given, device, facts, reasons)
    bench = Bench(task, make, clips, device)
    small = _starting(settings, facts, device)
    threads = given.threads or max(1, best_threads(bench, small, facts) // (devices if device == "cpu" else 1))
    reasons.append(_told("threads", str(threads), given.threads, bench.why))
    bench.threads = threads
    precision = given.precision or best_precision(bench, small)
    reasons.append(_told("precision", precision, given.precision, bench.why))
    bench.precision = precision
    micro, checkpointing = _micro(task, settings, bench, small, _room(settings, facts, device) // devices, devices, reasons)
    seconds = bench.run(micro).seconds * settings.batch / devices
    if task.needs_whole_batch and micro < settings.batch // devices:
        seconds /= _AGAIN
    compiled, why = _compiling(given.compile, device, seconds * settings.steps)
    reasons.append(_told("compile", _yes(compiled), given.compile, why))
    workers, why = _loading(loading, seconds, facts)
    workers = workers if given.workers is None else given.workers
    reasons.append(_told("workers", str(workers), given.workers, why))
    reasons += _following(settings, device, micro)
    choices = Choices(device, precision, threads, micro, workers, compiled, checkpointing, devices)
    return choices, reasons, _with_loading(seconds, loading, workers, threads * devices, facts)


def checked_at_once(device: str, micro_batch: int) -> int:
    """Tell how many clips a model is judged by at once: more than in training, as nothing is kept for a way back."""
    return max(SIZE, 2 * micro_batch) if device == "cuda" else SIZE


def _following(settings: Settings, device: str, micro: int) -> Iterator[Reason]:
    """Tell what follows from the rest."""
    on_gpu = device == "cuda"
    yield Reason("validation batch", str(checked_at_once(device, micro)), "nothing is kept for a way back")
    yield Reason("warm-up", f"{warm_up(settings)} steps", f"{100 * settings.optimiser.warmup:g} % of them")
    every = logged_every(settings)
    yield Reason("logged", "every step" if every == 1 else f"every {every} steps", "a thousand points at most")
    why = "on GPUs" if on_gpu else "never on a CPU"
    for name in ("TF32", "cudnn autotuning", "pinned memory"):
        yield Reason(name, _yes(on_gpu), why)


def given_choices(settings: Settings) -> dict[str, Any]:
    """Take the choices that a user has made."""
    given = {name: value for name, value in settings.machine if value is not None}
    if given.get("devices") == "all":
        given["devices"] = max(1, torch.cuda.device_count())
    return given


def _devices(given: Machine, device: str, facts: Facts, reasons: list[Reason]) -> int:
    """Choose where it is computed, and by how many at once."""
    if device == "cuda" and not facts.gpu:
        msg = "machine.device is cuda, and torch finds no GPU. --set machine.device=cpu, or take a preset for the CPU: balanced"
        raise UsageError(msg)
    devices = max(1, facts.gpus) if given.devices == "all" else given.devices or 1
    if device == "cuda" and devices > facts.gpus:
        msg = f"machine.devices is {devices}, and there are {facts.gpus} GPUs. --set machine.devices={facts.gpus}"
        raise UsageError(msg)
    reasons.append(_told("device", device, given.device, "there is a GPU" if facts.gpu else "there is no GPU"))
    reasons.append(_told("devices", str(devices), given.devices, "several only if they are asked for"))
    return devices


def _micro(
    task: Task, settings: Settings, bench: Bench, small: int, room: int, devices: int, reasons: list[Reason]
) -> tuple[int, bool]:
    """Choose how many clips go through the model at once, and whether it computes again what would not fit."""
    given, share = settings.machine, settings.batch // devices
    parts_in(settings.batch, devices, 1)
    # What does not go through at once goes through twice, so it takes much to make a smaller one faster.
    gain = _AGAIN if task.needs_whole_batch else GAIN
    micro = given.micro_batch or best_micro(bench, small, share, room, gain)
    checkpointing = bench.run(1).bytes > room if given.checkpointing is None else given.checkpointing
    reasons.append(_told("micro_batch", str(micro), given.micro_batch, bench.why))
    parts = 1 if task.needs_whole_batch else parts_in(settings.batch, devices, micro)
    why = f"steps of {settings.batch} clips on every machine"
    reasons.append(Reason("accumulation", str(parts), why))
    why = "one clip alone does not fit" if checkpointing else "the memory does not ask for it"
    reasons.append(_told("checkpointing", _yes(checkpointing), given.checkpointing, why))
    return micro, checkpointing


def _with_loading(seconds: float, loading: float, workers: int, threads: int, facts: Facts) -> float:
    """Tell how long a step takes with its data: it waits for who loads, or they share the cores."""
    shared = (loading + seconds * threads) / facts.cores
    return max(seconds, loading / max(1, workers), shared)


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
        return max(0, int((parse_bytes(settings.memory.limit) - process_memory()) * _SHARE_OF_MEMORY))
    return int(facts.free * _SHARE_OF_MEMORY)


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
