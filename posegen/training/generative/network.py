"""The network that guesses a motion from a noisy one, how noisy it is, how long, and a caption's vector.

It sees stretches of some sixth of a second at once, cut out and put together by convolutions that overlap. What steers it
(noise, caption) scales and shifts what every block normalises (Peebles and Xie, Scalable diffusion models with transformers,
2023).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from posegen.training.generative.poses import CONTACTS, POSE_NUMBERS, ROTATIONS

__all__ = ["SIZES", "Denoiser"]

SIZES = {"small": (128, 4, 4), "medium": (256, 6, 4), "large": (512, 12, 8)}
"""Width, depth and heads."""

TOKENS_A_SECOND = 6.25
"""Stretches that a second is cut into, as nearly as whole frames allow."""

_LEAST_SPREAD = 1e-2
_ROOT = 2.0
"""How many times as large as others the numbers of the root are shown, so that errors in them count more."""
_WAVES = 16
_LONGEST_SECONDS = 64.0
_SHARPEST = 1000.0


class Denoiser(nn.Module):
    """Guesses the motion behind a noisy one.

    Parameters
    ----------
    size : str
        See :data:`SIZES`.
    dropout : float
    given : int
        Numbers in the vector of a caption.
    fps : float
        Frames a second.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, size: str, dropout: float, given: int, fps: float) -> None:
        super().__init__()
        width, depth, heads = SIZES[size]
        self.fps = fps
        self.cut = max(1, round(fps / TOKENS_A_SECOND))
        self.checkpointing = False
        self.register_buffer("mean", torch.zeros(POSE_NUMBERS))
        self.register_buffer("spread", torch.ones(POSE_NUMBERS))
        seen = 2 * self.cut + self.cut % 2
        self.begin = nn.Conv1d(POSE_NUMBERS, width, seen, stride=self.cut, padding=(seen - self.cut) // 2)
        self.place = nn.Linear(4 * _WAVES, width)
        self.noise = nn.Sequential(nn.Linear(2 * _WAVES, width), nn.SiLU(), nn.Linear(width, width))
        self.text = nn.Sequential(nn.LayerNorm(given), nn.Linear(given, width), nn.SiLU(), nn.Linear(width, width))
        self.nothing = nn.Parameter(torch.zeros(width))
        blocks = [_Block(width, heads, dropout) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks)
        self.end = nn.LayerNorm(width, elementwise_affine=False)
        self.steer = nn.Linear(width, 2 * width)
        self.back = nn.ConvTranspose1d(width, POSE_NUMBERS, seen, stride=self.cut, padding=(seen - self.cut) // 2)
        # At first nothing is steered, so that blocks pass on what they get.
        for layer in (self.steer, *(block.steer for block in blocks)):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def normalise_by(self, mean: NDArray[Any], spread: NDArray[Any]) -> None:
        """Take the mean and the standard deviation of the poses, which then are part of the model.

        Numbers of a kind share one: a joint that hardly turns would else weigh as much as a shoulder, and its noise, too. What
        the root does is few numbers, and decides where everything is, so it weighs more than others.
        """
        common = np.array(spread, np.float64)
        for kind in (ROTATIONS, CONTACTS):
            common[kind] = np.sqrt((common[kind] ** 2).mean())
        common[: ROTATIONS.start] /= _ROOT
        self.mean.copy_(torch.from_numpy(np.asarray(mean, np.float32)))
        self.spread.copy_(torch.from_numpy(np.maximum(common, _LEAST_SPREAD).astype(np.float32)))

    def forward(self, noisy: Tensor, share: Tensor, length: Tensor, text: Tensor, told: Tensor) -> Tensor:
        """Guess motions.

        Parameters
        ----------
        noisy : Tensor [clip, frame, POSE_NUMBERS]
            Normalised.
        share : Tensor [clip]
            How much of it is motion: 0 noise alone, 1 none.
        length : Tensor [clip]
            Frames that each has; what lies behind them does not matter.
        text : Tensor [clip, given]
            Vectors of captions.
        told : bool Tensor [clip]
            Whether the caption is told.

        Returns
        -------
        Tensor [clip, frame, POSE_NUMBERS]
            Normalised.
        """
        frames = noisy.shape[1]
        padded = -(-frames // self.cut) * self.cut
        there = torch.arange(padded, device=noisy.device)[None, :] < length[:, None]
        x = functional.pad(noisy, (0, 0, 0, padded - frames)) * there[..., None]
        x = self.begin(x.transpose(1, 2)).transpose(1, 2)
        tokens = there[:, :: self.cut]
        x = x + self.place(_places(x.shape[1], length / self.cut, self.cut / self.fps))
        steered = self.noise(_waves(share * _SHARPEST, 10_000.0)) + torch.where(told[:, None], self.text(text), self.nothing)
        steered = functional.silu(steered)
        mask = tokens[:, None, None, :]
        for block in self.blocks:
            if self.checkpointing and torch.is_grad_enabled():
                x = checkpoint(block, x, steered, mask, use_reentrant=False)
            else:
                x = block(x, steered, mask)
        scale, shift = self.steer(steered)[:, None].chunk(2, dim=-1)
        x = (self.end(x) * (1 + scale) + shift) * tokens[..., None]
        guessed: Tensor = self.back(x.transpose(1, 2)).transpose(1, 2)[:, :frames]
        return guessed


def _waves(values: Tensor, longest: float) -> Tensor:
    """Sines and cosines of numbers, of periods between 2 pi and `longest` times as much: Tensor [..., 2 _WAVES]."""
    rates = torch.exp(-math.log(longest) * torch.arange(_WAVES, device=values.device) / _WAVES)
    angle = values[..., None] * rates
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)


def _places(count: int, length: Tensor, seconds: float) -> Tensor:
    """Tell each stretch how far it is from the first one and from the last one: Tensor [clip, count, 4 _WAVES]."""
    number = torch.arange(count, device=length.device)[None, :]
    after, before = number.expand(len(length), -1) * seconds, (length[:, None] - number) * seconds
    quarter = 2 * math.pi * 2  # the shortest wave is half a second long
    return torch.cat([_waves(quarter * after, _LONGEST_SECONDS * 4), _waves(quarter * before, _LONGEST_SECONDS * 4)], dim=-1)


class _Block(nn.Module):
    """Stretches look at each other, then each is thought over; both are steered."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.first, self.second = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.asked = nn.Linear(width, 3 * width)
        self.seen = nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * width, width))
        self.steer = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, steered: Tensor, mask: Tensor) -> Tensor:
        """Mix stretches x [clip, stretch, width] of which `mask` [clip, 1, 1, stretch] are there."""
        scale, shift, gate, scale_2, shift_2, gate_2 = self.steer(steered)[:, None].chunk(6, dim=-1)
        inner = self.first(x) * (1 + scale) + shift
        clips, count, width = inner.shape
        query, key, value = self.asked(inner).view(clips, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + gate * self.seen(seen.transpose(1, 2).flatten(-2))
        mixed: Tensor = x + gate_2 * self.think(self.second(x) * (1 + scale_2) + shift_2)
        return mixed
