"""The 272 numbers of Xiao et al., MotionStreamer (ICCV 2025): features with SMPL's rotations, 30 frames per second.

========== ======= =============================================================================================
columns    numbers content of frame t; the first 8, and the velocities, are steps from frame t - 1 to frame t
========== ======= =============================================================================================
0:2        2       step of the pelvis along x and z, in the heading of frame t - 1, metres
2:8        6       rotation about y by which the heading is undone: the first two rows of its matrix
8:74       66      joints relative to the point of the floor below the pelvis, without the heading, metres
74:140     66      steps of these joints, metres
140:272    132     rotation of each of SMPL's joints relative to its parent, the pelvis without heading: two rows of its matrix
========== ======= =============================================================================================

The heading is that of SMPL's pelvis. The first frame faces +z, its pelvis is above the origin, and the lowest joint is at
height 0. The steps of the first frame are 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from posegen.exchange.amass import smpl_rotations
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import ExportFormat
from posegen.exchange.joint_rotations import in_parent
from posegen.exchange.text_motion import write_lists, write_mean, write_texts
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS

FPS, WIDTH = 30, 272
_FEATURES = "motion_data"


def features_of(joints: Array, world: Array) -> Array:
    """Compute the features of a clip.

    Parameters
    ----------
    joints : float [frame, 22, 3]
        Metres, y up, at 30 frames per second.
    world : float64 [22, frame, 3, 3]
        Axes of SMPL's joints in the world; see :func:`posegen.exchange.amass.smpl_rotations`.

    Returns
    -------
    float32 [frame, 272]
    """
    frames = len(joints)
    undo = _about_y(world[0, :, 0, 2], world[0, :, 2, 2])
    root = np.einsum("txy,ty->tx", undo[:-1], np.diff(joints[:, 0].astype(np.float64), axis=0))
    around = joints - joints[:, :1] * np.array([1.0, 0.0, 1.0])
    around[..., 1] -= joints[..., 1].min()
    around = np.einsum("txy,tjy->tjx", undo, around)
    local = in_parent(world)
    local[0] = undo @ local[0]
    out = np.zeros((frames, WIDTH), np.float32)
    out[1:, :2] = root[:, [0, 2]]
    out[0, [2, 6]] = 1.0
    out[1:, 2:8] = (undo[1:] @ np.swapaxes(undo[:-1], -1, -2))[:, :2].reshape(-1, 6)
    out[:, 8:74] = around.reshape(frames, -1)
    out[1:, 74:140] = np.diff(around, axis=0).reshape(frames - 1, -1)
    out[:, 140:] = np.moveaxis(local[:, :, :2], 0, 1).reshape(frames, -1)
    return out


def joints_of(features: Array) -> Array:
    """Recover joints from features [frame, 272], as readers do, from the first 140 columns: float64 [frame, 22, 3], metres."""
    values = features.astype(np.float64)
    back = np.cumsum(np.arctan2(values[:, 4], values[:, 2]))
    undo = _about_y(-np.sin(back), np.cos(back))
    step = np.stack([values[:, 0], np.zeros(len(values)), values[:, 1]], axis=-1)
    step[1:] = np.einsum("tyx,ty->tx", undo[:-1], step[1:])
    around = np.einsum("tyx,tjy->tjx", undo, values[:, 8:74].reshape(-1, len(JOINTS), 3))
    return np.asarray(around + np.cumsum(step, axis=0)[:, None])


def _about_y(x: Array, z: Array) -> Array:
    """Return the rotations about y that turn the directions x, z to +z: float64 [frame, 3, 3]."""
    size = np.sqrt(x * x + z * z)
    out = np.zeros((len(x), 3, 3))
    out[:, 0, 0] = out[:, 2, 2] = z / size
    out[:, 2, 0] = x / size
    out[:, 0, 2] = -x / size
    out[:, 1, 1] = 1.0
    return out


def _encode(clip: Clip) -> dict[str, Array]:
    return {_FEATURES: features_of(clip.joints, smpl_rotations(clip))}


def finish(folder: Path, parts: Iterator[Mapping[str, Any]]) -> None:
    """Write the lists of names, the mean and the standard deviation."""
    records = list(parts)
    write_lists(folder / "split", records)
    write_mean(folder / "mean_std", records)


FORMAT = ExportFormat(
    "hml272",
    "272 features with SMPL's rotations, texts with word classes; 30 frames per second",
    partial(write_texts, width=WIDTH, folder=_FEATURES, encode=_encode),
    finish,
    fps=FPS,
    most_actors=1,
    fields=("rotation",),
    frame_bytes=1100,
)
