"""The published way to train, written as well as it can be, and each of posegen's choices to be switched on in it.

Published: batches of 3 or of 8; one process that loads, through torch's own loader; clips padded to the longest of a batch;
features computed whenever a clip is drawn. In its favour the joints of all clips are in memory before it begins, the process
that loads stays from epoch to epoch, and the rate of learning rises and falls as posegen's does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from posegen.dataset.read import Dataset as Stored
from posegen.training.data.features import ABSENT, ACTION, LENGTH, MOTION, View
from posegen.training.settings import Settings, learning_rate
from posegen.training.task import Task

__all__ = ["Held", "Way", "batches", "held", "padding", "train"]

Array = NDArray[Any]

RECIPES = (MOTION, LENGTH, ACTION)


@dataclass(frozen=True)
class Way:
    """A way to train.

    Attributes
    ----------
    batch : int
        Clips in a step.
    kept : bool
        Whether features are computed only once.
    workers : int
        Processes that load.
    threads : int or None
        Of the arithmetic; None: as many as torch takes by itself, one for each core.
    frames : int or None
        Of the stretch of a clip that is shown; None: all of it.
    """

    batch: int
    kept: bool = False
    workers: int = 1
    threads: int | None = None
    frames: int | None = None


@dataclass(frozen=True)
class Held:
    """Clips in memory: joints and actions as the dataset has them, and what recipes make of them, for ways that keep it."""

    view: View
    fields: Mapping[str, Array] = field(repr=False)
    kept: Mapping[str, Array] = field(repr=False)


def held(dataset: Stored, samples: Array, view: View) -> Held:
    """Take samples of a dataset into memory, a shard at a time."""
    fields: dict[str, list[Array]] = {"joints": [], "action": []}
    for shard in np.unique(samples // dataset.header.shard):
        own = samples[samples // dataset.header.shard == shard]
        for name, parts in fields.items():
            values = dataset.arrays(name, own)
            parts.append(values.reshape(-1, *values.shape[2:]))
    whole = {name: np.concatenate(parts) for name, parts in fields.items()}
    kept: dict[str, list[Array]] = {recipe.name: [] for recipe in RECIPES}
    for start in range(0, len(whole["joints"]), 500):
        some = {name: values[start : start + 500] for name, values in whole.items()}
        for recipe in RECIPES:
            kept[recipe.name].append(recipe.compute(some, view).astype(recipe.dtype))
    return Held(view, whole, {name: np.concatenate(parts) for name, parts in kept.items()})


class _Clips(Dataset[dict[str, Tensor]]):
    """Clips one by one, without what lies behind their ends."""

    def __init__(self, clips: Held, way: Way) -> None:
        self._clips, self._way = clips, way

    def __len__(self) -> int:
        return len(self._clips.fields["joints"])

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        clips, one = self._clips, slice(number, number + 1)
        if self._way.kept:
            made = {name: values[number] for name, values in clips.kept.items()}
            return _stretch(made, self._way.frames, clips.view.stride)
        fields = {name: values[one] for name, values in clips.fields.items()}
        if self._way.frames is not None:
            # A stretch is cut before its features are computed.
            first = int(torch.randint(fields["joints"].shape[2] - self._way.frames + 1, ()))
            fields = {name: values[:, :, first : first + self._way.frames] for name, values in fields.items()}
        made = {recipe.name: recipe.compute(fields, clips.view)[0] for recipe in RECIPES}
        return _stretch(made, None, clips.view.stride)


def _stretch(made: Mapping[str, Array], frames: int | None, stride: int) -> dict[str, Tensor]:
    length = int(made["length"])
    shown = length if frames is None else min(length, frames // stride)
    first = 0 if frames is None else int(torch.randint(length - shown + 1, ()))
    motion, action = (torch.from_numpy(made[name][first : first + shown]) for name in ("motion", "action"))
    return {"motion": motion.float(), "action": action.long(), "length": torch.tensor(shown)}


def _padded(clips: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    motion = pad_sequence([clip["motion"] for clip in clips], batch_first=True)
    action = pad_sequence([clip["action"] for clip in clips], batch_first=True, padding_value=ABSENT)
    return {"motion": motion, "action": action, "length": torch.stack([clip["length"] for clip in clips])}


def batches(clips: Held, way: Way) -> Iterator[dict[str, Tensor]]:
    """Give batches for ever, all clips once in each epoch."""
    loader = DataLoader(
        _Clips(clips, way),
        batch_size=way.batch,
        shuffle=True,
        drop_last=True,
        num_workers=way.workers,
        collate_fn=_padded,
        persistent_workers=way.workers > 0,
    )
    while True:
        yield from loader


def padding(clips: Held) -> float:
    """Tell which share of the frames would be padding if all clips were padded to the longest."""
    length = clips.kept["length"]
    return 1 - float(length.mean()) / float(length.max())


def train(
    model: nn.Module, task: Task, clips: Held, way: Way, settings: Settings, steps: int, tell: Callable[[], None]
) -> nn.Module:
    """Train for so many steps; after each, `tell` is called.

    The rate is posegen's for a batch of its size, and less by the root of the ratio for smaller ones.
    """
    torch.set_num_threads(way.threads or len(os.sched_getaffinity(0)))
    scale = (way.batch / settings.batch) ** 0.5
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=settings.optimiser.decay)
    own = settings.model_copy(update={"steps": steps})
    model.train()
    drawn = batches(clips, way)
    for step in range(steps):
        batch = next(drawn)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, own) * scale
        optimiser.zero_grad(set_to_none=True)
        task.loss(task.apply(model, batch), batch).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), settings.optimiser.clip)
        optimiser.step()
        tell()
    return model
