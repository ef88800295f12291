"""Low-rank adapters: beside each weight of the encoder a product of two thin ones is learned, and the weight itself stays.

Hu et al., LoRA: low-rank adaptation of large language models, 2021. The product begins at nothing. What is learned is small;
added to the weights, the model is an ordinary one again.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

__all__ = ["add_adapters", "learned", "merge_adapters"]

_ADAPTED = (nn.Conv1d, nn.Linear)


class _LowRank(nn.Module):
    def __init__(self, weight: Tensor, rank: int, gain: float) -> None:
        super().__init__()
        self._gain = gain
        rows, columns = weight.shape[0], weight[0].numel()
        rank = min(rank, rows, columns)
        self.down = nn.Parameter(torch.randn(rank, columns) / columns**0.5)
        self.up = nn.Parameter(torch.zeros(rows, rank))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self._gain * (self.up @ self.down).view_as(weight)


def add_adapters(module: nn.Module, rank: int, gain: float = 1.0) -> None:
    """Freeze a module, and add adapters to all its convolutions and linear layers: `gain` times what they learn."""
    # What is not trained anyway gets none.
    layers = [layer for layer in module.modules() if isinstance(layer, _ADAPTED) and layer.weight.requires_grad]
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    for layer in layers:
        parametrize.register_parametrization(layer, "weight", _LowRank(layer.weight.detach(), rank, gain))


def merge_adapters(module: nn.Module) -> None:
    """Add what adapters learned to the weights; no adapters are left."""
    for layer in [layer for layer in module.modules() if isinstance(layer, _ADAPTED)]:
        if parametrize.is_parametrized(layer, "weight"):
            parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)


def learned(model: nn.Module) -> dict[str, Tensor]:
    """Give the weights that are trained, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
