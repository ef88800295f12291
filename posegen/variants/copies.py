"""Copy the stored motion of one variant to another, mirrored or translated, without animating the scene again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.kernels import kernel
from posegen.motion.engine import Motion
from posegen.motion.workspace import between


@kernel
def copy_joints(joints: Array, source: int, target: int, order: Array, signs: Array, offsets: Array) -> None:
    """Write joint j of variant `target`: joint `order[j]` of `source` times `signs` [3] plus `offsets` [n, 3]."""
    a, b, c = signs[0], signs[1], signs[2]
    for i in range(joints.shape[0]):
        x, y, z = offsets[i, 0], offsets[i, 1], offsets[i, 2]
        for who in range(joints.shape[2]):
            here, there = joints[i, source, who], joints[i, target, who]
            # Unsigned indices: see :func:`posegen.motion.workspace.between`.
            for f in between(0, here.shape[0]):
                for j in between(0, here.shape[1]):
                    k = np.uintp(order[j])
                    # Adding 0 turns -0 into 0.
                    there[f, j, 0] = a * here[f, k, 0] + x
                    there[f, j, 1] = b * here[f, k, 1] + y
                    there[f, j, 2] = c * here[f, k, 2] + z


@kernel
def copy_labels(labels: Array, source: int, target: int, order: Array) -> None:
    """Write label p of variant `target`: label `order[p]` of `source`."""
    for i in range(labels.shape[0]):
        for who in range(labels.shape[2]):
            for f in range(labels.shape[3]):
                for p in range(labels.shape[4]):
                    labels[i, target, who, f, p] = labels[i, source, who, f, order[p]]


def copy_motion(
    motion: Motion, source: int, target: int, orders: Sequence[Sequence[int]], signs: Sequence[int], offsets: Array
) -> None:
    """Write variant `target` from variant `source`.

    Parameters
    ----------
    motion : Motion
    source, target : int
    orders : three sequences of int
        For joints, parts of the body and contacts: the index in `source` of each one in `target`.
    signs : three of 1 or -1
        Factor of each axis.
    offsets : float32 [n, 3]
        Metres, multiples of the grid, so that the result stays on it.
    """
    joints, parts, contacts = map(np.array, orders)
    copy_joints(motion.joints, source, target, joints, np.array(signs, np.float32), np.ascontiguousarray(offsets, np.float32))
    copy_labels(motion.action, source, target, parts)
    copy_labels(motion.contact, source, target, contacts)
