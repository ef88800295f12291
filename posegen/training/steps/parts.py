"""Clips of a batch through a model, a few at a time, where the loss needs what it says of all of them.

Only so many clips are held in memory with all that the way back needs; for the others it is computed again when the way back
reaches them (gradient checkpointing over clips rather than layers, which gives what Gao et al., Scaling deep contrastive
learning batch size under memory limited setup, 2021, arrive at with a cache of gradients). So a machine with less memory
computes the same, only slower.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from posegen.training.task import Clips, Task

__all__ = ["apply_in_parts"]


def apply_in_parts(task: Task, model: nn.Module, clips: Clips, size: int) -> Tensor:
    """Give what a model says of clips, `size` of them at a time if the task needs them whole.

    Parameters
    ----------
    task : Task
    model : Module
    clips : Clips
    size : int

    Returns
    -------
    Tensor
        As ``task.apply`` gives it.
    """
    count = len(clips["length"])
    if not task.needs_whole_batch or size >= count:
        return task.apply(model, clips)
    arrays = {name: values for name, values in clips.items() if isinstance(values, Tensor)}

    def part(own: dict[str, Any]) -> Tensor:
        return task.apply(model, own)

    cut = ({name: values[start : start + size] for name, values in arrays.items()} for start in range(0, count, size))
    # Draws of the first way are made again on the second.
    said = [checkpoint(part, own, use_reentrant=False, preserve_rng_state=True) for own in cut]
    return torch.cat(said)
