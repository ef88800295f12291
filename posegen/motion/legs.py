"""Legs: nominal leg from the channels, two-bone inverse kinematics of the knee, and limits of reach and ankle.

The heel rises where the ankle would otherwise bend too far: behind a runner, downstairs, in a deep stop. Feet are placed in
:mod:`posegen.motion.stances` and :mod:`posegen.motion.footsteps`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, inline_kernel, kernel
from posegen.foundations.trigonometry import atan_turns, cos_turns, ease_towards, sin_turns, smooth_step
from posegen.foundations.vectors import Vector, across, along_times_span, cross, dot, length, middle_joint, minus, plus, scaled
from posegen.motion import rows
from posegen.motion.stances import fade_pitch, roll_forward, rolled_height
from posegen.motion.workspace import Clock, Person, Segment, Workspace, between, frame_window, triangular_mean

ROUND = np.float32(0.04)
"""Sine of the pitch below which the deepest point of the sole passes from heel to ball."""
COS_FOLDED, ROOMY = np.float32(-0.9205049), np.float32(1.1)
"""Cosine of 157 degrees, the largest flexion of a knee (squatting with the heels up, Hemmerich et al. 2006); and the multiple
of the distance from hip to ankle at that angle from which the leg gives way.
"""
EASY, LONGEST = np.float32(0.9), np.float32(0.9995)
"""Fractions of its length: up to which a swinging leg is unchanged, and which it spans at most."""
SOFT, RUNNING_SOFT = np.float32(0.002), np.float32(0.018)
"""Softness of the approach to the largest length, and its increase in running; fractions of the length."""
MOST_BEND, SOFT_BEND = 21.0 / 360.0, 3.0 / 360.0
"""Turns of dorsiflexion above which the heel of a foot in contact rises, and the softness of that limit."""
POINTED, STRAIGHT = np.float32(-50.0 / 360.0), np.float32(-62.0 / 360.0)
"""Turns to which toes point down freely, and at most."""
HEEL_FOR_BEND = 1.3
"""Rise of the heel for each turn of excess dorsiflexion; above 1, because it shortens the leg and bends the knee more."""
HEEL_PASSES = 2
"""Number of passes; each reduces the rest of the one before."""
RANGE_SECONDS = 0.4
"""Time before and behind an action in which its ankle range fades in and out."""


@kernel
def nominal_leg(channels: Array, side: int, offsets: Array, foot: Array, leg: Array) -> None:
    """Write the nominal foot of one side given by the channels alone, in the vertical plane of the heading.

    Parameters
    ----------
    channels : float32 [channels, frames]
    side : int
        0 left, 1 right.
    offsets : float32 [22, 3]
    foot : float [4]
    leg : float32 [rows, frames], written
    """
    hip, knee, ankle = channels[rows.HIP_FLEXION[side]], channels[rows.KNEE_FLEXION[side]], channels[rows.DORSIFLEXION[side]]
    tilt, thigh, shank = channels[rows.PELVIS_TILT], -offsets[4, 1], -offsets[7, 1]
    heel, ball = np.float32(foot[rows.FOOT_HEEL]), np.float32(foot[rows.FOOT_BALL])
    ankle_height = np.float32(foot[rows.FOOT_ANKLE_HEIGHT])
    for f in range(leg.shape[1]):
        upper = hip[f] - tilt[f]
        lower = upper - knee[f]
        pitch = lower + ankle[f]
        leg[rows.THIGH, f], leg[rows.SHANK, f], leg[rows.PITCH, f] = upper, lower, pitch
        leg[rows.FORWARD, f] = thigh * sin_turns(upper) + shank * sin_turns(lower)
        down = thigh * cos_turns(upper) + shank * cos_turns(lower)
        leg[rows.DOWN, f] = down
        s, c = sin_turns(pitch), cos_turns(pitch)
        # The deeper of heel and ball; the corner where they exchange is rounded.
        size = np.sqrt(s * s + ROUND * ROUND) - ROUND
        leg[rows.LOWEST, f] = down + ankle_height * c + np.float32(0.5) * ((heel - ball) * s + (heel + ball) * size)


@kernel
def place_foot(first: int, last: int, foot: Array, leg: Array) -> None:
    """Write the ball joint and the heights of heel and toe points above the floor, from ankle, pitch and yaw."""
    heel, ball = np.float32(foot[rows.FOOT_HEEL]), np.float32(foot[rows.FOOT_BALL])
    ankle_height = np.float32(foot[rows.FOOT_ANKLE_HEIGHT])
    drop = ankle_height - np.float32(foot[rows.FOOT_BALL_HEIGHT])
    for f in between(first, last):
        s, c = sin_turns(leg[rows.PITCH, f]), cos_turns(leg[rows.PITCH, f])
        forward = ball * c + drop * s
        leg[rows.BALL_X, f] = leg[rows.ANKLE_X, f] + forward * sin_turns(leg[rows.YAW, f])
        leg[rows.BALL_Z, f] = leg[rows.ANKLE_Z, f] + forward * cos_turns(leg[rows.YAW, f])
        leg[rows.BALL_Y, f] = leg[rows.ANKLE_Y, f] + ball * s - drop * c
        leg[rows.HEEL_HEIGHT, f] = leg[rows.ANKLE_Y, f] - heel * s - ankle_height * c
        leg[rows.TOE_HEIGHT, f] = leg[rows.ANKLE_Y, f] + ball * s - ankle_height * c


@kernel
def joint_at(leg: Array, joint: int, f: int) -> Vector:
    """Return the position in frame `f` of the joint whose rows begin with `joint`, metres."""
    return leg[joint, f], leg[joint + 1, f], leg[joint + 2, f]


@kernel
def put_joint(leg: Array, joint: int, f: int, place: Vector) -> None:
    """Write the position in frame `f` of the joint whose rows begin with `joint`, metres."""
    leg[joint, f], leg[joint + 1, f], leg[joint + 2, f] = place


@kernel
def from_hip(leg: Array, f: int) -> Vector:
    """Return the vector from hip to ankle in metres."""
    return minus(joint_at(leg, rows.ANKLE_X, f), joint_at(leg, rows.HIP_X, f))


@kernel
def move_foot(leg: Array, f: int, way: Vector) -> None:
    """Move ankle, ball, heel and toes by a vector in metres."""
    put_joint(leg, rows.ANKLE_X, f, plus(joint_at(leg, rows.ANKLE_X, f), way))
    put_joint(leg, rows.BALL_X, f, plus(joint_at(leg, rows.BALL_X, f), way))
    leg[rows.HEEL_HEIGHT, f] += way[1]
    leg[rows.TOE_HEIGHT, f] += way[1]


@kernel
def ease_reach(first: int, last: int, whole: Scalar, contact: Array, running: Array, leg: Array) -> None:
    """Move a swinging foot towards the hip before its leg is straight, so that the knee does not snap.

    A foot in contact is unchanged, because the pelvis is within its reach. The difference between the leg and its full length
    is kept above 0 by a hyperbola, so narrow that it hardly bends a leg that is nearly straight before landing in walking.
    Runners, whose `running` is 1, land with the knee bent. `whole` is the leg length, float32.
    """
    for f in between(first, last):
        line = from_hip(leg, f)
        distance = length(line)
        if contact[f] or distance <= EASY * whole:
            continue
        lack, soft = LONGEST * whole - distance, (SOFT + RUNNING_SOFT * running[f]) * whole
        shortfall = np.float32(0.5) * (lack + np.sqrt(lack * lack + soft * soft))
        move_foot(leg, f, scaled(line, (LONGEST * whole - shortfall) / distance - np.float32(1.0)))


@kernel
def solve_knee(first: int, last: int, thigh_length: Scalar, shank_length: Scalar, leg: Array) -> None:
    """Write the knee between hip and ankle, bent towards the direction of the foot (two-bone inverse kinematics).

    An ankle out of reach is moved along the line to the hip, since bones keep their length; :func:`add_excess_height` prevents
    this in contact. An ankle that is too near gives way before the knee is fully folded.
    """
    thigh, shank = np.float32(thigh_length), np.float32(shank_length)
    longest = np.float32(0.9995) * (thigh + shank)
    shortest = np.sqrt(thigh * thigh + shank * shank + np.float32(2.0) * COS_FOLDED * thigh * shank)
    for f in between(first, last):
        hip, line = joint_at(leg, rows.HIP_X, f), from_hip(leg, f)
        distance = length(line)
        span = min(-ease_towards(-distance, -ROOMY * shortest, -shortest), longest)
        line = scaled(line, span / distance)
        move_foot(leg, f, minus(plus(hip, line), joint_at(leg, rows.ANKLE_X, f)))
        inverse = np.float32(1.0) / span
        line = scaled(line, inverse)
        # The knee bends to the front of the leg: forward if it hangs, up if it points forward, down if it points backward.
        s_yaw, c_yaw = sin_turns(leg[rows.YAW, f]), cos_turns(leg[rows.YAW, f])
        front = np.float32(0.1) - line[1]
        side = across((s_yaw * front, line[0] * s_yaw + line[2] * c_yaw, c_yaw * front), line)
        along, size = along_times_span(thigh, shank, span) * inverse, np.float32(1.0) / length(side)
        put_joint(leg, rows.KNEE_X, f, middle_joint(hip, line, side, thigh, along, size))


@kernel
def turn_knee(first: int, last: int, turns: Array, sign: Scalar, leg: Array) -> None:
    """Turn a knee outward about the line from hip to ankle.

    Parameters
    ----------
    first, last : int
        Frames.
    turns : float32 [frames]
    sign : float
        1 on the left, -1 on the right.
    leg : float32 [rows, frames], changed
    """
    for f in between(first, last):
        if turns[f] == 0:
            continue
        s, c = -np.float32(sign) * sin_turns(turns[f]), cos_turns(turns[f])
        hip, line = joint_at(leg, rows.HIP_X, f), from_hip(leg, f)
        line = scaled(line, np.float32(1.0) / length(line))
        knee = minus(joint_at(leg, rows.KNEE_X, f), hip)
        along = scaled(line, dot(knee, line))
        side = minus(knee, along)
        turned = plus(plus(plus(hip, along), scaled(side, c)), scaled(cross(line, side), s))
        put_joint(leg, rows.KNEE_X, f, turned)


@kernel
def add_excess_height(leg: Array, contact: Array, reach: Scalar, lack: Array) -> None:
    """Raise `lack` to the height of the hip above the largest one that is within `reach` of an ankle in contact; metres."""
    for f in range(len(lack)):
        if contact[f]:
            dx, dz = leg[rows.ANKLE_X, f] - leg[rows.HIP_X, f], leg[rows.ANKLE_Z, f] - leg[rows.HIP_Z, f]
            high = np.float32(reach * reach) - dx * dx - dz * dz
            high = np.sqrt(max(high, np.float32(0.0)))
            lack[f] = max(lack[f], leg[rows.HIP_Y, f] - leg[rows.ANKLE_Y, f] - high)


@kernel
def smooth_upper_envelope(lack: Array, radius: int, work: Array) -> None:
    """Replace a row by a smooth row that is nowhere below it: the window mean of its window maximum."""
    frames = len(lack)
    for f in range(frames):
        most = lack[f]
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            most = max(most, lack[g])
        work[f] = most
    triangular_mean(work, radius, lack)


@inline_kernel
def shank_lean(leg: Array, f: int, thigh: Scalar, shank: Scalar) -> tuple[Scalar, bool]:
    """Return the turns by which a shank leans forward in the plane of its foot, and whether the leg is safely straight.

    The second value is true for most legs: nearly straight and not far before the foot, so that no limit applies. Lengths are
    in metres.
    """
    dx, dy, dz = from_hip(leg, f)
    dx, up, dz = -dx, -dy, -dz
    squared = dx * dx + up * up + dz * dz
    ahead = dx * sin_turns(leg[rows.YAW, f]) + dz * cos_turns(leg[rows.YAW, f])
    # Cosine of the angle between the shank and the line to the hip, times that line; see `solve_knee`.
    cosine = min((shank * shank + squared - thigh * thigh) / (2.0 * shank), np.sqrt(squared))
    sine = np.sqrt(max(squared - cosine * cosine, 0.0))
    forward, upward = (ahead * cosine + up * sine) / squared, (up * cosine - ahead * sine) / squared
    nearly = np.float32(0.96) * (thigh + shank)
    straight = squared > nearly * nearly and ahead < np.float32(0.12) * up and leg[rows.PITCH, f] <= 0
    return 2.0 * atan_turns(forward / (1.0 + max(upward, 0.0))), straight


@kernel
def fill_shank_leans(leg: Array, thigh: Scalar, shank: Scalar, first: int, last: int, leans: Array, straight: Array) -> None:
    """Write the results of :func:`shank_lean` for frames `first` to `last`; float32 [frames] each, the latter 1 or 0.

    Not all are needed, but the vectorised loop over all these frames is faster than a few single calls.
    """
    for f in between(first, last):
        lean, is_straight = shank_lean(leg, f, thigh, shank)
        leans[f], straight[f] = lean, np.float32(is_straight)


@kernel
def widen_ankle_range(segment: Segment, more: Scalar, clock: Clock, row: Array) -> None:
    """Write the turns `more` by which a segment widens the ankle range, where that is more than `row`, float32 [frames]."""
    # Not from where it overlaps with a neighbour: its range holds while it is labelled and a little longer.
    f0, f1 = frame_window(clock, segment.shown_start - RANGE_SECONDS, segment.shown_end + RANGE_SECONDS, len(row))
    for f in between(f0, f1):
        t = clock.first + f * clock.step
        fade_in = smooth_step((t - segment.shown_start + RANGE_SECONDS) / RANGE_SECONDS)
        fade_out = smooth_step((segment.shown_end + RANGE_SECONDS - t) / RANGE_SECONDS)
        row[f] = max(row[f], np.float32(more) * fade_in * fade_out)


@kernel
def upright_share(high: Scalar, whole: Scalar) -> Scalar:
    """Return how far a leg of length `whole` is upright, 0 to 1, with its hip `high` above its ankle; metres."""
    return min(max(high / (0.096 * whole) - 1.0, 0.0), 1.0)


@kernel
def excess_dorsiflexion(leg: Array, f: int, more: Scalar, lean: Scalar, whole: Scalar) -> Scalar:
    """Return the turns by which an ankle bends too far, softly from 0; its range is wider by `more` turns.

    `lean` is float64, in turns, and `whole` the leg length in metres.
    """
    # The limit does not apply to a lying leg, which carries no weight.
    upright = upright_share(leg[rows.HIP_Y, f] - leg[rows.ANKLE_Y, f], whole)
    if upright == 0:
        return 0.0
    over = lean + leg[rows.PITCH, f] - MOST_BEND - more
    if over <= -SOFT_BEND:
        return 0.0
    soft = float(over) if over >= SOFT_BEND else (over + SOFT_BEND) * (over + SOFT_BEND) / (4.0 * SOFT_BEND)
    return upright * soft


@kernel
def excess_plantarflexion(leg: Array, f: int, lean: Scalar, whole: Scalar) -> Scalar:
    """Return the turns by which toes point down too far; `lean` in turns, the leg length `whole` in metres."""
    upright = upright_share(leg[rows.HIP_Y, f] - leg[rows.ANKLE_Y, f], whole)
    if leg[rows.PITCH, f] >= POINTED or upright == 0:
        return 0.0
    bent = np.float32(lean) + leg[rows.PITCH, f]
    return float(np.float32(upright) * (ease_towards(bent, POINTED, STRAIGHT) - bent))


@kernel
def limit_swing_ankles(root: Array, leg: Array, contact: Array, thigh_length: Scalar, shank_length: Scalar) -> bool:
    """Lower the toes of a swinging foot where its ankle would bend too far, and raise toes that point down too far.

    Lengths are in metres. Returns whether any foot was changed.
    """
    changed, leans, straight, whole = False, root[rows.LEAN], root[rows.IS_STRAIGHT], thigh_length + shank_length
    first, last = 0, len(contact)
    while first < last and contact[first]:
        first += 1
    while last > first and contact[last - 1]:
        last -= 1
    fill_shank_leans(leg, thigh_length, shank_length, first, last, leans, straight)
    for f in range(first, last):
        if contact[f]:
            continue
        lean = np.float64(leans[f])
        more = excess_plantarflexion(leg, f, lean, whole)
        more -= HEEL_FOR_BEND * (0.0 if straight[f] else excess_dorsiflexion(leg, f, root[rows.BEND, f], lean, whole))
        leg[rows.PITCH, f] += np.float32(more)
        changed |= more != 0
    return changed


@kernel
def roll_stance_foot(leg: Array, f: int, rise: Scalar, foot: Array) -> None:
    """Raise the heel of a foot in contact by `rise` turns, or lower it, about its point of support."""
    before, after = leg[rows.PITCH, f], np.float32(leg[rows.PITCH, f] - rise)
    forward = roll_forward(after, foot) - roll_forward(before, foot)
    leg[rows.ANKLE_X, f] += np.float32(forward) * sin_turns(leg[rows.YAW, f])
    leg[rows.ANKLE_Z, f] += np.float32(forward) * cos_turns(leg[rows.YAW, f])
    leg[rows.ANKLE_Y, f] += np.float32(rolled_height(after, foot) - rolled_height(before, foot))
    leg[rows.PITCH, f] = after


@kernel
def limit_stance_ankles(work: Workspace, side: int, person: Person, step: Scalar) -> None:
    """Raise the heel of a foot in contact where its ankle would bend too far; lower it where toes would point too far.

    Ankle and pitch of the leg are changed; `step` is seconds per frame.
    """
    root, leg, foot, stances = work.root, work.legs[side], person.foot, work.stances[side, : work.counts[side]]
    thigh, shank = -float(person.offsets[4, 1]), -float(person.offsets[7, 1])
    leans, straights, whole = root[rows.LEAN], root[rows.IS_STRAIGHT], thigh + shank
    fill_shank_leans(leg, thigh, shank, 0, leg.shape[1], leans, straights)
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        more = 0.0
        for f in range(first, last):
            more = 0.0
            lean, straight = np.float64(leans[f]), straights[f] != 0
            for _ in range(HEEL_PASSES):
                rise = HEEL_FOR_BEND * (0.0 if straight else excess_dorsiflexion(leg, f, root[rows.BEND, f], lean, whole))
                rise -= excess_plantarflexion(leg, f, lean, whole)
                if rise == 0:
                    break
                roll_stance_foot(leg, f, float(rise), foot)
                more += rise
                lean, straight = shank_lean(leg, f, thigh, shank)
        end = int(stances[i + 1, rows.FIRST]) if i + 1 < len(stances) else leg.shape[1]
        fade_pitch(leg, float(more), last - 1 + stances[i, rows.LATE], last, end, step)
