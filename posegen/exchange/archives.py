"""Formats with an archive or a table for each clip: AMASS, Kimodo, holosoma, npz and CSV; and reading AMASS's.

AMASS has rotations of SMPL's joints from its T-pose, for SMPL, SMPL-H and SMPL-X; read by GMR, ProtoMotions, PHC, aitviewer.
z is up. The body is the neutral one with all `betas` 0, which has bones of its own: directions of bones are those of the
clip, the path is scaled by the length of the legs, and the lowest point is as high as that of the clip. Both names of the
frame rate are written, since readers differ. Archives are read with the names of other projects too, by forward kinematics
of the same body.

No body model is needed: ``REST`` are the offsets of :data:`posegen.foundations.skeleton.T_POSE`, metres [22, 3].
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from posegen.dataset.clip_files import read_arrays
from posegen.exchange import joint_rotations as rotations
from posegen.exchange.clip import Clip
from posegen.exchange.export_format import npz_bytes, one_file_each
from posegen.exchange.kernels.decimals import decimal_text
from posegen.exchange.rig import Body
from posegen.foundations.arrays import Array
from posegen.foundations.errors import UsageError
from posegen.foundations.skeleton import JOINTS, PARENTS, T_POSE, rest_offsets, sole_points

PELVIS = np.array([-0.0018, -0.2233, 0.0282])
"""The pelvis in the axes of the model, to which `trans` is added."""
REST = rest_offsets(T_POSE)
_HANDS = 30
_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""From y up to z up."""
_AIMED = {"hip": "knee", "knee": "ankle", "ankle": "foot", "shoulder": "elbow", "elbow": "wrist"}
"""The joint at the end of each bone that is rebased."""
_RATES = ("mocap_framerate", "mocap_frame_rate", "fps")
_WHOLE = ("poses", "smpl_poses")
_ROOT_NAMES, _BODY_NAMES = ("root_orient", "global_orient"), ("pose_body", "body_pose")
_PATH = ("trans", "transl", "smpl_trans", "root_trans")
"""Names of the arrays of rotations, of the pelvis and of the other joints, and of the path of the pelvis, by project."""
SMPL_ARRAYS = frozenset({*_WHOLE, *_BODY_NAMES})
"""An archive with one of these has rotations of SMPL's joints."""
_FARTHEST_IN_METRES = 50.0
"""A path that varies by more is in centimetres, as that of AIST++."""
FARTHEST = 10_000.0
KIMODO_FPS = 30
_FEET = 4
"""The first points of :data:`posegen.foundations.skeleton.CONTACTS`: heel and toe, left and right."""
_HEADER = ",".join(("time", *(f"{joint}_{axis}" for joint in JOINTS for axis in "xyz"))).encode() + b"\n"
_KIMODO = "joints, rotations and contacts in Kimodo's arrays; 30 frames per second"


def smpl_rotations(clip: Clip) -> Array:
    """Return the axes of SMPL's joints in the world, y up: float64 [22, frame, 3, 3], the identity in the T-pose.

    A joint is rebased by the rotation that turns its bone in the T-pose to its bone in the rest pose of the clip. Feet and
    wrists have no such bone and follow their parent.
    """
    world = rotations.in_world(rotations.local_rotations(clip))
    rebased = np.empty_like(world)
    bases = np.tile(np.eye(3), (len(JOINTS), 1, 1))
    for joint, (name, parent) in enumerate(zip(JOINTS, PARENTS, strict=True)):
        side, _, part = name.rpartition("_")
        if side and part in _AIMED:
            child = JOINTS.index(f"{side}_{_AIMED[part]}")
            bases[joint] = rotations.shortest(REST[child], clip.offsets[child])
        elif side and part in ("foot", "wrist"):
            bases[joint] = bases[parent]
        rebased[joint] = world[joint] @ bases[joint]
    return rebased


def _lowest(joints: Array) -> Any:
    """Return the height of the lowest joint or sole point of all frames."""
    return min(joints[..., 1].min(), sole_points(joints)[..., 1].min())


def encode(clip: Clip) -> bytes:
    """Return the npz archive of a clip."""
    local = rotations.in_parent(smpl_rotations(clip))
    vectors = rotations.rotation_vectors(np.concatenate([_UP @ local[:1], local[1:]]))
    frames = len(clip.joints)
    body = np.moveaxis(vectors[1:], 0, 1).reshape(frames, -1)
    hands = np.zeros((frames, 3 * _HANDS))
    leg = [JOINTS.index("left_knee"), JOINTS.index("left_ankle")]
    scale = float(np.sqrt((REST[leg] ** 2).sum(-1)).sum() / np.sqrt((clip.offsets[leg] ** 2).sum(-1)).sum())
    root = clip.joints[:, 0].astype(np.float64) * scale
    # Proportions differ, too, so that the feet would not be at the floor.
    root[:, 1] += _lowest(clip.joints.astype(np.float64)) - _lowest(rotations.joint_positions(local, root, REST))
    arrays = {
        "trans": root @ _UP.T - PELVIS,
        "root_orient": vectors[0],
        "pose_body": body,
        "pose_hand": hands,
        "poses": np.concatenate([vectors[0], body, hands], axis=1),
        "betas": np.zeros(16),
    }
    return npz_bytes(
        **{name: values.astype(np.float32) for name, values in arrays.items()},
        gender=np.array("neutral"),
        mocap_frame_rate=np.array(float(clip.fps)),
        mocap_framerate=np.array(float(clip.fps)),
        surface_model_type=np.array("smplx"),
    )


