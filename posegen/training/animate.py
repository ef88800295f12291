"""Generate motion for texts of a user with a trained model.

There is one clip per text, or one clip in which several texts follow one another. A text that describes several actions in
sequence is first split into clauses. Feet are cleaned up by :mod:`posegen.training.feet`; files of motion are written by the
callers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.interpolate import CubicHermiteSpline
from torch import Tensor, nn

from posegen.captions.lexicon import WORD, known_phrases
from posegen.captions.parser import parse_caption
from posegen.embedding import Encoder, load_encoder
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.randomness import Stream, uniform
from posegen.foundations.wording import shown
from posegen.library.load import Library, load_library
from posegen.training.data.features import Draw
from posegen.training.data.poses import (
    AVERAGE_BODY,
    CONTACTS,
    POSE_NUMBERS,
    SCENE_NUMBERS,
    leg_length,
    place_beside,
    pose_body,
    root_of,
)
from posegen.training.feet import lock_feet
from posegen.training.tasks.motion import guided, integrate, noise_from
from posegen.training.trained_models import TrainedModel, people

GUIDANCE, STEPS = 4.0, 10
"""Default scale of classifier-free guidance, and default number of integration steps."""

OVERLAP_SECONDS = 1.5
"""Overlap of two texts that follow one another."""
MOST_PARTS = 100
_AT_ONCE = 64
_SHORTEST_SECONDS = 2.0
_LEAST_PRESENCE = 0.5
_CLAUSE_ENDS = frozenset(".;!?")
_SUBJECTS = frozenset({"subject", "again"})


@dataclass(frozen=True)
class MotionClip:
    """A motion.

    Attributes
    ----------
    joints : float32 [frame, 22, 3]
        Metres, y up, the floor at height 0.
    contact : bool [frame, 4]
        Whether left heel, left toe, right heel and right toe are in contact.
    """

    joints: Array
    contact: Array


@dataclass(frozen=True)
class Animation:
    """Motion for texts.

    Attributes
    ----------
    clips : tuple of MotionClip
        The motion of each person, in the same axes.
    fps : float
    texts : tuple of str
        The text of each part.
    starts, ends : tuple of int
        Frames of each part; neighbours overlap.
    """

    clips: tuple[MotionClip, ...]
    fps: float
    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def load_text_encoder(trained: TrainedModel, name: str | None = None) -> Encoder:
    """Load the text encoder that a model was trained with.

    Parameters
    ----------
    trained : TrainedModel
    name : str, optional
        Path of the encoder, if it is not found by its own name.

    Raises
    ------
    UsageError
        If it cannot be loaded, or its embeddings have another length.
    """
    encoder = load_encoder(name or trained.view.text_encoder, workers=1)
    if encoder.dimension != trained.view.text_dimension:
        expected = f"{trained.view.text_dimension} by {trained.view.text_encoder}"
        raise UsageError(f"{encoder.name}: embeds texts as {encoder.dimension} numbers; the model was trained with {expected}")
    return encoder


def animate(
    trained: TrainedModel,
    encoder: Encoder,
    texts: Sequence[str],
    *,
    seconds: float | None = None,
    seed: int = 0,
    guidance: float = GUIDANCE,
    whole: bool = False,
) -> Animation:
    """Generate the motion that texts describe, one after another.

    Parameters
    ----------
    trained : TrainedModel
    encoder : Encoder
    texts : sequence of str
        At least one. A text that describes actions in sequence becomes several parts.
    seconds : float, optional
        Duration of each part; by default that of the training clips.
    seed : int
    guidance : float
    whole : bool
        Do not split texts.

    Raises
    ------
    UsageError
        If a text is empty or describes more people than clips of the training have, there are too many parts, or the duration
        is out of range.
    """
    view = trained.view
    if not texts or not all(text.strip() for text in texts):
        raise UsageError("there is no text to animate; give one such as 'a person walks forward'")
    longest = view.frames / view.fps
    if seconds is not None and not _SHORTEST_SECONDS <= seconds <= longest:
        limits = f"{_SHORTEST_SECONDS:g} to {longest:g}, the duration of the training clips"
        raise UsageError(f"the seconds of a text must be {limits} (got {seconds:g})")
    library = load_library()
    for text in texts:
        if (count := people_in(text, library)) > view.actors:
            problem = f"describes {count} people, and the model was trained on clips of {people(view.actors)}"
            hint = "Train one on clips of several: posegen generate --config pairs, then embed and train --task motion"
            raise UsageError(f"{shown(text)}: {problem}. {hint}")
    parts = tuple(texts) if whole else tuple(part for text in texts for part in split_clauses(text, library))
    if len(parts) > MOST_PARTS:
        raise UsageError(f"the texts describe {len(parts)} actions in sequence; at most {MOST_PARTS} are possible")
    frames = view.frames if seconds is None else round(seconds * view.fps)
    overlap = min(round(OVERLAP_SECONDS * view.fps), frames // 2)
    starts = [i * (frames - overlap) for i in range(len(parts))]
    vectors = torch.from_numpy(np.ascontiguousarray(encoder.encode(list(parts)), np.float32))
    draws = uniform(seed % 2**64, np.zeros(1, np.int64), Stream.AUGMENT, 2, substream=Draw.NOISE)[0]
    noise = noise_from(draws, starts[-1] + frames, numbers_of(trained.model))
    poses = generate_sequence(trained.model, vectors, starts, frames, noise, guidance, STEPS)
    clips = to_scene(poses, np.tile(AVERAGE_BODY, (view.actors, 1)), view.fps, view.stride)
    begins = tuple(start * view.stride for start in starts)
    ends = tuple(min((start + frames) * view.stride, len(clips[0].joints)) for start in starts)
    return Animation(clips, view.fps * view.stride, parts, begins, ends)


def generate_poses(model: nn.Module, text: Tensor, length: Tensor, noise: Tensor, guidance: float, steps: int) -> Tensor:
    """Generate a clip for each text.

    Parameters
    ----------
    model : Module
        Model of the task motion.
    text : Tensor [clip, given]
        Embeddings of texts.
    length : Tensor [clip]
        Number of frames of each clip.
    noise : Tensor [clip, frame, number]
    guidance : float
    steps : int

    Returns
    -------
    Tensor [clip, frame, number]
        Frames after the length of a clip are meaningless.
    """
    clips = []
    with torch.inference_mode():
        for start in range(0, len(text), _AT_ONCE):
            own = slice(start, start + _AT_ONCE)
            clips.append(integrate(guided(model, text[own], length[own], guidance), noise[own], steps))
    return _denormalised(model, torch.cat(clips))


def generate_sequence(
    model: nn.Module, text: Tensor, starts: Sequence[int], frames: int, noise: Tensor, guidance: float, steps: int
) -> Tensor:
    """Generate one clip in which texts follow one another.

    All parts are denoised at the same time. Where two parts overlap, their predictions are averaged with weights that grow with
    the distance from the end of a part (Bar-Tal et al., MultiDiffusion, 2023), so that there is no seam.

    Parameters
    ----------
    model : Module
    text : Tensor [part, given]
    starts : sequence of int
        First frame of each part.
    frames : int
        Frames per part.
    noise : Tensor [frame, number]
    guidance : float
    steps : int

    Returns
    -------
    Tensor [frame, number]
    """
    weights = _overlap_weights(starts, frames, len(noise))
    predict_parts = guided(model, text, torch.full((len(text),), frames), guidance)

    def predict(noisy: Tensor, time: float) -> Tensor:
        parts = predict_parts(torch.stack([noisy[0, start : start + frames] for start in starts]), time)
        whole = torch.zeros_like(noisy)
        for start, part, weight in zip(starts, parts, weights, strict=True):
            whole[0, start : start + frames] += weight[:, None] * part
        return whole

    with torch.inference_mode():
        return _denormalised(model, integrate(predict, noise[None], steps))[0]


def _overlap_weights(starts: Sequence[int], frames: int, total: int) -> Tensor:
    """Return the weight of each part in each of its frames, [part, frame]. In every frame of the clip the sum is 1."""
    own, total_weight = torch.minimum(torch.arange(1, frames + 1), torch.arange(frames, 0, -1)).float(), torch.zeros(total)
    for start in starts:
        total_weight[start : start + frames] += own
    return torch.stack([own / total_weight[start : start + frames] for start in starts])


def _denormalised(model: nn.Module, normalised: Tensor) -> Tensor:
    encoder: Any = model.encoder
    poses: Tensor = normalised * encoder.spread + encoder.mean
    return poses


def numbers_of(model: nn.Module) -> int:
    """Return the numbers per frame of a model of the task motion."""
    encoder: Any = model.encoder
    return len(encoder.mean)


def to_scene(poses: Tensor, bodies: Array, fps: float, times: int) -> tuple[MotionClip, ...]:
    """Convert the poses of all actors to their motion, in the axes of the first one.

    Parameters
    ----------
    poses : Tensor [frame, number]
        Of one actor, or of each actor in turn with its relation to the first one.
    bodies : float [actor, 5]
    fps, times
        As :func:`to_clip` takes them.

    Returns
    -------
    tuple of MotionClip
        Without actors that the model generated as absent.
    """
    if len(bodies) == 1:
        return (to_clip(poses, bodies[0], fps, times),)
    each = poses.reshape(len(poses), len(bodies), SCENE_NUMBERS)
    related = each[..., POSE_NUMBERS:].to(torch.float64).numpy()
    leg = leg_length(bodies)
    first = to_clip(each[:, 0, :POSE_NUMBERS], bodies[0], fps, times)
    clips = [first]
    for i in range(1, len(bodies)):
        if related[:, i, -1].mean() > _LEAST_PRESENCE:
            own = to_clip(each[:, i, :POSE_NUMBERS], bodies[i], fps, times)
            unit = float(leg[0] + leg[i]) / 2
            moved = place_beside(first.joints, own.joints, interpolate(torch.from_numpy(related[:, i]), times).numpy(), unit)
            clips.append(MotionClip(moved.astype(np.float32), own.contact))
    return tuple(clips)


def to_clip(poses: Tensor, body: Array, fps: float, times: int) -> MotionClip:
    """Convert poses to joints, and remove the sliding of feet that are in contact.

    Parameters
    ----------
    poses : Tensor [frame, POSE_NUMBERS]
    body : float [BODY_MEASURES]
        See :data:`posegen.training.data.poses.BODY_MEASURES`.
    fps : float
        Frames per second of the poses.
    times : int
        Factor on the number of frames.
    """
    # Displacements per frame cannot be interpolated, so the path that they add up to is.
    leg = torch.tensor(float(leg_length(body)), dtype=torch.float64)
    whole = poses.to(torch.float64)
    root, heading = root_of(whole, leg, fps)
    numbers = interpolate(torch.cat([whole, root, heading[:, None]], dim=-1), times)
    whole, root, heading = numbers[:, :-4], numbers[:, -4:-1], numbers[:, -1]
    joints = pose_body(whole, root, heading, body)
    joints, contact = lock_feet(joints, whole[:, CONTACTS].numpy(), fps * times, float(body[0]))
    return MotionClip(joints.astype(np.float32), contact)


def interpolate(values: Tensor, times: int) -> Tensor:
    """Insert frames on a smooth curve through all given frames (Catmull-Rom spline).

    Parameters
    ----------
    values : Tensor [frame, number]
    times : int

    Returns
    -------
    Tensor [(frame - 1) * times + 1, number]
    """
    last = len(values) - 1
    if not last:
        return values
    # Beyond both ends the curve is extended in a straight line.
    (slopes,) = torch.gradient(values, dim=0)
    spline = CubicHermiteSpline(np.arange(last + 1), values.numpy(), slopes.numpy())
    return torch.from_numpy(spline(np.arange(last * times + 1) / times)).to(values.dtype)


def split_clauses(text: str, library: Library) -> tuple[str, ...]:
    """Split a text into clauses that describe actions in sequence.

    Parameters
    ----------
    text : str
    library : Library
        Its language defines which words express a sequence. Actions joined by "and" or "while" are not split.

    Returns
    -------
    tuple of str
        The clauses in order of time, each with the subject of the text. The text itself if it describes one action or several
        people, or if a clause would describe no known action.

    Examples
    --------
    >>> from posegen.library.load import load_library
    >>> split_clauses("a man walks slowly, then waves while sitting", load_library())
    ('a man walks slowly', 'a man waves while sitting')
    >>> split_clauses("a person walks and waves", load_library())
    ('a person walks and waves',)
    """
    clauses, subject = _clauses(text, library)
    if len(clauses) < 2 or people_in(text, library) > 1:
        return (text,)
    words = [own.words if own.has_subject else [*subject, *own.words] for own in clauses]
    texts = tuple(" ".join(own).replace(" ,", ",") for own in words)
    acts = [any(claim["kind"] == "action" for claim in parse_caption(own, library).statements) for own in texts]
    return texts if all(acts) else (text,)


def people_in(text: str, library: Library) -> int:
    """Return the number of people that a text describes, at least 1."""
    claims = parse_caption(text, library).statements
    stated = [int(claim["value"]) for claim in claims if claim["kind"] == "people" and str(claim["value"]).isdigit()]
    named = [1 + int(claim["actor"]) for claim in claims]
    partners = [1 + int(claim["value"]) for claim in claims if claim["kind"] == "partner"]
    # "Three men" is in no caption.
    joint, numbers = library.words["several"]["joint"], library.words["numbers"]
    nouns = "|".join(pair.removeprefix(f"{numbers[2]} ") for pair in (*joint["pair"], *joint["alike"].values()))
    counted = [i for i, number in enumerate(numbers) if re.search(rf"\b{number} (?:{nouns})\b", text.lower())]
    return max([1, *stated, *named, *partners, *counted])


@dataclass
class _Clause:
    """Words of a clause, whether they include more than the subject, and whether they introduce the subject."""

    words: list[str] = field(default_factory=list)
    has_content: bool = False
    has_subject: bool = False


def _clauses(text: str, library: Library) -> tuple[list[_Clause], list[str]]:
    """Return the clauses, and the words that introduce the subject."""
    clauses, subject = [_Clause()], list[str]()
    precedes = False  # whether the clause precedes the next one in time, as in "after walking, ..."
    for first, last, meanings in known_phrases(text, library):
        words, kinds, clause = WORD.findall(text[first:last]), {meaning.kind for meaning in meanings}, clauses[-1]
        ends = words[0] in _CLAUSE_ENDS and len(words) == 1
        if "then" in kinds or ends or (precedes and clause.has_content and "list" in kinds):
            clauses, precedes = [*clauses, _Clause()], False
        elif "after" in kinds:
            precedes = True
        elif _SUBJECTS & kinds and (not subject or not clause.has_content):
            # Later mentions only repeat the subject.
            clause.words, clause.has_subject = clause.words + (words if not subject else []), clause.has_subject or not subject
            subject = subject or words
        elif clause.has_content or words != [","]:
            clause.words, clause.has_content = clause.words + words, True
    for clause in clauses:
        clause.words = clause.words[:-1] if clause.words[-1:] == [","] else clause.words
    return [clause for clause in clauses if clause.has_content], subject
