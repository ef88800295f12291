"""Flow matching: noise becomes motion along straight lines, which a network has learned to look along.

With noise n and a motion x, after a share t of the way there is x_t = (1 - t) n + t x, and the way leads on at the rate
x - n = (x - x_t) / (1 - t) (Lipman et al., Flow matching for generative modeling, 2023). The network guesses x itself rather
than the rate: a motion has far fewer directions than its numbers, and noise has all of them (Li and He, Back to basics: let
denoising generative models denoise, 2025).

What happens is decided early on the way: motion is smooth, so a hundred frames give it away while each of them is mostly noise
still, and what a caption tells is needed before that alone. So in training as on the way, shares crowd towards the noise (Esser
et al., Scaling rectified flow transformers for high-resolution image synthesis, 2024, do so for many pixels).


The network that guesses a motion from a noisy one, how noisy it is, how long, and a caption's vector.

It sees stretches of some sixth of a second at once, cut out and put together by convolutions that overlap. What steers it
(noise, caption) scales and shifts what every block normalises (Peebles and Xie, Scalable diffusion models with transformers,
2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from posegen.training.data.features import NOISE, SHARE, UNTOLD, draws_of
from posegen.training.models.poses import CONTACTS, POSE_NUMBERS, ROTATIONS

__all__ = [
    "CHECKING",
    "DENOISER_SIZES",
    "GUIDED_FROM",
    "Denoiser",
    "Drawn",
    "crowded",
    "drawn",
    "errors_of",
    "flowed",
    "guided",
    "noise_from",
]

Array = NDArray[Any]

Guess = Callable[[Tensor, float], Tensor]

CHECKING = -1
"""Stands for the number of the batch where a model is only held against clips: these draws no step has."""

LEAST_LEFT = 0.2
"""The rate's error is the motion's over 1 - t, but not over less than this: else the end of the way would outweigh the rest."""

GUIDED_FROM = 0.1
"""Share of motion from which on captions are weighed; see :func:`guided`."""

CROWDED = 3.0
"""How much shares crowd towards the noise: half of them are below 1 / (1 + this); 1: not at all."""


@dataclass(frozen=True)
class Drawn:
    """What is drawn for clips: noise [clip, frame, POSE_NUMBERS], shares of the way and whether captions are told [clip]."""

    noise: Tensor
    share: Tensor
    told: Tensor


def drawn(sample: Array, variant: Array, seed: int, number: int, frames: int, untold: float) -> Drawn:
    """Draw for clips of batch `number`: a function of the seed, the batch, the sample and the variant, of nothing else.

    Parameters
    ----------
    sample, variant : int64 [clip]
    seed, number : int
    frames : int
    untold : float
        How many of the captions are left out, as a share.
    """
    starts = draws_of(sample, variant, seed, number, NOISE, 2)
    noise = torch.stack([noise_from(_whole(start), frames) for start in starts])
    share = crowded(draws_of(sample, variant, seed, number, SHARE)[:, 0])
    told = draws_of(sample, variant, seed, number, UNTOLD)[:, 0] >= untold
    return Drawn(noise, torch.from_numpy(share.astype(np.float32)), torch.from_numpy(told))


def crowded(even: Array) -> Array:
    """Make shares of the way that crowd towards the noise of ones that lie evenly on 0 to 1; see :data:`CROWDED`.

    Examples
    --------
    >>> crowded(np.array([0.0, 0.25, 0.5, 1.0])).tolist()
    [0.0, 0.1, 0.25, 1.0]
    """
    return np.asarray(even / (even + CROWDED * (1 - even)))


def noise_from(start: int, frames: int) -> Tensor:
    """Make noise for one clip from a whole number: Tensor [frames, POSE_NUMBERS]."""
    return torch.randn(frames, POSE_NUMBERS, generator=torch.Generator().manual_seed(start))


def _whole(start: Array) -> int:
    """Make a whole number below 2^63 of two draws."""
    high, low = (int(value * 2**31) for value in start)
    return high << 31 | low


def errors_of(guessed: Tensor, motion: Tensor, share: Tensor, there: Tensor) -> Tensor:
    """How wrong the rate is that follows from guesses: the mean of squares over what is there of each clip.

    Parameters
    ----------
    guessed, motion : Tensor [clip, frame, number]
        Normalised.
    share : Tensor [clip]
    there : Tensor [clip, frame]
        1 or 0.

    Returns
    -------
    Tensor [clip]
    """
    wrong = (guessed.float() - motion).square().mean(dim=-1) * there
    left = (1 - share).clamp(min=LEAST_LEFT)
    return wrong.sum(dim=1) / there.sum(dim=1).clamp(min=1) / left.square()


def guided(model: nn.Module, text: Tensor, length: Tensor, guidance: float) -> Guess:
    """Make guesses of motions that captions tell of: what the caption changes in a guess, `guidance` times as much.

    Ho and Salimans, Classifier-free diffusion guidance, 2022. What is noise for the most part is guessed as it was learned:
    there, guidance drives the motions of one caption to one another, and away from real ones (Kynkäänniemi et al., Applying
    guidance in a limited interval improves sample and distribution quality in diffusion models, 2024).

    Parameters
    ----------
    model : Module
        A :class:`posegen.training.generative.network.Denoiser`.
    text : Tensor [clip, given]
    length : Tensor [clip]
    guidance : float
        1 takes the guess as it is.
    """
    both, twice = torch.cat([text, text]), torch.cat([length, length])
    told = torch.arange(len(both), device=text.device) < len(text)

    def guess(noisy: Tensor, share: float) -> Tensor:
        shares = torch.full((len(both),), share, device=noisy.device)
        if share < GUIDED_FROM:
            alone: Tensor = model(noisy, shares[: len(text)], length, text, told[: len(text)])
            return alone
        with_caption, without = model(torch.cat([noisy, noisy]), shares, twice, both, told).chunk(2)
        guessed: Tensor = without + guidance * (with_caption - without)
        return guessed

    return guess


def flowed(guess: Guess, noise: Tensor, steps: int) -> Tensor:
    """Go from noise to motion.

    Parameters
    ----------
    guess : callable
        Of the motion behind a noisy one, and how much of it is motion.
    noise : Tensor [clip, frame, number]
    steps : int
        Each looks along the way twice, at its begin and in its middle (the midpoint method); the last one ends in a guess.

    Returns
    -------
    Tensor [clip, frame, number]
    """
    x = noise
    shares = crowded(np.arange(steps + 1) / steps).tolist()
    for share, following in pairwise(shares):
        half = (following - share) / 2
        left = 1 - share
        middle = x + half / left * (guess(x, share) - x)
        ahead = guess(middle, share + half)
        x = x + 2 * half * (ahead - middle) / (left - half) if following < 1 else ahead
    return x


DENOISER_SIZES = {"small": (128, 4, 4), "medium": (256, 6, 4), "large": (512, 12, 8)}
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
        See :data:`DENOISER_SIZES`.
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
        width, depth, heads = DENOISER_SIZES[size]
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
