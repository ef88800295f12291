"""Choosing for a run: steps of its own model on its own clips are measured."""

from __future__ import annotations

import time
from typing import Any

import torch

from posegen.dataset.batches import WINDOW, make_batches
from posegen.training.beginning import Beginning
from posegen.training.data.feed import to_clips
from posegen.training.data.sources import ClipSource
from posegen.training.data.training_data import TrainingData, batches_of
from posegen.training.hardware.estimate import Estimate
from posegen.training.hardware.facts import look
from posegen.training.hardware.machine import Choices, Reason, choose
from posegen.training.settings import Settings
from posegen.training.task import Task

__all__ = ["chosen"]

_WITHOUT_WAY_BACK = 3
"""How much faster clips go through a model whose weights do not change."""


def chosen(
    task: Task, settings: Settings, material: TrainingData, beginning: Beginning
) -> tuple[Choices, list[Reason], Estimate]:
    """Choose for the machine, and tell what the run will take."""
    source = material.source(task.recipes, "training")
    frames = None if settings.data.frames is None else max(1, settings.data.frames // settings.data.stride)

    batches = batches_of(source, settings.batch, settings.seed, settings.data.variants)
    first = to_clips(batches.batch(0), source, settings.seed)
    loading = _loading_seconds(source, settings)

    def clips(size: int) -> dict[str, Any]:
        own = {name: torch.from_numpy(values[:size]) for name, values in first.items()}
        if frames is None:
            return own
        most = own["motion"].shape[1]
        cut = {name: v[:, :frames] if v.dim() > 1 and v.shape[1] == most else v for name, v in own.items()}
        return {**cut, "length": own["length"].clamp(max=frames)}

    facts = look()
    begin = time.perf_counter()
    choices, reasons, seconds = choose(task, beginning.make, clips, settings, facts, loading)
    reasons.append(Reason("measured in", f"{time.perf_counter() - begin:.1f} s", "before the first step"))
    validation = material.source(task.recipes, "validation")
    variants = len(settings.data.variants or source.variants)
    checked = min(settings.checks.clips, validation.samples * variants)
    found = Estimate(
        step_seconds=seconds,
        check_seconds=seconds / settings.batch / _WITHOUT_WAY_BACK * checked,
        steps=settings.steps,
        checks=settings.checks.times,
        epoch_steps=batches.per_epoch,
        sequences=source.samples * variants,
        parameters=sum(parameter.numel() for parameter in beginning.make().parameters() if parameter.requires_grad),
    )
    return choices, reasons, found


def _loading_seconds(source: ClipSource, settings: Settings) -> float:
    """Measure how long a batch takes to load, on the average over the window that it is taken from."""
    fields = (*source.arrays(), *source.columns())
    batches = make_batches(source, settings.batch, fields=fields, variants=settings.data.variants, drop_last=True, threads=0)
    count = min(batches.per_epoch, max(1, WINDOW // settings.batch))
    best = float("inf")
    # The first time, files are checked and read from the disk.
    for _ in range(2):
        begin = time.perf_counter()
        for batch in batches.at(0, count):
            to_clips(batch, source, settings.seed)
        best = min(best, (time.perf_counter() - begin) / count)
    return best
