"""2D-to-3D lifting of unseen subjects, trained on real clips, generated clips, or both.

The model is a small one of the kind of Martinez et al., A simple yet effective baseline for 3D human pose estimation, 2017:
frame by frame, residual linear layers, 0.16 million weights. The loss is the error itself, the mean distance of joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.usefulness.cameras import Poses, joined, seen
from benchmarks.usefulness.clips import Clips, balanced
from benchmarks.usefulness.definitions import (
    CAMERAS,
    GENERATED_ONLY,
    LIFTING_BATCH,
    LIFTING_RATE,
    LIFTING_STEPS,
    LIFTING_STRIDE,
    MEAN_POSE,
    PRETRAINED,
    PRETRAINED_LONGER,
    PRETRAINING_STEPS,
    TRAINING,
    Trial,
)
from benchmarks.usefulness.learning import chosen_at, settings_of, shares, train
from benchmarks.usefulness.results import Result
from posegen.dataset.read import open_dataset
from posegen.dataset.splits import in_split
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from posegen.training.settings import Settings

TASK = "lifting"
WIDTH, BLOCKS, DROPOUT = 256, 1, 0.1
AT_ONCE = 100
"""Samples read at once."""
_REAL, _GENERATED = 0, 1
"""Seeds of the cameras of generated and real clips."""


class Lifter(nn.Module):
    """Predicts joints [frame, 22 * 3] from projections [frame, 22 * 2], both as in :class:`Poses`."""

    def __init__(self) -> None:
        super().__init__()
        self.begin = nn.Linear(len(JOINTS) * 2, WIDTH)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, WIDTH))
            for _ in range(BLOCKS)
        )
        self.end = nn.Linear(WIDTH, len(JOINTS) * 3)

    def forward(self, picture: Tensor) -> Tensor:
        """Lift frames one by one."""
        x = functional.gelu(self.begin(picture))
        for block in self.blocks:
            x = x + block(x)
        body: Tensor = self.end(functional.gelu(x))
        return body


def pretrained(dataset: Path) -> Lifter:
    """Train on generated motion only: base variants of the training split, one camera each."""
    stored = open_dataset(dataset)
    samples = in_split(stored.header.seed, np.arange(len(stored)), "training")
    poses = []
    for start in range(0, len(samples), AT_ONCE):
        own = samples[start : start + AT_ONCE]
        for sample, joints in zip(own, stored.arrays("joints", own)[:, 0, 0, ::LIFTING_STRIDE], strict=True):
            there = joints[~np.isnan(joints[:, 0, 0])]
            poses.append(seen(there, int(sample), _draws(_GENERATED, int(sample), 0)))
    every = joined(poses)
    return learn(None, every, np.ones(len(every.clip)), settings_of(PRETRAINING_STEPS, LIFTING_RATE, LIFTING_BATCH))


def _draws(whose: int, clip: int, camera: int) -> Array:
    return np.random.default_rng((whose, clip, camera)).random(4)


def views_of(clips: Clips) -> list[Poses]:
    """Return each clip as seen by all cameras."""
    return [
        joined([seen(joints[::LIFTING_STRIDE], clip, _draws(_REAL, clip, camera)) for camera in range(CAMERAS)])
        for clip, joints in enumerate(clips.joints)
    ]


def measure(clips: Clips, generated: Lifter, trials: Iterable[Trial]) -> Iterator[Result]:
    """Train and test all trials."""
    views = views_of(clips)
    for trial in trials:
        held = joined([views[clip] for clip in clips.held_out(trial.repetition)])
        own = clips.trained_on(trial.repetition, trial.count)
        if trial.way == GENERATED_ONLY:
            answers = answer(generated, held)
        else:
            answers = _by_real(trial, generated, joined([views[clip] for clip in own]), held, clips)
        yield Result(TASK, trial.way, trial.count, len(own), trial.repetition, judge(answers, held, clips.numbers))


def _by_real(trial: Trial, generated: Lifter, poses: Poses, held: Poses, clips: Clips) -> Array:
    """Return predictions for the test clips after training on real poses."""
    weights = shares(clips.numbers[poses.clip], poses.clip)
    if trial.way == MEAN_POSE:
        return np.broadcast_to(weights @ poses.body, held.body.shape)
    times, slower = TRAINING[trial.way]
    settings = settings_of(times * LIFTING_STEPS, LIFTING_RATE * slower, LIFTING_BATCH)
    begun = generated if trial.way in (PRETRAINED, PRETRAINED_LONGER) else None
    return answer(learn(begun, poses, weights, settings.model_copy(update={"seed": trial.repetition})), held)


def learn(begun: Lifter | None, poses: Poses, weights: Array, settings: Settings) -> Lifter:
    """Train on poses, drawn by weights [frame], from new weights or a copy of a model."""
    torch.manual_seed(settings.seed)
    model = Lifter() if begun is None else deepcopy(begun)
    picture, body = torch.from_numpy(poses.picture), torch.from_numpy(poses.body)

    def loss_at(step: int) -> Tensor:
        chosen = torch.from_numpy(chosen_at(step, settings.seed, weights, settings.batch))
        off = (model(picture[chosen]) - body[chosen]).unflatten(-1, (-1, 3))
        return (off.square().sum(dim=-1) + 1e-8).sqrt().mean()

    train(model, loss_at, settings)
    return model


def answer(model: Lifter, poses: Poses) -> Array:
    """Return the joints that a model predicts, as in :class:`Poses`."""
    with torch.inference_mode():
        answers: Array = model(torch.from_numpy(poses.picture)).numpy()
    return answers


def judge(answers: Array, held: Poses, families: Array) -> dict[str, float]:
    """Return the mean error of joints in mm, plain and aligned: over frames, then a family's clips, then families.

    `families` [clip] are those of all clips, to whose numbers `held` refers.
    """
    found, true = (np.asarray(values, np.float64).reshape(-1, len(JOINTS), 3) for values in (answers, held.body))
    found = found - found[:, :1]
    # Clips are in order, so the frames of each are consecutive.
    which, first = np.unique(held.clip, return_index=True)
    counts = np.diff([*first, len(held.clip)])
    errors = {"mpjpe": distances(found, true), "pa_mpjpe": distances(aligned(found, true), true)}
    return {name: 1000 * balanced(np.add.reduceat(values, first) / counts, families[which]) for name, values in errors.items()}


def distances(found: Array, true: Array) -> Array:
    """Return the mean distance of joints [n, joint, 3] in each frame [n]."""
    return np.asarray(np.sqrt(((found - true) ** 2).sum(axis=-1)).mean(axis=-1))


def aligned(found: Array, true: Array) -> Array:
    """Align each frame [n, joint, 3] to the true one by translation, rotation and scale (least squares).

    Umeyama, Least-squares estimation of transformation parameters between two point patterns, 1991.
    """
    middle = true.mean(axis=1, keepdims=True)
    own, target = found - found.mean(axis=1, keepdims=True), true - middle
    u, values, v = np.linalg.svd(np.swapaxes(own, 1, 2) @ target)
    # A reflection is not a rotation.
    sign = np.ones_like(values)
    sign[:, -1] = np.sign(np.linalg.det(u @ v))
    size = (values * sign).sum(axis=-1) / np.maximum((own**2).sum(axis=(1, 2)), 1e-12)
    return np.asarray(size[:, None, None] * (own @ (u * sign[:, None]) @ v) + middle)
