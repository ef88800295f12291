"""``motion``: generate motion from a caption, by flow matching.

Between noise n and a motion x, the point at time t is x_t = (1 - t) n + t x, with the velocity x - n = (x - x_t) / (1 - t)
(Lipman et al., Flow matching for generative modeling, 2023). The network predicts x rather than the velocity: motion has far
fewer degrees of freedom than its numbers, and noise has all of them (Li and He, Back to basics: let denoising generative models
denoise, 2025).

What happens in a motion is decided early on the path: a hundred frames show it while each of them is still mostly noise, and
the caption is needed before that. In training and in sampling, times are therefore denser near the noise (Esser et al., Scaling
rectified flow transformers for high-resolution image synthesis, 2024, do so for large images).

In validation each clip has its own noise, which never changes, so that models can be compared. Each clip is predicted with its
own caption and with that of another clip. :mod:`posegen.training.animate` generates joints with the model.

Where samples have several actors, a motion is that of all of them, with positions and headings relative to the first one, so
that they are generated together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from posegen.foundations.arrays import Array
from posegen.foundations.randomness import Stream, normal
from posegen.training.data.features import LENGTH, Draw, View, clip_draws
from posegen.training.data.poses import CONTACTS, POSE, POSE_NUMBERS, ROTATIONS, SCENE_NUMBERS, SCENE_POSE
from posegen.training.encoder import LEAST_SPREAD, NormalisedEncoder, frame_mask
from posegen.training.settings import Model
from posegen.training.task import Abilities, Clips, CollectedOutputs, Network, Reading, Task

Predict = Callable[[Tensor, float], Tensor]
"""Predicts the motion from a noisy motion and its time."""

EVALUATION = -1
"""Batch number of validation and test. No training step has these draws."""

LEAST_REMAINING = 0.2
"""Lower bound of 1 - t in the weight of the error, so that the end of the path does not outweigh the rest."""

GUIDED_FROM = 0.1
"""Time from which classifier-free guidance applies; see :func:`guided`."""

DENSITY = 3.0
"""Density of times near the noise: half of them are below 1 / (1 + DENSITY). 1 is uniform."""

_SIZES = {"small": (128, 4, 4), "medium": (256, 6, 4), "large": (512, 12, 8)}
"""Width, depth and attention heads."""

_TOKENS_PER_SECOND = 6.25
"""Tokens per second of motion, as nearly as whole frames allow."""

_ROOT_WEIGHT = 2.0
"""Scale of the root's numbers relative to the others, so that their errors count more."""
_WAVES = 16
_LONGEST_SECONDS = 64.0
_TIME_SCALE = 1000.0


def draw_noise(
    sample: Array, variant: Array, seed: int, number: int, frames: int, dropped: float, numbers: int = POSE_NUMBERS
) -> dict[str, Array]:
    """Draw noise for the clips of batch `number`: a function of the arguments only.

    Parameters
    ----------
    sample, variant : int64 [clip]
    seed, number : int
    frames : int
    dropped : float
        Share of captions that are dropped.
    numbers : int
        Numbers per frame.

    Returns
    -------
    dict
        ``noise`` float32 [clip, frame, number], ``time`` float32 [clip], and ``has_caption`` bool [clip]: whether it is kept.
    """
    seeds = clip_draws(sample, variant, seed, number, Draw.NOISE, 2)
    time = early_times(clip_draws(sample, variant, seed, number, Draw.TIME)[:, 0])
    return {
        "noise": torch.stack([noise_from(pair, frames, numbers) for pair in seeds]).numpy(),
        "time": time.astype(np.float32),
        "has_caption": clip_draws(sample, variant, seed, number, Draw.DROP_CAPTION)[:, 0] >= dropped,
    }


def early_times(uniform: Array) -> Array:
    """Map uniform times on [0, 1] to times that are denser near the noise; see :data:`DENSITY`.

    Examples
    --------
    >>> early_times(np.array([0.0, 0.25, 0.5, 1.0])).tolist()
    [0.0, 0.1, 0.25, 1.0]
    """
    return np.asarray(uniform / (uniform + DENSITY * (1 - uniform)))


def noise_from(draws: Array, frames: int, numbers: int = POSE_NUMBERS) -> Tensor:
    """Return the noise of one clip, which depends on two draws: Tensor [frames, numbers]."""
    high, low = (int(value * 2**31) for value in draws)
    return torch.randn(frames, numbers, generator=torch.Generator().manual_seed(high << 31 | low))


