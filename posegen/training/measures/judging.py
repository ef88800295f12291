"""Holding a model against clips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posegen.dataset.batches import SequenceBatch
from posegen.training.data.features import View
from posegen.training.data.feed import to_clips
from posegen.training.data.sources import ClipSource
from posegen.training.data.training_data import batches_of
from posegen.training.task import Tally, Task

__all__ = ["answers", "answers_in_order", "judged"]

SIZE = 64
"""Clips that are held against a model at once unless asked for more; nothing is kept for a way back."""


def answers(
    task: Task,
    model: nn.Module,
    source: ClipSource,
    variants: Sequence[str] | None,
    device: str,
    most: int | None = None,
    size: int = SIZE,
) -> Iterator[tuple[Tensor, dict[str, Any]]]:
    """Go through what a model says of clips, `size` at once, and these clips; `most` of them, or all."""
    if task.first_variant_only:
        variants = (variants or source.variants)[:1]
    batches = batches_of(source, size, 0, variants, epochs=1)
    count = len(batches) if most is None else min(len(batches), -(-most // size))
    training = model.training
    model.eval()
    try:
        for batch in batches.at(0, count):
            values = {name: torch.from_numpy(value).to(device) for name, value in to_clips(batch, source).items()}
            with torch.inference_mode():
                said = task.apply(model, values)
            yield said, values
    finally:
        model.train(training)


def answers_in_order(task: Task, model: nn.Module, source: ClipSource) -> Iterator[tuple[Tensor, dict[str, Any]]]:
    """Go through what a model says of all clips of a source, sample by sample, and these clips."""
    variants = len(source.variants)
    for chunk in range(-(-source.samples // source.chunk)):
        numbers = source.samples_of[chunk * source.chunk : (chunk + 1) * source.chunk]
        arrays = {
            name: np.empty((variants, *shape.buffer_shape(source.chunk)), shape.dtype)
            for name, shape in source.arrays().items()
        }
        source.load(chunk, range(variants), arrays, ())
        # All of an array is one piece here, so behind the variant come places of one, then the sample.
        plain = {
            name: np.swapaxes(arrays[name].reshape(variants, source.chunk, *shape.shape)[:, : len(numbers)], 0, 1)
            for name, shape in source.arrays().items()
        }
        rows = np.arange(len(numbers)).repeat(variants) + chunk * source.chunk
        told = {"sample": rows, "variant": list(source.variants) * len(numbers)}
        flat = {name: np.ascontiguousarray(values).reshape(-1, *values.shape[2:]) for name, values in plain.items()}
        clips = to_clips(SequenceBatch(chunk, 0, told | flat), source)
        values = {name: torch.from_numpy(value) for name, value in clips.items()}
        with torch.inference_mode():
            yield task.apply(model.eval(), values), values


def judged(
    task: Task,
    model: nn.Module,
    source: ClipSource,
    view: View,
    variants: Sequence[str] | None,
    device: str,
    most: int | None = None,
    size: int = SIZE,
) -> Tally:
    """Add up what a model says of clips; the arguments are those of :func:`answers`."""
    tally = task.tally(view)
    for said, clips in answers(task, model, source, variants, device, most, size):
        tally.add(said, clips)
    return tally
