"""HumanML3D's features by quaternions, frame by frame, as their definition says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHAINS = ([0, 2, 5, 8, 11], [0, 1, 4, 7, 10], [0, 3, 6, 9, 12, 15], [9, 14, 17, 19, 21], [9, 13, 16, 18, 20])
DOWN, UP, AHEAD, LEFT, RIGHT = [0, -1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [-1, 0, 0]
AXES = [None, LEFT, RIGHT, UP, DOWN, DOWN, UP, DOWN, DOWN, UP, AHEAD, AHEAD, UP, LEFT, RIGHT, AHEAD, *[DOWN] * 6]


def multiplied(p: Array, q: Array) -> Array:
    # Plain numbers: `np.cross` of two vectors took most of the time.
    (a, b, c, d), (e, f, g, h) = p.tolist(), q.tolist()
    return np.array(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g + c * e + d * f - b * h,
            a * h + d * e + b * g - c * f,
        ]
    )


def inverse(q: Array) -> Array:
    return q * [1, -1, -1, -1]


def turned(q: Array, v: Array) -> Array:
    return multiplied(multiplied(q, np.array([0, *v])), inverse(q))[1:]


def between(a: Array, b: Array) -> Array:
    q = np.array([np.sqrt((a @ a) * (b @ b)) + a @ b, *np.cross(a, b)])
    return q / np.linalg.norm(q)


def matrix(q: Array) -> Array:
    return np.stack([turned(q, axis) for axis in np.eye(3)], axis=1)


def headings(joints: Array) -> list[Array]:
    """Quaternions that take the smoothed direction ahead to +z; none for the first frame."""
    across = joints[:, 1] - joints[:, 2] + joints[:, 17] - joints[:, 16]
    ahead = np.cross([0, 1, 0], across / np.linalg.norm(across, axis=1)[:, None])
    taps = np.arange(-80, 81)
    weights = np.exp(-0.5 * (taps / 20) ** 2)
    weights /= weights.sum()
    last = len(ahead) - 1
    smooth = [sum(w * ahead[min(max(t + k, 0), last)] for k, w in zip(taps, weights, strict=True)) for t in range(last + 1)]
    found = [between(v, np.array([0.0, 0, 1])) for v in smooth]
    found[0] = np.array([1.0, 0, 0, 0])
    return found


def features(joints: Array) -> Array:
    """Features [frame - 1, 263] of joints that stand on the floor, begin at the origin and face +z."""
    rows, q = [], headings(joints)
    for t in range(len(joints) - 1):
        local = {}
        for chain in CHAINS:
            before = q[t]
            for start, end in pairwise(chain):
                bone = between(np.array(AXES[end], float), joints[t, end] - joints[t, start])
                local[end] = multiplied(inverse(before), bone)
                before = bone
        step = joints[t + 1] - joints[t]
        around = joints[t] - joints[t, 0] * [1, 0, 1]
        root = turned(q[t + 1], step[0])
        change = multiplied(q[t + 1], inverse(q[t]))
        rows.append(
            [
                np.arcsin(change[2] * np.sign(change[0])),
                *(root[0], root[2], joints[t, 0, 1]),
                *np.concatenate([turned(q[t], around[j]) for j in range(1, 22)]),
                *np.concatenate([matrix(local[j])[:, :2].T.ravel() for j in range(1, 22)]),
                *np.concatenate([turned(q[t], s) for s in step]),
                *(float(step[j] @ step[j] < 0.002) for j in (7, 10, 8, 11)),
            ]
        )
    return np.array(rows)