AMASS = one_file_each("amass", "rotations of SMPL's joints with z up, as in AMASS", ".npz", encode, fields=("rotation",))


def read_smpl(path: Path) -> Body:
    """Return the joints of an archive, in its axes and in metres.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``poses`` [frame, 66 or more], or ``root_orient`` and ``pose_body``; ``trans`` and a frame rate. Names of
        other projects, such as ``global_orient``, ``body_pose`` and ``transl``, are known.

    Returns
    -------
    Body

    Raises
    ------
    UsageError
        If arrays are missing, do not fit together, or are not finite.
    """
    arrays = read_arrays(path, (*_WHOLE, *_ROOT_NAMES, *_BODY_NAMES, *_PATH, *_RATES))

    def fault(what: str) -> UsageError:
        return UsageError(f"{path}: {what}")

    def first(names: tuple[str, ...]) -> Array | None:
        return next((arrays[name] for name in names if name in arrays), None)

    turns, root, body, trans = first(_WHOLE), first(_ROOT_NAMES), first(_BODY_NAMES), first(_PATH)
    if turns is None and root is not None and body is not None:
        if len(root) != len(body):
            raise fault("rotations of the pelvis and of the body have different numbers of frames; write them again")
        turns = np.concatenate([root.reshape(len(root), -1), body.reshape(len(body), -1)], axis=1)
    if turns is None:
        raise fault("has neither `poses` nor `root_orient` and `pose_body` [frame, values]; give an AMASS archive")
    turns = turns.reshape(len(turns), -1) if turns.ndim == 3 else turns
    width = 3 * len(JOINTS)
    if turns.ndim != 2 or turns.shape[1] < width or turns.dtype.kind != "f":
        raise fault(f"its rotations must be float [frame, {width} or more] (got {turns.dtype} {list(turns.shape)})")
    if trans is None:
        names = f"{', '.join(_PATH[:-1])} or {_PATH[-1]}"
        raise fault(f"has no {names}: the path of the pelvis, metres [{len(turns)}, 3]. Add it, or zeros if it is not known")
    if trans.shape != (len(turns), 3) or trans.dtype.kind != "f":
        raise fault(f"trans must be float [{len(turns)}, 3] (got {trans.dtype} {list(trans.shape)})")
    turns, trans = turns[:, :width].astype(np.float64).reshape(-1, len(JOINTS), 3), trans.astype(np.float64)
    # The comparisons are false for NaN too.
    if not (np.abs(turns) <= FARTHEST).all() or not (np.abs(trans) <= FARTHEST).all():
        raise fault(f"has values that are not finite or beyond {FARTHEST:,.0f}; remove these frames")
    if np.ptp(trans, axis=0).max() > _FARTHEST_IN_METRES:
        trans = trans / 100
    rate = first(_RATES)
    fps = float(rate.item()) if rate is not None and rate.size == 1 and rate.dtype.kind in "iuf" else 0.0
    local = np.moveaxis(rotations.from_vectors(turns), 1, 0)
    return Body(rotations.joint_positions(local, trans + PELVIS, REST), "rotations of SMPL's joints, as in AMASS", fps)


def encode_npz(clip: Clip) -> bytes:
    """Return ``joints`` float32 [frame, 22, 3] in metres, y up, and ``fps``."""
    return npz_bytes(joints=clip.joints, fps=np.float64(clip.fps))


def encode_csv(clip: Clip) -> bytes:
    """Return a table with a row for each frame: seconds, and x, y and z of each joint to a tenth of a millimetre."""
    times = np.arange(len(clip.joints)) / clip.fps
    table = np.column_stack([times, clip.joints.reshape(len(times), -1)])
    return _HEADER + decimal_text(table, ",")


def encode_holosoma(clip: Clip) -> bytes:
    """Return ``global_joint_positions`` float32 [frame, 22, 3], z up, and the person's stature in metres, for retargeting."""
    x, y, z = np.moveaxis(clip.joints, -1, 0)
    return npz_bytes(global_joint_positions=np.stack([z, x, y], axis=-1), height=np.float32(clip.stature))


def encode_kimodo(clip: Clip) -> bytes:
    """Return joints, rotations and contacts of SMPL-X's 22 joints as Kimodo writes them, y up."""
    world = smpl_rotations(clip)
    return npz_bytes(
        posed_joints=clip.joints,
        root_positions=clip.joints[:, 0],
        global_rot_mats=np.moveaxis(world, 0, 1).astype(np.float32),
        local_rot_mats=np.moveaxis(rotations.in_parent(world), 0, 1).astype(np.float32),
        foot_contacts=clip.contact[:, :_FEET].astype(np.float32),
    )


NPZ = one_file_each("npz", "an npz for each clip: joints in metres and the frame rate", ".npz", encode_npz)
CSV = one_file_each("csv", "a table for each clip: x, y and z of the 22 joints in each frame", ".csv", encode_csv)
HOLOSOMA = one_file_each("holosoma", "joint positions with z up for retargeting to robots", ".npz", encode_holosoma)
KIMODO = one_file_each("kimodo", _KIMODO, ".npz", encode_kimodo, fps=KIMODO_FPS, fields=("rotation",))
