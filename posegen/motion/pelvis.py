"""Position and rotation of the pelvis, and free fall of the whole body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.channels import segment_series
from posegen.motion.gait.running import curve_warp, run_rise, warp_phase
from posegen.motion.gait.steps import BOUNCES, Gaits
from posegen.motion.gait.walking import HARMONICS
from posegen.motion.library_tables import ActionTables
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.trunk import place_child, trunk_rotation
from posegen.motion.workspace import (
    ANKLE_Y,
    BALL_Y,
    BEATS,
    DUTY,
    FOOT_ANKLE_HEIGHT,
    FOOT_BALL,
    FOOT_HEEL,
    GAIT_WEIGHT,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    HEEL_HEIGHT,
    HEIGHT,
    HIP_X,
    HIP_Y,
    HIP_Z,
    KNEE_Y,
    LONE_FOOT,
    LOWERING,
    LOWEST,
    PATH_X,
    PATH_Z,
    PHASE,
    RATE,
    ROOT_X,
    ROOT_Z,
    RUN_CONTACT,
    RUN_HEIGHT,
    RUN_PERIOD,
    RUN_WEIGHT,
    SPEED,
    TOE_HEIGHT,
    WORK,
    Person,
    Segment,
    Workspace,
)
from posegen.skeleton import JOINTS

Array = NDArray[Any]

ROOT_HEIGHT, ROOT_FORWARD, ROOT_LATERAL = (CHANNELS.index(f"root_{c}") for c in ("height", "forward", "lateral"))
TILT, OBLIQUITY, ROTATION = (CHANNELS.index(f"pelvis_{c}") for c in ("tilt", "obliquity", "rotation"))
SURGE_SECONDS, SURGE_PHASE = 0.0075, 0.08
"""In walking the body is ahead of its mean course by the way of so many seconds at most, at this phase and half a stride later:
it is fastest in double support and slowest over the stance foot, by some 9 per cent of its speed."""
FAST, FASTER = 1.4, 0.4
"""m/s from which, and over how many more, the steps of a walker are softened."""
HIP_FLEXION, KNEE_FLEXION, DORSIFLEXION = (
    tuple(CHANNELS.index(f"{side}_{c}") for side in ("left", "right"))
    for c in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")
)
FOOT_ROLL, LANDING_ANKLE = 0.18, 0.1
"""Shares of the leg: of its travel over a running stance half of what the rolling foot adds; height of the ankle at landing."""
HEAD = JOINTS.index("head")
SHOULDERS, ELBOWS, WRISTS = (
    (JOINTS.index(f"left_{name}"), JOINTS.index(f"right_{name}")) for name in ("shoulder", "elbow", "wrist")
)
UPRIGHT = (HIP_Y, KNEE_Y, ANKLE_Y, BALL_Y, HEEL_HEIGHT, TOE_HEIGHT)


@kernel
def fill_pelvis_height(
    root: Array, legs: Array, tilt: Array, obliquity: Array, hip_drop: Scalar, hip_aside: Scalar, lean: Scalar, stand: Scalar
) -> None:
    """Height of the pelvis over the frames, before key poses.

    In walking the stance leg carries it: it is as high as the nominal leg is long from hip to sole, passing from one leg to the
    other in double support. In running it rises and falls as a body under the force of its contacts does. In standing it is
    `stand`.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    legs : float32 [2, rows, frames]
    tilt, obliquity : float32 [frames]
        Turns.
    hip_drop, hip_aside : float
        Hip joint below and beside the pelvis joint, metres.
    lean : float
        By how much a leg is lower for leaning inwards to its print, metres.
    stand : float
    """
    for f in range(root.shape[1]):
        walking = root[GAIT_WEIGHT, f] - root[RUN_WEIGHT, f]
        height = np.float32(stand) * (np.float32(1.0) - root[GAIT_WEIGHT, f])
        phase = root[PHASE, f] - np.floor(root[PHASE, f])
        if walking > 0:
            both = max(root[DUTY, f] - np.float32(0.5), np.float32(0.06))
            left = smooth_step(phase / both) if phase < 0.5 else np.float32(1.0) - smooth_step((phase - np.float32(0.5)) / both)
            tip = np.float32(hip_aside) * sin_turns(obliquity[f]) * (np.float32(1.0) - np.float32(2.0) * left)
            carried = left * legs[0, LOWEST, f] + (np.float32(1.0) - left) * legs[1, LOWEST, f]
            height += walking * (carried + np.float32(hip_drop) * cos_turns(tilt[f]) + tip - np.float32(lean))
        if root[RUN_WEIGHT, f] > 0 and root[RATE, f] > 0:
            # Of the steady gait: a stride that only slows down must not sink the deeper for lasting longer.
            period, contact = root[RUN_PERIOD, f] / root[RUN_WEIGHT, f], root[RUN_CONTACT, f] / root[RUN_WEIGHT, f]
            beats = root[BEATS, f] * phase
            rise = run_rise((beats - np.floor(beats)) * period, contact, period) - run_rise(0.5 * contact, contact, period)
            height += root[RUN_HEIGHT, f] + root[RUN_WEIGHT, f] * np.float32(rise)
        elif root[RUN_WEIGHT, f] > 0:
            height += root[RUN_WEIGHT, f] * np.float32(stand)
        root[HEIGHT, f] = height


@kernel
def soften_steps(root: Array, radius: int) -> None:
    """Round off where the pelvis of a fast walker passes from one leg to the other; `radius` is in frames.

    Double support grows so short with speed that the height, which the legs' curves give, would turn from one frame to the
    next: it becomes its mean over a window, the more the faster, from 1.4 m/s on.

    `root` is float32 [rows, frames], changed.
    """
    frames = root.shape[1]
    for f in range(frames):
        total, weights = np.float32(0.0), np.float32(0.0)
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            weight = np.float32(radius + 1 - abs(g - f))
            total += weight * root[HEIGHT, g]
            weights += weight
        root[WORK, f] = total / weights
    for f in range(frames):
        walking = root[GAIT_WEIGHT, f] - root[RUN_WEIGHT, f]
        share = walking * smooth_step((root[SPEED, f] - np.float32(FAST)) / np.float32(FASTER))
        root[HEIGHT, f] += share * (root[WORK, f] - root[HEIGHT, f])


@kernel
def pelvis_path(root: Array, channels: Array, leg: Scalar) -> None:
    """Where the pelvis is over the floor: on the path, swaying over the stance foot, moved by the root channels.

    The sway is a cosine over the stride with its peak in the middle of each stance: 7.0 cm from side to side when slow and 3.9
    when fast (Orendurff 2004).
    """
    for f in range(root.shape[1]):
        slow = np.float32(0.035) - np.float32(0.017) * min(
            max(abs(root[SPEED, f]) - np.float32(0.7), np.float32(0.0)), np.float32(0.9)
        )
        walking = root[GAIT_WEIGHT, f] - np.float32(0.6) * root[RUN_WEIGHT, f]
        walking *= np.float32(1.0) - abs(root[LONE_FOOT, f])
        sway = walking * slow * cos_turns(root[PHASE, f] - np.float32(0.32))
        aside = sway + np.float32(leg) * channels[ROOT_LATERAL, f]
        surge = (root[GAIT_WEIGHT, f] - root[RUN_WEIGHT, f]) * np.float32(SURGE_SECONDS) * abs(root[SPEED, f])
        forward = np.float32(leg) * channels[ROOT_FORWARD, f]
        forward += surge * cos_turns(np.float32(2.0) * (root[PHASE, f] - np.float32(SURGE_PHASE)))
        s, c = root[HEADING_SIN, f], root[HEADING_COS, f]
        root[ROOT_X, f] = root[PATH_X, f] + forward * s + aside * c
        root[ROOT_Z, f] = root[PATH_Z, f] + forward * c - aside * s
        root[HEIGHT, f] += np.float32(leg) * channels[ROOT_HEIGHT, f]


@kernel
def pelvis_rotation(root: Array, channels: Array, out: Array) -> None:
    """Rotation of the pelvis, float32 [9, frames]."""
    facing = root[WORK]
    for f in range(len(facing)):
        facing[f] = root[HEADING, f] + channels[ROTATION, f]
    trunk_rotation(facing, channels[TILT], channels[OBLIQUITY], 1.0, out)


@kernel
def place_hips(root: Array, pelvis: Array, offsets: Array, place: Array, legs: Array) -> None:
    """Position of the pelvis and of both hip joints; `place` is float32 [3, frames], written."""
    for f in range(root.shape[1]):
        place[0, f], place[1, f], place[2, f] = root[ROOT_X, f], root[HEIGHT, f] - root[LOWERING, f], root[ROOT_Z, f]
    for side in range(2):
        place_child(pelvis, offsets[1 + side], place, legs[side, HIP_X : HIP_Z + 1])


@kernel
def nominal_height(hip: Scalar, knee: Scalar, ankle: Scalar, tilt: Scalar, person: Person) -> Scalar:
    """Pelvis above the floor when a leg with these angles (turns) carries the body; metres."""
    thigh, shank, foot = -person.offsets[4, 1], -person.offsets[7, 1], person.foot
    upper = hip - tilt
    lower = upper - knee
    s, c = sin_turns(lower + ankle), cos_turns(lower + ankle)
    down = thigh * cos_turns(upper) + shank * cos_turns(lower)
    return down + foot[FOOT_ANKLE_HEIGHT] * c + max(foot[FOOT_HEEL] * s, -foot[FOOT_BALL] * s) - person.offsets[1, 1]


@kernel
def run_height(
    work: Workspace,
    segment: Segment,
    duty: Scalar,
    rate: Scalar,
    leg: Scalar,
    person: Person,
    actions: ActionTables,
    gaits: Gaits,
) -> Scalar:
    """Pelvis above the floor in the middle of a stance of the near leg, in a gait with flights.

    The angles say one height. Another is the one from which the leg still reaches its print when it lands, having risen by what
    force and flight make it rise: it is lower, and the truth lies between.
    """
    stand = angles_height(work, segment, duty, leg, person, actions, gaits)
    period, contact = 1.0 / (rate * actions.stride[segment.kind, BOUNCES]), duty / rate
    rise = run_rise(0.0, contact, period) - run_rise(0.5 * contact, contact, period)
    ahead = max(0.5 * segment.speed * contact - FOOT_ROLL * leg, 0.0)
    reach = np.sqrt(max(leg * leg - ahead * ahead, 0.25 * leg * leg)) + LANDING_ANKLE * leg - person.offsets[1, 1] - rise
    return 0.15 * stand + 0.85 * min(stand, reach)


@kernel
def angles_height(
    work: Workspace, segment: Segment, duty: Scalar, leg: Scalar, person: Person, actions: ActionTables, gaits: Gaits
) -> Scalar:
    """Pelvis above the floor when the near leg stands with the angles that a gait slot has in the middle of its stance."""
    side = segment.kind % 2
    warp = curve_warp(duty) if actions.stride[segment.kind, BOUNCES] == 2 else 0.0
    series, angles = work.series, work.angles
    channels = (HIP_FLEXION[side], KNEE_FLEXION[side], DORSIFLEXION[side], TILT)
    for i in range(4):
        angles[i] = person.neutral[channels[i]]
        if not segment_series(segment, leg, person, actions, gaits, channels[i], series):
            continue
        angles[i] = series[0]
        for k in range(HARMONICS):
            at = (warp_phase(0.5 * duty, warp) + 0.5 * side) * (k + 1)
            angles[i] += series[1 + k] * cos_turns(at) + series[1 + HARMONICS + k] * sin_turns(at)
    return nominal_height(angles[0], angles[1], angles[2], angles[3], person)


@kernel
def mark_flight(root: Array, contact: Array, airborne: Array) -> None:
    """Mark the frames of jumps, in `airborne` already, and those in which a gait has no foot on the ground."""
    for f in range(len(airborne)):
        airborne[f] = airborne[f] or (root[GAIT_WEIGHT, f] > 0 and not contact[0, f] and not contact[1, f])


@kernel
def centre_height(joints: Array, legs: Array, f: int) -> Scalar:
    """Height of the centre of mass in a frame; metres. Shares of the mass from Winter (2009), table 4.1.

    Hands lie at the wrists; the trunk's centre is the middle between hips and shoulders.
    """
    # Sums of both sides: they are the same in the mirror, to the last bit.
    hip, knee = legs[0, HIP_Y, f] + legs[1, HIP_Y, f], legs[0, KNEE_Y, f] + legs[1, KNEE_Y, f]
    ankle, ball = legs[0, ANKLE_Y, f] + legs[1, ANKLE_Y, f], legs[0, BALL_Y, f] + legs[1, BALL_Y, f]
    shoulder = joints[SHOULDERS[0], 1, f] + joints[SHOULDERS[1], 1, f]
    elbow = joints[ELBOWS[0], 1, f] + joints[ELBOWS[1], 1, f]
    wrist = joints[WRISTS[0], 1, f] + joints[WRISTS[1], 1, f]
    total = 0.081 * joints[HEAD, 1, f] + (0.12425 + 0.1 * 0.567) * hip + (0.1 * 0.433 + 0.0465 * 0.567) * knee
    total += (0.0465 * 0.433 + 0.0145 * 0.5) * ankle + 0.0145 * 0.5 * ball
    total += (0.12425 + 0.028 * 0.564) * shoulder + (0.028 * 0.436 + 0.016 * 0.57) * elbow
    return total + (0.016 * 0.43 + 0.006) * wrist


@kernel
def fall_freely(free: Array, first: int, last: int, step: Scalar, joints: Array, legs: Array) -> None:
    """Move the body up or down in each flight so that its centre of mass falls with 9.81 m/s^2.

    It keeps its height in the first and the last frame of a flight.

    Parameters
    ----------
    free : bool [frames]
        Frames of flight.
    first, last : int
        Frames that are shown: from `first`, before `last`.
    step : float
        Seconds a frame.
    joints : float32 [22, 3, frames], changed
        All joints but the legs'.
    legs : float32 [2, rows, frames], changed
    """
    f = first
    while f < last:
        if not free[f]:
            f += 1
            continue
        begin = f
        while f < last and free[f]:
            f += 1
        end = f - 1
        if end - begin < 2:
            continue
        low, high = centre_height(joints, legs, begin), centre_height(joints, legs, end)
        for g in range(begin + 1, end):
            share = (g - begin) / (end - begin)
            fall = 0.5 * GRAVITY * step * step * (g - begin) * (end - g)
            lift = np.float32(low + share * (high - low) + fall - centre_height(joints, legs, g))
            # Where a run only begins or ends, a foot may skim the floor: not into it.
            sole = min(
                min(legs[0, HEEL_HEIGHT, g], legs[0, TOE_HEIGHT, g]), min(legs[1, HEEL_HEIGHT, g], legs[1, TOE_HEIGHT, g])
            )
            lift = max(lift, -max(sole, np.float32(0.0)))
            for j in range(len(joints)):
                joints[j, 1, g] += lift
            for side in range(2):
                for row in UPRIGHT:
                    legs[side, row, g] += lift
