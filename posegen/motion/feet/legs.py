"""Legs: nominal leg from the channels, two-bone inverse kinematics of the knee, and limits of reach and ankle.

The heel rises where the ankle would otherwise bend too far: behind a runner, downstairs, in a deep stop. Where feet are placed is
decided in :mod:`posegen.motion.feet.stances` and :mod:`posegen.motion.feet.swings`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, inline_kernel, kernel
from posegen.motion.feet.stances import FIRST, LAST, LATE, PRINT_X, PRINT_Z, roll_forward, rolled_height
from posegen.motion.trigonometry import atan_turns, cos_turns, ease_towards, sin_turns, smooth_step
from posegen.motion.workspace import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    BALL_X,
    BALL_Y,
    BALL_Z,
    BEND,
    DOWN,
    FOOT_ANKLE_HEIGHT,
    FOOT_BALL,
    FOOT_BALL_HEIGHT,
    FOOT_HEEL,
    FORWARD,
    HEADING_COS,
    HEADING_SIN,
    HEEL_HEIGHT,
    HIP_X,
    HIP_Y,
    HIP_Z,
    KNEE_X,
    KNEE_Y,
    KNEE_Z,
    LOWEST,
    PATH_X,
    PATH_Z,
    PITCH,
    RUN_WEIGHT,
    SHANK,
    THIGH,
    TOE_HEIGHT,
    WORK,
    WORK2,
    YAW,
    Clock,
    Segment,
    between,
)

Array = NDArray[Any]

ROUND = np.float32(0.04)
"""Sine of the pitch below which the sole's deepest point passes from heel to ball."""
COS_FOLDED, ROOMY = np.float32(-0.8660254), np.float32(1.1)
"""Cosine of 150 degrees, the most that a knee bends; times the distance from hip to ankle then, from which it gives way."""
EASY, LONGEST = np.float32(0.9), np.float32(0.9995)
"""Shares of its length: that a swinging leg spans unchanged, and that it spans at most."""
SOFT, RUNNING_SOFT = np.float32(0.002), np.float32(0.018)
"""How softly it comes to that, and by how much more softly in running; shares of its length."""
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
HEEL_PASSES = 2
"""How often that is done: what it leaves is taken up by the next."""
RANGE_SECONDS = 0.4
"""Before an action begins and after it ends, its range passes from and into the usual one."""


@kernel
def nominal_leg(
    hip: Array, knee: Array, ankle: Array, tilt: Array, thigh_length: Scalar, shank_length: Scalar, foot: Array, leg: Array
) -> None:
    """Where the channels alone would put the foot, in the vertical plane of the heading.

    Parameters
    ----------
    hip, knee, ankle, tilt : float32 [frames]
        Flexion of hip and knee, dorsiflexion, forward tilt of the pelvis; turns.
    thigh_length, shank_length : float
        Metres.
    foot : float [4]
    leg : float32 [rows, frames], written
    """
    thigh, shank = np.float32(thigh_length), np.float32(shank_length)
    heel, ball, ankle_height = np.float32(foot[FOOT_HEEL]), np.float32(foot[FOOT_BALL]), np.float32(foot[FOOT_ANKLE_HEIGHT])
    for f in range(leg.shape[1]):
        upper = hip[f] - tilt[f]
        lower = upper - knee[f]
        pitch = lower + ankle[f]
        leg[THIGH, f], leg[SHANK, f], leg[PITCH, f] = upper, lower, pitch
        leg[FORWARD, f] = thigh * sin_turns(upper) + shank * sin_turns(lower)
        down = thigh * cos_turns(upper) + shank * cos_turns(lower)
        leg[DOWN, f] = down
        s, c = sin_turns(pitch), cos_turns(pitch)
        # The deeper of heel and ball, with the corner where they change places rounded off.
        size = np.sqrt(s * s + ROUND * ROUND) - ROUND
        leg[LOWEST, f] = down + ankle_height * c + np.float32(0.5) * ((heel - ball) * s + (heel + ball) * size)


