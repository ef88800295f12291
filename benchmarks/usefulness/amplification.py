"""Own clips amplified: action and lifting trained on clips, on augmented clips, or on a dataset generated from them.

All methods take equally many steps from new weights. A method with two phases takes half of them on each of its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
import torch

from benchmarks.datasets import generate
from benchmarks.measure import posegen, printed_by
from benchmarks.usefulness import action, lifting
from benchmarks.usefulness.cameras import Poses, joined, seen
from benchmarks.usefulness.clips import Clips
from benchmarks.usefulness.definitions import (
    AMPLIFIED,
    AMPLIFIED_COPIES,
    AMPLIFIED_SAMPLES,
    AUGMENTED,
    BATCH,
    CAMERAS,
    CLIPS,
    DEFAULT,
    FINE_TUNING,
    FROM_CLIPS,
    IMPORTED,
    LIFTING_BATCH,
    LIFTING_RATE,
    LIFTING_STEPS,
    LIFTING_STRIDE,
    PHASES,
    RATE,
    STEPS,
    Trial,
    longer,
)
from benchmarks.usefulness.learning import settings_of, shares
from benchmarks.usefulness.lifting import Lifter
from benchmarks.usefulness.results import Result
from posegen import augment
from posegen.dataset.read import open_dataset
from posegen.evaluation.performances import family_of
from posegen.foundations.arrays import Array
from posegen.mocap.library import PREFIX
from posegen.training.data.features import View, features_of
from posegen.training.settings import Model, Settings
from posegen.training.tasks.action import ActionModel

ACTION, LIFTING = "action from own clips", "lifting from own clips"
_SEEDS = {source: number for number, source in enumerate((CLIPS, AUGMENTED, FROM_CLIPS, DEFAULT))}
"""Seeds of the cameras of each source."""
_SPEEDS, _SIZES = (0.8, 1.25), (0.9, 1.1)
"""Ranges of augmentation: those of posegen's variants."""
_STRIDE = 4
"""Every n-th frame is used for action, as by the preset quick."""


@dataclass(frozen=True)
class Material:
    """Clips as both tasks read them: features, numbers of the families in IMPORTED, and poses in the images of cameras."""

    motion: Sequence[Array]
    families: Array
    poses: Poses


def measure(clips: Clips, dataset: Path, trials: Iterable[Trial], folder: Path) -> Iterator[Result]:
    """Train and test all trials, on both tasks.

    Parameters
    ----------
    clips : Clips
    dataset : Path
        Of the default config.
    trials : iterable of Trial
        Those with the same clips in succession.
    folder : Path
        Where datasets are generated from clips.
    """
    default = _material(*excerpts(dataset, family_of), clips.fps, DEFAULT, 1)
    imported = np.isin(clips.families, IMPORTED)
    for (repetition, count), same in groupby(trials, lambda trial: (trial.repetition, trial.count)):
        own, held = (which[imported[which]] for which in (clips.trained_on(repetition, count), clips.held_out(repetition)))
        joints, families = _of(clips, own)
        place = folder / f"own_{repetition}_{count}"
        generated, taken = _generated(joints, families, clips.fps, place)
        sources = {
            CLIPS: _material(joints, families, clips.fps, CLIPS, CAMERAS),
            AUGMENTED: _material(*augmented(joints, families), clips.fps, AUGMENTED, 1),
            FROM_CLIPS: _material(*generated, clips.fps, FROM_CLIPS, 1),
            DEFAULT: default,
        }
        test = _material(*_of(clips, held), clips.fps, CLIPS, CAMERAS)
        for trial in same:
            phases = [together([sources[source] for source in phase]) for phase in AMPLIFIED[trial.way]]
            for task, values in ((ACTION, _action(phases, test, trial)), (LIFTING, _lifting(phases, test, trial))):
                way = longer(trial.way, trial.times)
                yield Result(task, way, count, len(own), repetition, {**values, "imported": taken / len(own)})


def _of(clips: Clips, which: Array) -> tuple[list[Array], Array]:
    return [clips.joints[clip] for clip in which], np.array([IMPORTED.index(clips.families[clip]) for clip in which])


def _material(joints: Sequence[Array], families: Array, fps: float, source: str, cameras: int) -> Material:
    motion = [features_of(np.asarray(clip[::_STRIDE], np.float32), fps / _STRIDE) for clip in joints]
    poses = [
        seen(clip[::LIFTING_STRIDE], number, np.random.default_rng((_SEEDS[source], number, camera)).random(4))
        for number, clip in enumerate(joints)
        for camera in range(cameras)
    ]
    return Material(motion, families, joined(poses))


def together(parts: Sequence[Material]) -> Material:
    """Return several sources as one; a small one is repeated until it has about as many clips as the largest."""
    most = max(len(part.motion) for part in parts)
    copies = [part for part in parts for _ in range(round(most / len(part.motion)))]
    firsts = np.cumsum([0, *(len(part.motion) for part in copies)])
    poses = [replace(part.poses, clip=part.poses.clip + first) for part, first in zip(copies, firsts, strict=False)]
    return Material(
        [motion for part in copies for motion in part.motion],
        np.concatenate([part.families for part in copies]),
        joined(poses),
    )


