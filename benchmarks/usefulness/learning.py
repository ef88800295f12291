"""A minimal training loop with the learning-rate schedule of ``posegen train``; the batch is a function of the step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from posegen.foundations.arrays import Array
from posegen.training.settings import Settings, learning_rate, load_settings


def settings_of(steps: int, rate: float, batch: int) -> Settings:
    """Return the settings of the preset quick with some changes."""
    return load_settings("quick", [f"steps={steps}", f"optimiser.rate={rate}", f"batch={batch}"])


def shares(*groups: Array) -> Array:
    """Return weights of items so that the first groups count equally, and within them the next ones.

    Parameters
    ----------
    *groups : int or str [item]
        Such as the family of each frame and its clip.

    Returns
    -------
    float64 [item]
        Their sum is 1.
    """
    weight = np.ones(len(groups[0]))
    members = np.zeros(len(groups[0]), np.int64)
    for own in groups:
        _, inner = np.unique(own, return_inverse=True)
        joined = members * (inner.max() + 1) + inner
        _, first, finer = np.unique(joined, return_index=True, return_inverse=True)
        weight /= np.bincount(members[first])[members]
        members = finer
    weight /= np.bincount(members)[members]
    return np.asarray(weight / weight.sum())


def chosen_at(step: int, seed: int, weights: Array, count: int) -> Array:
    """Draw the items of a step by their weights, with replacement."""
    draws = np.random.default_rng((seed, step)).random(count)
    edges = np.cumsum(weights)
    return np.asarray(np.searchsorted(edges, draws * edges[-1], side="right"))


def train(model: nn.Module, loss_at: Callable[[int], Tensor], settings: Settings) -> None:
    """Train a model; `loss_at` returns the loss of a step.

    What dropout draws is a function of the settings' seed and the step, as all else is.
    """
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=settings.optimiser.decay)
    model.train()
    for step in range(settings.steps):
        torch.manual_seed(settings.seed * 1_000_003 + step)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, settings)
        optimiser.zero_grad(set_to_none=True)
        loss_at(step).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), settings.optimiser.clip)
        optimiser.step()
    model.eval()
