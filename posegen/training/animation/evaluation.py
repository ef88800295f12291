"""What a model makes of captions that it has never seen, beside the real motion, as a retrieval model sees both.

Motion is made for one caption of each sample of the test split, the captions in turns, in the length of the real clip and for
the body that moves there: neither is the caption's to tell. Beside it stand the real clips, and the mean of all poses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from posegen.dataset.read import Dataset, open_dataset
from posegen.dataset.splits import in_split
from posegen.errors import UsageError
from posegen.training.animation.animate import GUIDANCE, STEPS, MotionClip, figure_of, motion_model, poses_for
from posegen.training.data.captions import open_captions
from posegen.training.inference import encode_clips
from posegen.training.model_files import TrainedModel, load_model
from posegen.training.models.flow_matching import CHECKING, drawn
from posegen.training.models.poses import body_of

__all__ = ["GeneratedSet", "generate_for_test_captions"]

Array = NDArray[Any]

Tell = Callable[[str], None]

SAMPLES = 600
"""Samples of the test split that are made motion for, at most."""
AGAIN, TIMES = 32, 8
"""Captions that motion is made for again and again, and how often."""


@dataclass(frozen=True)
class GeneratedSet:
    """Motion and captions, and their vectors of unit length as a retrieval model has them.

    Attributes
    ----------
    numbers : int64 [n]
        The samples.
    real, made : list of MotionClip
        Of the real clips, and of what the model makes of a caption of each.
    fps : float
    real_vectors, made_vectors, mean_vectors : float32 [n, d]
        The last ones are of the mean of all poses, for each body.
    text : float32 [n, d]
    words : int64 [n]
        The same number for the same words.
    actions : int64 [n]
        How many things done one after another, or at the same time, the caption of each sample tells of.
    again : float32 [AGAIN, TIMES, d]
        Of what is made of the first captions with other noise each time.
    """

    numbers: Array
    real: list[MotionClip]
    made: list[MotionClip]
    fps: float
    real_vectors: Array
    made_vectors: Array
    mean_vectors: Array
    text: Array
    words: Array
    actions: Array
    again: Array


def generate_for_test_captions(
    run: Path,
    path: Path,
    judge: Path,
    tell: Tell,
    *,
    samples: int | None = None,
    guidance: float = GUIDANCE,
    steps: int = STEPS,
) -> GeneratedSet:
    """Make motion of captions of a dataset's test split.

    Parameters
    ----------
    run : Path
        Of a model of the task motion.
    path : Path
        The dataset, with vectors of its captions by the text encoder that both models were trained with.
    judge : Path
        Run of a retrieval model.
    tell : callable
        Is told what is done.
    samples : int, optional
        How many, at most; :data:`SAMPLES` unless given.
    guidance : float
    steps : int

    Raises
    ------
    UsageError
        If the runs, the dataset and the vectors of its captions do not go together, or there is too little to judge by.
    """
    trained, dataset, retrieval = motion_model(run), open_dataset(path), load_model(judge)
    _check(trained, retrieval, dataset, run, judge)
    numbers = in_split(dataset.header.seed, np.arange(len(dataset)), "test")[: samples or SAMPLES]
    if len(numbers) < AGAIN:
        msg = f"{path}: has {len(numbers)} samples in its test split; {AGAIN} at least are needed to judge by"
        raise UsageError(msg)
    words, vectors = _one_caption(dataset, trained, numbers)
    real = _real(dataset, numbers)
    bodies = [body_of(figure.joints) for figure in real]
    maker = _Maker(trained, vectors, bodies, [len(figure.joints) for figure in real], guidance, steps)
    tell(f"motion is made for {len(numbers)} captions")
    made = maker.figures(numbers, 0)
    mean = maker.mean_figures()
    again = [maker.figures(numbers[:AGAIN], 1 + turn) for turn in range(TIMES)]
    tell("motion is encoded")

    def seen(figures: Sequence[MotionClip]) -> Array:
        found = encode_clips(judge, ((figure.joints, float(dataset.header.fps)) for figure in figures), str(path))
        if len(found) != len(figures):
            msg = f"{path}: has clips that the retrieval model cannot take whole; give one that was trained on such clips"
            raise UsageError(msg)
        return found

    with torch.inference_mode():
        text = retrieval.model.encode_text(vectors).numpy()  # type: ignore[operator]
    turns = np.stack([seen(figures) for figures in again], axis=1)
    fps = float(dataset.header.fps)
    actions = _actions_told(dataset, numbers)
    return GeneratedSet(numbers, real, made, fps, seen(real), seen(made), seen(mean), text, words, actions, turns)


def _check(trained: TrainedModel, retrieval: TrainedModel, dataset: Dataset, run: Path, judge: Path) -> None:
    if not retrieval.task.embeds_captions:
        msg = f"{judge}: is a model of the task {retrieval.task.name}; give the run of a retrieval model to judge by"
        raise UsageError(msg)
    if retrieval.view.text_encoder != trained.view.text_encoder:
        msg = f"{judge}: reads captions by {retrieval.view.text_encoder}, and {run} by {trained.view.text_encoder}"
        raise UsageError(msg)
    own = trained.view.fps * trained.view.stride
    if own != dataset.header.fps:
        msg = f"{dataset.path}: has {dataset.header.fps:g} frames a second, and {run} makes {own:g}"
        raise UsageError(msg)


def _one_caption(dataset: Dataset, trained: TrainedModel, numbers: Array) -> tuple[Array, Tensor]:
    """Choose a caption of each sample: which words they are, and their vectors."""
    captions = open_captions(dataset.path, dataset.header.shard, trained.view.text_encoder)
    found = captions.all_of(numbers, np.zeros_like(numbers))
    count = np.maximum((found["row"] >= 0).sum(axis=1), 1)
    chosen = np.arange(len(numbers)), _turns(count)
    return found["row"][chosen], torch.from_numpy(found["text"][chosen])


def _turns(count: Array) -> Array:
    """Take captions in turns: the first of the first sample, the second of the second one."""
    return np.arange(len(count)) % count


def _actions_told(dataset: Dataset, numbers: Array) -> Array:
    """Count what the chosen caption of each sample says is done."""
    told = [dataset.rows(number)[0]["captions"] for number in numbers.tolist()]
    chosen = _turns(np.array([max(len(captions), 1) for captions in told])).tolist()
    done = [captions[turn]["statements"] if captions else [] for captions, turn in zip(told, chosen, strict=True)]
    return np.array([len({claim["segment"] for claim in claims if claim["kind"] == "action"}) for claims in done])


def _real(dataset: Dataset, numbers: Array) -> list[MotionClip]:
    """Read the first actor of the first variant of samples."""
    figures = []
    for number in numbers.tolist():
        sample = slice(number, number + 1)
        joints = dataset.arrays("joints", sample)[0, 0, 0]
        contact = dataset.arrays("contact", sample)[0, 0, 0]
        there = ~np.isnan(joints[:, 0, 0])
        figures.append(MotionClip(joints[there], contact[there, :4] == 1))
    return figures


class _Maker:
    """Makes motion of the same captions with one noise or another."""

    def __init__(
        self,
        trained: TrainedModel,
        vectors: Tensor,
        bodies: Sequence[Array],
        frames: Sequence[int],
        guidance: float,
        steps: int,
    ) -> None:
        self._trained, self._vectors, self._bodies = trained, vectors, bodies
        stride = trained.view.stride
        self._length = torch.tensor([min(-(-count // stride), trained.view.frames) for count in frames])
        self._how = guidance, steps

    def figures(self, numbers: Array, turn: int) -> list[MotionClip]:
        view, count = self._trained.view, len(numbers)
        noise = drawn(numbers, np.zeros_like(numbers), turn, CHECKING, view.frames, 0.0).noise
        text, length = self._vectors[:count], self._length[:count]
        poses = poses_for(self._trained.model, text, length, noise, *self._how)
        return [self._figure(i, own) for i, own in enumerate(poses)]

    def mean_figures(self) -> list[MotionClip]:
        """Figures that never move, in the mean of all poses."""
        encoder: Any = self._trained.model.encoder
        mean = encoder.mean.expand(self._trained.view.frames, -1)
        return [self._figure(i, mean) for i in range(len(self._bodies))]

    def _figure(self, number: int, poses: Tensor) -> MotionClip:
        view = self._trained.view
        return figure_of(poses[: int(self._length[number])], self._bodies[number], view.fps, view.stride)
