"""``motion``: generate motion from a caption.

The model learns by flow matching to predict a motion from a noisy one and the embedding of its caption; see
:mod:`posegen.training.models.flow_matching`. :mod:`posegen.training.animation.animate` generates joints with it. In validation
each clip has its own noise, which never changes, so that models can be compared. Each clip is predicted with its own caption
and with that of another clip.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from posegen.training.data.features import LENGTH, View
from posegen.training.models.encoder import frame_mask
from posegen.training.models.flow_matching import EVALUATION, Denoiser, NoiseDraws, draw_noise, velocity_errors
from posegen.training.models.poses import POSE
from posegen.training.settings import Model
from posegen.training.task import Clips, Tally, Task


class MotionModel(nn.Module):
    """Generates motion: a :class:`posegen.training.models.flow_matching.Denoiser` as ``encoder``.

    Parameters
    ----------
    view : View
    settings : Model
    """

    def __init__(self, view: View, settings: Model) -> None:
        super().__init__()
        self.encoder = Denoiser(settings.size, settings.dropout, view.text_dimension, view.fps)

    def forward(self, noisy: Tensor, time: Tensor, length: Tensor, text: Tensor, has_caption: Tensor) -> Tensor:
        """Predict motions; see :class:`posegen.training.models.flow_matching.Denoiser`."""
        predicted: Tensor = self.encoder(noisy, time, length, text, has_caption)
        return predicted


def _apply(seed: int, dropped: float, model: nn.Module, clips: Clips) -> Tensor:
    """Return the error of each clip, Tensor [clip, 1].

    In validation, Tensor [clip, 3]: also the error with the caption of the clip before, and that of the mean motion.
    """
    number = int(clips["number"]) if model.training and "number" in clips else EVALUATION
    sample, variant = (clips[name].cpu().numpy() for name in ("sample", "variant"))
    draws = draw_noise(sample, variant, seed, number, clips["pose"].shape[1], dropped if model.training else 0.0)
    encoder: Any = model.encoder
    motion = (clips["pose"] - encoder.mean) / encoder.spread
    own = _errors(model, motion, clips, draws, clips["text"][:, 0])
    if model.training:
        return own[:, None]
    other = _errors(model, motion, clips, draws, clips["text"][:, 0].roll(1, 0))
    mask = frame_mask(motion, clips["length"])
    mean = velocity_errors(torch.zeros_like(motion), motion, draws.time.to(motion.device), mask)
    return torch.stack([own, other, mean], dim=1)


def _errors(model: nn.Module, motion: Tensor, clips: Clips, draws: NoiseDraws, text: Tensor) -> Tensor:
    time, noise = draws.time.to(motion.device), draws.noise.to(motion.device)
    has_caption = draws.has_caption.to(motion.device) & (clips["row"][:, 0] >= 0)
    noisy = noise + time[:, None, None] * (motion - noise)
    predicted = model(noisy, time, clips["length"], text.to(motion.dtype), has_caption)
    return velocity_errors(predicted, motion, time, frame_mask(motion, clips["length"]))


def _loss(errors: Tensor, clips: Clips) -> Tensor:
    return errors[:, 0].mean()


class _Explained(Tally):
    """Sums the errors of a model."""

    def __init__(self, view: View) -> None:
        self._sum, self._clips = torch.zeros(3, dtype=torch.float64), 0

    def add(self, outputs: Tensor, clips: Clips) -> None:
        self._sum += outputs.double().sum(dim=0).cpu()
        self._clips += len(outputs)

    def measures(self) -> dict[str, float]:
        """Return the share of the mean motion's error that is explained, with own captions and with those of other clips."""
        own, other, mean = self._sum.tolist()
        return {"explained": 1 - own / mean, "explained_by_others": 1 - other / mean, "clips": float(self._clips)}


def _task(seed: int, dropped: float) -> Task:
    return Task(
        name="motion",
        recipes=(POSE, LENGTH),
        labels=("text", "row"),
        build=MotionModel,
        apply=partial(_apply, seed, dropped),
        loss=_loss,
        tally=_Explained,
        monitor="explained",
        takes_captions=True,
        generates_motion=True,
        normalised_array=POSE.name,
        first_variant_only=True,
        configure=lambda settings: _task(settings.seed, settings.motion.caption_dropout),
    )


TASK = _task(0, 0.0)
