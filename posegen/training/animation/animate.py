"""Motion for texts, by a trained model: of one text a clip, of several texts one clip in which one follows the other.

From poses in numbers to a figure: more frames in between, bones of one body, feet that stand.

What a text tells one after another, by the words that captions are made of: each thing as a text of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from posegen.captions.lexicon import WORD, lexicon_of
from posegen.captions.parser import parse_caption
from posegen.embedding import Encoder, load_encoder
from posegen.errors import UsageError
from posegen.library.load import Library, load_library
from posegen.randomness import Stream, uniform
from posegen.training.animation.feet import plant
from posegen.training.data.features import NOISE
from posegen.training.model_files import TrainedModel, load_model
from posegen.training.models.flow_matching import flowed, guided, noise_from
from posegen.training.models.poses import AVERAGE, CONTACTS, POSE_NUMBERS, joints_of, leg_length, offsets_of, root_of, turned_of

__all__ = [
    "GUIDANCE",
    "STEPS",
    "Animation",
    "MotionClip",
    "animate",
    "encoder_for",
    "figure_of",
    "finer",
    "in_turn",
    "joined",
    "motion_model",
    "poses_for",
]

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
    figure : MotionClip
    fps : float
    texts : tuple of str
        Of each part.
    starts, ends : tuple of int
        Frames that each of them is about; neighbours overlap.
    """

    figure: MotionClip
    fps: float
    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def motion_model(run: Path) -> TrainedModel:
    """Load a model that makes motion.

    Raises
    ------
    UsageError
        If there is none, or it is of another task.
    """
    trained = load_model(run)
    if not trained.task.generates_motion:
        msg = f"{run}: is a model of the task {trained.task.name}, which makes no motion; train one with --task motion"
        raise UsageError(msg)
    return trained


