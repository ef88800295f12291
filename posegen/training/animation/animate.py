"""Generate motion with a trained model: for texts of a user, or for the captions of a test split, for their evaluation.

For texts there is one clip per text, or one clip in which several texts follow one another. A text that describes several
actions in sequence is first split into clauses. Feet are cleaned up by :mod:`posegen.training.animation.feet`; files of motion
are written by the callers.

For a test split, motion is generated for one caption of each sample, taking captions in turns, with the length and the body of
the real clip, which a caption does not determine. It is embedded beside the real motion with a retrieval model. Real clips and
the mean pose serve as references. Distances and ranks are computed by the callers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posegen.arrays import Array
from posegen.captions.parser import WORD, lexicon_of, parse_caption
from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import in_split
from posegen.embedding import Encoder, load_encoder
from posegen.errors import UsageError
from posegen.library.load import Library, load_library
from posegen.randomness import Stream, uniform
from posegen.training.animation.feet import lock_feet
from posegen.training.data.captions import open_captions
from posegen.training.data.features import Draw
from posegen.training.models.poses import (
    AVERAGE_BODY,
    CONTACTS,
    POSE_NUMBERS,
    SCENE_NUMBERS,
    body_of,
    leg_length,
    place_beside,
    pose_body,
    root_of,
)
from posegen.training.tasks.motion import EVALUATION, draw_noise, guided, integrate, noise_from
from posegen.training.trained_models import TrainedModel, encode_clips, load_model, people, view_for
from posegen.wording import shown

GUIDANCE, STEPS = 4.0, 10
"""Default scale of classifier-free guidance, and default number of integration steps."""

OVERLAP_SECONDS = 1.5
"""Overlap of two texts that follow one another."""
MOST_PARTS = 100
_AT_ONCE = 64
_SHORTEST_SECONDS = 2.0
_LEAST_PRESENCE = 0.5

SAMPLES = 600
"""Default number of samples of the test split."""
REPEATED, TIMES = 32, 8
"""Number of captions for which motion is generated repeatedly, and number of repetitions."""

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
    steps: int = STEPS,
    body: Sequence[float] = AVERAGE_BODY,
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
    steps : int
    body : sequence of float
        See :data:`posegen.training.models.poses.BODY_MEASURES`.
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
    _check_people(texts, view.actors)
    parts = tuple(texts) if whole else _split(texts)
    frames = view.frames if seconds is None else round(seconds * view.fps)
    overlap = min(round(OVERLAP_SECONDS * view.fps), frames // 2)
    starts = [i * (frames - overlap) for i in range(len(parts))]
    vectors = torch.from_numpy(np.ascontiguousarray(encoder.encode(list(parts)), np.float32))
    draws = uniform(seed % 2**64, np.zeros(1, np.int64), Stream.AUGMENT, 2, substream=Draw.NOISE)[0]
    noise = noise_from(draws, starts[-1] + frames, numbers_of(trained.model))
    poses = generate_sequence(trained.model, vectors, starts, frames, noise, guidance, steps)
    clips = to_scene(poses, np.tile(body, (view.actors, 1)), view.fps, view.stride)
    begins = tuple(start * view.stride for start in starts)
    ends = tuple(min((start + frames) * view.stride, len(clips[0].joints)) for start in starts)
    return Animation(clips, view.fps * view.stride, parts, begins, ends)


def _check_people(texts: Sequence[str], most: int) -> None:
    """Raise UsageError if a text describes more people than a model can generate."""
    library = load_library()
    for text in texts:
        count = people_in(text, library)
        if count > most:
            problem = f"describes {count} people, and the model was trained on clips of {people(most)}"
            hint = "Train one on clips of several: posegen generate --config pairs, then embed and train --task motion"
            raise UsageError(f"{shown(text)}: {problem}. {hint}")


def _split(texts: Sequence[str]) -> tuple[str, ...]:
    library = load_library()
    parts = tuple(part for text in texts for part in split_clauses(text, library))
    if len(parts) > MOST_PARTS:
        raise UsageError(f"the texts describe {len(parts)} actions in sequence; at most {MOST_PARTS} are possible")
    return parts


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
        Frames behind the length of a clip are meaningless.
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
    own = torch.minimum(torch.arange(1, frames + 1), torch.arange(frames, 0, -1)).float()
    weights = torch.stack([own.clone() for _ in starts])
    total_weight = torch.zeros(total)
    for start, weight in zip(starts, weights, strict=True):
        total_weight[start : start + frames] += weight
    return torch.stack([weight / total_weight[start : start + frames] for start, weight in zip(starts, weights, strict=True)])


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
        See :data:`posegen.training.models.poses.BODY_MEASURES`.
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
    position = torch.arange(last * times + 1, device=values.device)
    first = torch.div(position, times, rounding_mode="floor").clamp(max=max(last - 1, 0))
    u = ((position - first * times).to(values.dtype) / times)[:, None]
    before, begin, end, after = (values[(first + i).clamp(0, last)] for i in (-1, 0, 1, 2))
    # Beyond both ends the curve is extended in a straight line.
    before = torch.where((first == 0)[:, None], 2 * begin - end, before)
    after = torch.where((first + 2 > last)[:, None], 2 * end - begin, after)
    slope, curve = end - before, 2 * before - 5 * begin + 4 * end - after
    bend = 3 * (begin - end) + after - before
    return begin + 0.5 * u * (slope + u * (curve + u * bend))


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
    return max([1, *stated, *named, *partners, *_numbered_people(text.lower(), library.words)])


def _numbered_people(text: str, words: Mapping[str, Any]) -> Iterator[int]:
    """Yield the numbers of people such as "three men", which no caption states."""
    joint, numbers = words["several"]["joint"], words["numbers"]
    for pair in (*joint["pair"], *joint["alike"].values()):
        noun = pair.removeprefix(f"{numbers[2]} ")
        yield from (count for count, number in enumerate(numbers) if re.search(rf"\b{number} {noun}\b", text))


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
    for words, kinds in _phrases(text, library):
        clause = clauses[-1]
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


def _phrases(text: str, library: Library) -> Iterator[tuple[list[str], set[str]]]:
    """Iterate over a text by the longest known phrase at each word: its words as written, and its possible kinds."""
    lexicon = lexicon_of(library)
    written = WORD.findall(text)
    small = [word.lower() for word in written]
    at = 0
    while at < len(small):
        length = lexicon.longest(small, at)
        marks = lexicon.phrases[tuple(small[at : at + length])] if length else []
        yield written[at : at + max(length, 1)], {mark.kind for mark in marks}
        at += max(length, 1)


@dataclass(frozen=True)
class GeneratedSet:
    """Real and generated motion with captions, and their embeddings of unit length.

    Attributes
    ----------
    real, generated : list of tuple of MotionClip
        The people of each real clip, and those generated for a caption of each.
    fps : float
    real_vectors, generated_vectors, mean_vectors : float32 [n, d]
        The last ones are those of the mean pose, for each body.
    text : float32 [n, d]
        Embeddings of the captions.
    words : int64 [n]
        Equal numbers for equal captions.
    actions : int64 [n]
        Number of actions that the caption states, in sequence or at the same time.
    repeated : float32 [REPEATED, TIMES, d]
        Motion generated for the first captions with other noise each time.
    """

    real: list[tuple[MotionClip, ...]]
    generated: list[tuple[MotionClip, ...]]
    fps: float
    real_vectors: Array
    generated_vectors: Array
    mean_vectors: Array
    text: Array
    words: Array
    actions: Array
    repeated: Array


def generate_for_test_captions(
    run: Path,
    path: Path,
    retrieval_run: Path,
    report: Callable[[str], None],
    *,
    samples: int | None = None,
    guidance: float = GUIDANCE,
    steps: int = STEPS,
) -> GeneratedSet:
    """Generate motion for captions of a dataset's test split.

    Parameters
    ----------
    run : Path
        Run of the task motion.
    path : Path
        The dataset, embedded by the text encoder of both models.
    retrieval_run : Path
        Run of the task retrieval.
    report : callable
        Called with a description of each step.
    samples : int, optional
        Limit; :data:`SAMPLES` by default.
    guidance : float
    steps : int

    Raises
    ------
    UsageError
        If the runs, the dataset and its embeddings do not match, or the test split is too small.
    """
    trained, retrieval = load_model(run, "generates_motion"), load_model(retrieval_run, "embeds_captions")
    dataset = open_dataset(path)
    actors = view_for(trained, dataset)[1].actors
    view_for(retrieval, dataset)
    _check_encoders(run, trained, retrieval_run, retrieval)
    chosen = in_split(dataset.header.seed, np.arange(len(dataset)), "test")[: samples or SAMPLES]
    if len(chosen) < REPEATED:
        raise UsageError(f"{path}: its test split has {len(chosen)} samples; at least {REPEATED} are needed")
    words, vectors = _captions(dataset, trained, chosen)
    real = _real_clips(dataset, chosen)
    view, fps = trained.view, float(dataset.header.fps)
    bodies = [_bodies_of(clips, actors) for clips in real]
    lengths = torch.tensor([min(-(-len(clips[0].joints) // view.stride), view.frames) for clips in real])

    def clips_of(number: int, poses: Tensor) -> tuple[MotionClip, ...]:
        return to_scene(poses[: int(lengths[number])], bodies[number], view.fps, view.stride)

    def generate(count: int, turn: int) -> list[tuple[MotionClip, ...]]:
        own, numbers = chosen[:count], numbers_of(trained.model)
        noise = draw_noise(own, np.zeros_like(own), turn, EVALUATION, view.frames, 0.0, numbers).noise
        poses = generate_poses(trained.model, vectors[:count], lengths[:count], noise, guidance, steps)
        return [clips_of(i, clip) for i, clip in enumerate(poses)]

    def embed(scenes: Sequence[tuple[MotionClip, ...]]) -> Array:
        joints = (np.stack([clip.joints for clip in clips]) for clips in scenes)
        embedded = encode_clips(retrieval_run, ((every, fps) for every in joints), str(path))
        if len(embedded) != len(scenes):
            msg = f"{path}: some clips are longer than the retrieval model's; give one that was trained on such clips"
            raise UsageError(msg)
        return embedded

    report(f"generating motion for {len(chosen)} captions")
    generated = generate(len(chosen), 0)
    encoder: Any = trained.model.encoder
    mean_pose = encoder.mean.expand(view.frames, -1)
    still = [clips_of(i, mean_pose) for i in range(len(bodies))]
    again = [generate(REPEATED, 1 + turn) for turn in range(TIMES)]
    report("embedding motion")
    with torch.inference_mode():
        text = retrieval.model.encode_text(vectors).numpy()  # type: ignore[operator]
    repeated = np.stack([embed(clips) for clips in again], axis=1)
    actions = _stated_actions(dataset, chosen)
    return GeneratedSet(real, generated, fps, embed(real), embed(generated), embed(still), text, words, actions, repeated)


def _check_encoders(run: Path, trained: TrainedModel, retrieval_run: Path, retrieval: TrainedModel) -> None:
    """Raise UsageError if two models were trained with different text encoders."""
    if retrieval.view.text_encoder != trained.view.text_encoder:
        encoders = f"{retrieval.view.text_encoder}, {run} with {trained.view.text_encoder}"
        raise UsageError(f"{retrieval_run}: was trained with the text encoder {encoders}; give runs with the same encoder")


def _captions(dataset: Dataset, trained: TrainedModel, samples: Array) -> tuple[Array, Tensor]:
    """Choose a caption of each sample: its text number and its embedding."""
    captions = open_captions(dataset.path, dataset.header.shard, trained.view.text_encoder)
    every = captions.all_of(samples, np.zeros_like(samples))
    chosen = np.arange(len(samples)), _in_turns(np.maximum((every["row"] >= 0).sum(axis=1), 1))
    return every["row"][chosen], torch.from_numpy(every["text"][chosen])


def _in_turns(count: Array) -> Array:
    """Choose captions in turns: the first of the first sample, the second of the second one, and so on."""
    return np.arange(len(count)) % count


def _stated_actions(dataset: Dataset, samples: Array) -> Array:
    """Count the actions that the chosen caption of each sample states."""
    captions = [dataset.rows(sample)[0]["captions"] for sample in samples.tolist()]
    chosen = _in_turns(np.array([max(len(own), 1) for own in captions])).tolist()
    statements = [own[turn]["statements"] if own else [] for own, turn in zip(captions, chosen, strict=True)]
    return np.array([len({claim["segment"] for claim in own if claim["kind"] == "action"}) for own in statements])


def _real_clips(dataset: Dataset, samples: Array) -> list[tuple[MotionClip, ...]]:
    """Read the actors of the first variant of samples."""
    clips = []
    for sample in samples.tolist():
        joints, contact = (dataset.arrays(name, slice(sample, sample + 1))[0, 0] for name in ("joints", "contact"))
        # Actors are numbered from 0, and all have the length of the scene.
        present = ~np.isnan(joints[..., 0, 0])
        own = zip(joints, contact, present, strict=True)
        clips.append(tuple(MotionClip(j[there], c[there, :4] == 1) for j, c, there in own if there.any()))
    return clips


def _bodies_of(clips: Sequence[MotionClip], actors: int) -> Array:
    """Return the body of each person, and average ones for persons who are not there: [actors, 5]."""
    bodies = [body_of(clip.joints) for clip in clips]
    return np.stack([*bodies, *[np.array(AVERAGE_BODY)] * (actors - len(bodies))])
