"""What a model begins with: fresh weights, or those of another run, which adapters or all of them then go on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from posegen.dataset.files import write_durably
from posegen.dataset.runs import current_run
from posegen.errors import UsageError
from posegen.quantities import human_bytes
from posegen.training.data.features import View
from posegen.training.models.encoder import add_adapters, learned, merge_adapters
from posegen.training.runs.runs import WEIGHTS
from posegen.training.settings import Settings
from posegen.training.task import Task
from posegen.training.trained.models import build, load_model

__all__ = ["ADAPTER", "Beginning", "beginning_of"]

ADAPTER = "adapter.safetensors"


@dataclass(frozen=True)
class Beginning:
    """How a run's model is made.

    Attributes
    ----------
    task : Task
    view : View
    settings : Settings
    weights : dict of str to Tensor, or None
        Of the run that it begins with, as far as they fit: what gives answers is fresh where there are other answers.
    init : Path or None
        That run.
    """

    task: Task
    view: View
    settings: Settings
    weights: dict[str, Tensor] | None
    init: Path | None = None

    def make(self) -> nn.Module:
        """Make the model: a function of the seed and of the weights that it begins with."""
        model = build(self.task, self.view, self.settings.model, self.settings.seed)
        if self.weights is not None:
            fresh = model.state_dict()
            fitting = {
                name: value for name, value in self.weights.items() if name in fresh and fresh[name].shape == value.shape
            }
            model.load_state_dict({**fresh, **fitting})
        if self.settings.adapter.rank is not None:
            torch.manual_seed(self.settings.seed)
            add_adapters(self.encoder(model), self.settings.adapter.rank, self.task.adapter_gain)
        return model

    def finished(self, weights: dict[str, Tensor], run: Path) -> nn.Module:
        """Make the model with trained weights; adapters are kept in a file of their own, and merged."""
        model = self.make()
        model.load_state_dict(weights)
        if self.settings.adapter.rank is not None:
            own = {name: value.detach().contiguous() for name, value in learned(model).items()}
            write_durably(run / ADAPTER, save(own), current_run())
            merge_adapters(self.encoder(model))
        return model

    def trained_share(self) -> str:
        """Tell how much of the model is trained where adapters are, and how large the file of that is."""
        model = self.make()
        own = sum(parameter.numel() for parameter in learned(model).values())
        whole = sum(parameter.numel() for parameter in model.parameters())
        size = human_bytes(4 * own)
        return f"adapters: {own:,} of {whole:,} weights are trained ({100 * own / whole:.0f} %), {size} in {ADAPTER}"

    @staticmethod
    def encoder(model: nn.Module) -> Any:
        """Find the part of a model that tasks share."""
        return model.encoder


def beginning_of(task: Task, view: View, settings: Settings, init: Path | None) -> Beginning:
    """Tell how a run's model is made.

    Raises
    ------
    UsageError
        If the run to begin with is of another kind.
    """
    if task.caption_sampler is not None:
        if init is not None:
            msg = f"{task.name} begins with an encoder of sentences, not with --init: --set text.encoder={init}"
            raise UsageError(msg)
        return Beginning(task, view, settings, None)
    if init is None:
        if settings.adapter.rank is not None:
            msg = "adapters are learned beside a trained model: name its run with --init"
            raise UsageError(msg)
        return Beginning(task, view, settings, None)
    trained = load_model(init)
    if (trained.settings.size, trained.view.stride) != (settings.model.size, settings.data.stride):
        size, stride = trained.settings.size, trained.view.stride
        msg = f"{init}: is of size {size} and sees every {stride}-th frame. --set model.size={size} --set data.stride={stride}"
        raise UsageError(msg)
    return Beginning(task, view, settings, load((init / WEIGHTS).read_bytes()), init)
