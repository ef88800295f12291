"""Copy the stored motion of one variant to another, mirrored or translated, without animating the scene again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import kernel
from posegen.motion.engine import Motion
from posegen.skeleton import CONTACTS, JOINTS, MIRROR_CONTACTS, MIRROR_JOINTS, MIRROR_PARTS, PARTS

Array = NDArray[Any]


@kernel
def copy_joints(joints: Array, source: int, target: int, order: Array, signs: Array, offsets: Array) -> None:
    """Write joint j of variant `target`: joint `order[j]` of `source` times `signs` [3] plus `offsets` [n, 3]."""
    for i in range(joints.shape[0]):
        for who in range(joints.shape[2]):
            here, there = joints[i, source, who], joints[i, target, who]
            for f in range(here.shape[0]):
                for j in range(here.shape[1]):
                    for k in range(3):
                        # Adding 0 turns -0 into 0.
                        there[f, j, k] = signs[k] * here[f, order[j], k] + offsets[i, k]


@kernel
def copy_labels(labels: Array, source: int, target: int, order: Array) -> None:
    """Write label p of variant `target`: label `order[p]` of `source`."""
    for i in range(labels.shape[0]):
        for who in range(labels.shape[2]):
            for f in range(labels.shape[3]):
                for p in range(labels.shape[4]):
                    labels[i, target, who, f, p] = labels[i, source, who, f, order[p]]


def _copy(motion: Motion, source: int, target: int, orders: tuple[Array, Array, Array], signs: Array, offsets: Array) -> None:
    copy_joints(motion.joints, source, target, orders[0], signs, np.ascontiguousarray(offsets, np.float32))
    copy_labels(motion.action, source, target, orders[1])
    copy_labels(motion.contact, source, target, orders[2])


def mirror(motion: Motion, source: int, target: int) -> None:
    """Write variant `target`: variant `source` with left and right exchanged and x negated."""
    orders = (np.array(MIRROR_JOINTS), np.array(MIRROR_PARTS), np.array(MIRROR_CONTACTS))
    _copy(motion, source, target, orders, np.array([-1, 1, 1], np.float32), np.zeros((len(motion.joints), 3)))


def translate(motion: Motion, source: int, target: int, offset_x: Array, offset_z: Array) -> None:
    """Write variant `target`: variant `source` translated on the floor.

    Parameters
    ----------
    motion : Motion
    source, target : int
    offset_x, offset_z : float32 [n]
        Metres, multiples of the grid, so that the result stays on it.
    """
    orders = (np.arange(len(JOINTS)), np.arange(len(PARTS)), np.arange(len(CONTACTS)))
    offsets = np.stack([offset_x, np.zeros_like(offset_x), offset_z], -1)
    _copy(motion, source, target, orders, np.ones(3, np.float32), offsets)
