"""Forward kinematics by the kernels of posegen over rows of frames, one sequence at a time."""

from __future__ import annotations

import numpy as np

from benchmarks.kinematics.poses import FRAMES, Array, Poses, Work, computation_order
from posegen.foundations.kernels import aligned_zeros, kernel
from posegen.foundations.skeleton import JOINTS
from posegen.motion.trunk import compose_rotations, place_child

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
    """Return rows that are padded behind the frames; the padding is computed as well."""
    rows = aligned_zeros((*values.shape[:-1], ROW), np.float32)
    rows[..., :FRAMES] = values
    return rows
