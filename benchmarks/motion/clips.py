"""Clips to measure: generated samples with their stored joints, and mocap clips by family."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen import load_config, synthesize
from posegen.config.schema import Config
from posegen.evaluation.body import longest_present
from posegen.evaluation.recording import Recording
from posegen.library.load import load_library
from posegen.planning.population import persons

__all__ = [
    "JOINTS_OF_MOCAP", "ONE_VARIANT", "SCALE", "SEED", "Captured", "captured", "is_neutral_adult", "made", "scaled", "segments",
]  # fmt: skip

Array = NDArray[Any]

SCALE = float(os.environ.get("POSEGEN_JUDGE_SCALE", "1"))
SEED = 20261121
"""Random seed of the measured samples. Motion is developed with other seeds, mostly 0, that of the default config."""
AT_ONCE = 20
ONE_VARIANT = "variants={speed: null, position: null, scale: null, mirror: false}"
JOINTS_OF_MOCAP = "skeleton=cmu"
"""The joints that motion is generated with where its poses are compared with the mocap's, both sources of which place joints
as CMU's skeleton does. SMPL's head lies 23 degrees before the middle of the shoulders, CMU's above it: that is no movement.
"""
OLDEST = 65.0
NEUTRAL = 0.35
"""Energy is -1 (tired) to 1 (energetic); values within this are inconspicuous."""


@dataclass(frozen=True)
class Captured:
    """A mocap clip: name, family in the table of the source, subject, joints, float32 [frame, 22, 3], and its file."""

    name: str
    family: str
    person: str
    joints: Array
    fps: float
    source: str = ""


def scaled(count: int, least: int = 1) -> int:
    """Return the number scaled by POSEGEN_JUDGE_SCALE."""
    return max(least, round(count * SCALE))


def captured() -> list[Captured] | None:
    """Read the mocap clips; None if POSEGEN_REFERENCE names no folder."""
    folder = os.environ.get("POSEGEN_REFERENCE")
    if not folder:
        return None
    clips = []
    for file in sorted(Path(folder).glob("*.npz")):
        with np.load(file, allow_pickle=False) as archive:
            joints, offsets, fps = archive["joints"], archive["offsets"], float(archive["fps"])
            measured = zip(archive["names"], archive["classes"], archive["subjects"], strict=True)
        for (name, family, person), (start, stop) in zip(measured, pairwise(offsets), strict=True):
            clips.append(Captured(str(name), str(family), str(person), joints[start:stop], fps, file.stem))
    return clips


def made(overrides: Sequence[str], samples: int) -> Iterator[tuple[Config, Recording]]:
    """Generate the base variant of samples of the default config with some keys changed, in small batches."""
    config = load_config("default", [f"seed={SEED}", ONE_VARIANT, *overrides])
    for first in range(0, samples, AT_ONCE):
        batch = synthesize(config, range(first, min(first + AT_ONCE, samples)))
        for i, row in enumerate(batch.rows):
            for a, actor in enumerate(row["actors"]):
                there = longest_present(batch.joints[i, 0, a])
                joints = batch.joints[i, 0, a, there].astype(np.float64)
                contact = batch.contact[i, 0, a, there]
                who = str(actor["person"])
                yield config, Recording(f"sample {row['sample']}", who, joints, config.fps, contact, actor["segments"])


def segments(recording: Recording, actions: Sequence[str]) -> Iterator[Recording]:
    """Return the excerpts of a clip that show some actions, from begin to end, with transitions."""
    for segment in recording.segments:
        if segment["action"] in actions:
            shown = slice(segment["start"], segment["end"])
            contact = None if recording.contact is None else recording.contact[shown]
            name = f"{recording.name} {segment['action']}"
            yield replace(recording, name=name, joints=recording.joints[shown], contact=contact, segments=[segment])


def is_neutral_adult(config: Config, recording: Recording) -> bool:
    """Return whether the actor is an adult of neutral style, not old, and neither tired nor energetic."""
    person = persons(config, load_library(config.story.library), np.array([int(recording.person)]))
    return bool(person.style[0] == 0 and person.age[0] <= OLDEST and person.age[0] >= 18 and abs(person.energy[0]) <= NEUTRAL)
