"""The folder of HumanML3D: features, joints, texts with word classes, split lists, mean and standard deviation.

Readers (MDM, MoMask, MARDM) take clips of 40 to 199 frames at 20 frames per second, and swallow errors of other clips. The
first ``M`` of a name marks the mirrored clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import Shard
from posegen.exchange.features263 import GROUPS, WIDTH, Skeleton263, Workspace263, features_of
from posegen.exchange.text_motion import features_format, write_lists, write_mean, write_texts
from posegen.foundations.arrays import Array

_FEATURES = "new_joint_vecs"


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write the features, joints and texts of clips."""
    return write_texts(blocks, shard, WIDTH, _FEATURES, partial(_encode, Workspace263(), shard.skeleton))


def _encode(workspace: Workspace263, skeleton: Skeleton263, clip: Clip) -> dict[str, Array]:
    features, joints = features_of(clip.joints[None], skeleton, workspace)
    return {_FEATURES: features[0], "new_joints": joints[0, :-1]}


def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write the lists of names, the mean and the standard deviation of the features of all clips."""
    records = list(parts)
    lists = write_lists(folder, records)
    both = lists["train"] + lists["val"]
    for name, found in (("train_val", both), ("all", both + lists["test"])):
        (folder / f"{name}.txt").write_text("".join(f"{entry}\n" for entry in found), encoding="utf-8")
    write_mean(folder, records, GROUPS)


FORMAT = features_format(
    "humanml3d",
    "folder of HumanML3D: 263 features, joints, texts with word classes; 20 frames per second",
    write,
    finish,
    frames=(41, 200),
    frame_bytes=1320,
)
