"""A naive training loop as an oracle: accumulated and clipped gradients, AdamW, warm-up and cosine decay, averaged weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from posegen.training.data.feed import Feed, batches_of, statistics
from posegen.training.run_folder import read_checkpoint
from posegen.training.setup import Request, open_setup
from tests.training import tiny

PARTS = 2


def beside_naive(dataset: Path, run: Path) -> dict[str, float]:
    """Return the largest differences of the weights and averages of a complete run without dropout from the naive ones."""
    settings = tiny.settings("model.dropout=0")
    found = open_setup(Request(str(dataset), "action", "quick", settings))
    source = found.data.source(found.task.recipes, "training")
    feed = Feed(
        batches_of(source, settings.batch, settings.seed, None, lanes=settings.data.lanes),
        source,
        settings.seed,
        None,
        PARTS,
        skeleton=settings.data.skeleton,
    )
    model = found.make_model()
    model.encoder.normalise_by(*statistics(source, None))
    weights = dict(model.named_parameters())
    begun = {name: value.detach().clone() for name, value in weights.items()}
    first = {name: torch.zeros_like(value) for name, value in weights.items()}
    second, average = ({name: start.clone() for name, start in values.items()} for values in (first, begun))
    clipped, batches = 0, iter(feed.batches)
    for step in range(1, settings.steps + 1):
        parts = feed.tensors(next(batches))
        loss = sum(found.task.loss(found.task.apply(model, part), part) for part in parts) / PARTS
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))
        norm = math.sqrt(sum(float(value.double().square().sum()) for value in gradients.values()))
        clipped += norm > settings.optimiser.clip
        rate = _rate(step, settings.steps, settings.optimiser.rate)
        for name, value in weights.items():
            gradient = gradients[name] * min(1.0, settings.optimiser.clip / norm)
            first[name] = 0.9 * first[name] + 0.1 * gradient
            second[name] = 0.999 * second[name] + 0.001 * gradient**2
            towards = first[name] / (1 - 0.9**step) / ((second[name] / (1 - 0.999**step)).sqrt() + 1e-8)
            with torch.no_grad():
                value -= rate * (towards + settings.optimiser.decay * value)
            kept = min(settings.optimiser.average, step / (step + 10))
            average[name] = kept * average[name] + (1 - kept) * value.detach()
    state = read_checkpoint(run, settings.steps).tensors
    return {
        "clipped": clipped,
        "moved": _apart(weights, begun),
        "weights": _apart(weights, state["weights"]),
        "average": _apart(average, state["average"]),
    }


def _rate(step: int, steps: int, top: float) -> float:
    """Return the learning rate: one step of warm-up, then a cosine decay to a hundredth."""
    return top * (0.01 + 0.99 * (1 + math.cos(math.pi * max(0, step - 2) / (steps - 1))) / 2)


def _apart(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> float:
    return max(float((value.detach() - other[name]).abs().max()) for name, value in one.items())
