"""Whether joints jump where one text follows another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from posegen.training.animation.animate import animate, load_text_encoder
from posegen.training.trained_models import load_model

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
