"""What feet stand on: the floor at 0 and the steps of a scene.

Feet and pelvis are worked out as if all prints lay on the floor; each foot is then raised by the surface under its prints, and
the pelvis by the mean of both, so that it rises while either foot does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.contacts import FIRST, LAST, PRINT_HEIGHT, PRINT_X, PRINT_Z
from posegen.motion.rows import ANKLE_Y, GROUND, HEEL_HEIGHT, HEIGHT, TOE_HEIGHT
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step

__all__ = ["fill_ground", "raise_body", "raise_feet", "surface_height"]

Array = NDArray[Any]

STEP_X, STEP_Z, STEP_HEADING, STEP_HALF_WIDTH, STEP_HALF_DEPTH, STEP_HEIGHT = range(6)
"""Columns of :attr:`posegen.scene.Scenes.steps`, the heading in turns here."""


@kernel
def surface_height(steps: Array, x: Scalar, z: Scalar) -> Scalar:
    """Height of the highest surface at a place; metres. The floor is at 0."""
    height = 0.0
    for i in range(len(steps)):
        s, c = sin_turns(steps[i, STEP_HEADING]), cos_turns(steps[i, STEP_HEADING])
        dx, dz = x - steps[i, STEP_X], z - steps[i, STEP_Z]
        along, aside = dx * s + dz * c, dx * c - dz * s
        if abs(along) <= steps[i, STEP_HALF_DEPTH] and abs(aside) <= steps[i, STEP_HALF_WIDTH]:
            height = max(height, steps[i, STEP_HEIGHT])
    return height


@kernel
def fill_ground(steps: Array, stances: Array, count: int, row: Array) -> None:
    """Write how high the ground under a foot is, over the frames.

    Between two stances it changes early on the way up and late on the way down, since the foot has to clear the edge.
    """
    frames = len(row)
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        here = surface_height(steps, stances[i, PRINT_X], stances[i, PRINT_Z]) + stances[i, PRINT_HEIGHT]
        row[first:last] = np.float32(here)
        if i == 0:
            row[:first] = np.float32(here)
        if i == count - 1:
            row[last:] = np.float32(here)
            continue
        land = int(stances[i + 1, FIRST])
        there = surface_height(steps, stances[i + 1, PRINT_X], stances[i + 1, PRINT_Z]) + stances[i + 1, PRINT_HEIGHT]
        for f in range(last, land):
            x = (f - last + 1.0) / (land - last + 1.0)
            share = smooth_step(2.0 * x) if there > here else smooth_step(2.0 * x - 1.0)
            row[f] = np.float32(here + (there - here) * share)
    if count == 0:
        row[:frames] = np.float32(0.0)


@kernel
def raise_body(root: Array, legs: Array, planted: Array) -> None:
    """Raise planted ankles by their ground, and the pelvis by the mean of both grounds."""
    for f in range(root.shape[1]):
        root[HEIGHT, f] += np.float32(0.5) * (legs[0, GROUND, f] + legs[1, GROUND, f])
        for side in range(2):
            if planted[side, f]:
                legs[side, ANKLE_Y, f] += legs[side, GROUND, f]


@kernel
def raise_feet(leg: Array, planted: Array, sign: Scalar, swinging: bool) -> None:
    """Take heights of swinging feet, or heights of soles, from the world to the ground (`sign` -1) or back (1)."""
    change = np.float32(sign)
    for f in range(leg.shape[1]):
        if swinging and not planted[f]:
            leg[ANKLE_Y, f] += change * leg[GROUND, f]
        if not swinging:
            leg[HEEL_HEIGHT, f] += change * leg[GROUND, f]
            leg[TOE_HEIGHT, f] += change * leg[GROUND, f]
