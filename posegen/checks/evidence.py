"""Evidence: what the joints of a stretch of frames show of side, count, turn and speed, whatever was planned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.checks.signals import ANKLES, HIPS, distance, fill_signal, left_of, number_of, peaks
from posegen.constants import AVERAGE_LEG, DEGREES
from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.scene import BOTH, LEFT, RIGHT
from posegen.skeleton import JOINTS

__all__ = ["DISTINCT", "UNSEEN", "Evidence", "Stretches", "look"]

Array = NDArray[Any]

UNSEEN = -1
"""A count that no signal tells."""
DISTINCT = 0.01
"""Metres by which one side must be ahead of the other in the mean for the side to be seen."""
STRIDE_SECONDS = 0.48
"""Speed is that over so long: about a step, so that what the pelvis sways is not counted."""
HIP_OVER_ANKLE = 0.92
"""Thigh and shank as a share of the height of the hip: the rest is below the ankle (Drillis and Contini)."""
PELVIS = JOINTS.index("pelvis")
KNEES = JOINTS.index("left_knee"), JOINTS.index("right_knee")


class Stretches(NamedTuple):
    """What to look at: for each stretch its clip, actor, first frame, frame behind the last, and the action it is of."""

    clip: Array
    actor: Array
    start: Array
    end: Array
    action: Array


class Evidence(NamedTuple):
    """What is seen in each stretch.

    Attributes
    ----------
    side : int8 [n]
        LEFT, RIGHT, or BOTH where neither side is ahead or the action has no sign for it.
    repetitions : int32 [n]
        Repetitions, UNSEEN where the action has no sign for them.
    turn : float64 [n]
        Degrees by which the hips turn; to the left positive.
    slower, faster : float64 [n, k]
        Share of the time in which the pelvis goes slower, or faster, than the k-th of the bounds asked about.

    Turn, slower and faster are 0 for actions that are no way of going.
    """

    side: Array
    repetitions: Array
    turn: Array
    slower: Array
    faster: Array


class _Signs(NamedTuple):
    """What to look for, by action.

    Number of the signal of the side and of the count, -1 for none; 1 where more or peaks are meant, else -1; 1 for a gait,
    else -1.
    """

    side: Array
    side_sign: Array
    counted: Array
    counted_sign: Array
    gait: Array


@kernel
def side_seen(joints: Array, signal: int, sign: int, left: Array, right: Array) -> int:
    """Side whose signal is ahead in the mean (`sign` 1) or behind (-1); `left` and `right` are scratch, float64 [frames]."""
    fill_signal(joints, signal, LEFT, left)
    fill_signal(joints, signal, RIGHT, right)
    ahead = 0.0
    for f in range(len(joints)):
        ahead += left[f] - right[f]
    ahead *= sign / max(1, len(joints))
    if ahead > DISTINCT:
        return LEFT
    return RIGHT if ahead < -DISTINCT else BOTH


@kernel
def turned(joints: Array) -> Scalar:
    """Radians by which the hips turn from the first frame to the last, to the left positive, whole turns counted."""
    angle = 0.0
    x, z = left_of(joints, 0, HIPS)
    for f in range(1, len(joints)):
        next_x, next_z = left_of(joints, f, HIPS)
        # The left of who faces +z is +x, and turns on to -z. A frame turns by few degrees: arcsine by its series.
        s = x * -next_z + z * next_x
        angle += s + s * s * s / 6.0
        x, z = next_x, next_z
    return angle


@kernel
def leg_seen(joints: Array) -> Scalar:
    """Height of the hip in standing, metres, by the bones of both legs: the mirror image is as tall to the last bit."""
    length = 0.0
    for higher, lower in ((HIPS, KNEES), (KNEES, ANKLES)):
        length += distance(joints, 0, higher[0], lower[0]) + distance(joints, 0, higher[1], lower[1])
    return 0.5 * length / HIP_OVER_ANKLE


@kernel
def fill_shares(
    joints: Array, stride: int, bounds: Array, stride_seconds: Scalar, squares: Array, slower: Array, faster: Array
) -> None:
    """Share of the strides over which the pelvis goes slower, and faster, than each bound.

    Parameters
    ----------
    joints : float32 [frames, 22, 3]
        Metres.
    stride : int
        Frames.
    bounds : float64 [k]
        Metres a second.
    stride_seconds : float
        What a stride takes.
    squares : float64 [frames]
        Scratch.
    slower, faster : float64 [k]
        Filled; 0 where the stretch is shorter than a stride.
    """
    strides = max(len(joints) - stride, 0)
    for f in range(strides):
        x = float(joints[f + stride, PELVIS, 0]) - float(joints[f, PELVIS, 0])
        z = float(joints[f + stride, PELVIS, 2]) - float(joints[f, PELVIS, 2])
        squares[f] = x * x + z * z
    for k in range(len(bounds)):
        limit = bounds[k] * stride_seconds
        below, above = 0, 0
        for f in range(strides):
            below += squares[f] < limit * limit
            above += squares[f] > limit * limit
        slower[k], faster[k] = below / max(strides, 1), above / max(strides, 1)


@kernel
def look_at(
    joints: Array, stretches: Stretches, signs: _Signs, bounds: Array, frame_seconds: Scalar, work: Array, out: Evidence
) -> None:
    """Look at all stretches; see :func:`look`. `work` is scratch, float64 [3, frames and bounds]."""
    stride = int(np.rint(STRIDE_SECONDS / frame_seconds))
    limits = work[2, : len(bounds)]
    for i in range(len(stretches.clip)):
        start, end, action = stretches.start[i], stretches.end[i], stretches.action[i]
        seen = joints[stretches.clip[i], stretches.actor[i], start:end]
        left, right = work[0, : end - start], work[1, : end - start]
        side = BOTH
        if signs.side[action] >= 0:
            side = side_seen(seen, signs.side[action], signs.side_sign[action], left, right)
        out.side[i] = side
        out.repetitions[i] = UNSEEN
        if signs.counted[action] >= 0:
            values = right if side == RIGHT else left
            if side == BOTH or signs.counted[action] != signs.side[action]:
                fill_signal(seen, signs.counted[action], side, values)
            out.repetitions[i] = peaks(values, signs.counted_sign[action] > 0)
        out.turn[i] = 0.0
        out.slower[i, :] = 0.0
        out.faster[i, :] = 0.0
        if signs.gait[action] > 0:
            out.turn[i] = turned(seen)
            pace = np.sqrt(leg_seen(seen) / AVERAGE_LEG)
            for k in range(len(bounds)):
                limits[k] = bounds[k] * pace
            fill_shares(seen, stride, limits, stride * frame_seconds, left, out.slower[i], out.faster[i])


def _signs(library: Library) -> _Signs:
    columns = np.full((5, len(library.actions)), -1, np.int64)
    for i, name in enumerate(library.actions):
        action = library.action(name)
        side, count = action.signs.side, action.signs.count
        columns[4, i] = 1 if action.gait is not None else -1
        if side is not None and (signal := side.more or side.less) is not None:
            columns[:2, i] = number_of(signal), 1 if side.more else -1
        if count is not None and (signal := count.peaks or count.dips) is not None:
            columns[2:4, i] = number_of(signal), 1 if count.peaks else -1
    return _Signs(*columns)


def look(joints: Array, stretches: Stretches, library: Library, bounds: Array, fps: float) -> Evidence:
    """Look at what joints show in some stretches of frames.

    Parameters
    ----------
    joints : float32 [clips, actors, frames, 22, 3]
        Metres, y up.
    stretches : Stretches
        int64 [n] each; none is empty.
    library : Library
        Of the actions, which say what to look at.
    bounds : float64 [k]
        Speeds in metres a second, for a hip .9 m high, that the speeds are held against.
    fps : float
        Frames a second.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        If a stretch is empty or leaves its clip.
    """
    n, frames = len(stretches.clip), joints.shape[2]
    empty = (stretches.start < 0) | (stretches.end > frames) | (stretches.start >= stretches.end)
    if empty.any():
        i = int(np.argmax(empty))
        msg = f"frames {stretches.start[i]} to {stretches.end[i]} are no stretch of a clip of {frames} frames"
        raise ValueError(msg)
    found = Evidence(
        np.empty(n, np.int8), np.empty(n, np.int32), np.empty(n), np.empty((n, len(bounds))), np.empty((n, len(bounds)))
    )
    look_at(
        joints,
        Stretches(*(np.ascontiguousarray(c, np.int64) for c in stretches)),
        _signs(library),
        np.asarray(bounds, np.float64),
        1.0 / fps,
        np.empty((3, max(frames, len(bounds)))),
        found,
    )
    return found._replace(turn=found.turn * DEGREES)
