"""Posegen's own way: its kernels over rows of frames, a sequence at a time."""

from __future__ import annotations

import numpy as np

from benchmarks.kinematics.poses import FRAMES, Array, Poses, Work, way_down
from posegen.kernels import kernel
from posegen.motion.trunk import place_child, turn_rotation
from posegen.skeleton import JOINTS


@kernel
def _kinematics(local: Array, roots: Array, offsets: Array, steps: Array, turns: Array, joints: Array) -> None:
    """Go down the tree; rotations are float32 [sequence, joint, 9, frame], `turns` [slot, 9, frame] is scratch."""
    for i in range(len(local)):
        for k in range(3):
            for f in range(local.shape[3]):
                joints[i, 0, k, f] = roots[i, k, f]
        for s in range(len(steps)):
            joint, parent, above, own = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3]
            rotation = local[i, 0] if above < 0 else turns[above]
            place_child(rotation, offsets[joint], joints[i, parent], joints[i, joint])
            if own >= 0:
                turn_rotation(rotation, local[i, joint], turns[own])


def own(poses: Poses) -> Work:
    """Give posegen's way; joints come out as float32 [sequence, joint, 3, frame]."""
    shape = (-1, FRAMES, len(JOINTS), 9)
    local = np.ascontiguousarray(poses.matrices.reshape(shape).transpose(0, 2, 3, 1), np.float32)
    roots = np.ascontiguousarray(poses.roots.reshape(-1, FRAMES, 3).transpose(0, 2, 1), np.float32)
    steps, slots = way_down()
    order, offsets = np.array(steps), poses.offsets.astype(np.float32)
    turns = np.zeros((slots, 9, FRAMES), np.float32)
    joints = np.zeros((len(local), len(JOINTS), 3, FRAMES), np.float32)

    def work() -> Array:
        _kinematics(local, roots, offsets, order, turns, joints)
        return joints.transpose(0, 3, 1, 2).reshape(-1, len(JOINTS), 3)

    return work
