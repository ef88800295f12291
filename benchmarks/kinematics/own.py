"""Posegen's own way: its kernels over rows of frames, a sequence at a time."""

from __future__ import annotations

import numpy as np

from benchmarks.kinematics.poses import FRAMES, INNER, Array, Poses, Work
from posegen.kernels import kernel
from posegen.motion.trunk import place_child, turn_rotation
from posegen.skeleton import JOINTS, PARENTS


@kernel
def _kinematics(local: Array, roots: Array, offsets: Array, parents: Array, inner: Array, turns: Array, joints: Array) -> None:
    """Go down the tree; rotations are float32 [sequence, joint, 9, frame], `turns` [joint, 9, frame] is scratch."""
    for i in range(len(local)):
        for k in range(3):
            for f in range(local.shape[3]):
                joints[i, 0, k, f] = roots[i, k, f]
        for j in range(1, len(parents)):
            above = local[i, 0] if parents[j] == 0 else turns[parents[j]]
            place_child(above, offsets[j], joints[i, parents[j]], joints[i, j])
            if inner[j]:
                turn_rotation(above, local[i, j], turns[j])


def own(poses: Poses) -> Work:
    """Give posegen's way; joints come out as float32 [sequence, joint, 3, frame]."""
    shape = (-1, FRAMES, len(JOINTS), 9)
    local = np.ascontiguousarray(poses.matrices.reshape(shape).transpose(0, 2, 3, 1), np.float32)
    roots = np.ascontiguousarray(poses.roots.reshape(-1, FRAMES, 3).transpose(0, 2, 1), np.float32)
    offsets, parents = poses.offsets.astype(np.float32), np.array(PARENTS)
    inner = np.isin(np.arange(len(JOINTS)), INNER)
    turns = np.zeros((len(JOINTS), 9, FRAMES), np.float32)
    joints = np.zeros((len(local), len(JOINTS), 3, FRAMES), np.float32)

    def work() -> Array:
        _kinematics(local, roots, offsets, parents, inner, turns, joints)
        return joints.transpose(0, 3, 1, 2).reshape(-1, len(JOINTS), 3)

    return work
