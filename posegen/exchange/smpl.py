"""Read rotations of SMPL's joints from AMASS, SMPL-H and SMPL-X archives, by forward kinematics of the neutral body.

The shape of the body (`betas`) is left out: an imported clip is retargeted anyway. Archives of AMASS have z up, which is kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posegen.dataset.clip_files import read_arrays
from posegen.exchange.amass import PELVIS, REST
from posegen.exchange.joint_rotations import about_axes, joint_positions
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS

_RATES = ("mocap_framerate", "mocap_frame_rate", "fps")
_WHOLE = ("poses", "smpl_poses")
_ROOT, _BODY = ("root_orient", "global_orient"), ("pose_body", "body_pose")
_PATH = ("trans", "transl", "smpl_trans", "root_trans")
"""Names of the arrays of rotations, of the pelvis and of the other joints, and of the path of the pelvis, by project."""
SMPL_ARRAYS = frozenset({*_WHOLE, *_BODY})
"""An archive with one of these has rotations of SMPL's joints."""
_FARTHEST_IN_METRES = 50.0
"""A path that varies by more is in centimetres, as that of AIST++."""
FARTHEST = 10_000.0


def read_smpl(path: Path) -> tuple[Array, float | None]:
    """Return joints and frames per second of an archive.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``poses`` [frame, 66 or more], or ``root_orient`` and ``pose_body``; ``trans`` and a frame rate. Names of
        other projects, such as ``global_orient``, ``body_pose`` and ``transl``, are known.

    Returns
    -------
    joints : float64 [frame, 22, 3]
        In the axes of the archive, metres.
    fps : float or None
        None if the archive states none.

    Raises
    ------
    UsageError
        If arrays are missing, do not fit together, or are not finite.
    """
    arrays = read_arrays(path, (*_WHOLE, *_ROOT, *_BODY, *_PATH, *_RATES))

    def first(names: tuple[str, ...]) -> Array | None:
        return next((arrays[name] for name in names if name in arrays), None)

    turns, root, body, trans = first(_WHOLE), first(_ROOT), first(_BODY), first(_PATH)
    if turns is None and root is not None and body is not None:
        if len(root) != len(body):
            raise UsageError(
                f"{path}: rotations of the pelvis and of the body have different numbers of frames; write them again"
            )
        turns = np.concatenate([root.reshape(len(root), -1), body.reshape(len(body), -1)], axis=1)
    if turns is None:
        raise UsageError(
            f"{path}: has neither `poses` nor `root_orient` and `pose_body` [frame, values]; give an AMASS archive"
        )
    turns = turns.reshape(len(turns), -1) if turns.ndim == 3 else turns
    width = 3 * len(JOINTS)
    if turns.ndim != 2 or turns.shape[1] < width or turns.dtype.kind != "f":
        raise UsageError(
            f"{path}: its rotations must be float [frame, {width} or more] (got {turns.dtype} {list(turns.shape)})"
        )
    if trans is None:
        msg = f"{path}: has no {', '.join(_PATH[:-1])} or {_PATH[-1]}: the path of the pelvis, metres [{len(turns)}, 3]. Add it"
        raise UsageError(f"{msg}, or zeros if it is not known")
    if trans.shape != (len(turns), 3) or trans.dtype.kind != "f":
        raise UsageError(f"{path}: trans must be float [{len(turns)}, 3] (got {trans.dtype} {list(trans.shape)})")
    turns, trans = turns[:, :width].astype(np.float64).reshape(-1, len(JOINTS), 3), trans.astype(np.float64)
    # The comparisons are false for NaN too.
    if not (np.abs(turns) <= FARTHEST).all() or not (np.abs(trans) <= FARTHEST).all():
        raise UsageError(f"{path}: has values that are not finite or beyond {FARTHEST:,.0f}; remove these frames")
    if np.ptp(trans, axis=0).max() > _FARTHEST_IN_METRES:
        trans = trans / 100
    rate = first(_RATES)
    if rate is not None and (rate.size != 1 or rate.dtype.kind not in "iuf"):
        rate = None
    angles = np.sqrt((turns**2).sum(-1))
    axes = turns / np.maximum(angles, 1e-12)[..., None]
    local = np.stack([about_axes(axes[:, joint], angles[:, joint]) for joint in range(len(JOINTS))])
    return joint_positions(local, trans + PELVIS, REST), None if rate is None else float(rate.item())
