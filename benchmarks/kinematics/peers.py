"""Forward kinematics by NumPy, torch and MuJoCo: the fastest known implementation of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.kinematics.poses import INNER, Array, Poses, Work, computation_order, levels
from posegen.foundations.skeleton import JOINTS, PARENTS


def numpy_matrices(poses: Poses) -> Work:
    """Return the implementation by stacks of matrices, float32 [joint, pose, 3, 3]."""
    local = np.ascontiguousarray(poses.matrices.swapaxes(0, 1), np.float32)
    offsets = np.ascontiguousarray(poses.offsets[:, None, :, None], np.float32)
    turns, joints = np.zeros_like(local), np.zeros((*local.shape[:2], 3, 1), np.float32)
    turns[0], joints[0] = local[0], poses.roots[..., None]

    def work() -> Array:
        for level in levels():
            above = [PARENTS[joint] for joint in level]
            joints[level] = joints[above] + turns[above] @ offsets[level]
            if inner := [joint for joint in level if joint in INNER]:
                turns[inner] = turns[[PARENTS[joint] for joint in inner]] @ local[inner]
        return joints[..., 0].swapaxes(0, 1)

    return work


def torch_matrices(poses: Poses) -> Work:
    """Return the implementation by `torch.matmul`, one level of the tree at a time."""
    import torch

    torch.set_num_threads(1)
    local = torch.from_numpy(np.ascontiguousarray(poses.matrices.swapaxes(0, 1), np.float32))
    offsets = torch.from_numpy(np.ascontiguousarray(poses.offsets[:, None, :, None], np.float32))
    turns, joints = torch.empty_like(local), torch.empty((*local.shape[:2], 3, 1))
    turns[0], joints[0] = local[0], torch.from_numpy(poses.roots[..., None]).float()
    plan = []
    for level in levels():
        inner = [joint for joint in level if joint in INNER]
        plan.append([torch.tensor(part) for part in (level, [PARENTS[j] for j in level], inner, [PARENTS[j] for j in inner])])

    @torch.inference_mode()
    def work() -> Array:
        for level, above, inner, above_inner in plan:
            joints[level] = torch.matmul(turns[above], offsets[level]).add_(joints[above])
            if len(inner):
                turns[inner] = torch.matmul(turns[above_inner], local[inner])
        return joints[..., 0].swapaxes(0, 1).numpy()

    return work


def torch_rows(poses: Poses) -> Work:
    """Return the implementation by whole rows, float32 [joint, 3, 3, pose], multiplied and added in place, joint by joint."""
    import torch

    torch.set_num_threads(1)
    # Memory of torch is aligned to cache lines; memory of NumPy is not.
    local = torch.from_numpy(np.ascontiguousarray(poses.matrices.transpose(1, 2, 3, 0), np.float32)).clone()
    offsets = poses.offsets.tolist()
    steps, buffers = computation_order()
    turns, joints = torch.empty((buffers, *local.shape[1:])), torch.empty((len(JOINTS), 3, local.shape[-1]))
    joints[0] = torch.from_numpy(poses.roots.T).float()

    @torch.inference_mode()
    def work() -> Array:
        for joint, parent, above, own in steps:
            rotation, place, turn = local[0] if above < 0 else turns[above], joints[joint], local[joint]
            torch.add(joints[parent], rotation[:, 0], alpha=offsets[joint][0], out=place)
            place.add_(rotation[:, 1], alpha=offsets[joint][1]).add_(rotation[:, 2], alpha=offsets[joint][2])
            if own >= 0:
                out = torch.mul(rotation[:, 0, None], turn[0], out=turns[own])
                out.addcmul_(rotation[:, 1, None], turn[1]).addcmul_(rotation[:, 2, None], turn[2])
        return joints.permute(2, 0, 1).numpy()

    return work


def mujoco_kinematics(poses: Poses) -> Work:
    """Return the implementation of MuJoCo: a ball joint for each inner joint, a free joint for the root."""
    import ctypes

    import mujoco
    import numba

    model = mujoco.MjModel.from_xml_string(_model(poses.offsets))
    data = mujoco.MjData(model)
    function = ctypes.CDLL(str(next(Path(mujoco.__file__).parent.glob("libmujoco*")))).mj_kinematics
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), None
    bodies = np.array([mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in JOINTS])
    # Rotations are in the order of the bodies, one branch after the other.
    order = sorted(INNER, key=lambda joint: bodies[joint])
    asked = np.concatenate([poses.roots, poses.quaternions[:, order].reshape(len(poses.roots), -1)], -1)
    joints = np.zeros((len(asked), len(JOINTS), 3))

    @numba.njit
    def loop(model: int, data: int, state: Array, places: Array, asked: Array, bodies: Array, joints: Array) -> None:
        for i in range(len(asked)):
            state[:] = asked[i]
            function(model, data)
            for j in range(len(bodies)):
                joints[i, j] = places[bodies[j]]

    def work() -> Array:
        loop(model._address, data._address, data.qpos, data.xpos, asked, bodies, joints)
        return joints

    return work


def _model(offsets: Array) -> str:
    """Return the tree as a MuJoCo model."""

    def body(joint: int) -> str:
        place = " ".join(map(str, offsets[joint] if joint else (0, 0, 0)))
        kind = "<freejoint/>" if joint == 0 else '<joint type="ball"/>' if joint in INNER else ""
        mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        below = "".join(body(child) for child, parent in enumerate(PARENTS) if parent == joint)
        return f'<body name="{JOINTS[joint]}" pos="{place}">{mass}{kind}{below}</body>'

    return f"<mujoco><worldbody>{body(0)}</worldbody></mujoco>"
