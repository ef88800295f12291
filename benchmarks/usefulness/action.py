"""Action classification of mocap of unseen subjects, trained on real clips, generated clips, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.train.running import trained
from benchmarks.usefulness.clips import Clips, balanced
from benchmarks.usefulness.definitions import (
    BATCH,
    GENERATED_ONLY,
    NEW_CLASSIFIER,
    PRETRAINED,
    RATE,
    STEPS,
    STRETCH,
    TRAINING,
    Trial,
)
from benchmarks.usefulness.learning import chosen_at, settings_of, shares, train
from benchmarks.usefulness.results import Result
from posegen.evaluation.performances import ACTIONS
from posegen.foundations.arrays import Array
from posegen.training.data.features import ABSENT, features_of
from posegen.training.data.feed import vary_skeletons
from posegen.training.settings import Settings
from posegen.training.task import find_task
from posegen.training.tasks.action import ActionModel
from posegen.training.trained_models import TrainedModel, load_model

TASK = "action"
_ONE_THREAD = ("machine.threads=1", "machine.micro_batch=32", "machine.precision=32-true", "machine.device=cpu")
"""One thread, so that weights are reproducible on a busy machine."""


class FamilyScores(nn.Module):
    """Scores of families from a model of actions: the combined scores of the actions of each family.

    Parameters
    ----------
    model : ActionModel
    groups : sequence of sequence of int
        Actions of each family.
    """

    def __init__(self, model: ActionModel, groups: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.model, self.groups = model, groups

    def forward(self, motion: Tensor, length: Tensor) -> Tensor:
        """Score clips: Tensor [clip, frame, family], log of the sum of the actions' likelihoods."""
        scores = self.model(motion, length)
        return torch.stack([scores[..., list(group)].logsumexp(dim=-1) for group in self.groups], dim=-1)


def pretrained(dataset: Path, folder: Path) -> TrainedModel:
    """Train on generated motion only."""
    options = [part for option in _ONE_THREAD for part in ("--set", option)]
    return load_model(trained(dataset, TASK, "quick", folder / TASK, *options).place)


def measure(clips: Clips, generated: TrainedModel, trials: Iterable[Trial]) -> Iterator[Result]:
    """Train and test all trials."""
    stride = generated.view.stride
    motion = [features_of(np.asarray(joints[::stride], np.float32), clips.fps / stride) for joints in clips.joints]
    for trial in trials:
        own = clips.trained_on(trial.repetition, trial.count)
        model: nn.Module = _kept(generated, clips)
        if trial.way != GENERATED_ONLY:
            times, slower = TRAINING[trial.way]
            settings = settings_of(times * STEPS, RATE * slower, BATCH).model_copy(update={"seed": trial.repetition})
            model = _begun(trial.way, generated, clips, [motion[clip] for clip in own], settings)
            learn(model, [motion[clip] for clip in own], clips.numbers[own], own, settings)
        held = clips.held_out(trial.repetition)
        judged = judge(model, [motion[clip] for clip in held], clips.numbers[held])
        yield Result(TASK, trial.way, trial.count, len(own), trial.repetition, judged)


def _kept(generated: TrainedModel, clips: Clips) -> FamilyScores:
    """Return the model trained on generated motion, with families instead of actions as outputs."""
    names = generated.view.actions
    groups = [[names.index(action) for action in ACTIONS[family] if action in names] for family in clips.names]
    model = deepcopy(generated.model)
    assert isinstance(model, ActionModel)
    return FamilyScores(model, groups).eval()


def _begun(way: str, generated: TrainedModel, clips: Clips, motion: Sequence[Array], settings: Settings) -> nn.Module:
    """Return the initial model of a method."""
    if way == PRETRAINED:
        return _kept(generated, clips)
    torch.manual_seed(settings.seed)
    model = ActionModel(replace(generated.view, actions=clips.names), generated.settings)
    if way == NEW_CLASSIFIER:
        model.encoder.load_state_dict(generated.model.encoder.state_dict())  # type: ignore[union-attr]
        return model
    frames = np.concatenate(motion)
    model.encoder.normalise_by(frames.mean(axis=0), frames.std(axis=0))
    return model


def learn(model: nn.Module, motion: Sequence[Array], families: Array, numbers: Array, settings: Settings) -> None:
    """Train a model on clips, families drawn equally often.

    Parameters
    ----------
    model : torch.nn.Module
        Scores families, or families and more, in each frame.
    motion : sequence of float32 [frame, feature]
    families : int64 [clip]
    numbers : int64 [clip]
        Decide how the skeletons of the clips vary.
    settings : Settings
    """
    weights = shares(families)
    task = find_task(TASK)

    def loss_at(step: int) -> Tensor:
        which = chosen_at(step, settings.seed, weights, settings.batch)
        batch = _shown([motion[clip] for clip in which], families[which], numbers[which], settings, step)
        return task.loss(task.apply(model, batch), batch)

    train(model, loss_at, settings)


def _shown(motion: Sequence[Array], families: Array, which: Array, settings: Settings, step: int) -> dict[str, Tensor]:
    """Crop each clip and vary its skeleton, as ``posegen train`` does."""
    draws = np.random.default_rng((settings.seed, step, 1)).random(len(motion))
    length = np.array([min(len(clip), STRETCH) for clip in motion])
    first = [int(draw * (len(clip) - n + 1)) for draw, clip, n in zip(draws, motion, length, strict=True)]
    values = np.zeros((len(motion), int(length.max()), motion[0].shape[-1]), np.float32)
    action = np.full(values.shape[:2], ABSENT, np.int64)
    for place, (clip, begin, n) in enumerate(zip(motion, first, length, strict=True)):
        values[place, :n] = clip[begin : begin + n]
        action[place, :n] = families[place]
    # A clip that occurs twice gets two skeletons: its index in the batch serves as variant.
    arrays = {"motion": values, "length": length, "sample": which, "variant": np.arange(len(which))}
    varied = vary_skeletons(arrays, settings.data.skeleton, settings.seed, step)
    return {
        "motion": torch.from_numpy(varied["motion"]),
        "length": torch.from_numpy(length),
        "action": torch.from_numpy(action),
    }


def judge(model: nn.Module, motion: Sequence[Array], families: Array) -> dict[str, float]:
    """Return the accuracy on test clips by majority of frames: mean over families, and over clips."""
    right = np.array([_said(model, clip) for clip in motion]) == families
    return {"balanced": balanced(right.astype(np.float64), families), "top1": float(right.mean())}


def _said(model: nn.Module, motion: Array) -> int:
    with torch.inference_mode():
        scores = model(torch.from_numpy(motion)[None], torch.tensor([len(motion)]))[0]
    return int(torch.bincount(scores.argmax(dim=-1), minlength=scores.shape[-1]).argmax())
