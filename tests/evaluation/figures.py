"""Bodies for the tests of measures: the rest pose, and ways to bend and turn it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posegen.foundations.bodies import body_offsets
from posegen.foundations.scene import empty_scenes
from posegen.foundations.skeleton import JOINTS, PARENTS, sole_points

FPS = 25.0


def standing(frames: int = 10) -> NDArray[np.float64]:
    """Return a body in the rest pose, soles on the floor: [frame, joint, axis]."""
    return posed({}, frames)


def posed(turns: dict[str, NDArray[np.float64]], frames: int = 10) -> NDArray[np.float64]:
    """Return the rest pose with some joints rotated, each by a matrix."""
    offsets = body_offsets(empty_scenes(1, 1, 1).persons)[0, 0].astype(np.float64)
    pose = np.zeros((len(JOINTS), 3))
    axes = [np.eye(3)] * len(JOINTS)
    for joint, parent in enumerate(PARENTS):
        before = np.eye(3) if parent < 0 else axes[parent]
        axes[joint] = before @ turns.get(JOINTS[joint], np.eye(3))
        pose[joint] = before @ offsets[joint] + (pose[parent] if parent >= 0 else 0)
    pose[:, 1] -= sole_points(pose)[:, 1].min()
    return np.tile(pose, (frames, 1, 1))


def turn(axis: str, degrees: float) -> NDArray[np.float64]:
    """Return a rotation matrix about a world axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = c
    matrix[j, i], matrix[i, j] = s, -s
    return matrix


def wandering(seed: int, frames: int = 40) -> NDArray[np.float64]:
    """Return a body whose joints all move smoothly and independently: not human, but different in every measure."""
    draws = np.random.default_rng(seed)
    times = np.arange(frames)[:, None, None, None] / FPS
    rate, phase = draws.uniform(0.3, 2, (2, 3, 22, 3))[0], draws.uniform(0, 6.3, (3, 22, 3))
    return standing(frames) + 0.05 * np.sin(2 * np.pi * rate * times + phase).sum(1)
