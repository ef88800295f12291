"""Ground under the feet: the floor at height 0, the steps of a scene, and the stairs of an action.

Stances and pelvis are computed as if all footprints were on the floor. Each foot is then raised by the ground under its
footprints, and the pelvis by the mean of both.
"""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel
from posegen.motion import rows
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step

STEP_X, STEP_Z, STEP_HEADING, STEP_HALF_WIDTH, STEP_HALF_DEPTH, STEP_HEIGHT = range(6)
"""Columns of :attr:`posegen.scene.Scenes.steps`; the heading is in turns here."""
LEAST_TREAD = 0.1
"""Distance in metres along the path from which two footprints lie on different steps."""


@kernel
def surface_height(steps: Array, x: Scalar, z: Scalar) -> Scalar:
    """Return the height in metres of the highest surface at a position. The floor is at 0."""
    height = 0.0
    for i in range(len(steps)):
        s, c = sin_turns(steps[i, STEP_HEADING]), cos_turns(steps[i, STEP_HEADING])
        dx, dz = x - steps[i, STEP_X], z - steps[i, STEP_Z]
        along, aside = dx * s + dz * c, dx * c - dz * s
        if abs(along) <= steps[i, STEP_HALF_DEPTH] and abs(aside) <= steps[i, STEP_HALF_WIDTH]:
            height = max(height, steps[i, STEP_HEIGHT])
    return height


@kernel
def stair_levels(rising: Array, stances: Array, counts: Array, levels: Array) -> bool:
    """Write the height of each footprint on stairs that lead from footprint to footprint; the lowest one is on the floor.

    A foot that lands beside the other one, as in the last step, stays on the same step.

    Parameters
    ----------
    rising : float32 [frames]
        Metres of height gained per step.
    stances : float [2, stances, 8]
    counts : int [2]
        Number of stances of each foot.
    levels : float [2, stances], written
        Metres.

    Returns
    -------
    bool
        Whether there are stairs.
    """
    levels[:] = 0.0
    has_stairs = False
    for f in range(len(rising)):
        has_stairs = has_stairs or rising[f] != 0
    if not has_stairs:
        return False
    left, right, level, lowest = 0, 0, 0.0, 0.0
    x, z = np.nan, np.nan
    while left < counts[0] or right < counts[1]:
        side = 1
        if right == counts[1] or (left < counts[0] and stances[0, left, rows.FIRST] <= stances[1, right, rows.FIRST]):
            side = 0
        i = left if side == 0 else right
        stance = stances[side, i]
        s, c = sin_turns(stance[rows.PRINT_YAW]), cos_turns(stance[rows.PRINT_YAW])
        ahead = (stance[rows.PRINT_X] - x) * s + (stance[rows.PRINT_Z] - z) * c
        if ahead > LEAST_TREAD:
            level += rising[int(stance[rows.FIRST])]
        lowest = min(lowest, level)
        levels[side, i] = level
        x, z = stance[rows.PRINT_X], stance[rows.PRINT_Z]
        left, right = left + (side == 0), right + (side == 1)
    for side in range(2):
        for i in range(counts[side]):
            levels[side, i] -= lowest
    return True


@kernel
def fill_ground(steps: Array, stances: Array, levels: Array, row: Array) -> None:
    """Write the height of the ground under a foot over the frames; `levels` is the height of each footprint above the steps.

    Between two stances the ground changes early on the way up and late on the way down, because the foot must clear the edge.
    """
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        stance = stances[i]
        here = levels[i] + stance[rows.PRINT_HEIGHT] + surface_height(steps, stance[rows.PRINT_X], stance[rows.PRINT_Z])
        row[first:last] = np.float32(here)
        if i == 0:
            row[:first] = np.float32(here)
        if i == len(stances) - 1:
            row[last:] = np.float32(here)
            continue
        land = int(stances[i + 1, rows.FIRST])
        there = surface_height(steps, stances[i + 1, rows.PRINT_X], stances[i + 1, rows.PRINT_Z])
        there += levels[i + 1] + stances[i + 1, rows.PRINT_HEIGHT]
        for f in range(last, land):
            x = (f - last + 1.0) / (land - last + 1.0)
            share = smooth_step(2.0 * x) if there > here else smooth_step(2.0 * x - 1.0)
            row[f] = np.float32(here + (there - here) * share)
    if len(stances) == 0:
        row[:] = np.float32(0.0)


@kernel
def raise_body(root: Array, legs: Array, contact: Array) -> None:
    """Raise the ankles of feet in contact by their ground, and the pelvis by the mean of both grounds."""
    for f in range(root.shape[1]):
        root[rows.HEIGHT, f] += np.float32(0.5) * (legs[0, rows.GROUND, f] + legs[1, rows.GROUND, f])
        for side in range(2):
            if contact[side, f]:
                legs[side, rows.ANKLE_Y, f] += legs[side, rows.GROUND, f]


@kernel
def raise_feet(leg: Array, contact: Array, sign: Scalar, swinging: bool) -> None:
    """Add (`sign` 1) or subtract (-1) the ground: to ankles of swinging feet, or to the heights of heel and toe."""
    change = np.float32(sign)
    for f in range(leg.shape[1]):
        if swinging and not contact[f]:
            leg[rows.ANKLE_Y, f] += change * leg[rows.GROUND, f]
        if not swinging:
            leg[rows.HEEL_HEIGHT, f] += change * leg[rows.GROUND, f]
            leg[rows.TOE_HEIGHT, f] += change * leg[rows.GROUND, f]
