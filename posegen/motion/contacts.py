"""Planted feet: when each foot is on the ground, where its print lies, and how the ankle follows from that.

The channels give a nominal foot. While a foot is planted it is held to its print, rolling over heel and ball; for how it swings
see :mod:`posegen.motion.swings`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, FOOT_BALL, FOOT_HEEL
from posegen.motion.rows import (
    APART,
    BEATS,
    DUTY,
    FORWARD,
    GAIT_WEIGHT,
    HEADING,
    LONE_FOOT,
    ODOMETER,
    PATH_X,
    PATH_Z,
    PHASE,
    PITCH,
    RATE,
    RISING,
    RUN_WEIGHT,
    SPEED,
)
from posegen.motion.trigonometry import cos_turns, sin_turns

__all__ = [
    "find_stances",
    "mark_planted",
    "plan_prints",
    "rest_frame",
    "rise_on_toes",
    "roll_forward",
    "rolled_height",
    "time_stances",
]

Array = NDArray[Any]

FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW, PRINT_HEIGHT, EARLY, LATE = range(8)
"""Entries of a stance: first frame, frame behind the last, print of the ankle on the floor in metres, yaw in turns, how far
above what is there (floor or step) the foot stands, in metres, and by how many frames it lands before the first and lifts
behind the last one that is planted: between 0 and 1, so that a step is the same at any frame rate."""
PRINT_BACK, RUN_PRINT_BACK = 0.145, 0.255
"""How far behind the mean of the nominal foot a walking print lies, in lengths from ankle to ball: so the foot is within reach
when it lands, on a leg that is nearly straight; the second number is how much more in running."""


FAST_WALK, FAST_PRINT_BACK = 1.35, 0.07
"""Above this speed in m/s, prints lie further back by this many metres for each m/s: the longer the step, the more of it a
trailing foot on its toes can span, which is longer than a leading one on its heel."""


LONGER_LAST_STEP, MOST_BEFORE = 0.02, 0.03
"""Metres: by how much the last step before rest may lead further than those in walking, and how far at most a foot rests behind
its place for the sake of that."""
ON_TOES = 0.0045
"""Metres that the ball of the foot rises while it still touches; over toes, which the skeleton lacks, it would rise on."""


@kernel
def find_stances(planted: Array, stances: Array) -> int:
    """List the stretches of frames in which a foot is planted; returns how many."""
    count, f, frames = 0, 0, len(planted)
    while f < frames and count < len(stances):
        if planted[f]:
            stances[count, FIRST], stances[count, PRINT_HEIGHT] = f, 0.0
            while f < frames and planted[f]:
                f += 1
            stances[count, LAST] = f
            count += 1
        else:
            f += 1
    return count


@kernel
def time_between(root: Array, side: int, on: int, off: int) -> Scalar:
    """How many frames from a planted frame towards one off the ground the phase says that the foot lands or lifts."""
    phase = root[PHASE, on] + 0.5 * side
    moved = phase - (root[PHASE, off] + 0.5 * side)
    if abs(moved) < 1e-6 or root[BEATS, on] == 4:
        return 0.0
    into = phase - np.floor(phase)
    return min(max(into / moved if moved > 0 else (into - root[DUTY, on]) / moved, 0.0), 1.0)


@kernel
def time_stances(root: Array, side: int, stances: Array, count: int) -> None:
    """Write how much earlier and later than in whole frames each stance begins and ends."""
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        stances[i, EARLY] = time_between(root, side, first, first - 1) if first > 0 else 0.0
        stances[i, LATE] = time_between(root, side, last - 1, last) if last < root.shape[1] else 0.0


@kernel
def mark_planted(root: Array, side: int, airborne: Array, planted: Array) -> None:
    """Which frames a foot is planted in, by the phase of the stride; `side` is 0 for the left foot, 1 for the right.

    `airborne` are the frames in which it is off the ground whatever the phase. Who hops on one foot does not plant the other;
    who skips plants each foot twice within its half of the stride.
    """
    spared = np.float32(1.0 if side == 1 else -1.0)
    for f in range(len(planted)):
        phase = root[PHASE, f] + np.float32(0.5 * side)
        phase -= np.floor(phase)
        duty = root[DUTY, f] - max(np.float32(0.0), spared * root[LONE_FOOT, f])
        if root[BEATS, f] == 4 and phase < 0.5:
            phase = np.float32(4.0) * phase
            phase = np.float32(0.25) * (phase - np.floor(phase))
        planted[f] = (phase < duty) and not airborne[f]
    # A foot off the ground for a frame or two between two stances has not stepped.
    f, frames = 0, len(planted)
    while f < frames:
        if planted[f] or airborne[f]:
            f += 1
            continue
        begin = f
        while f < frames and not planted[f] and not airborne[f]:
            f += 1
        if f - begin < 3 and begin > 0 and f < frames and planted[begin - 1] and planted[f]:
            planted[begin:f] = True


@kernel
def rest_frame(root: Array, first: int, last: int) -> int:
    """Frame within a stance in which the body stands still; -1 if it never does."""
    for f in range(first, last):
        if root[GAIT_WEIGHT, f] <= 0:
            return f
    return -1


@kernel
def plan_prints(root: Array, leg: Array, side: int, widths: Array, foot: Array, stances: Array, count: int) -> None:
    """Where each stance's print lies: about where the nominal foot is while the body passes over it.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    side : int
    widths : float [3]
        Half the distance between the feet walking and standing (metres), toe-out (turns).
    foot : float [4]
    stances : float [stances, 8], changed
    count : int
    """
    out = 1.0 if side == 0 else -1.0
    frames = root.shape[1]
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        at = float(rest_frame(root, first, last))
        forward = 0.0
        if at >= 0:
            forward = leg[FORWARD, int(at)]
        else:
            middle = 0.5 * (root[ODOMETER, first] + root[ODOMETER, last - 1])
            f = first
            while f < last - 2 and root[ODOMETER, f + 1] < middle:
                f += 1
            gap = root[ODOMETER, f + 1] - root[ODOMETER, f] if f + 1 < frames else 0.0
            at = f + (min(max((middle - root[ODOMETER, f]) / gap, 0.0), 1.0) if gap > 1e-6 else 0.0)
        f = min(int(at), frames - 2)
        share = at - f
        heading = root[HEADING, f] + share * (root[HEADING, f + 1] - root[HEADING, f])
        x = root[PATH_X, f] + share * (root[PATH_X, f + 1] - root[PATH_X, f])
        z = root[PATH_Z, f] + share * (root[PATH_Z, f + 1] - root[PATH_Z, f])
        gait = root[GAIT_WEIGHT, f]
        s, c = sin_turns(heading), cos_turns(heading)
        if gait > 0:
            # Where the nominal foot is along the path, its roll over heel and ball taken off, in the mean over the stance.
            total, weights = 0.0, 0.0
            for j in range(first, last):
                # The ends count for the parts of frames that they stand for.
                weight = (0.5 + stances[i, EARLY] if j == first else 1.0) + (stances[i, LATE] - 0.5 if j == last - 1 else 0.0)
                along = (root[PATH_X, j] - x) * s + (root[PATH_Z, j] - z) * c
                total += weight * (along + leg[FORWARD, j] - roll_forward(leg[PITCH, j], foot))
                weights += weight
            fast = max(0.0, abs(root[SPEED, f]) - FAST_WALK) * (1.0 - root[RUN_WEIGHT, f])
            back = PRINT_BACK + RUN_PRINT_BACK * root[RUN_WEIGHT, f]
            forward = total / max(weights, 1e-3) - back * foot[FOOT_BALL] - FAST_PRINT_BACK * fast
        elif first > 0 and root[RATE, first] > 0 and root[RISING, first] == 0:
            # Where the body will rest may be too long a last step from where it lands: then it rests a little before it.
            far = (x - root[PATH_X, first]) * s + (z - root[PATH_Z, first]) * c + forward
            usual = leg[FORWARD, first] - PRINT_BACK * foot[FOOT_BALL] + LONGER_LAST_STEP
            forward -= min(max(far - max(usual, 0.0), 0.0), MOST_BEFORE)
        aside = out * (widths[1] + gait * (widths[0] - widths[1]) + root[APART, f])
        stances[i, PRINT_X] = x + forward * s + aside * c
        stances[i, PRINT_Z] = z + forward * c - aside * s
        stances[i, PRINT_YAW] = heading + out * widths[2]


@kernel
def roll_forward(pitch: Scalar, foot: Array) -> Scalar:
    """How far the ankle of a planted foot is ahead of where it is when the foot lies flat; metres.

    Toes up, the foot turns about the heel; heel up, about the ball.
    """
    s, c = sin_turns(pitch), cos_turns(pitch)
    pivot = -foot[FOOT_HEEL] if pitch > 0 else foot[FOOT_BALL]
    return pivot - pivot * c - foot[FOOT_ANKLE_HEIGHT] * s


@kernel
def rise_on_toes(s: Scalar) -> Scalar:
    """How far the ball of a foot is above the floor when the sine of its pitch is `s`, as it rolls off; metres."""
    share = min(max((-s - np.float32(0.6)) / np.float32(0.3), np.float32(0.0)), np.float32(1.0))
    return np.float32(ON_TOES) * share * share * (np.float32(3.0) - np.float32(2.0) * share)


@kernel
def rolled_height(pitch: Scalar, foot: Array) -> Scalar:
    """Height of the ankle of a planted foot above what it stands on; metres."""
    s, c = sin_turns(pitch), cos_turns(pitch)
    return foot[FOOT_ANKLE_HEIGHT] * c + (foot[FOOT_HEEL] * s if s > 0 else -foot[FOOT_BALL] * s + rise_on_toes(s))
