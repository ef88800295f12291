"""Random poses, and the tree of joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posegen.exchange.joint_rotations import of_quaternions
from posegen.foundations.skeleton import JOINTS, PARENTS

Array: TypeAlias = NDArray[Any]
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
    q = draw.normal(size=(sequences * FRAMES, len(JOINTS), 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    matrices = of_quaternions(np.roll(q, -1, axis=-1))
    return Poses(q, matrices, draw.normal(size=(len(q), 3)), draw.normal(scale=0.2, size=(len(JOINTS), 3)))


def levels() -> list[list[int]]:
    """Return the joints by their depth in the tree, without the root."""
    depth = [0] * len(JOINTS)
    for joint, parent in enumerate(PARENTS[1:], 1):
        depth[joint] = depth[parent] + 1
    return [[joint for joint in range(len(JOINTS)) if depth[joint] == level] for level in range(1, max(depth) + 1)]


class Step(NamedTuple):
    """One joint in the order of computation.

    Attributes
    ----------
    joint, parent : int
    above, own : int
        Buffers of the rotations of the parent and of the joint; -1 for the root and for a joint without children.
    """

    joint: int
    parent: int
    above: int
    own: int


def computation_order() -> tuple[list[Step], int]:
    """Return an order of the joints that needs few buffers for rotations, and their number."""
    steps: list[Step] = []
    free = list(range(len(JOINTS), -1, -1))
    branches = [(0, -1)]
    while branches:
        parent, above = branches.pop()
        children = [joint for joint in range(len(JOINTS)) if PARENTS[joint] == parent]
        below = [Step(joint, parent, above, free.pop() if joint in INNER else -1) for joint in children]
        steps += below
        branches += [(step.joint, step.own) for step in below if step.own >= 0]
        if above >= 0:
            free.append(above)
    return steps, 1 + max(step.own for step in steps)
