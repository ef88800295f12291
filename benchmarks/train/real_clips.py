"""Predictions for mocap clips by a model of the task ``action`` that is trained on generated motion only.

Nothing is tuned on mocap clips: the actions of a family are those of the motion section, and the prediction for a clip is that
of most of its frames, as in the task itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.figures import Figure
from benchmarks.motion.clips import Captured, captured, fit, lacking
from posegen.evaluation.performances import ACTIONS
from posegen.foundations.arrays import Array
from posegen.training.data.features import features_of
from posegen.training.trained_models import TrainedModel, load_model

TIMES_CHANCE = 3.0


def real_figures(name: str, place: Path) -> Iterator[Figure]:
    """Predict the family of each mocap clip whose family the library has."""
    name = f"{name}: balanced accuracy on mocap clips"
    clips = captured()
    target = f"{TIMES_CHANCE:.0f} times chance"
    if clips is None:
        yield Figure(name, "not measured: POSEGEN_REFERENCE is not set", target)
        return
    trained = load_model(place)
    families = fit(clips)
    missing = lacking(families, trained.view.actions)
    shared = {family: of_it for family, of_it in families.items() if family not in missing}
    frames = {family: [frame_scores(trained, clip) for clip in of_it] for family, of_it in shared.items()}
    chance = 1 / len(shared)
    family_of = [next((name for name, own in ACTIONS.items() if action in own), "") for action in trained.view.actions]
    some = [i for i, family in enumerate(family_of) if family in shared]
    every = list(range(len(family_of)))
    among = {family: [most_common(each, family_of, some) for each in of_it] for family, of_it in frames.items()}
    of_all = {family: [most_common(each, family_of, every) for each in of_it] for family, of_it in frames.items()}
    found = balanced(among)
    value = f"{found:.2f} of {sum(map(len, among.values()))} clips in {len(shared)} families; chance is {chance:.2f}"
    yield Figure(f"{name}, among shared families", value, target, found >= TIMES_CHANCE * chance)
    value = f"{balanced(of_all):.2f}; an answer that shows no family is wrong"
    yield Figure(f"{name}, among all {len(trained.view.actions)} actions", value)
    for family, said in among.items():
        value = ", ".join(f"{other} {count}" for other, count in Counter(said).most_common())
        yield Figure(f"{name}, takes {family} for", value)


def frame_scores(trained: TrainedModel, clip: Captured) -> Array:
    """Score the actions in each frame that the model sees of a clip."""
    stride = trained.view.stride
    if clip.fps != trained.view.fps * stride:
        msg = f"{clip.name} has {clip.fps:g} frames a second, and the model wants {trained.view.fps * stride:g}"
        raise ValueError(msg)
    motion = torch.from_numpy(features_of(np.asarray(clip.joints[::stride], np.float32), trained.view.fps))[None]
    with torch.inference_mode():
        scores: Array = trained.model(motion, torch.tensor([motion.shape[1]]))[0].numpy()
    return scores


def most_common(scores: Array, family_of: Sequence[str], allowed: Sequence[int]) -> str:
    """Return the family of most frames, with only some actions allowed as predictions."""
    said = np.array(allowed)[scores[:, allowed].argmax(axis=-1)]
    return Counter(family_of[action] for action in said.tolist()).most_common(1)[0][0]


def balanced(said: Mapping[str, list[str]]) -> float:
    """Return the mean over the families of the share of their clips that are recognised."""
    return float(np.mean([np.mean([answer == family for answer in answers]) for family, answers in said.items()]))