def velocity_errors(predicted: Tensor, motion: Tensor, time: Tensor, mask: Tensor) -> Tensor:
    """Return the mean squared error of the velocity that follows from predicted motions.

    Parameters
    ----------
    predicted, motion : Tensor [clip, frame, number]
        Normalised.
    time : Tensor [clip]
    mask : Tensor [clip, frame]
        1 for frames of the clip, else 0.

    Returns
    -------
    Tensor [clip]
    """
    squared = (predicted.float() - motion).square().mean(dim=-1) * mask
    remaining = (1 - time).clamp(min=LEAST_REMAINING)
    return squared.sum(dim=1) / mask.sum(dim=1).clamp(min=1) / remaining.square()


def guided(model: nn.Module, text: Tensor, length: Tensor, guidance: float) -> Predict:
    """Return a function that predicts motion with classifier-free guidance.

    The difference that the caption makes to a prediction is multiplied by `guidance` (Ho and Salimans, Classifier-free
    diffusion guidance, 2022). Near the noise there is no guidance: there it makes the motions of one caption alike and
    unrealistic (Kynkäänniemi et al., Applying guidance in a limited interval improves sample and distribution quality in
    diffusion models, 2024).

    Parameters
    ----------
    model : Module
        A :class:`Denoiser`.
    text : Tensor [clip, given]
    length : Tensor [clip]
    guidance : float
        1 is no guidance.
    """
    both, twice = torch.cat([text, text]), torch.cat([length, length])
    has_caption = torch.arange(len(both), device=text.device) < len(text)

    def predict(noisy: Tensor, time: float) -> Tensor:
        times = torch.full((len(both),), time, device=noisy.device)
        if time < GUIDED_FROM:
            unguided: Tensor = model(noisy, times[: len(text)], length, text, has_caption[: len(text)])
            return unguided
        with_caption, without = model(torch.cat([noisy, noisy]), times, twice, both, has_caption).chunk(2)
        predicted: Tensor = without + guidance * (with_caption - without)
        return predicted

    return predict


def integrate(predict: Predict, noise: Tensor, steps: int) -> Tensor:
    """Integrate from noise to motion by the midpoint method.

    Parameters
    ----------
    predict : callable
    noise : Tensor [clip, frame, number]
    steps : int
        Each evaluates the velocity at its start and in its middle. The last one returns a prediction.

    Returns
    -------
    Tensor [clip, frame, number]
    """
    x = noise
    times = early_times(np.arange(steps + 1) / steps).tolist()
    for time, following in pairwise(times):
        half = (following - time) / 2
        remaining = 1 - time
        middle = x + half / remaining * (predict(x, time) - x)
        ahead = predict(middle, time + half)
        x = x + 2 * half * (ahead - middle) / (remaining - half) if following < 1 else ahead
    return x


