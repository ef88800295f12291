"""The folder of HumanML3D: features, joints, texts with word classes, split lists, mean and standard deviation.

Readers (MDM, MoMask, MARDM) take clips of 40 to 199 frames at 20 frames a second, and swallow errors of other clips. The first
``M`` of a name marks the mirrored clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export import ExportFormat, Shard
from posegen.exchange.features263 import FPS, GROUPS, WIDTH, features_of, standard_skeleton
from posegen.exchange.word_classes import library_tagger

_LISTS = {"training": "train", "validation": "val", "test": "test"}
_BLOCK = 16


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write features, joints and texts of clips; return their names by split, and sums of the features."""
    folders = {name: shard.folder / name for name in ("new_joint_vecs", "new_joints", "texts")}
    for path in folders.values():
        path.mkdir(exist_ok=True)
    tagger = library_tagger(shard.library)
    total, squares, frames = np.zeros(WIDTH), np.zeros(WIDTH), 0
    names: dict[str, list[str]] = {}
    for clips in blocks:
        for alike in _of_equal_length(clips):
            features, joints = features_of(np.stack([clip.joints for clip in alike]), standard_skeleton())
            exact = features.astype(np.float64)
            total += exact.sum(axis=(0, 1))
            squares += (exact * exact).sum(axis=(0, 1))
            frames += features.shape[0] * features.shape[1]
            for clip, values, places in zip(alike, features, joints, strict=True):
                np.save(folders["new_joint_vecs"] / f"{clip.name}.npy", values)
                np.save(folders["new_joints"] / f"{clip.name}.npy", places[:-1])
        for clip in clips:
            lines = "".join(f"{text}#{tagger.tagged(text)}#0.0#0.0\n" for text in clip.captions)
            (folders["texts"] / f"{clip.name}.txt").write_text(lines, encoding="utf-8")
            names.setdefault(clip.split, []).append(clip.name)
    return {"names": names, "frames": frames, "sum": total.tolist(), "squares": squares.tolist()}


def _of_equal_length(clips: Sequence[Clip]) -> Iterator[list[Clip]]:
    """Yield clips in small groups of equal length."""
    for _, group in groupby(sorted(clips, key=lambda clip: len(clip.joints)), lambda clip: len(clip.joints)):
        alike = list(group)
        for start in range(0, len(alike), _BLOCK):
            yield alike[start : start + _BLOCK]


def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write the lists of names, the mean and the standard deviation of the features of all clips."""
    names: dict[str, list[str]] = {split: [] for split in _LISTS}
    total, squares, frames = np.zeros(WIDTH), np.zeros(WIDTH), 0
    for part in parts:
        for split, found in part["names"].items():
            names[split] += found
        total += part["sum"]
        squares += part["squares"]
        frames += part["frames"]
    lists = {_LISTS[split]: found for split, found in names.items()}
    lists["train_val"] = lists["train"] + lists["val"]
    lists["all"] = lists["train_val"] + lists["test"]
    for name, found in lists.items():
        (folder / f"{name}.txt").write_text("".join(f"{entry}\n" for entry in found), encoding="utf-8")
    if frames:
        mean = total / frames
        deviation = np.sqrt(np.maximum(squares / frames - mean * mean, 0.0))
        for group in GROUPS:
            deviation[group] = deviation[group].mean()
        np.save(folder / "Mean.npy", mean.astype(np.float32))
        np.save(folder / "Std.npy", deviation.astype(np.float32))


FORMAT = ExportFormat(
    "humanml3d",
    "folder of HumanML3D: 263 features, joints, texts with word classes; 20 frames a second",
    write,
    finish,
    fps=FPS,
    most_actors=1,
    frames=(41, 200),
)
