"""Flow matching: noise becomes motion along straight lines, which a network has learned to look along.

With noise n and a motion x, after a share t of the way there is x_t = (1 - t) n + t x, and the way leads on at the rate
x - n = (x - x_t) / (1 - t) (Lipman et al., Flow matching for generative modeling, 2023). The network guesses x itself rather
than the rate: a motion has far fewer directions than its numbers, and noise has all of them (Li and He, Back to basics: let
denoising generative models denoise, 2025).

What happens is decided early on the way: motion is smooth, so a hundred frames give it away while each of them is mostly noise
still, and what a caption tells is needed before that alone. So in training as on the way, shares crowd towards the noise (Esser
et al., Scaling rectified flow transformers for high-resolution image synthesis, 2024, do so for many pixels).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from posegen.training.clips.drawing import NOISE, SHARE, UNTOLD, draws_of
from posegen.training.generative.poses import POSE_NUMBERS

__all__ = ["CHECKING", "GUIDED_FROM", "Drawn", "crowded", "drawn", "errors_of", "flowed", "guided", "noise_from"]

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
