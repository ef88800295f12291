"""The folder of HumanML3D: features, joints, texts with word classes, split lists, mean and standard deviation.

Readers (MDM, MoMask, MARDM) take clips of 40 to 199 frames at 20 frames a second, and swallow errors of other clips. The first
``M`` of a name marks the mirrored clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import ExportFormat, Shard
from posegen.exchange.features263 import FPS, GROUPS, WIDTH, features_of, standard_skeleton
from posegen.exchange.kernels.features263 import add_moments
from posegen.exchange.npy import write_npy
from posegen.exchange.word_classes import library_tagger

_LISTS = {"training": "train", "validation": "val", "test": "test"}
_TEXTS = 1000
"""Captions whose words are kept with their classes."""


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write features, joints and texts of clips; return their names by split, and sums of the features."""
    folders = {name: str(shard.folder / name) for name in ("new_joint_vecs", "new_joints", "texts")}
    for path in folders.values():
        Path(path).mkdir(exist_ok=True)
    tagged = lru_cache(_TEXTS)(library_tagger(shard.library).tagged)  # variants share texts
    total, squares, frames = np.zeros(WIDTH), np.zeros(WIDTH), 0
    names: dict[str, list[str]] = {}
    for clip in chain.from_iterable(blocks):
        features, joints = (values[0] for values in features_of(clip.joints[None], standard_skeleton()))
        add_moments(features, total, squares)
        frames += len(features)
        write_npy(f"{folders['new_joint_vecs']}/{clip.name}.npy", features)
        write_npy(f"{folders['new_joints']}/{clip.name}.npy", joints[:-1])
        lines = "".join(f"{text}#{tagged(text)}#0.0#0.0\n" for text in clip.captions)
        with open(f"{folders['texts']}/{clip.name}.txt", "wb") as file:
            file.write(lines.encode())
        names.setdefault(clip.split, []).append(clip.name)
    return {"names": names, "frames": frames, "sum": total.tolist(), "squares": squares.tolist()}


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
    frame_bytes=1320,
)
