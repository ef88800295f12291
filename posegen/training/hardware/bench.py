"""Steps of a model that are measured and then forgotten, and what is chosen by them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil
import torch
from torch import nn

from posegen.training.hardware.attending import attending_by_products
from posegen.training.hardware.facts import Facts
from posegen.training.task import Task

__all__ = ["GAIN", "Bench", "Trial", "best_micro", "best_precision", "best_threads"]

GAIN = 1.05
"""How much faster a larger micro-batch, or half precision, must be to be taken."""
_REPEATS = 3


@dataclass(frozen=True)
class Trial:
    """One measured step: seconds a clip, and bytes that it took beside what was in use."""

    seconds: float
    bytes: int


class Bench:
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
            with attending_by_products(self._device.type):
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


def best_threads(bench: Bench, size: int, facts: Facts) -> int:
    """Choose between one thread and as many as there are cores."""
    found = {}
    for threads in sorted({1, facts.cores}):
        bench.threads = threads
        found[threads] = bench.run(size).seconds
    best = min(found, key=lambda threads: found[threads])
    told = ", ".join(f"{threads}: {1000 * seconds:.2f} ms" for threads, seconds in found.items())
    bench.why = f"measured, a clip takes with {told}"
    return best


def best_precision(bench: Bench, size: int) -> str:
    """Choose bf16 if a step is faster with it."""
    plain = bench.run(size).seconds
    bench.precision = "bf16-mixed"
    half = bench.run(size).seconds
    faster = plain > half * GAIN
    bench.precision = "bf16-mixed" if faster else "32-true"
    bench.why = f"measured, a clip takes {1000 * plain:.2f} ms, with bf16 {1000 * half:.2f} ms"
    return bench.precision


def best_micro(bench: Bench, size: int, most: int, room: int, gain: float) -> int:
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
