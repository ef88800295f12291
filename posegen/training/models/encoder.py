"""The encoder that tasks share: features of a motion in, a vector for each frame out.

Convolutions along time, dilated by 1, 2, 4, 8, 16 and again, over the features as a whole. In equal time on a CPU they learned
actions faster than a transformer of as many weights: 95 % of clips against 83 % after 90 seconds of one core, see
``docs/training.md``.


From the frames of a clip to one vector: what tasks share that tell of clips as a whole.

Low-rank adapters: beside each weight of the encoder a product of two thin ones is learned, and the weight itself stays.

Hu et al., LoRA: low-rank adaptation of large language models, 2021. The product begins at nothing. What is learned is small;
added to the weights, the model is an ordinary one again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize
from torch.utils.checkpoint import checkpoint

from posegen.training.data.features import FEATURES

__all__ = ["SIZES", "MotionEncoder", "add_adapters", "learned", "merge_adapters", "projection", "summary", "there"]


SIZES = {"small": (96, 5), "medium": (192, 10), "large": (384, 15)}
"""Width and depth."""

_DILATIONS = (1, 2, 4, 8, 16)
_LEAST_SPREAD = 1e-2
"""In metres, m/s or rad/s: what varies by less is noise."""


class MotionEncoder(nn.Module):
    """Gives each frame a vector, of what is done around it.

    Parameters
    ----------
    size : str
        See :data:`SIZES`.
    dropout : float
    least_spread : float
        Features that vary by less count as if they varied by this: metres, m/s or rad/s.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, size: str, dropout: float, *, least_spread: float = _LEAST_SPREAD) -> None:
        super().__init__()
        self.width, depth = SIZES[size]
        self.least_spread, self.checkpointing = least_spread, False
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("spread", torch.ones(FEATURES))
        self.begin = nn.Conv1d(FEATURES, self.width, 5, padding=2)
        self.blocks = nn.ModuleList(_Block(self.width, _DILATIONS[i % len(_DILATIONS)], dropout) for i in range(depth))
        self.end = nn.LayerNorm(self.width)

    def normalise_by(self, mean: NDArray[Any], spread: NDArray[Any]) -> None:
        """Take the mean and the standard deviation of the features, which then are part of the model."""
        self.mean.copy_(torch.from_numpy(np.asarray(mean, np.float32)))
        self.spread.copy_(torch.from_numpy(np.maximum(spread, self.least_spread).astype(np.float32)))

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode clips.

        Parameters
        ----------
        motion : Tensor [clip, frame, FEATURES]
        length : Tensor [clip]
            Frames that each has; what lies behind them does not matter.

        Returns
        -------
        Tensor [clip, frame, width]
        """
        mask = there(motion, length)[:, None, :]
        x = self.begin(((motion - self.mean) / self.spread).transpose(1, 2) * mask)
        for block in self.blocks:
            if self.checkpointing and torch.is_grad_enabled():
                x = checkpoint(block, x, mask, use_reentrant=False)
            else:
                x = block(x, mask)
        encoded: Tensor = self.end(x.transpose(1, 2))
        return encoded


def there(motion: Tensor, length: Tensor) -> Tensor:
    """Tell which frames there are: 1 or 0, [clip, frame]."""
    return (torch.arange(motion.shape[1], device=motion.device)[None, :] < length[:, None]).to(motion.dtype)


class _Block(nn.Module):
    """A residual step: each frame normalised, three frames at a distance mixed, and added."""

    def __init__(self, width: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.normalise = nn.LayerNorm(width)
        self.mix = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)
        self.dropout = dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Frames that are not there are 0 to their neighbours, as those before a clip are."""
        inner = self.normalise(x.transpose(1, 2)).transpose(1, 2) * mask
        inner = functional.dropout(functional.gelu(self.mix(inner)), self.dropout, self.training)
        mixed: Tensor = x + self.out(inner)
        return mixed


_HIDDEN = 512


def summary(frames: Tensor, mask: Tensor) -> Tensor:
    """Sum up the frames of clips, [clip, frame, width] to [clip, 2 width]: the mean of each number, and the largest.

    The encoder's frames know what comes before and after them. With questions that look at frames by attention, or with eight
    stretches of a clip summed up apart, 150 steps of 64 clips found 49 and 52 % among the first three of 256, with this 63 %.

    Parameters
    ----------
    frames : Tensor [clip, frame, width]
    mask : Tensor [clip, frame]
        1 where there is a frame, 0 where there is none.
    """
    count = mask.sum(dim=1, keepdim=True).clamp(min=1)
    mean = (frames * mask[:, :, None]).sum(dim=1) / count
    most = frames.masked_fill(mask[:, :, None] == 0, -math.inf).amax(dim=1)
    return torch.cat([mean, most], dim=1)


def projection(given: int, dropout: float, out: int) -> nn.Module:
    """Make a small network with one hidden layer, from `given` numbers to `out`."""
    return nn.Sequential(
        nn.LayerNorm(given), nn.Linear(given, _HIDDEN), nn.GELU(), nn.Dropout(dropout), nn.Linear(_HIDDEN, out)
    )


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
