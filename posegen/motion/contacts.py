"""Planted feet: when each foot is on the ground, where its print lies, and how the ankle follows from that.

The channels give a nominal foot. While a foot is planted it is held to its print, rolling over heel and ball; while it swings,
the difference between held and nominal passes smoothly from what it was at the lift to what it will be at the landing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.leaving import leave_row
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, FOOT_BALL, FOOT_HEEL
from posegen.motion.rows import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    APART,
    BEATS,
    DUTY,
    FORWARD,
    GAIT_WEIGHT,
    HEADING,
    HIP_X,
    HIP_Y,
    HIP_Z,
    LONE_FOOT,
    ODOMETER,
    PATH_X,
    PATH_Z,
    PHASE,
    PITCH,
    RUN_WEIGHT,
    SPEED,
    YAW,
)
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step

__all__ = [
    "add_lack",
    "clear_swings",
    "find_stances",
    "flatten_feet",
    "hold_stance",
    "mark_planted",
    "plan_prints",
    "rest_frame",
    "roll_forward",
    "smooth_cover",
    "swing_foot",
]

Array = NDArray[Any]

FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW, PRINT_HEIGHT = range(6)
"""Entries of a stance: first frame, frame behind the last, print of the ankle on the floor in metres, yaw in turns, and how
far above what is there (floor or step) the foot stands, in metres."""
PRINT_BACK = 0.11
"""How far behind the mean of the nominal foot a walking print lies, in lengths from ankle to ball: so the foot is within reach
when it lands, on a leg that is nearly straight."""


FAST_WALK, FAST_PRINT_BACK = 1.35, 0.07
"""Above this speed in m/s, prints lie further back by this many metres for each m/s: the longer the step, the more of it a
trailing foot on its toes can span, which is longer than a leading one on its heel."""


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
    stances : float [stances, 6], changed
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
            total = 0.0
            for j in range(first, last):
                along = (root[PATH_X, j] - x) * s + (root[PATH_Z, j] - z) * c
                total += along + leg[FORWARD, j] - roll_forward(leg[PITCH, j], foot)
            fast = max(0.0, abs(root[SPEED, f]) - FAST_WALK) * (1.0 - root[RUN_WEIGHT, f])
            forward = total / (last - first) - PRINT_BACK * foot[FOOT_BALL] - FAST_PRINT_BACK * fast
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
def hold_pitch(leg: Array, first: int, last: int, landed: Scalar, landing: Scalar, lifting: Scalar, lifted: Scalar) -> None:
    """Flatten the foot in between rolling down and rolling off.

    Rolling down begins `landed` frames after `first` and ends `landing` frames after it; rolling off begins `lifting` frames
    before the last frame and ends `lifted` frames before it. The heel does not rise anew in rolling down, nor the toes in
    rolling off.
    """
    none = np.float32(0.0)
    least, most = min(leg[PITCH, first], none), max(leg[PITCH, last - 1], none)
    for f in range(first, last):
        down, off = none, none
        if first > 0:
            down = np.float32(1.0) - smooth_step((f - first - landed) / (landing - landed))
        if last < leg.shape[1]:
            off = smooth_step((f - (last - 1 - lifting)) / (lifting - lifted))
        leg[PITCH, f] = down * max(leg[PITCH, f], least) if down >= off else off * min(leg[PITCH, f], most)


@kernel
def hold_stance(leg: Array, stance: Array, foot: Array) -> None:
    """Ankle and yaw of a planted foot: toes up it turns about the heel, heel up about the ball."""
    heel, ball, high = foot[FOOT_HEEL], foot[FOOT_BALL], foot[FOOT_ANKLE_HEIGHT]
    s_yaw, c_yaw = sin_turns(stance[PRINT_YAW]), cos_turns(stance[PRINT_YAW])
    for f in range(int(stance[FIRST]), int(stance[LAST])):
        s, c = sin_turns(leg[PITCH, f]), cos_turns(leg[PITCH, f])
        forward = roll_forward(leg[PITCH, f], foot)
        up = high * c + (heel * s if s > 0 else -ball * s)
        leg[ANKLE_X, f] = stance[PRINT_X] + forward * s_yaw
        leg[ANKLE_Y, f] = up
        leg[ANKLE_Z, f] = stance[PRINT_Z] + forward * c_yaw
        leg[YAW, f] = stance[PRINT_YAW]


@kernel
def swing_row(row: Array, nominal: Array, lift: int, land: int, longest: int) -> None:
    """Fill a row between two stances: the nominal course plus a correction that passes from one end to the other.

    The correction is a cubic that starts with the value and rate that it has at the lift (frame `lift`, the last one planted)
    and ends with those at the landing (frame `land`), so that the foot neither jumps nor jerks. Within `longest` frames a foot
    loses the one value, within as many it takes on the other; rates pass in half of them, so that they do not take the foot
    far from its course.
    """
    span = min(land - lift, longest)
    brief = max(min(land - lift, (longest + 1) // 2), 1)
    here, there = row[lift] - nominal[lift], row[land] - nominal[land]
    v0 = (here - (row[lift - 1] - nominal[lift - 1])) * brief if lift > 0 else np.float32(0.0)
    v1 = ((row[land + 1] - nominal[land + 1]) - there) * brief if land + 1 < len(row) else np.float32(0.0)
    for f in range(lift + 1, land):
        x, y = np.float32(min((f - lift) / span, 1.0)), np.float32(min((land - f) / span, 1.0))
        # Where span and brief are the whole swing, x + y = 1, and these are Hermite's four.
        leaving, arriving = np.float32(1.0) - x, np.float32(1.0) - y
        value = here * (leaving * leaving * (np.float32(1.0) + np.float32(2.0) * x))
        value += there * (arriving * arriving * (np.float32(1.0) + np.float32(2.0) * y))
        x, y = np.float32(min((f - lift) / brief, 1.0)), np.float32(min((land - f) / brief, 1.0))
        leaving, arriving = np.float32(1.0) - x, np.float32(1.0) - y
        row[f] = nominal[f] + value + v0 * (x * leaving * leaving) - v1 * (arriving * arriving * y)


@kernel
def clear_floor(leg: Array, lift: int, land: int, foot: Array, clearance: Scalar) -> None:
    """Raise a swinging foot so that its sole stays above the floor, most in the middle of the swing."""
    heel, ball, high = np.float32(foot[FOOT_HEEL]), np.float32(foot[FOOT_BALL]), np.float32(foot[FOOT_ANKLE_HEIGHT])
    for f in range(lift + 1, land):
        x = np.float32((f - lift) / (land - lift))
        s, c = sin_turns(leg[PITCH, f]), cos_turns(leg[PITCH, f])
        sole = leg[ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        least = np.float32(4.0 * clearance) * x * (np.float32(1.0) - x)
        lack = least - sole
        soft = np.float32(0.006)
        leg[ANKLE_Y, f] += (
            np.float32(0.5)
            * (lack + np.sqrt(lack * lack + soft * soft))
            * min(np.float32(1.0), np.float32(8.0) * x * (np.float32(1.0) - x))
        )
        sole = leg[ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        leg[ANKLE_Y, f] += max(-sole, np.float32(0.0))


@kernel
def flatten_feet(leg: Array, stances: Array, count: int, rate: Array, step: Scalar) -> None:
    """Turn the nominal pitch of a foot into that of a planted one, wherever it is planted; `step` is seconds a frame.

    `rate` is the strides a second over the frames: where it is negative, a foot lands as it otherwise lifts.
    """
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        heel = max(1.0, min(0.13 / step, 0.25 * (last - first)))
        toe = max(1.0, min(0.42 / step, 0.58 * (last - first)))
        # The heel is fully free well before the toe leaves.
        landed, landing = (0.35 * toe, toe) if rate[first] < 0 else (0.0, heel)
        lifted, lifting = (0.0, heel) if rate[last - 1] < 0 else (0.35 * toe, toe)
        hold_pitch(leg, first, last, landed, landing, lifting, lifted)


@kernel
def swing_foot(leg: Array, nominal: Array, stances: Array, count: int, longest: int) -> None:
    """Ankle and yaw of one foot while it is off the ground.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames]
        Nominal ankle x, y, z in metres and yaw in turns.
    stances : float [stances, 6]
    count, longest : int
        How many stances; see :func:`swing_row`.
    """
    frames = leg.shape[1]
    for i in range(count + 1):
        lift = int(stances[i - 1, LAST]) - 1 if i > 0 else -1
        land = int(stances[i, FIRST]) if i < count else frames
        if land - lift <= 1:
            continue
        for r in range(4):
            row = leg[ANKLE_X + r]
            if lift >= 0 and land < frames:
                swing_row(row, nominal[r], lift, land, longest)
            elif lift >= 0:
                leave_row(row, nominal[r], lift, -1, longest)
            elif land < frames:
                leave_row(row, nominal[r], land, 1, longest)
            else:
                row[:] = nominal[r]


@kernel
def clear_swings(leg: Array, stances: Array, count: int, foot: Array, clearance: Array) -> None:
    """Keep the sole of one foot above the floor in all its swings; `clearance` is metres in mid swing, over the frames."""
    for i in range(count + 1):
        lift = int(stances[i - 1, LAST]) - 1 if i > 0 else -1
        land = int(stances[i, FIRST]) if i < count else leg.shape[1]
        if land - lift > 1:
            clear_floor(leg, lift, land, foot, clearance[(lift + land) // 2])


@kernel
def add_lack(leg: Array, planted: Array, reach: Scalar, lack: Array) -> None:
    """Raise `lack` to how far the hip is too high for a planted ankle to be within `reach` of it; metres."""
    for f in range(len(lack)):
        if planted[f]:
            dx, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
            high = np.float32(reach * reach) - dx * dx - dz * dz
            high = np.sqrt(max(high, np.float32(0.0)))
            lack[f] = max(lack[f], leg[HIP_Y, f] - leg[ANKLE_Y, f] - high)


@kernel
def smooth_cover(lack: Array, radius: int, work: Array) -> None:
    """Replace a row by a smooth one that is nowhere below it: the mean over a window of the maximum over that window."""
    frames = len(lack)
    for f in range(frames):
        most = lack[f]
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            most = max(most, lack[g])
        work[f] = most
    for f in range(frames):
        total, weights = np.float32(0.0), np.float32(0.0)
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            weight = np.float32(radius + 1 - abs(g - f))
            total += weight * work[g]
            weights += weight
        lack[f] = total / weights
