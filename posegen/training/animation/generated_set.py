"""Generate motion for captions of a test split, for its evaluation.

Motion is generated for one caption of each sample, taking captions in turns, with the length and the body of the real clip,
which a caption does not determine. It is embedded beside the real motion with a retrieval model. Real clips and the mean pose
serve as references. Distances and ranks are computed by the callers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import in_split
from posegen.dataset.storage.address import AnyPath
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.training.animation.animate import GUIDANCE, STEPS, MotionClip, generate_poses, numbers_of, to_scene
from posegen.training.data.captions import open_captions
from posegen.training.models.poses import AVERAGE_BODY, body_of
from posegen.training.tasks.motion import EVALUATION, draw_noise
from posegen.training.trained_models import TrainedModel, encode_clips, load_model, view_for

SAMPLES = 600
"""Default number of samples of the test split."""
REPEATED, TIMES = 32, 8
"""Number of captions for which motion is generated repeatedly, and number of repetitions."""


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
    path: AnyPath,
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
