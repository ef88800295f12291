"""From the 2D joints of a picture to 3D: by real clips, by generated ones, by both; judged on persons never trained on.

The model is a small one of the kind of Martinez et al., A simple yet effective baseline for 3D human pose estimation, 2017:
frame by frame, residual linear layers, 0.16 million weights. The loss is the error itself, the mean distance of joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.usefulness.cameras import Poses, joined, seen
from benchmarks.usefulness.clips import Clips, balanced
from benchmarks.usefulness.definitions import (
    CAMERAS,
    COUNTS,
    FEWER_REPETITIONS,
    FINE_TUNING,
    GENERATED_ONLY,
    LIFTING_BATCH,
    LIFTING_RATE,
    LIFTING_STEPS,
    LIFTING_STRIDE,
    LONGER,
    MEAN_POSE,
    PRETRAINED,
    PRETRAINING_STEPS,
    REAL_LONGER,
    REAL_ONLY,
)
from benchmarks.usefulness.learning import chosen_at, settings_of, shares, train
from benchmarks.usefulness.results import Result
from posegen.skeleton import JOINTS
from posegen.splits import in_split
from posegen.store.read import open_dataset
from posegen.training.settings import Settings

__all__ = ["TASK", "Lifter", "aligned", "distances", "measure", "pretrained"]

Array = NDArray[Any]

TASK = "lifting"
WIDTH, BLOCKS, DROPOUT = 256, 1, 0.1
AT_ONCE = 100
"""Samples that are read at once."""
_REAL, _GENERATED = 0, 1
"""Whose cameras are drawn."""


class Lifter(nn.Module):
    """Gives the joints [frame, 22 * 3] of pictures [frame, 22 * 2], both as :class:`Poses` have them."""

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
    """Train on generated motion alone: base variants of the training split, a camera for each."""
    stored = open_dataset(dataset)
    samples = in_split(stored.header.seed, np.arange(len(stored)), "training")
    poses = []
    for start in range(0, len(samples), AT_ONCE):
        own = samples[start : start + AT_ONCE]
        for sample, joints in zip(own, stored.arrays("joints", own)[:, 0, 0, ::LIFTING_STRIDE], strict=True):
            there = joints[~np.isnan(joints[:, 0, 0])]
            poses.append(seen(there, int(sample), _draws(_GENERATED, int(sample), 0)))
    every = joined(poses)
    return _learnt(None, every, np.ones(len(every.clip)), settings_of(PRETRAINING_STEPS, LIFTING_RATE, LIFTING_BATCH))


def _draws(whose: int, clip: int, camera: int) -> Array:
    return np.random.default_rng((whose, clip, camera)).random(4)


def measure(clips: Clips, generated: Lifter, repetitions: int) -> Iterator[Result]:
    """Train and judge in each way, on each count, in each repetition."""
    views = [
        joined([seen(joints[::LIFTING_STRIDE], clip, _draws(_REAL, clip, camera)) for camera in range(CAMERAS)])
        for clip, joints in enumerate(clips.joints)
    ]
    for repetition in range(repetitions):
        held = joined([views[clip] for clip in clips.held_out(repetition)])
        yield Result(TASK, GENERATED_ONLY, 0, 0, repetition, _judged(_answers(generated, held), held, clips))
        for count in COUNTS:
            own = clips.trained_on(repetition, count)
            poses = joined([views[clip] for clip in own])
            weights = shares(clips.numbers[poses.clip], poses.clip)
            ways = {REAL_ONLY: (1, 1.0, None), PRETRAINED: (1, FINE_TUNING, generated)}
            if count is None and repetition < FEWER_REPETITIONS:
                ways[REAL_LONGER] = (LONGER, 1.0, None)
            if count is None:
                mean = np.broadcast_to(weights @ poses.body, held.body.shape)
                yield Result(TASK, MEAN_POSE, None, len(own), repetition, _judged(mean, held, clips))
            for way, (times, slower, begun) in ways.items():
                settings = settings_of(times * LIFTING_STEPS, LIFTING_RATE * slower, LIFTING_BATCH)
                model = _learnt(begun, poses, weights, settings.model_copy(update={"seed": repetition}))
                yield Result(TASK, way, count, len(own), repetition, _judged(_answers(model, held), held, clips))


def _learnt(begun: Lifter | None, poses: Poses, weights: Array, settings: Settings) -> Lifter:
    """Train on poses, from fresh weights or from those of a model, which stays as it is."""
    torch.manual_seed(settings.seed)
    model = Lifter() if begun is None else deepcopy(begun)
    picture, body = torch.from_numpy(poses.picture), torch.from_numpy(poses.body)

    def loss_at(step: int) -> Tensor:
        chosen = torch.from_numpy(chosen_at(step, settings.seed, weights, settings.batch))
        off = (model(picture[chosen]) - body[chosen]).unflatten(-1, (-1, 3))
        return (off.square().sum(dim=-1) + 1e-8).sqrt().mean()

    train(model, loss_at, settings)
    return model


def _answers(model: Lifter, poses: Poses) -> Array:
    with torch.inference_mode():
        answers: Array = model(torch.from_numpy(poses.picture)).numpy()
    return answers


def _judged(answers: Array, held: Poses, clips: Clips) -> dict[str, float]:
    """Mean error of joints in mm, as they are and aligned: over a clip's frames, over a family's clips, over the families."""
    found, true = (np.asarray(values, np.float64).reshape(-1, len(JOINTS), 3) for values in (answers, held.body))
    found = found - found[:, :1]
    # Clips are in order, so each one's frames lie together.
    which, first = np.unique(held.clip, return_index=True)
    counts = np.diff([*first, len(held.clip)])
    errors = {"mpjpe": distances(found, true), "pa_mpjpe": distances(aligned(found, true), true)}
    return {
        name: 1000 * balanced(np.add.reduceat(values, first) / counts, clips.numbers[which]) for name, values in errors.items()
    }


def distances(found: Array, true: Array) -> Array:
    """Mean distance of joints in each frame [n], of joints [n, joint, 3]."""
    return np.asarray(np.sqrt(((found - true) ** 2).sum(axis=-1)).mean(axis=-1))


def aligned(found: Array, true: Array) -> Array:
    """Shift, turn and scale each frame [n, joint, 3] so that squared distances from the true one are least.

    Umeyama, Least-squares estimation of transformation parameters between two point patterns, 1991.
    """
    middle = true.mean(axis=1, keepdims=True)
    own, wanted = found - found.mean(axis=1, keepdims=True), true - middle
    u, values, v = np.linalg.svd(np.swapaxes(own, 1, 2) @ wanted)
    # A mirror image is no rotation.
    sign = np.ones_like(values)
    sign[:, -1] = np.sign(np.linalg.det(u @ v))
    size = (values * sign).sum(axis=-1) / np.maximum((own**2).sum(axis=(1, 2)), 1e-12)
    return np.asarray(size[:, None, None] * (own @ (u * sign[:, None]) @ v) + middle)
