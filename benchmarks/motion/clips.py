"""Clips to measure: generated samples with their stored joints, and mocap clips by family."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from posegen import load_config, synthesize
from posegen.config.schema import Config
from posegen.evaluation.body import longest_present
from posegen.evaluation.performances import ACTIONS
from posegen.evaluation.recording import Recording
from posegen.foundations.arrays import Array
from posegen.library.load import load_library
from posegen.planning.population import persons

SEED = 20261121
"""Random seed of the measured samples. Motion is developed with other seeds, mostly 0, that of the default config."""
AT_ONCE = 20
ONE_VARIANT = "variants={speed: null, position: null, scale: null, mirror: false}"
JOINTS_OF_MOCAP = "skeleton=cmu"
"""Skeleton of generated motion whose poses are compared with mocap: both mocap datasets place joints as CMU's skeleton does.
 SMPL's head lies 23 degrees before the middle of the shoulders, CMU's above it: that is no movement.
"""
OLDEST = 65.0
NEUTRAL = 0.35
"""Energy is -1 (tired) to 1 (energetic); values within this are inconspicuous."""
FEWEST_CLIPS, FEWEST_PERSONS = 10, 3
"""Least number of clips and of subjects of a mocap family for a comparison with the actions of the same content."""


@dataclass(frozen=True)
class Captured:
    """A mocap clip: name, family in the table of the source, subject, joints, float32 [frame, 22, 3], and its file."""

    name: str
    family: str
    person: str
    joints: Array
    fps: float
    source: str = ""


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


def fit(clips: Sequence[Captured]) -> dict[str, list[Captured]]:
    """Return the families with enough mocap clips of enough subjects, and a counterpart by name."""
    families: dict[str, list[Captured]] = {}
    for clip in clips:
        families.setdefault(clip.family, []).append(clip)
    return {
        family: of_it
        for family, of_it in sorted(families.items())
        if family in ACTIONS and len(of_it) >= FEWEST_CLIPS and len({clip.person for clip in of_it}) >= FEWEST_PERSONS
    }


def lacking(families: Mapping[str, object], library: Sequence[str]) -> list[str]:
    """Return the families without an action in the library."""
    return [family for family in families if not set(ACTIONS[family]) & set(library)]


def folds_by_subject(persons: Sequence[str], families: Sequence[str], parts: int) -> Array:
    """Assign clips to folds: no subject in two folds, and each family in each fold where possible.

    Parameters
    ----------
    persons, families : sequence of str
        Who moves in each clip, and what it shows.
    parts : int

    Returns
    -------
    int64 [clip]
        Persons of many clips are put first, each into the part that has the smallest share of what they show.
    """
    who, shown = np.array(persons), np.array(families)
    names, counts = np.unique(who, return_counts=True)
    total = {family: int((shown == family).sum()) for family in np.unique(shown)}
    held = [dict.fromkeys(total, 0) for _ in range(parts)]
    found = np.zeros(len(who), np.int64)
    for position in np.argsort(-counts, kind="stable"):
        own = who == names[position]
        shares = [sum(part[family] / total[family] for family in shown[own]) for part in held]
        chosen = int(np.argmin(shares))
        for family in shown[own]:
            held[chosen][family] += 1
        found[own] = chosen
    return found


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
