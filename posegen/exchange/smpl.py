"""Read rotations of SMPL's joints from AMASS, SMPL-H and SMPL-X archives, by forward kinematics of the neutral body.

The shape of the body (`betas`) is left out: an imported clip is retargeted anyway. Archives of AMASS have z up, which is kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posegen.arrays import Array
from posegen.dataset.clip_files import read_arrays
from posegen.errors import UsageError
from posegen.exchange.amass import PELVIS, REST
from posegen.exchange.joint_rotations import about_axes, joint_positions
from posegen.skeleton import JOINTS

_RATES = ("mocap_framerate", "mocap_frame_rate", "fps")
FARTHEST = 10_000.0
LOWEST_FPS, HIGHEST_FPS = 1.0, 1000.0


def read_smpl(path: Path) -> tuple[Array, float]:
    """Return joints and frames per second of an archive.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``poses`` [frame, 66 or more], or ``root_orient`` and ``pose_body``; ``trans`` and a frame rate.

    Returns
    -------
    joints : float64 [frame, 22, 3]
        In the axes of the archive, metres.
    fps : float

    Raises
    ------
    UsageError
        If arrays are missing, do not fit together, or are not finite.
    """
    arrays = read_arrays(path, ("poses", "root_orient", "pose_body", "trans", *_RATES))
    if "poses" in arrays:
        turns = arrays["poses"]
    elif {"root_orient", "pose_body"} <= arrays.keys() and arrays["root_orient"].ndim == arrays["pose_body"].ndim == 2:
        if len(arrays["root_orient"]) != len(arrays["pose_body"]):
            raise UsageError(f"{path}: root_orient and pose_body have different numbers of frames; write them again")
        turns = np.concatenate([arrays["root_orient"], arrays["pose_body"]], axis=1)
    else:
        raise UsageError(
            f"{path}: has neither `poses` nor `root_orient` and `pose_body` [frame, values]; give an AMASS archive"
        )
    width = 3 * len(JOINTS)
    if turns.ndim != 2 or turns.shape[1] < width or turns.dtype.kind != "f":
        raise UsageError(
            f"{path}: its rotations must be float [frame, {width} or more] (got {turns.dtype} {list(turns.shape)})"
        )
    trans = arrays.get("trans", np.zeros((len(turns), 3)))
    if trans.shape != (len(turns), 3) or trans.dtype.kind != "f":
        raise UsageError(f"{path}: trans must be float [{len(turns)}, 3] (got {trans.dtype} {list(trans.shape)})")
    turns, trans = turns[:, :width].astype(np.float64).reshape(-1, len(JOINTS), 3), trans.astype(np.float64)
    # The comparisons are false for NaN too.
    if not (np.abs(turns) <= FARTHEST).all() or not (np.abs(trans) <= FARTHEST).all():
        raise UsageError(f"{path}: has values that are not finite or beyond {FARTHEST:,.0f}; remove these frames")
    rate = next((arrays[name] for name in _RATES if name in arrays), None)
    if rate is None or rate.size != 1 or rate.dtype.kind not in "iuf" or not LOWEST_FPS <= float(rate.item()) <= HIGHEST_FPS:
        raise UsageError(
            f"{path}: needs mocap_framerate, one number from {LOWEST_FPS:g} to {HIGHEST_FPS:g}; add it, or give --fps"
        )
    angles = np.sqrt((turns**2).sum(-1))
    axes = turns / np.maximum(angles, 1e-12)[..., None]
    local = np.stack([about_axes(axes[:, joint], angles[:, joint]) for joint in range(len(JOINTS))])
    return joint_positions(local, trans + PELVIS, REST), float(rate.item())
