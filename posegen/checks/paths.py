"""Paths of walks and runs, measured from the joints: circles, figures of eight, zigzags, back and forth, and diagonals."""

from __future__ import annotations

import numpy as np

from posegen.arrays import Array
from posegen.constants import DEGREES, SHAPES

_SHORTEST = 2.0
"""Seconds of the shortest interval in which a path is searched."""
_ROUND = (290.0, 440.0)
"""Degrees of the turn in a circle."""
_LOOP, _RESIDUE = 250.0, 110.0
"""Least degrees of the first loop of a figure of eight, and most degrees of the whole turn."""
_CLOSED = 0.3
"""Most distance between the ends of a closed path, as a share of its length."""
_SWING = 45.0
"""Least degrees of each change of direction in a zigzag."""
_AHEAD, _BACK, _SHARE = 45.0, 135.0, 0.22
"""Degrees within which a heading is ahead, from which it is back, and the least share of the time of each."""
_DIAGONAL = (22.0, 68.0)
"""Degrees of a diagonal from the initial heading."""
_SMALLEST = 1e-9
"""Metres; an absent body has no heading."""


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
        In the order of :data:`posegen.constants.SHAPES`.
    """
    shapes = dict.fromkeys(SHAPES, False)
    if len(hips) < _SHORTEST * fps:
        return np.array(list(shapes.values()))
    heading = _headings(hips)
    steps = pelvis[1:] - pelvis[:-1]
    length = float(np.cumsum(np.sqrt(steps[:, 0] * steps[:, 0] + steps[:, 1] * steps[:, 1]))[-1])
    way = pelvis[-1] - pelvis[0]
    size = float(np.sqrt(way[0] * way[0] + way[1] * way[1]))
    closed = size < _CLOSED * length
    narrow = _is_narrow(pelvis, hips[0])
    end, middle = float(heading[-1]), float(heading[len(heading) // 2])
    for side, sign in (("left", 1.0), ("right", -1.0)):
        even = 90.0 < sign * middle < 270.0
        shapes[f"{side}_circle"] = closed and even and not narrow and _ROUND[0] < sign * end < _ROUND[1]
        # Across the initial heading, to the left, and along it.
        one = hips[0] / max(np.sqrt(hips[0, 0] * hips[0, 0] + hips[0, 1] * hips[0, 1]), _SMALLEST)
        aside, ahead = sign * float(way[0] * one[0] + way[1] * one[1]), float(way[1] * one[0] - way[0] * one[1])
        late = sign * heading[len(heading) // 2 :]
        steady = bool((late > _DIAGONAL[0]).all() and (late < _DIAGONAL[1]).all())
        shapes[f"{side}_diagonal"] = steady and 0.35 * ahead < aside < 1.8 * ahead
    loops = max(float(heading.max()), -float(heading.min()))
    shapes["figure_eight"] = closed and loops > _LOOP and abs(end) < _RESIDUE
    shapes["zigzag"] = not closed and loops < _BACK and _swings(heading) >= 3
    around = np.abs(heading - 360.0 * np.rint(heading / 360.0))
    turned = bool((around < _AHEAD).mean() > _SHARE and (around > _BACK).mean() > _SHARE)
    shapes["back_and_forth"] = turned and size < 0.6 * length and not shapes["figure_eight"] and narrow
    return np.array(list(shapes.values()))


def _headings(hips: Array) -> Array:
    """Return the heading relative to the first frame in degrees, left positive, whole turns included."""
    size = np.maximum(np.sqrt(hips[:, 0] * hips[:, 0] + hips[:, 1] * hips[:, 1]), _SMALLEST)
    x, z = hips[:, 0] / size, hips[:, 1] / size
    # A frame turns by few degrees: arcsine by its series, as in posegen.checks.evidence.
    s = z[:-1] * x[1:] - x[:-1] * z[1:]
    return np.concatenate([[0.0], np.cumsum(s + s * s * s / 6.0)]) * DEGREES


def _swings(heading: Array) -> int:
    """Count the changes of heading by more than _SWING degrees, each in the other direction than the one before."""
    count, low, high, sense = 0, heading[0], heading[0], 0
    for value in heading.tolist():
        low, high = min(low, value), max(high, value)
        if sense >= 0 and value < high - _SWING:
            count, sense, low, high = count + 1, -1, value, value
        elif sense <= 0 and value > low + _SWING:
            count, sense, low, high = count + 1, 1, value, value
        elif sense > 0:
            low = value if value > high else low
        elif sense < 0:
            high = value if value < low else high
    return count


def _is_narrow(pelvis: Array, left: Array) -> bool:
    """Return whether a path extends less to the sides than ahead; `left` is the first vector of the hips."""
    aside = pelvis[:, 0] * left[0] + pelvis[:, 1] * left[1]
    ahead = pelvis[:, 1] * left[0] - pelvis[:, 0] * left[1]
    return bool(aside.max() - aside.min() < 0.8 * (ahead.max() - ahead.min()))