def augmented(joints: Sequence[Array], families: Array) -> tuple[list[Array], Array]:
    """Return copies of clips at other speeds and sizes, half of them mirrored, with their families."""
    copies = []
    for number, clip in enumerate(joints):
        for copy in range(AMPLIFIED_COPIES):
            speed, size, side = np.random.default_rng((number, copy)).random(3)
            changed = augment.scale(clip, _SIZES[0] + size * (_SIZES[1] - _SIZES[0]))
            changed = augment.speed(changed, _SPEEDS[0] + speed * (_SPEEDS[1] - _SPEEDS[0]))
            copies.append(augment.mirror(changed) if side < 0.5 else changed)
    return copies, np.repeat(families, AMPLIFIED_COPIES)


def _generated(joints: Sequence[Array], families: Array, fps: float, folder: Path) -> tuple[tuple[list[Array], Array], int]:
    """Return clips of a dataset generated from clips, with their families, and the number of clips that are imported.

    Clips of a family stay as they are if none of them is imported.
    """
    (folder / "clips").mkdir(parents=True)
    for number, (clip, family) in enumerate(zip(joints, families, strict=True)):
        np.savez(folder / "clips" / f"{IMPORTED[family]}_{number:03}.npz", joints=clip, fps=fps)
    library = folder / "own"
    command = posegen("import", folder / "clips", "--out", library, "--json", "--quiet")
    found = printed_by(command)
    own = ("skeleton=library", f"story.library={library}", "story.themes={own: 1}")
    options = (*own, f"samples={AMPLIFIED_SAMPLES}")
    dataset = generate(folder / "dataset", "--config", "default", *(part for option in options for part in ("--set", option)))
    made, shown = excerpts(dataset, lambda name: name.removeprefix(PREFIX).rstrip("0123456789").rstrip("_"))
    kept = [number for number, family in enumerate(families) if family not in shown]
    clips = {clip["clip"].partition(",")[0] for clip in found["clips"]}
    return ([*made, *(joints[number] for number in kept)], np.concatenate([shown, families[kept]])), len(clips)


def excerpts(dataset: Path, named: Callable[[str], str]) -> tuple[list[Array], Array]:
    """Return what a dataset shows of the families in IMPORTED: joints from begin to end of each performance, and the family.

    Performances during which another family is performed are left out. `named` returns the family of an action.
    """
    stored = open_dataset(dataset)
    clips, families = [], []
    for shard in range(stored.header.shards()):
        rows = stored.table(shard).select(["sample", "variant", "actors"]).to_pylist()
        samples = sorted({row["sample"] for row in rows})
        joints = stored.arrays("joints", slice(samples[0], samples[-1] + 1))
        for row in rows:
            there = joints[row["sample"] - samples[0], stored.header.variants.index(row["variant"])]
            for actor, person in enumerate(row["actors"]):
                shown = [(named(s["action"]), slice(s["start"], s["end"])) for s in person["segments"]]
                shown = [(family, frames) for family, frames in shown if family in IMPORTED]
                for family, frames in shown:
                    if not any(other != family and _overlap(frames, more) for other, more in shown):
                        clips.append(there[actor, frames].copy())
                        families.append(IMPORTED.index(family))
    return clips, np.array(families, np.int64)


def _overlap(one: slice, other: slice) -> bool:
    return bool(one.start < other.stop and other.start < one.stop)


def _action(phases: Sequence[Material], test: Material, trial: Trial) -> Mapping[str, float]:
    torch.manual_seed(trial.repetition)
    settings = settings_of(trial.times * PHASES * STEPS // len(phases), RATE, BATCH)
    settings = settings.model_copy(update={"seed": trial.repetition})
    model = ActionModel(View(0, 0.0, _STRIDE, IMPORTED), Model())
    frames = np.concatenate(phases[0].motion)
    model.encoder.normalise_by(frames.mean(axis=0), frames.std(axis=0))
    for number, phase in enumerate(phases):
        action.learn(model, phase.motion, phase.families, np.arange(len(phase.motion)), _later(settings, number))
    return action.judge(model, test.motion, test.families)


def _lifting(phases: Sequence[Material], test: Material, trial: Trial) -> Mapping[str, float]:
    settings = settings_of(trial.times * PHASES * LIFTING_STEPS // len(phases), LIFTING_RATE, LIFTING_BATCH)
    settings = settings.model_copy(update={"seed": trial.repetition})
    model: Lifter | None = None
    for number, phase in enumerate(phases):
        weights = shares(phase.families[phase.poses.clip], phase.poses.clip)
        model = lifting.learn(model, phase.poses, weights, _later(settings, number))
    assert model is not None
    return lifting.judge(lifting.answer(model, test.poses), test.poses, test.families)


def _later(settings: Settings, phase: int) -> Settings:
    """Return the settings of a phase: after the first one, the rate is that of pre-trained weights."""
    slower = FINE_TUNING if phase else 1.0
    optimiser = settings.optimiser.model_copy(update={"rate": settings.optimiser.rate * slower})
    return settings.model_copy(update={"optimiser": optimiser})
