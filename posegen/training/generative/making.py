"""Motion for texts, by a trained model: of one text a clip, of several texts one clip in which one follows the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from posegen.embedding import Encoder, load_encoder
from posegen.errors import UsageError
from posegen.library import load_library
from posegen.randomness import Stream, uniform
from posegen.training.clips.drawing import NOISE
from posegen.training.generative.bodies import AVERAGE
from posegen.training.generative.clauses import in_turn
from posegen.training.generative.figures import Figure, figure_of
from posegen.training.generative.flow import flowed, guided, noise_from
from posegen.training.generative.poses import POSE_NUMBERS
from posegen.training.trained.models import Trained, load_model

__all__ = ["GUIDANCE", "STEPS", "Animation", "animate", "encoder_for", "joined", "motion_model", "poses_for"]

Array = NDArray[Any]

GUIDANCE, STEPS = 4.0, 10
"""How much captions are weighed, and how many steps are taken from noise to motion, unless asked otherwise."""

OVERLAP_SECONDS = 1.5
"""Which two texts share where one follows the other."""
MOST_PARTS = 100
_AT_ONCE = 64
_SHORTEST_SECONDS = 2.0


@dataclass(frozen=True)
class Animation:
    """Motion for texts.

    Attributes
    ----------
    figure : Figure
    fps : float
    texts : tuple of str
        Of each part.
    starts, ends : tuple of int
        Frames that each of them is about; neighbours overlap.
    """

    figure: Figure
    fps: float
    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def motion_model(run: Path) -> Trained:
    """Load a model that makes motion.

    Raises
    ------
    UsageError
        If there is none, or it is of another task.
    """
    trained = load_model(run)
    if trained.task.name != "motion":
        msg = f"{run}: is a model of the task {trained.task.name}, which makes no motion; train one with --task motion"
        raise UsageError(msg)
    return trained


def encoder_for(trained: Trained, name: str | None = None) -> Encoder:
    """Load the text encoder that a model was trained with.

    Parameters
    ----------
    trained : Trained
    name : str, optional
        Where it is, if it is not found by its own name.

    Raises
    ------
    UsageError
        If it cannot be loaded, or is another one.
    """
    encoder = load_encoder(name or trained.view.text_encoder, workers=1)
    if encoder.dimension != trained.view.text_dimension:
        own = f"{trained.view.text_encoder}, of {trained.view.text_dimension} numbers"
        msg = f"{encoder.name}: has vectors of {encoder.dimension} numbers; the model was trained with {own}"
        raise UsageError(msg)
    return encoder


def animate(
    trained: Trained,
    encoder: Encoder,
    texts: Sequence[str],
    *,
    seconds: float | None = None,
    seed: int = 0,
    guidance: float = GUIDANCE,
    steps: int = STEPS,
    body: Sequence[float] = AVERAGE,
    whole: bool = False,
) -> Animation:
    """Make the motion that texts tell of, one after another.

    Parameters
    ----------
    trained : Trained
    encoder : Encoder
    texts : sequence of str
        At least one. What one of them tells one after another becomes parts of its own.
    seconds : float, optional
        For each part; unless given as long as the clips were that the model learned from.
    seed : int
    guidance : float
    steps : int
    body : sequence of float
        See :data:`posegen.training.generative.bodies.MEASURES`.
    whole : bool
        Leaves each text as it is: then the model alone decides how much of it is seen.

    Raises
    ------
    UsageError
        If there is a text of nothing, there are too many parts, or the time is not one that the model knows.
    """
    view = trained.view
    if not texts or not all(text.strip() for text in texts):
        msg = "there is no text to animate: say what is to be seen, such as 'a person walks forward'"
        raise UsageError(msg)
    longest = view.frames / view.fps
    if seconds is not None and not _SHORTEST_SECONDS <= seconds <= longest:
        known = f"{_SHORTEST_SECONDS:g} to {longest:g}, the longest clip that the model knows"
        msg = f"the seconds of a text must be {known} (got {seconds:g})"
        raise UsageError(msg)
    parts = tuple(texts) if whole else _parts(texts)
    frames = view.frames if seconds is None else round(seconds * view.fps)
    overlap = min(round(OVERLAP_SECONDS * view.fps), frames // 2)
    starts = [i * (frames - overlap) for i in range(len(parts))]
    vectors = torch.from_numpy(np.ascontiguousarray(encoder.encode(list(parts)), np.float32))
    first, second = uniform(seed % 2**64, np.zeros(1, np.int64), Stream.AUGMENT, 2, substream=NOISE)[0]
    noise = noise_from(int(first * 2**31) << 31 | int(second * 2**31), starts[-1] + frames)
    poses = joined(trained.model, vectors, starts, frames, noise, guidance, steps)
    figure = figure_of(poses, np.array(body), view.fps, view.stride)
    begins = tuple(start * view.stride for start in starts)
    ends = tuple(min((start + frames) * view.stride, len(figure.joints)) for start in starts)
    return Animation(figure, view.fps * view.stride, parts, begins, ends)


def _parts(texts: Sequence[str]) -> tuple[str, ...]:
    library = load_library()
    parts = tuple(part for text in texts for part in in_turn(text, library))
    if len(parts) > MOST_PARTS:
        msg = f"at most {MOST_PARTS} things can be done one after another (the texts tell of {len(parts)})"
        raise UsageError(msg)
    return parts


def poses_for(model: nn.Module, text: Tensor, length: Tensor, noise: Tensor, guidance: float, steps: int) -> Tensor:
    """Make a clip for each text.

    Parameters
    ----------
    model : Module
        Of the task motion.
    text : Tensor [clip, given]
        Vectors of texts.
    length : Tensor [clip]
        Frames of each.
    noise : Tensor [clip, frame, POSE_NUMBERS]
    guidance : float
    steps : int

    Returns
    -------
    Tensor [clip, frame, POSE_NUMBERS]
        Behind its length a clip holds nothing of meaning.
    """
    made = []
    with torch.inference_mode():
        for start in range(0, len(text), _AT_ONCE):
            own = slice(start, start + _AT_ONCE)
            made.append(flowed(guided(model, text[own], length[own], guidance), noise[own], steps))
    return _as_told(model, torch.cat(made))


def joined(
    model: nn.Module, text: Tensor, starts: Sequence[int], frames: int, noise: Tensor, guidance: float, steps: int
) -> Tensor:
    """Make one clip in which texts follow one another.

    All of it becomes motion at the same time. Of frames that two texts share, each text's guess counts the more the farther
    they are from its own border (Bar-Tal et al., MultiDiffusion, 2023), so that there is no seam that had to be smoothed over.

    Parameters
    ----------
    model : Module
    text : Tensor [part, given]
    starts : sequence of int
        First frame of each part.
    frames : int
        Frames of a part.
    noise : Tensor [frame, POSE_NUMBERS]

    Returns
    -------
    Tensor [frame, POSE_NUMBERS]
    """
    weight = _weights(starts, frames, len(noise))
    of_parts = guided(model, text, torch.full((len(text),), frames), guidance)

    def guess(noisy: Tensor, share: float) -> Tensor:
        parts = of_parts(torch.stack([noisy[0, start : start + frames] for start in starts]), share)
        whole = torch.zeros_like(noisy)
        for start, part, own in zip(starts, parts, weight, strict=True):
            whole[0, start : start + frames] += own[:, None] * part
        return whole

    with torch.inference_mode():
        return _as_told(model, flowed(guess, noise[None], steps))[0]


def _weights(starts: Sequence[int], frames: int, total: int) -> Tensor:
    """How much each part counts in each of its frames, [part, frame]: together 1 in every frame of the whole."""
    own = torch.minimum(torch.arange(1, frames + 1), torch.arange(frames, 0, -1)).float()
    weight = torch.stack([own.clone() for _ in starts])
    shared = torch.zeros(total)
    for start, part in zip(starts, weight, strict=True):
        shared[start : start + frames] += part
    return torch.stack([part / shared[start : start + frames] for start, part in zip(starts, weight, strict=True)])


def _as_told(model: nn.Module, normalised: Tensor) -> Tensor:
    encoder: Any = model.encoder
    assert normalised.shape[-1] == POSE_NUMBERS
    told: Tensor = normalised * encoder.spread + encoder.mean
    return told