@kernel
def place_foot(first: int, last: int, foot: Array, leg: Array) -> None:
    """From ankle, pitch and yaw: the ball joint, and the heights of heel and toe points above the floor."""
    heel, ball = np.float32(foot[FOOT_HEEL]), np.float32(foot[FOOT_BALL])
    ankle_height = np.float32(foot[FOOT_ANKLE_HEIGHT])
    drop = ankle_height - np.float32(foot[FOOT_BALL_HEIGHT])
    for f in between(first, last):
        s, c = sin_turns(leg[PITCH, f]), cos_turns(leg[PITCH, f])
        forward = ball * c + drop * s
        leg[BALL_X, f] = leg[ANKLE_X, f] + forward * sin_turns(leg[YAW, f])
        leg[BALL_Z, f] = leg[ANKLE_Z, f] + forward * cos_turns(leg[YAW, f])
        leg[BALL_Y, f] = leg[ANKLE_Y, f] + ball * s - drop * c
        leg[HEEL_HEIGHT, f] = leg[ANKLE_Y, f] - heel * s - ankle_height * c
        leg[TOE_HEIGHT, f] = leg[ANKLE_Y, f] + ball * s - ankle_height * c


@kernel
def ease_reach(
    first: int, last: int, thigh_length: Scalar, shank_length: Scalar, contact: Array, running: Array, leg: Array
) -> None:
    """Let a swinging foot give way before its leg is straight, so that the knee does not snap; the foot moves as one.

    A planted foot stays where it is: the pelvis has come within its reach. What a leg lacks to its length is kept above 0 by a
    hyperbola so narrow that a leg nearly straight, as it is just before it lands in walking, is hardly bent by it; runners,
    whose `running` is 1, land with the knee bent.
    """
    length = np.float32(thigh_length + shank_length)
    for f in between(first, last):
        dx, dy, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Y, f] - leg[HIP_Y, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
        distance = np.sqrt(dx * dx + dy * dy + dz * dz)
        if contact[f] or distance <= EASY * length:
            continue
        lack, soft = LONGEST * length - distance, (SOFT + RUNNING_SOFT * running[f]) * length
        distance_kept = np.float32(0.5) * (lack + np.sqrt(lack * lack + soft * soft))
        change = (LONGEST * length - distance_kept) / distance - np.float32(1.0)
        leg[ANKLE_X, f] += change * dx
        leg[ANKLE_Y, f] += change * dy
        leg[ANKLE_Z, f] += change * dz
        leg[BALL_X, f] += change * dx
        leg[BALL_Y, f] += change * dy
        leg[BALL_Z, f] += change * dz
        leg[HEEL_HEIGHT, f] += change * dy
        leg[TOE_HEIGHT, f] += change * dy


@kernel
def solve_knee(first: int, last: int, thigh_length: Scalar, shank_length: Scalar, leg: Array) -> None:
    """Two-bone inverse kinematics: the knee between hip and ankle, bent towards where the foot points.

    An ankle out of reach is drawn in along the line from the hip, since bones keep their length; `reach` in
    :mod:`posegen.motion.reach` sees to it that a planted one is not. One too near gives way before the knee is folded.
    """
    thigh, shank = np.float32(thigh_length), np.float32(shank_length)
    longest = np.float32(0.9995) * (thigh + shank)
    shortest = np.sqrt(thigh * thigh + shank * shank + np.float32(2.0) * COS_FOLDED * thigh * shank)
    for f in between(first, last):
        dx, dy, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Y, f] - leg[HIP_Y, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
        distance = np.sqrt(dx * dx + dy * dy + dz * dz)
        distance_kept = min(-ease_towards(-distance, -ROOMY * shortest, -shortest), longest)
        fit = distance_kept / distance
        dx, dy, dz = dx * fit, dy * fit, dz * fit
        moved_x, moved_y, moved_z = (
            leg[HIP_X, f] + dx - leg[ANKLE_X, f],
            leg[HIP_Y, f] + dy - leg[ANKLE_Y, f],
            leg[HIP_Z, f] + dz - leg[ANKLE_Z, f],
        )
        leg[ANKLE_X, f] += moved_x
        leg[ANKLE_Y, f] += moved_y
        leg[ANKLE_Z, f] += moved_z
        leg[BALL_X, f] += moved_x
        leg[BALL_Y, f] += moved_y
        leg[BALL_Z, f] += moved_z
        leg[HEEL_HEIGHT, f] += moved_y
        leg[TOE_HEIGHT, f] += moved_y
        inverse = np.float32(1.0) / distance_kept
        ux, uy, uz = dx * inverse, dy * inverse, dz * inverse
        along = (thigh * thigh - shank * shank + distance_kept * distance_kept) * np.float32(0.5) * inverse
        out = np.sqrt(max(thigh * thigh - along * along, np.float32(0.0)))
        # The knee bends to the front of the leg: forward when it hangs, up when it is laid out forward, down when backward.
        s_yaw, c_yaw = sin_turns(leg[YAW, f]), cos_turns(leg[YAW, f])
        front = np.float32(0.1) - uy
        px, py, pz = s_yaw * front, ux * s_yaw + uz * c_yaw, c_yaw * front
        dot = px * ux + py * uy + pz * uz
        px, py, pz = px - dot * ux, py - dot * uy, pz - dot * uz
        size = np.float32(1.0) / np.sqrt(px * px + py * py + pz * pz)
        leg[KNEE_X, f] = leg[HIP_X, f] + along * ux + out * size * px
        leg[KNEE_Y, f] = leg[HIP_Y, f] + along * uy + out * size * py
        leg[KNEE_Z, f] = leg[HIP_Z, f] + along * uz + out * size * pz


@kernel
def add_excess_height(leg: Array, contact: Array, reach: Scalar, lack: Array) -> None:
    """Raise `lack` to how far the hip is too high for a planted ankle to be within `reach` of it; metres."""
    for f in range(len(lack)):
        if contact[f]:
            dx, dz = leg[ANKLE_X, f] - leg[HIP_X, f], leg[ANKLE_Z, f] - leg[HIP_Z, f]
            high = np.float32(reach * reach) - dx * dx - dz * dz
            high = np.sqrt(max(high, np.float32(0.0)))
            lack[f] = max(lack[f], leg[HIP_Y, f] - leg[ANKLE_Y, f] - high)


@kernel
def smooth_upper_envelope(lack: Array, radius: int, work: Array) -> None:
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
        fade_pitch(leg, float(more), last - 1 + stances[i, LATE], last, end, step)


@kernel
def fade_pitch(leg: Array, more: Scalar, lift: Scalar, first: int, end: int, step: Scalar) -> None:
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
def fill_shank_leans(leg: Array, thigh: Scalar, shank: Scalar, leans: Array, straight: Array) -> None:
    """Write what :func:`shank_lean` says of all frames; float32 [frames] each, the latter 1 or 0. Many are not asked for, but
    all together take less time than those few, one by one.
    """
    for f in range(leg.shape[1]):
        lean, is_straight = shank_lean(leg, f, thigh, shank)
        leans[f], straight[f] = lean, np.float32(is_straight)


@kernel
def widen_ankle_range(segment: Segment, more: Scalar, clock: Clock, row: Array) -> None:
    """Write by how many turns `more` a slot lets ankles bend; `row` is float32 [frames], changed where that is more."""
    f0 = max(0, int(np.ceil((segment.start - RANGE_SECONDS - clock.first) / clock.step)))
    f1 = min(len(row), int(np.ceil((segment.end + RANGE_SECONDS - clock.first) / clock.step)))
    for f in between(f0, f1):
        t = clock.first + f * clock.step
        come = smooth_step((t - segment.start + RANGE_SECONDS) / RANGE_SECONDS)
        gone = smooth_step((segment.end + RANGE_SECONDS - t) / RANGE_SECONDS)
        row[f] = max(row[f], np.float32(more) * come * gone)


@kernel
def upright_share(high: Scalar, length: Scalar) -> Scalar:
    """How far a leg of that `length` stands rather than lies, 0 to 1, whose hip is so `high` above its ankle; metres."""
    return min(max(high / (0.096 * length) - 1.0, 0.0), 1.0)


@kernel
def excess_dorsiflexion(leg: Array, f: int, more: Scalar, lean: Scalar, length: Scalar) -> Scalar:
    """Turns by which an ankle bends too far, softly from 0, where it may bend by `more` turns further.

    `lean` is float64, in turns, and `length` that of the leg in metres.
    """
    # Who lies has no weight on it.
    upright = upright_share(leg[HIP_Y, f] - leg[ANKLE_Y, f], length)
    if upright == 0:
        return 0.0
    over = lean + leg[PITCH, f] - MOST_BEND - more
    if over <= -SOFT_BEND:
        return 0.0
    soft = float(over) if over >= SOFT_BEND else (over + SOFT_BEND) * (over + SOFT_BEND) / (4.0 * SOFT_BEND)
    return upright * soft


@kernel
def excess_plantarflexion(leg: Array, f: int, lean: Scalar, length: Scalar) -> Scalar:
    """Turns by which toes point down too far; `lean` in turns, the `length` of the leg in metres."""
    upright = upright_share(leg[HIP_Y, f] - leg[ANKLE_Y, f], length)
    if leg[PITCH, f] >= POINTED or upright == 0:
        return 0.0
    bent = np.float32(lean) + leg[PITCH, f]
    return float(np.float32(upright) * (ease_towards(bent, POINTED, STRAIGHT) - bent))


@kernel
def limit_swing_ankles(root: Array, leg: Array, contact: Array, thigh_length: Scalar, shank_length: Scalar) -> bool:
    """Let the toes of a swinging foot hang lower where its ankle would bend too far, and point no further than they can.

    Lengths are in metres. Tells whether any does.
    """
    changed, leans, straight, length = False, root[WORK], root[WORK2], thigh_length + shank_length
    fill_shank_leans(leg, thigh_length, shank_length, leans, straight)
    for f in range(len(contact)):
        if contact[f]:
            continue
        lean = np.float64(leans[f])
        more = excess_plantarflexion(leg, f, lean, length)
        more -= HEEL_FOR_BEND * (0.0 if straight[f] else excess_dorsiflexion(leg, f, root[BEND, f], lean, length))
        leg[PITCH, f] += np.float32(more)
        changed |= more != 0
    return changed


@kernel
def roll_stance_foot(leg: Array, f: int, rise: Scalar, foot: Array) -> None:
    """Raise the heel of a planted foot by `rise` turns, or lower it, about what it stands on."""
    before, after = leg[PITCH, f], np.float32(leg[PITCH, f] - rise)
    forward = roll_forward(after, foot) - roll_forward(before, foot)
    leg[ANKLE_X, f] += np.float32(forward) * sin_turns(leg[YAW, f])
    leg[ANKLE_Z, f] += np.float32(forward) * cos_turns(leg[YAW, f])
    leg[ANKLE_Y, f] += np.float32(rolled_height(after, foot) - rolled_height(before, foot))
    leg[PITCH, f] = after


@kernel
def limit_stance_ankles(
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
    fill_shank_leans(leg, thigh_length, shank_length, leans, straights)
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        more = 0.0
        for f in range(first, last):
            more = 0.0
            lean, straight = np.float64(leans[f]), straights[f] != 0
            for _ in range(HEEL_PASSES):
                rise = HEEL_FOR_BEND * (0.0 if straight else excess_dorsiflexion(leg, f, root[BEND, f], lean, length))
                rise -= excess_plantarflexion(leg, f, lean, length)
                if rise == 0:
                    break
                roll_stance_foot(leg, f, float(rise), foot)
                more += rise
                lean, straight = shank_lean(leg, f, thigh_length, shank_length)
        end = int(stances[i + 1, FIRST]) if i + 1 < count else leg.shape[1]
        fade_pitch(leg, float(more), last - 1 + stances[i, LATE], last, end, step)
