"""The base of measures that need the outputs for all clips at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from torch import Tensor

from posegen.arrays import Array
from posegen.training.data.features import View
from posegen.training.task import Clips, Tally


class CollectedOutputs(Tally):
    """Collects a model's outputs and some arrays of the clips."""

    names: tuple[str, ...]
    """Names of the arrays that are collected."""

    def __init__(self, view: View) -> None:
        self.batches: list[tuple[Array, ...]] = []

    def add(self, outputs: Tensor, clips: Clips) -> None:
        """Add a batch."""
        self.batches.append((outputs.float().cpu().numpy(), *(clips[name].cpu().numpy() for name in self.names)))

    def collected(self) -> Iterable[Array]:
        """Return the outputs, then the arrays, of all clips."""
        return [np.concatenate(parts) for parts in zip(*self.batches, strict=True)]
