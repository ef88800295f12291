"""Heels that rise: of runners, whose foot is left far behind, and wherever the ankle would otherwise bend too far.

Speed and the time on the ground say how far behind a runner's foot is when it lifts, which at most speeds is more than the
published angles span. The heel then rises more, instead of the knee being pulled straight. And where a body sinks over its
foot, on the way downstairs or in a deep stop, the shank leans forward until the ankle bends no further; then the heel comes up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, inline_kernel, kernel
from posegen.motion.contacts import FIRST, LAST, LATE, PRINT_X, PRINT_Z, roll_forward, rolled_height
from posegen.motion.rows import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    BEND,
    FORWARD,
    HEADING_COS,
    HEADING_SIN,
    HIP_X,
    HIP_Y,
    HIP_Z,
    PATH_X,
    PATH_Z,
    PITCH,
    RUN_WEIGHT,
    WORK,
    WORK2,
    YAW,
    between,
)
from posegen.motion.state import Clock, Slot
from posegen.motion.trigonometry import atan_turns, cos_turns, eased, sin_turns, smooth_step

__all__ = ["allow_bend", "raise_heels", "relax_ankles", "yield_heels"]

Array = NDArray[Any]

TURNS_A_METRE = 0.5
"""By how much the heel rises for each metre that the foot is behind: about half of what would take all of it up."""
RETURN_SECONDS = 0.25
"""In which a swinging foot comes back to its own pitch."""
MOST_BEND, SOFT_BEND = 21.0 / 360.0, 3.0 / 360.0
"""Turns of dorsiflexion from which on the heel of a planted foot rises, and how softly that begins."""
POINTED, STRAIGHT = np.float32(-50.0 / 360.0), np.float32(-62.0 / 360.0)
"""Turns to which toes point down freely, and at most."""
HEEL_FOR_BEND = 1.3
"""By how much the heel must rise for each turn of dorsiflexion: the leg grows shorter by it, and the knee bends more."""
PASSES = 2
"""How often that is done: what it leaves is taken up by the next."""
PASSING_SECONDS = 0.4
"""Before an action begins and after it ends, its range passes from and into the usual one."""


@kernel
def raise_heels(root: Array, leg: Array, foot: Array, stances: Array, count: int, step: Scalar) -> None:
    """Turn the pitch of planted feet in gaits with flights further down where they are behind; `step` is seconds a frame.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
        The pitch is changed, of the planted foot and on into its swing.
    foot : float [4]
    stances : float [stances, 8]
    count, step : see :func:`posegen.motion.contacts.flatten_feet`
    """
    frames = root.shape[1]
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        more = np.float32(0.0)
        for f in range(first, last):
            more = np.float32(0.0)
            if root[RUN_WEIGHT, f] > 0 and leg[PITCH, f] < 0:
                along = (root[PATH_X, f] - stances[i, PRINT_X]) * root[HEADING_SIN, f]
                along += (root[PATH_Z, f] - stances[i, PRINT_Z]) * root[HEADING_COS, f]
                behind = along + leg[FORWARD, f] - roll_forward(leg[PITCH, f], foot)
                passed = (f - first + 1.0) / (last - first)
                more = np.float32(root[RUN_WEIGHT, f] * passed * TURNS_A_METRE * max(behind, 0.0))
                leg[PITCH, f] -= more
        end = min(int(stances[i + 1, FIRST]), frames) if i + 1 < count else frames
        lower_toes(leg, float(more), last - 1 + stances[i, LATE], last, end, step)


@kernel
def lower_toes(leg: Array, more: Scalar, lift: Scalar, first: int, end: int, step: Scalar) -> None:
    """Take by `more` turns, less and less after frame `lift`, from the pitch of a swinging foot."""
    if more != 0:
        for f in between(first, end):
            leg[PITCH, f] -= np.float32(more) * (np.float32(1.0) - smooth_step((np.int64(f) - lift) * step / RETURN_SECONDS))


@inline_kernel
def shank_lean(leg: Array, f: int, thigh: Scalar, shank: Scalar) -> tuple[Scalar, bool]:
    """Turns by which a shank leans forward, seen along its foot, where hip and ankle put the knee; lengths in metres.

    Tells also whether the leg is nearly straight and not far before its foot, as most are: no need to look closer then.
    """
    dx, up, dz = leg[HIP_X, f] - leg[ANKLE_X, f], leg[HIP_Y, f] - leg[ANKLE_Y, f], leg[HIP_Z, f] - leg[ANKLE_Z, f]
    squared = dx * dx + up * up + dz * dz
    ahead = dx * sin_turns(leg[YAW, f]) + dz * cos_turns(leg[YAW, f])
    # Cosine of the angle between the shank and the line to the hip, times that line; see `solve_knee`.
    cosine = min((shank * shank + squared - thigh * thigh) / (2.0 * shank), np.sqrt(squared))
    sine = np.sqrt(max(squared - cosine * cosine, 0.0))
    forward, upward = (ahead * cosine + up * sine) / squared, (up * cosine - ahead * sine) / squared
    nearly = np.float32(0.96) * (thigh + shank)
    straight = squared > nearly * nearly and ahead < np.float32(0.12) * up and leg[PITCH, f] <= 0
    return 2.0 * atan_turns(forward / (1.0 + max(upward, 0.0))), straight


@kernel
def lean_shanks(leg: Array, thigh: Scalar, shank: Scalar, leans: Array, straight: Array) -> None:
    """Write what :func:`shank_lean` says of all frames; float32 [frames] each, the latter 1 or 0. Many are not asked for, but
    all together take less time than those few, one by one.
    """
    for f in range(leg.shape[1]):
        lean, is_straight = shank_lean(leg, f, thigh, shank)
        leans[f], straight[f] = lean, np.float32(is_straight)


@kernel
def allow_bend(slot: Slot, more: Scalar, clock: Clock, row: Array) -> None:
    """Write by how many turns `more` a slot lets ankles bend; `row` is float32 [frames], changed where that is more."""
    f0 = max(0, int(np.ceil((slot.start - PASSING_SECONDS - clock.first) / clock.step)))
    f1 = min(len(row), int(np.ceil((slot.end + PASSING_SECONDS - clock.first) / clock.step)))
    for f in between(f0, f1):
        t = clock.first + f * clock.step
        come = smooth_step((t - slot.start + PASSING_SECONDS) / PASSING_SECONDS)
        gone = smooth_step((slot.end + PASSING_SECONDS - t) / PASSING_SECONDS)
        row[f] = max(row[f], np.float32(more) * come * gone)


@kernel
def stands(high: Scalar, length: Scalar) -> Scalar:
    """How far a leg of that `length` stands rather than lies, 0 to 1, whose hip is so `high` above its ankle; metres."""
    return min(max(high / (0.096 * length) - 1.0, 0.0), 1.0)


@kernel
def too_far_bent(leg: Array, f: int, more: Scalar, lean: Scalar, length: Scalar) -> Scalar:
    """Turns by which an ankle bends too far, softly from 0, where it may bend by `more` turns further.

    `lean` is float64, in turns, and `length` that of the leg in metres.
    """
    # Who lies has no weight on it.
    upright = stands(leg[HIP_Y, f] - leg[ANKLE_Y, f], length)
    if upright == 0:
        return 0.0
    over = lean + leg[PITCH, f] - MOST_BEND - more
    if over <= -SOFT_BEND:
        return 0.0
    soft = float(over) if over >= SOFT_BEND else (over + SOFT_BEND) * (over + SOFT_BEND) / (4.0 * SOFT_BEND)
    return upright * soft


@kernel
def too_far_pointed(leg: Array, f: int, lean: Scalar, length: Scalar) -> Scalar:
    """Turns by which toes point down too far; `lean` in turns, the `length` of the leg in metres."""
    upright = stands(leg[HIP_Y, f] - leg[ANKLE_Y, f], length)
    if leg[PITCH, f] >= POINTED or upright == 0:
        return 0.0
    bent = np.float32(lean) + leg[PITCH, f]
    return float(np.float32(upright) * (eased(bent, POINTED, STRAIGHT) - bent))


@kernel
def relax_ankles(root: Array, leg: Array, planted: Array, thigh_length: Scalar, shank_length: Scalar) -> bool:
    """Let the toes of a swinging foot hang lower where its ankle would bend too far, and point no further than they can.

    Lengths are in metres. Tells whether any does.
    """
    changed, leans, straight, length = False, root[WORK], root[WORK2], thigh_length + shank_length
    lean_shanks(leg, thigh_length, shank_length, leans, straight)
    for f in range(len(planted)):
        if planted[f]:
            continue
        lean = np.float64(leans[f])
        more = too_far_pointed(leg, f, lean, length)
        more -= HEEL_FOR_BEND * (0.0 if straight[f] else too_far_bent(leg, f, root[BEND, f], lean, length))
        leg[PITCH, f] += np.float32(more)
        changed |= more != 0
    return changed


@kernel
def roll_on(leg: Array, f: int, rise: Scalar, foot: Array) -> None:
    """Raise the heel of a planted foot by `rise` turns, or lower it, about what it stands on."""
    before, after = leg[PITCH, f], np.float32(leg[PITCH, f] - rise)
    forward = roll_forward(after, foot) - roll_forward(before, foot)
    leg[ANKLE_X, f] += np.float32(forward) * sin_turns(leg[YAW, f])
    leg[ANKLE_Z, f] += np.float32(forward) * cos_turns(leg[YAW, f])
    leg[ANKLE_Y, f] += np.float32(rolled_height(after, foot) - rolled_height(before, foot))
    leg[PITCH, f] = after


@kernel
def yield_heels(
    root: Array,
    leg: Array,
    foot: Array,
    stances: Array,
    count: int,
    thigh_length: Scalar,
    shank_length: Scalar,
    step: Scalar,
) -> None:
    """Raise the heel of a planted foot where its ankle would bend by more than it can, lower it where toes would point too far.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
        Hips and planted ankles are in place; ankle and pitch are changed. Two rows of `root` are scratch.
    foot : float [4]
    stances : float [stances, 8]
    count : int
    thigh_length, shank_length : float
        Metres.
    step : float
        Seconds a frame.
    """
    leans, straights, length = root[WORK], root[WORK2], thigh_length + shank_length
    lean_shanks(leg, thigh_length, shank_length, leans, straights)
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        more = 0.0
        for f in range(first, last):
            more = 0.0
            lean, straight = np.float64(leans[f]), straights[f] != 0
            for _ in range(PASSES):
                rise = HEEL_FOR_BEND * (0.0 if straight else too_far_bent(leg, f, root[BEND, f], lean, length))
                rise -= too_far_pointed(leg, f, lean, length)
                if rise == 0:
                    break
                roll_on(leg, f, float(rise), foot)
                more += rise
                lean, straight = shank_lean(leg, f, thigh_length, shank_length)
        end = int(stances[i + 1, FIRST]) if i + 1 < count else leg.shape[1]
        lower_toes(leg, float(more), last - 1 + stances[i, LATE], last, end, step)
