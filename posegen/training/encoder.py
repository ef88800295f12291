"""The motion encoder that tasks share, pooling of its frames, and low-rank adapters.

The encoder is a residual network of convolutions along time, dilated by 1, 2, 4, 8, 16 and again. In equal time on a CPU it
learned actions faster than a transformer with as many weights: 95 % of clips against 83 % after 90 seconds of one core, see
``docs/training.md``.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize
from torch.utils.checkpoint import checkpoint

from posegen.foundations.arrays import Array
from posegen.training.data.features import FEATURES

_SIZES = {"small": (96, 5), "medium": (192, 10), "large": (384, 15)}
"""Width and depth."""

ANY_SKELETON_SPREAD = 0.1
"""Least standard deviation of a feature, in metres, m/s or rad/s, for tasks that do not depend on the skeleton.

Features that vary little among generated bodies, such as the position of the hips, then count no more than the movement does.
Mocap clips are recognised better: 42 % rather than 37 %. Identities, however, are distinguished by such features.
"""

LEAST_SPREAD = 1e-2
_DILATIONS = (1, 2, 4, 8, 16)
_HIDDEN = 512
_ADAPTED = (nn.Conv1d, nn.Linear)


class NormalisedEncoder(nn.Module):
    """The base of encoders: normalises what it reads, and passes it through blocks.

    Parameters
    ----------
    numbers : int
        Numbers per frame.
    least_spread : float
        Lower bound of the standard deviation that divides them.

    Attributes
    ----------
    checkpointing : bool
        Whether activations of blocks are recomputed in the backward pass instead of stored.
    """

    mean: Tensor
    spread: Tensor
    blocks: nn.ModuleList

    def __init__(self, numbers: int, least_spread: float) -> None:
        super().__init__()
        self.least_spread, self.checkpointing = least_spread, False
        self.register_buffer("mean", torch.zeros(numbers))
        self.register_buffer("spread", torch.ones(numbers))

    def normalise_by(self, mean: Array, spread: Array) -> None:
        """Set the mean and the standard deviation of the numbers. They are saved with the weights."""
        self.mean.copy_(torch.from_numpy(np.asarray(mean, np.float32).ravel()))
        self.spread.copy_(torch.from_numpy(np.maximum(spread, self.least_spread).astype(np.float32).ravel()))

    def pass_through_blocks(self, x: Tensor, *given: Tensor) -> Tensor:
        """Apply all blocks in turn, each to the output of the one before and to what is `given` to all."""
        for block in self.blocks:
            if self.checkpointing and torch.is_grad_enabled():
                x = checkpoint(block, x, *given, use_reentrant=False)
            else:
                x = block(x, *given)
        return x


class MotionEncoder(NormalisedEncoder):
    """Computes a vector for each frame from the motion around it.

    Parameters
    ----------
    size : str
        ``small``, ``medium`` or ``large``.
    dropout : float
    least_spread : float, optional
        Lower bound of the standard deviation that divides features: metres, m/s or rad/s.
    numbers : int, optional
        Numbers per frame.
    """

    def __init__(self, size: str, dropout: float, *, least_spread: float = LEAST_SPREAD, numbers: int = FEATURES) -> None:
        super().__init__(numbers, least_spread)
        self.width, depth = _SIZES[size]
        self.begin = nn.Conv1d(numbers, self.width, 5, padding=2)
        self.blocks = nn.ModuleList(_Block(self.width, _DILATIONS[i % len(_DILATIONS)], dropout) for i in range(depth))
        self.end = nn.LayerNorm(self.width)

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Encode clips.

        Parameters
        ----------
        motion : Tensor [clip, frame, number]
        length : Tensor [clip]
            Number of frames of each clip. Later frames are ignored.

        Returns
        -------
        Tensor [clip, frame, width]
        """
        mask = frame_mask(motion, length)[:, None, :]
        x = self.begin(((motion - self.mean) / self.spread).transpose(1, 2) * mask)
        encoded: Tensor = self.end(self.pass_through_blocks(x, mask).transpose(1, 2))
        return encoded


class _Block(nn.Module):
    """A residual block: normalise each frame, mix three frames at a distance, add."""

    def __init__(self, width: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.normalise = nn.LayerNorm(width)
        self.mix = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)
        self.dropout = dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Absent frames are 0 to their neighbours, as are frames before a clip."""
        inner = self.normalise(x.transpose(1, 2)).transpose(1, 2) * mask
        inner = functional.dropout(functional.gelu(self.mix(inner)), self.dropout, self.training)
        mixed: Tensor = x + self.out(inner)
        return mixed


def frame_mask(motion: Tensor, length: Tensor) -> Tensor:
    """Return 1 for frames of a clip and 0 for frames after it, Tensor [clip, frame]."""
    return (torch.arange(motion.shape[1], device=motion.device)[None, :] < length[:, None]).to(motion.dtype)


def pooled(frames: Tensor, mask: Tensor) -> Tensor:
    """Pool the frames of clips, [clip, frame, width] to [clip, 2 width]: the mean and the maximum of each number.

    The frames already contain their surroundings. In 150 steps of 64 clips, attention pooling ranked 49 % of the right captions
    among the first three of 256, pooling of eight segments 52 %, this pooling 63 %.

    Parameters
    ----------
    frames : Tensor [clip, frame, width]
    mask : Tensor [clip, frame]
        See :func:`frame_mask`.
    """
    count = mask.sum(dim=1, keepdim=True).clamp(min=1)
    mean = (frames * mask[:, :, None]).sum(dim=1) / count
    most = frames.masked_fill(mask[:, :, None] == 0, -math.inf).amax(dim=1)
    return torch.cat([mean, most], dim=1)


def projection(given: int, dropout: float, out: int) -> nn.Module:
    """Return a network with one hidden layer, from `given` numbers to `out`."""
    return nn.Sequential(
        nn.LayerNorm(given), nn.Linear(given, _HIDDEN), nn.GELU(), nn.Dropout(dropout), nn.Linear(_HIDDEN, out)
    )


class _LowRank(nn.Module):
    def __init__(self, weight: Tensor, rank: int) -> None:
        super().__init__()
        rows, columns = weight.shape[0], weight[0].numel()
        rank = min(rank, rows, columns)
        self.down = nn.Parameter(torch.randn(rank, columns) / columns**0.5)
        self.up = nn.Parameter(torch.zeros(rows, rank))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + (self.up @ self.down).view_as(weight)


def add_adapters(module: nn.Module, rank: int) -> None:
    """Freeze a module and add low-rank adapters to all its trainable convolutions and linear layers.

    To each frozen weight the product of two thin matrices is added, which starts at zero (Hu et al., LoRA: low-rank adaptation
    of large language models, 2021).

    Parameters
    ----------
    module : Module
    rank : int
    """
    layers = [layer for layer in module.modules() if isinstance(layer, _ADAPTED) and layer.weight.requires_grad]
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    for layer in layers:
        parametrize.register_parametrization(layer, "weight", _LowRank(layer.weight.detach(), rank))


def merge_adapters(module: nn.Module) -> None:
    """Add the adapters' products to the weights and remove the adapters."""
    for layer in list(module.modules()):
        if parametrize.is_parametrized(layer, "weight"):
            parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)


def trainable_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights that are trained, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
