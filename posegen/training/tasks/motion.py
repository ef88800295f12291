"""``motion``: motion that a caption tells of, made of noise.

The model learns by flow matching to guess a motion from a noisy one and the caption's vector, as a text encoder gives it; see
:mod:`posegen.training.models.flow_matching`. How joints come of what it makes is told in
:mod:`posegen.training.animation.animate`. In checks each clip has noise of its own that never changes, so that models compare,
and is guessed by its own caption and by another clip's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from posegen.training.data.features import LENGTH, View
from posegen.training.models.encoder import there
from posegen.training.models.flow_matching import CHECKING, Denoiser, Drawn, drawn, errors_of
from posegen.training.models.poses import POSE
from posegen.training.settings import Model, Settings
from posegen.training.task import Clips, Task

__all__ = ["TASK", "MotionModel"]


class MotionModel(nn.Module):
    """Makes motion: a :class:`posegen.training.models.flow_matching.Denoiser` as ``encoder``.

    Parameters
    ----------
    view : View
    settings : Model
    """

    def __init__(self, view: View, settings: Model) -> None:
        super().__init__()
        self.encoder = Denoiser(settings.size, settings.dropout, view.text_dimension, view.fps)

    def forward(self, noisy: Tensor, share: Tensor, length: Tensor, text: Tensor, told: Tensor) -> Tensor:
        """Guess motions; see the network."""
        guessed: Tensor = self.encoder(noisy, share, length, text, told)
        return guessed


def _apply(seed: int, untold: float, model: nn.Module, clips: Clips) -> Tensor:
    """Tell how wrong the model is about each clip: Tensor [clip, 1]; in checks [clip, 3], behind it how wrong it is with the
    caption of the clip before, and how wrong the mean motion is.
    """
    number = int(clips["number"]) if model.training and "number" in clips else CHECKING
    sample, variant = (clips[name].cpu().numpy() for name in ("sample", "variant"))
    draws = drawn(sample, variant, seed, number, clips["pose"].shape[1], untold if model.training else 0.0)
    encoder: Any = model.encoder
    motion = (clips["pose"] - encoder.mean) / encoder.spread
    own = _wrong(model, motion, clips, draws, clips["text"][:, 0])
    if model.training:
        return own[:, None]
    other = _wrong(model, motion, clips, draws, clips["text"][:, 0].roll(1, 0))
    mask = there(motion, clips["length"])
    mean = errors_of(torch.zeros_like(motion), motion, draws.share.to(motion.device), mask)
    return torch.stack([own, other, mean], dim=1)


def _wrong(model: nn.Module, motion: Tensor, clips: Clips, draws: Drawn, text: Tensor) -> Tensor:
    share, noise = draws.share.to(motion.device), draws.noise.to(motion.device)
    told = draws.told.to(motion.device) & (clips["row"][:, 0] >= 0)
    noisy = noise + share[:, None, None] * (motion - noise)
    guessed = model(noisy, share, clips["length"], text.to(motion.dtype), told)
    return errors_of(guessed, motion, share, there(motion, clips["length"]))


def _loss(said: Tensor, clips: Clips) -> Tensor:
    del clips
    return said[:, 0].mean()


class _Errors:
    """Adds up how wrong a model is."""

    def __init__(self, view: View) -> None:
        del view
        self._sum, self._clips = torch.zeros(3, dtype=torch.float64), 0

    def add(self, said: Tensor, clips: Clips) -> None:
        del clips
        self._sum += said.double().sum(dim=0).cpu()
        self._clips += len(said)

    def measures(self) -> dict[str, float]:
        """Tell what share of the mean motion's error is explained, and what by captions of other clips."""
        own, other, mean = self._sum.tolist()
        return {"explained": 1 - own / mean, "explained_by_others": 1 - other / mean, "clips": float(self._clips)}

    def table(self) -> dict[str, Any]:
        """There is nothing beside the measures."""
        return {}


def _task(seed: int, untold: float) -> Task:
    return Task(
        name="motion",
        recipes=(POSE, LENGTH),
        labels=("text", "row"),
        build=MotionModel,
        apply=partial(_apply, seed, untold),
        loss=_loss,
        tally=_Errors,
        monitor="explained",
        describe=None,
        takes_captions=True,
        generates_motion=True,
        normalised_array=POSE.name,
        first_variant_only=True,
        configure=_configured,
    )


def _configured(settings: Settings) -> Task:
    return _task(settings.seed, settings.motion.untold)


TASK = _task(0, 0.0)