class Denoiser(NormalisedEncoder):
    """Transformer that predicts the motion from a noisy one, the time, the length and a caption's embedding.

    Its tokens are overlapping segments of about a sixth of a second, encoded and decoded by convolutions. Time and caption
    scale and shift the normalised values of every block (Peebles and Xie, Scalable diffusion models with transformers, 2023).

    Parameters
    ----------
    size : str
        ``small``, ``medium`` or ``large``.
    dropout : float
    given : int
        Length of a caption's embedding.
    fps : float
        Frames per second.
    numbers : int, optional
        Numbers per frame, of all actors.
    """

    def __init__(self, size: str, dropout: float, given: int, fps: float, numbers: int = POSE_NUMBERS) -> None:
        super().__init__(numbers, LEAST_SPREAD)
        width, depth, heads = _SIZES[size]
        self.fps = fps
        self.cut = max(1, round(fps / _TOKENS_PER_SECOND))
        seen = 2 * self.cut + self.cut % 2
        self.begin = nn.Conv1d(numbers, width, seen, stride=self.cut, padding=(seen - self.cut) // 2)
        self.place = nn.Linear(4 * _WAVES, width)
        self.noise = nn.Sequential(nn.Linear(2 * _WAVES, width), nn.SiLU(), nn.Linear(width, width))
        self.text = nn.Sequential(nn.LayerNorm(given), nn.Linear(given, width), nn.SiLU(), nn.Linear(width, width))
        self.nothing = nn.Parameter(torch.zeros(width))
        blocks = [_Block(width, heads, dropout) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks)
        self.end = nn.LayerNorm(width, elementwise_affine=False)
        self.steer = nn.Linear(width, 2 * width)
        self.back = nn.ConvTranspose1d(width, numbers, seen, stride=self.cut, padding=(seen - self.cut) // 2)
        # Modulation starts at zero, so that blocks start as identities.
        for layer in (self.steer, *(block.steer for block in blocks)):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def normalise_by(self, mean: Array, spread: Array) -> None:
        """Set the mean and the standard deviation of the poses. They are saved with the weights.

        All rotations share one deviation, and all contacts: otherwise a joint that turns little, and its noise, would weigh as
        much as a shoulder. The few numbers of the root decide where everything is, so they weigh more, and so do relations.
        """
        common = np.array(spread, np.float64)
        for kind in (ROTATIONS, CONTACTS):
            common[..., kind] = np.sqrt((common[..., kind] ** 2).mean(axis=-1, keepdims=True))
        for kind in (slice(ROTATIONS.start), slice(CONTACTS.stop, None)):
            common[..., kind] /= _ROOT_WEIGHT
        super().normalise_by(mean, common)

    def forward(self, noisy: Tensor, time: Tensor, length: Tensor, text: Tensor, has_caption: Tensor) -> Tensor:
        """Predict motions.

        Parameters
        ----------
        noisy : Tensor [clip, frame, number]
            Normalised.
        time : Tensor [clip]
            0 is noise, 1 motion.
        length : Tensor [clip]
            Number of frames of each clip. Later frames are ignored.
        text : Tensor [clip, given]
            Embeddings of captions.
        has_caption : bool Tensor [clip]
            Where false, `text` is ignored.

        Returns
        -------
        Tensor [clip, frame, number]
            Normalised.
        """
        frames = noisy.shape[1]
        padded = (frames + self.cut - 1) // self.cut * self.cut  # torch.export fails on -(-frames // cut)
        mask = torch.arange(padded, device=noisy.device)[None, :] < length[:, None]
        x = functional.pad(noisy, (0, 0, 0, padded - frames)) * mask[..., None]
        x = self.begin(x.transpose(1, 2)).transpose(1, 2)
        tokens = mask[:, :: self.cut]
        x = x + self.place(_position_encoding(x.shape[1], length / self.cut, self.cut / self.fps))
        text_or_null = torch.where(has_caption[:, None], self.text(text), self.nothing)
        condition = functional.silu(self.noise(_waves(time * _TIME_SCALE, 10_000.0)) + text_or_null)
        attended = tokens[:, None, None, :]
        x = self.pass_through_blocks(x, condition, attended)
        scale, shift = self.steer(condition)[:, None].chunk(2, dim=-1)
        x = (self.end(x) * (1 + scale) + shift) * tokens[..., None]
        predicted: Tensor = self.back(x.transpose(1, 2)).transpose(1, 2)[:, :frames]
        return predicted


def _waves(values: Tensor, longest: float) -> Tensor:
    """Return sines and cosines with periods from 2 pi to `longest` times 2 pi: Tensor [..., 2 _WAVES]."""
    rates = torch.exp(-math.log(longest) * torch.arange(_WAVES, device=values.device) / _WAVES)
    angle = values[..., None] * rates
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)


def _position_encoding(count: int, length: Tensor, seconds: float) -> Tensor:
    """Encode the distance of each token from the first and from the last one: Tensor [clip, count, 4 _WAVES]."""
    number = torch.arange(count, device=length.device)[None, :]
    after, before = number.expand(length.shape[0], -1) * seconds, (length[:, None] - number) * seconds
    half_second = 2 * math.pi * 2  # the shortest period is half a second
    periods = _LONGEST_SECONDS * 4
    return torch.cat([_waves(half_second * after, periods), _waves(half_second * before, periods)], dim=-1)


class _Block(nn.Module):
    """A transformer block: attention, then a feed-forward network, both modulated by the condition."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.first, self.second = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.asked = nn.Linear(width, 3 * width)
        self.seen = nn.Linear(width, width)
        self.think = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * width, width))
        self.steer = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, condition: Tensor, mask: Tensor) -> Tensor:
        """Transform tokens x [clip, token, width]; `mask` [clip, 1, 1, token] is true where there is a token."""
        scale, shift, gate, scale_2, shift_2, gate_2 = self.steer(condition)[:, None].chunk(6, dim=-1)
        inner = self.first(x) * (1 + scale) + shift
        clips, count, width = inner.shape
        query, key, value = self.asked(inner).view(clips, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + gate * self.seen(attended.transpose(1, 2).flatten(-2))
        mixed: Tensor = x + gate_2 * self.think(self.second(x) * (1 + scale_2) + shift_2)
        return mixed


class MotionModel(nn.Module):
    """Generates motion: a :class:`Denoiser` as ``encoder``.

    Parameters
    ----------
    view : View
    settings : Model
    """

    def __init__(self, view: View, settings: Model) -> None:
        super().__init__()
        numbers = POSE_NUMBERS if view.actors == 1 else view.actors * SCENE_NUMBERS
        self.encoder = Denoiser(settings.size, settings.dropout, view.text_dimension, view.fps, numbers)

    def forward(self, noisy: Tensor, time: Tensor, length: Tensor, text: Tensor, has_caption: Tensor) -> Tensor:
        """Predict motions; see :class:`Denoiser`."""
        predicted: Tensor = self.encoder(noisy, time, length, text, has_caption)
        return predicted


def _apply(seed: int, model: nn.Module, clips: Clips) -> Tensor:
    """Return the error of each clip, Tensor [clip, 1].

    In validation, Tensor [clip, 3]: also the error with the caption of the clip before, and that of the mean motion.
    """
    pose = clips["pose"].flatten(2)
    if "noise" not in clips:
        sample, variant = (clips[name].cpu().numpy() for name in ("sample", "variant"))
        draws = draw_noise(sample, variant, seed, EVALUATION, pose.shape[1], 0.0, pose.shape[2])
        clips = {**clips, **{name: torch.from_numpy(values).to(pose.device) for name, values in draws.items()}}
    encoder: Any = model.encoder
    motion = (pose - encoder.mean) / encoder.spread
    own = _errors(model, motion, clips, clips["text"][:, 0])
    if model.training:
        return own[:, None]
    other = _errors(model, motion, clips, clips["text"][:, 0].roll(1, 0))
    mean = velocity_errors(torch.zeros_like(motion), motion, clips["time"], frame_mask(motion, clips["length"]))
    return torch.stack([own, other, mean], dim=1)


def _draw(dropped: float, clips: dict[str, Array], seed: int, number: int) -> dict[str, Array]:
    """Return the draws for the clips of a training batch."""
    frames, numbers = clips["pose"].shape[1], math.prod(clips["pose"].shape[2:])
    return draw_noise(clips["sample"], clips["variant"], seed, number, frames, dropped, numbers)


def _errors(model: nn.Module, motion: Tensor, clips: Clips, text: Tensor) -> Tensor:
    time, noise, has_caption = clips["time"], clips["noise"], clips["has_caption"] & (clips["row"][:, 0] >= 0)
    noisy = noise + time[:, None, None] * (motion - noise)
    predicted = model(noisy, time, clips["length"], text.to(motion.dtype), has_caption)
    return velocity_errors(predicted, motion, time, frame_mask(motion, clips["length"]))


def _loss(errors: Tensor, clips: Clips) -> Tensor:
    return errors[:, 0].mean()


class _Explained(CollectedOutputs):
    """Sums the errors of a model."""

    names = ("length",)

    def measures(self) -> dict[str, float]:
        """Return the share of the mean motion's error that is explained, with own captions and with those of other clips."""
        errors, length = self.collected()
        own, other, mean = errors.sum(axis=0, dtype=np.float64).tolist()
        return {"explained": 1 - own / mean, "explained_by_others": 1 - other / mean, "clips": float(len(length))}


def _network(model: nn.Module, view: View) -> Network:
    encoder: Any = model.encoder
    numbers = len(encoder.mean)

    def example(clips: int, frames: int) -> dict[str, Array]:
        drawn = normal(0, np.arange(clips), Stream.AUGMENT, frames * numbers + view.text_dimension).astype(np.float32)
        return {
            "noisy": drawn[:, view.text_dimension :].reshape(clips, frames, numbers),
            "time": (np.arange(clips) / clips).astype(np.float32),
            "length": np.array([frames - 3 * i for i in range(clips)], np.int64),
            "text": np.ascontiguousarray(drawn[:, : view.text_dimension]),
            "has_caption": np.arange(clips) % 2 == 0,
        }

    shapes: dict[str, tuple[str | int, ...]] = {
        "noisy": ("clip", "frame", numbers), "time": ("clip",), "length": ("clip",),
        "text": ("clip", view.text_dimension), "has_caption": ("clip",),
    }  # fmt: skip
    pose = {"mean": encoder.mean.tolist(), "spread": encoder.spread.tolist(), "density": DENSITY, "guided_from": GUIDED_FROM}
    return Network(model, shapes, example, view.frames, "predicted poses, normalised: (pose - mean) / spread", pose)


def _task(seed: int, dropped: float) -> Task:
    return Task(
        name="motion",
        recipes=(POSE, LENGTH),
        labels=("text", "row"),
        build=MotionModel,
        apply=partial(_apply, seed),
        loss=_loss,
        tally=_Explained,
        monitor="explained",
        chance="explained_by_others",
        draw=partial(_draw, dropped),
        reading=Reading(
            scene_recipes=(SCENE_POSE, LENGTH), takes_captions=True, normalised_array=POSE.name, first_variant_only=True
        ),
        abilities=Abilities(network=_network, generates_motion=True),
        configure=lambda settings: _task(settings.seed, settings.motion.caption_dropout),
    )


TASK = _task(0, 0.0)
