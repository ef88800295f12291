"""Paths of walks and runs, measured from the joints: circles, figures of eight, zigzags, back and forth, and diagonals."""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.constants import DEGREES, SHAPES
from posegen.foundations.kernels import Scalar, kernel

SHORTEST = 2.0
"""Seconds of the shortest interval in which a path is searched."""
ROUND = (290.0, 440.0)
"""Degrees of the turn in a circle."""
LOOP, RESIDUE = 250.0, 110.0
"""Least degrees of the first loop of a figure of eight, and most degrees of the whole turn."""
CLOSED = 0.3
"""Most distance between the ends of a closed path, as a share of its length."""
SWING = 45.0
"""Least degrees of each change of direction in a zigzag."""
AHEAD, BACK, SHARE = 45.0, 135.0, 0.22
"""Degrees within which a heading is ahead, from which it is back, and the least share of the time of each."""
DIAGONAL = (22.0, 68.0)
"""Degrees of a diagonal from the initial heading."""
SMALLEST = 1e-9
"""Metres; an absent body has no heading."""


_CIRCLES = SHAPES.index("left_circle"), SHAPES.index("right_circle")
_DIAGONALS = SHAPES.index("left_diagonal"), SHAPES.index("right_diagonal")
_EIGHT, _ZIGZAG, _BACK_AND_FORTH = (SHAPES.index(name) for name in ("figure_eight", "zigzag", "back_and_forth"))


def path_shapes(hips: Array, pelvis: Array, fps: float) -> Array:
    """Return which shapes a path has.

    Parameters
    ----------
    hips : float64 [frames, 2]
        Level vector x, z from the right hip to the left one.
    pelvis : float64 [frames, 2]
        Position x, z in metres.
    fps : float
        Frames per second.

    Returns
    -------
    bool [len(SHAPES)]
        In the order of :data:`posegen.foundations.constants.SHAPES`.
    """
    shapes = np.zeros(len(SHAPES), bool)
    if len(hips) >= SHORTEST * fps:
        hips, pelvis = (np.ascontiguousarray(values, np.float64) for values in (hips, pelvis))
        fill_shapes(hips, pelvis, np.empty(len(hips)), shapes)
    return shapes


@kernel
def fill_headings(hips: Array, heading: Array) -> None:
    """Compute the heading relative to the first frame in degrees, left positive, whole turns included."""
    x, z, turned = 0.0, 0.0, 0.0
    for f in range(len(hips)):
        size = max(np.sqrt(hips[f, 0] * hips[f, 0] + hips[f, 1] * hips[f, 1]), SMALLEST)
        next_x, next_z = hips[f, 0] / size, hips[f, 1] / size
        # A frame turns by few degrees: arcsine by its series, as in posegen.checks.evidence.
        s = z * next_x - x * next_z
        turned += s + s * s * s / 6.0
        heading[f] = turned * DEGREES
        x, z = next_x, next_z


@kernel
def count_swings(heading: Array) -> int:
    """Count the changes of heading by more than SWING degrees, each in the other direction than the one before."""
    count, low, high, sense = 0, heading[0], heading[0], 0
    for value in heading:
        low, high = min(low, value), max(high, value)
        to_right, to_left = sense >= 0 and value < high - SWING, sense <= 0 and value > low + SWING
        if to_right or to_left:
            count, sense, low, high = count + 1, -1 if to_right else 1, value, value
    return count


@kernel
def spread_along(points: Array, x: Scalar, z: Scalar) -> Scalar:
    """Return the extent of points [n, 2] along a vector, times its length."""
    least, most = np.inf, -np.inf
    for i in range(len(points)):
        along = points[i, 0] * x + points[i, 1] * z
        least, most = min(least, along), max(most, along)
    return most - least


@kernel
def fill_shapes(hips: Array, pelvis: Array, heading: Array, shapes: Array) -> None:
    """Compute :func:`path_shapes` of a path that is long enough; `heading` is scratch, float64 [frames]."""
    frames, half = len(hips), len(hips) // 2
    fill_headings(hips, heading)
    length, ahead_share, back_share = 0.0, 0, 0
    lowest, highest, late_low, late_high = np.inf, -np.inf, np.inf, -np.inf
    for f in range(frames):
        if f > 0:
            x, z = pelvis[f, 0] - pelvis[f - 1, 0], pelvis[f, 1] - pelvis[f - 1, 1]
            length += np.sqrt(x * x + z * z)
        lowest, highest = min(lowest, heading[f]), max(highest, heading[f])
        if f >= half:
            late_low, late_high = min(late_low, heading[f]), max(late_high, heading[f])
        around = abs(heading[f] - 360.0 * np.rint(heading[f] / 360.0))
        ahead_share += around < AHEAD
        back_share += around > BACK
    way_x, way_z = pelvis[-1, 0] - pelvis[0, 0], pelvis[-1, 1] - pelvis[0, 1]
    size = np.sqrt(way_x * way_x + way_z * way_z)
    closed = size < CLOSED * length
    left_x, left_z = hips[0, 0], hips[0, 1]
    # Narrow paths extend less to the sides than ahead.
    narrow = spread_along(pelvis, left_x, left_z) < 0.8 * spread_along(pelvis, -left_z, left_x)
    # Across the initial heading, to the left, and along it.
    unit = max(np.sqrt(left_x * left_x + left_z * left_z), SMALLEST)
    left_x, left_z = left_x / unit, left_z / unit
    aside, ahead = way_x * left_x + way_z * left_z, way_z * left_x - way_x * left_z
    for side in range(2):
        sign = 1.0 - 2.0 * side
        even = 90.0 < sign * heading[half] < 270.0
        shapes[_CIRCLES[side]] = closed and even and not narrow and ROUND[0] < sign * heading[-1] < ROUND[1]
        low, high = (late_low, late_high) if side == 0 else (-late_high, -late_low)
        steady = low > DIAGONAL[0] and high < DIAGONAL[1]
        shapes[_DIAGONALS[side]] = steady and 0.35 * ahead < sign * aside < 1.8 * ahead
    loops = max(highest, -lowest)
    shapes[_EIGHT] = closed and loops > LOOP and abs(heading[-1]) < RESIDUE
    shapes[_ZIGZAG] = not closed and loops < BACK and count_swings(heading) >= 3
    turned = ahead_share / frames > SHARE and back_share / frames > SHARE
    shapes[_BACK_AND_FORTH] = turned and size < 0.6 * length and not shapes[_EIGHT] and narrow