def encoder_for(trained: TrainedModel, name: str | None = None) -> Encoder:
    """Load the text encoder that a model was trained with.

    Parameters
    ----------
    trained : TrainedModel
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
    trained: TrainedModel,
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
    trained : TrainedModel
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


@dataclass(frozen=True)
class MotionClip:
    """A motion.

    Attributes
    ----------
    joints : float32 [frame, 22, 3]
        Metres, y up, the floor at height 0.
    contact : bool [frame, 4]
        Which points of the soles touch: left heel, left toe, right heel, right toe.
    """

    joints: Array
    contact: Array


def figure_of(poses: Tensor, body: Array, fps: float, times: int, *, planted: bool = True) -> MotionClip:
    """Make a figure of poses.

    Parameters
    ----------
    poses : Tensor [frame, POSE_NUMBERS]
    body : float [5]
        See :data:`posegen.training.generative.bodies.MEASURES`.
    fps : float
        Frames of the poses a second.
    times : int
        So many times as many frames a second it gets.
    planted : bool
        Whether what slides of feet that touch is taken out.
    """
    # Steps from frame to frame do not hold between frames: it is their sum that is gone along in more frames.
    leg = torch.tensor(float(leg_length(body)), dtype=torch.float64)
    whole = poses.to(torch.float64)
    root, heading = root_of(whole, leg, fps)
    numbers = finer(torch.cat([whole, root, heading[:, None]], dim=-1), times)
    whole, root, heading = numbers[:, :-4], numbers[:, -4:-1], numbers[:, -1]
    offsets = torch.from_numpy(offsets_of(body).astype(np.float64))
    joints = joints_of(turned_of(whole, heading), root, offsets).numpy()
    touching = whole[:, CONTACTS].numpy()
    if not planted:
        return MotionClip(joints.astype(np.float32), touching > 0.5)
    done = plant(joints, touching, fps * times, float(body[0]))
    return MotionClip(done.joints.astype(np.float32), done.contact)


def finer(values: Tensor, times: int) -> Tensor:
    """Put frames in between, on a smooth course through all that there are (Catmull and Rom's spline).

    Parameters
    ----------
    values : Tensor [frame, number]
    times : int

    Returns
    -------
    Tensor [(frame - 1) * times + 1, number]
    """
    last = len(values) - 1
    place = torch.arange(last * times + 1, device=values.device)
    first = torch.div(place, times, rounding_mode="floor").clamp(max=max(last - 1, 0))
    u = ((place - first * times).to(values.dtype) / times)[:, None]
    before, begin, end, after = (values[(first + i).clamp(0, last)] for i in (-1, 0, 1, 2))
    # Beyond the ends the course goes straight on.
    before = torch.where((first == 0)[:, None], 2 * begin - end, before)
    after = torch.where((first + 2 > last)[:, None], 2 * end - begin, after)
    slope, curve = end - before, 2 * before - 5 * begin + 4 * end - after
    bend = 3 * (begin - end) + after - before
    return begin + 0.5 * u * (slope + u * (curve + u * bend))


_ENDS = frozenset(".;!?")
_NAMES = frozenset({"subject", "again"})


def in_turn(text: str, library: Library) -> tuple[str, ...]:
    """Part a text where it goes on to what is done next.

    Parameters
    ----------
    text : str
    library : Library
        Whose language tells what goes before what. What is told by "and" or "while" is not parted.

    Returns
    -------
    tuple of str
        In the order in which it is done, each beginning with who was named at first. The text as it is where it tells of one
        thing or of several people, or where a part would tell of nothing that is known.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> in_turn("a man walks slowly, then waves while sitting", load_library())
    ('a man walks slowly', 'a man waves while sitting')
    >>> in_turn("a person walks and waves", load_library())
    ('a person walks and waves',)
    """
    parts, subject = _clauses(text, library)
    if len(parts) < 2 or _of_several(text, library):
        return (text,)
    told = tuple(" ".join(part.words if part.named else [*subject, *part.words]).replace(" ,", ",") for part in parts)
    acts = [any(claim["kind"] == "action" for claim in parse_caption(part, library).statements) for part in told]
    return told if all(acts) else (text,)


def _of_several(text: str, library: Library) -> bool:
    claims = parse_caption(text, library).statements
    many = (str(claim["value"]) for claim in claims if claim["kind"] == "people")
    return any(value.isdigit() and int(value) > 1 for value in many) or any(int(claim["actor"]) > 0 for claim in claims)


@dataclass
class _Part:
    """Words, whether they tell of more than who does it, and whether they name who does it at first."""

    words: list[str] = field(default_factory=list)
    tells: bool = False
    named: bool = False


def _clauses(text: str, library: Library) -> tuple[list[_Part], list[str]]:
    """Give the parts, and the words that name who does it at first."""
    parts, subject = [_Part()], list[str]()
    before = False  # whether this is what is told as done before the next thing, as in "after walking, ..."
    for words, sorts in _phrases(text, library):
        part = parts[-1]
        if "then" in sorts or (words[0] in _ENDS and len(words) == 1) or (before and part.tells and "list" in sorts):
            parts, before = [*parts, _Part()], False
        elif "after" in sorts:
            before = True
        elif _NAMES & sorts and (not subject or not part.tells):
            # Later it is only said again who does it.
            part.words, part.named = part.words + (words if not subject else []), part.named or not subject
            subject = subject or words
        elif part.tells or words != [","]:
            part.words, part.tells = part.words + words, True
    for part in parts:
        part.words = part.words[:-1] if part.words[-1:] == [","] else part.words
    return [part for part in parts if part.tells], subject


def _phrases(text: str, library: Library) -> Iterator[tuple[list[str], set[str]]]:
    """Go through a text as the reader does: the longest known phrase at each word, as written, and what it may be."""
    lexicon = lexicon_of(library)
    written = WORD.findall(text)
    small = [word.lower() for word in written]
    at = 0
    while at < len(small):
        length = lexicon.longest(small, at)
        marks = lexicon.phrases[tuple(small[at : at + length])] if length else []
        yield written[at : at + max(length, 1)], {mark.kind for mark in marks}
        at += max(length, 1)
