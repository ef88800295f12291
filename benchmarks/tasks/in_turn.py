"""Generated motion of several actions: whether both of a sentence are seen in order, and whether joints jump between texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.figures import Figure
from posegen.training.animate import animate, load_text_encoder
from posegen.training.data.features import features_of
from posegen.training.trained_models import TrainedModel, load_model

WORDS = {
    "walk": "walks forward", "run": "runs", "wave": "waves with the left hand", "sit": "sits down", "jump": "jumps",
    "crawling": "crawls forward", "bow": "bows", "pick_up": "picks something up", "turn": "turns around",
    "stand": "stands still", "fight": "throws punches",
}  # fmt: skip
PAIRS = (
    ("walk", "wave"), ("run", "jump"), ("walk", "sit"), ("wave", "walk"), ("jump", "wave"), ("bow", "walk"), ("turn", "walk"),
    ("crawling", "stand"), ("run", "fight"), ("stand", "jump"), ("pick_up", "walk"), ("wave", "run"),
)  # fmt: skip
ALIKE = {"run": {"run", "sprint"}, "fight": {"fight", "punch"}}
"""Actions that also count as the one of that name."""
SEEDS = (0, 100)
LEAST_SECONDS = 0.5
"""Least number of frames that show an action."""
MOST_TIMES = 1.5
"""Largest accelerations of joints where two texts meet, relative to those elsewhere."""
LARGEST = 99.0
"""Percentile that counts as largest."""

SENTENCES = (
    "a person walks forward", "a man walks slowly in a circle", "a woman runs", "a person jumps twice", "someone sits down",
    "a person stands still", "a man waves with the right hand", "a woman claps", "a person turns around", "somebody squats",
    "a person kicks with the left leg", "an old man walks with a limp", "a person picks something up", "a woman dances",
    "a person punches", "someone throws a ball", "a person climbs stairs", "a man bows", "a person points ahead",
    "an energetic woman walks, then jumps",
)  # fmt: skip


def figures_of_turns(name: str, run: Path, watcher: Path, pairs: Sequence[tuple[str, str]] = PAIRS) -> Iterator[Figure]:
    """Count the animations in which both actions are found, and in order; `watcher` is a run of the task action."""
    trained, seer = load_model(run, "generates_motion"), load_model(watcher)
    encoder = load_text_encoder(trained)
    for whole in (True, False):
        ordered = 0
        for (number, (one, other)), seed in product(enumerate(pairs), SEEDS):
            text = f"a person {WORDS[one]}, then {WORDS[other]}"
            made = animate(trained, encoder, [text], seed=seed + number, whole=whole)
            frames = _frames(seer, made.clips[0].joints)
            first, second = (_when(frames, action, seer.view.fps) for action in (one, other))
            ordered += first < second
        value = f"{ordered} of {len(pairs) * len(SEEDS)}"
        yield Figure(f"{name}: sentences of two actions {'left whole' if whole else 'in parts'}, both seen in order", value)


def _frames(seer: TrainedModel, joints: NDArray[np.float32]) -> list[str]:
    """Return the predicted action of each frame."""
    motion = features_of(np.asarray(joints[:: seer.view.stride], np.float32), seer.view.fps)
    length = torch.tensor([len(motion)])
    with torch.inference_mode():
        said = seer.model(torch.from_numpy(motion)[None], length)
    assert seer.task.abilities.describe is not None, "the model predicts actions"
    return list(seer.task.abilities.describe(said, {"length": length}, seer.view)["frames"][0])


def _when(frames: list[str], action: str, fps: float) -> float:
    """Return the mean frame that shows an action; NaN, which compares false, if none does."""
    shown = [number for number, name in enumerate(frames) if name in ALIKE.get(action, {action})]
    return float(np.mean(shown)) if len(shown) >= int(LEAST_SECONDS * fps) else float("nan")


def figures_of_joins(name: str, run: Path) -> Iterator[Figure]:
    """Measure the transitions in animations of two sentences each."""
    trained = load_model(run, "generates_motion")
    encoder = load_text_encoder(trained)
    inside, outside = [], []
    for seed, texts in enumerate(pairwise(SENTENCES)):
        made = animate(trained, encoder, texts, seed=seed)
        changes = _changes(made.clips[0].joints, made.fps)
        shared = np.zeros(len(changes), bool)
        for start, end in zip(made.starts[1:], made.ends[:-1], strict=True):
            shared[start:end] = True
        inside.append(changes[shared])
        outside.append(changes[~shared])
    met, else_ = (float(np.percentile(np.concatenate(values), LARGEST)) for values in (inside, outside))
    value = (
        f"{met:.1f} m/s^2 where two texts meet, {else_:.1f} elsewhere, the {LARGEST:g}th percentile of joints' accelerations"
    )
    target = f"at most {MOST_TIMES} times as large"
    yield Figure(f"{name}: joins of {len(SENTENCES) - 1} pairs of texts", value, target, met <= MOST_TIMES * else_)


def _changes(joints: NDArray[np.float32], fps: float) -> NDArray[np.float64]:
    """Return the accelerations of joints [frame - 2, joint], m/s^2."""
    second = np.diff(joints.astype(np.float64), 2, axis=0) * fps * fps
    return np.asarray(np.sqrt((second * second).sum(axis=-1)))
