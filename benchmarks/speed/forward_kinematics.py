"""Forward kinematics by posegen, NumPy, torch and MuJoCo: the fastest known implementation of each.

All implementations compute the same tree, bones and rotations. Each starts from rotations in its preferred representation and
layout and writes to allocated memory. The rotations of the outermost joints, which have no children, are omitted.

- posegen: its kernels `compose_rotations` and `place_child` over rows of frames, one sequence at a time, float32;
- NumPy: stacks of matrices, multiplied level by level of the tree, float32;
- torch: whole rows of frames, multiplied and added in place, joint by joint, float32, in inference mode, on one thread; the
  same as for NumPy with `torch.matmul` took eight times as long;
- MuJoCo: `mj_kinematics` in C, called through its address from a compiled loop, without Python overhead. It has double
  precision and quaternions only, and also computes the centres of mass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from posegen.exchange.joint_rotations import from_vectors, quaternions
from posegen.foundations.arrays import Array
from posegen.foundations.kernels import aligned_zeros, kernel
from posegen.foundations.skeleton import JOINTS, PARENTS
from posegen.motion.trunk import compose_rotations, place_child

Work: TypeAlias = Callable[[], Array]
"""Computes all joints, float [pose, joint, 3] or [sequence, frame, joint, 3]; the next call overwrites the result."""

FRAMES = 250
"""Frames of a sequence, which posegen computes at once."""

INNER = sorted(set(PARENTS) - {-1})
"""Joints with children; only their rotations have an effect."""


@dataclass(frozen=True)
class Poses:
    """Rotations of the joints relative to their parents, and positions of the root.

    Attributes
    ----------
    quaternions : float64 [pose, joint, 4]
        w, x, y, z, of unit length.
    matrices : float64 [pose, joint, 3, 3]
    roots : float64 [pose, 3]
    offsets : float64 [joint, 3]
        Offset of each joint from its parent in the rest pose.
    """

    quaternions: Array
    matrices: Array
    roots: Array
    offsets: Array


def drawn(sequences: int) -> Poses:
    """Return poses with random rotations."""
    draw = np.random.default_rng(1)
    matrices = from_vectors(draw.normal(size=(sequences * FRAMES, len(JOINTS), 3)))
    roots, offsets = draw.normal(size=(len(matrices), 3)), draw.normal(scale=0.2, size=(len(JOINTS), 3))
    return Poses(np.roll(quaternions(matrices), 1, axis=-1), matrices, roots, offsets)


def levels() -> list[list[int]]:
    """Return the joints by their depth in the tree, without the root."""
    depth = [0] * len(JOINTS)
    for joint, parent in enumerate(PARENTS[1:], 1):
        depth[joint] = depth[parent] + 1
    return [[joint for joint in range(len(JOINTS)) if depth[joint] == level] for level in range(1, max(depth) + 1)]


def computation_order() -> tuple[list[tuple[int, int, int, int]], int]:
    """Return an order of the joints that needs few buffers for rotations, and their number.

    A step has a joint, its parent, and the buffers of the rotations of both, the parent's first: -1 for the root and for a
    joint without children.
    """
    steps: list[tuple[int, int, int, int]] = []
    free = list(range(len(JOINTS), -1, -1))
    branches = [(0, -1)]
    while branches:
        parent, above = branches.pop()
        children = [joint for joint in range(len(JOINTS)) if PARENTS[joint] == parent]
        below = [(joint, parent, above, free.pop() if joint in INNER else -1) for joint in children]
        steps += below
        branches += [(joint, own) for joint, _, _, own in below if own >= 0]
        if above >= 0:
            free.append(above)
    return steps, 1 + max(own for *_, own in steps)


ROW = 256
"""Frames of a row: a whole number of vectors, as in synthesis (320 in the default config)."""


@kernel
def _kinematics(local: Array, roots: Array, offsets: Array, steps: Array, turns: Array, joints: Array) -> None:
    """Walk the tree; rotations are float32 [sequence, joint, 9, frame], `turns` [buffer, 9, frame] is scratch."""
    for i in range(len(local)):
        for k in range(3):
            for f in range(local.shape[3]):
                joints[i, 0, k, f] = roots[i, k, f]
        for s in range(len(steps)):
            joint, parent, above, own = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3]
            rotation = local[i, 0] if above < 0 else turns[above]
            place_child(rotation, offsets[joint], joints[i, parent], joints[i, joint])
            if own >= 0:
                compose_rotations(rotation, local[i, joint], turns[own])


def own(poses: Poses) -> Work:
    """Return the implementation of posegen; its result is a view of float32 [sequence, joint, 3, frame]."""
    local = _rows(poses.matrices.reshape(-1, FRAMES, len(JOINTS), 9).transpose(0, 2, 3, 1))
    roots = _rows(poses.roots.reshape(-1, FRAMES, 3).transpose(0, 2, 1))
    steps, buffers = computation_order()
    order, offsets = np.array(steps), poses.offsets.astype(np.float32)
    turns = aligned_zeros((buffers, 9, ROW), np.float32)
    joints = aligned_zeros((len(local), len(JOINTS), 3, ROW), np.float32)

    def work() -> Array:
        _kinematics(local, roots, offsets, order, turns, joints)
        return joints[..., :FRAMES].transpose(0, 3, 1, 2)

    return work


def _rows(values: Array) -> Array:
    """Return rows that are padded after the frames; the padding is computed as well."""
    rows = aligned_zeros((*values.shape[:-1], ROW), np.float32)
    rows[..., :FRAMES] = values
    return rows


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


IMPLEMENTATIONS: dict[str, tuple[str, Callable[[Poses], Work]]] = {
    "posegen": ("numba", own),
    "NumPy": ("numpy", numpy_matrices),
    "torch": ("torch", torch_rows),
    "MuJoCo": ("mujoco", mujoco_kinematics),
}
"""Implementations, with the package that each needs."""
