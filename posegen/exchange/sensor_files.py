"""Formats with the readings of inertial sensors of each clip, and the folder that UniMTS is pre-trained on.

UniMTS (Zhang et al., NeurIPS 2024) reads ``sim/NAME.npy`` [time, 22, 6] of 20 readings per second and ``aug_texts/NAME.txt``. A
joint has the sensor of the placement next to it; joints of the spine, neck and collars have that of back or chest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import CLIPS, ExportFormat, Shard, npz_bytes, one_file_each
from posegen.fields.imu import COMPONENTS, PLACEMENTS, READINGS
from posegen.foundations.arrays import Array

_FPS = 20
_SIM, _TEXTS = "sim", "aug_texts"
_PLACED = (
    "back", "left_pocket", "right_pocket", "back", "left_thigh", "right_thigh", "chest", "left_shank", "right_shank", "chest",
    "left_foot", "right_foot", "chest", "chest", "chest", "head", "left_upper_arm", "right_upper_arm", "left_forearm",
    "right_forearm", "left_wrist", "right_wrist",
)  # fmt: skip
"""Placement for each of SMPL's joints."""


def readings(clip: Clip) -> Array:
    """Return the readings of a clip in their order, float32 [time, placement, 6]."""
    return np.ascontiguousarray(clip.fields["imu"]).reshape(-1, len(PLACEMENTS), len(COMPONENTS))


def encode_npz(clip: Clip) -> bytes:
    """Return `acceleration` and `angular_velocity` [time, placement, 3], `placements`, and `rate` in readings per second."""
    values = readings(clip)
    parts = {"acceleration": values[..., :3], "angular_velocity": values[..., 3:]}
    return npz_bytes(**parts, placements=np.array([*PLACEMENTS]), rate=np.float64(READINGS * clip.fps))


def encode_parquet(clip: Clip) -> bytes:
    """Return a table with a row for each reading: seconds, and a column for each placement and component."""
    values, buffer = readings(clip), BytesIO()
    columns = {"time": np.arange(len(values)) / (READINGS * clip.fps)}
    for number, place in enumerate(PLACEMENTS):
        columns |= {f"{place}_{name}": values[:, number, k] for k, name in enumerate(COMPONENTS)}
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def write(blocks: Iterator[list[Clip]], shard: Shard) -> dict[str, Any]:
    """Write readings, each the mean of those of a frame, and texts of the clips of a shard."""
    lines = []
    for name in (_SIM, _TEXTS):
        (shard.folder / name).mkdir(exist_ok=True)
    for clip in chain.from_iterable(blocks):
        means = clip.fields["imu"].mean(axis=1)[:, [[*PLACEMENTS].index(name) for name in _PLACED]]
        np.save(shard.folder / _SIM / f"{clip.name}.npy", means.astype(np.float32))
        texts = clip.captions or (clip.label.replace("_", " "),)
        (shard.folder / _TEXTS / f"{clip.name}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        lines.append(json.dumps({"name": clip.name, "split": clip.split, "action": clip.label}))
    return {"lines": lines}


def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """List the clips with split and action."""
    lines = chain.from_iterable(part["lines"] for part in parts)
    (folder / CLIPS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


_NEEDS = ("imu",)
IMU = one_file_each("imu", "an npz for each clip: readings of inertial sensors", ".npz", encode_npz, fields=_NEEDS)
TABLE = one_file_each(
    "imu-parquet", "a Parquet table of these readings for each clip", ".parquet", encode_parquet, fields=_NEEDS
)
UNIMTS = ExportFormat("unimts", "the folder that UniMTS is pre-trained on", write, finish, fps=_FPS, fields=_NEEDS)
