"""The pelvis: how high it is carried, how it sways, and how it turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.rows import (
    BEATS,
    DUTY,
    GAIT_WEIGHT,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    HEIGHT,
    HIP_X,
    HIP_Z,
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
    WORK,
)
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.trunk import place_child, trunk_rotation

__all__ = ["carry_height", "hips", "pelvis_path", "pelvis_rotation", "run_rise", "soften_steps"]

Array = NDArray[Any]

ROOT_HEIGHT, ROOT_FORWARD, ROOT_LATERAL = (CHANNELS.index(f"root_{c}") for c in ("height", "forward", "lateral"))
TILT, OBLIQUITY, ROTATION = (CHANNELS.index(f"pelvis_{c}") for c in ("tilt", "obliquity", "rotation"))
SURGE_SECONDS, SURGE_PHASE = 0.0075, 0.08
"""In walking the body is ahead of its mean course by the way of so many seconds at most, at this phase and half a stride later:
it is fastest in double support and slowest over the stance foot, by some 9 per cent of its speed."""
FAST, FASTER = 1.4, 0.4
"""m/s from which, and over how many more, the steps of a walker are softened."""


@kernel
def run_rise(part: Scalar, contact: Scalar, period: Scalar) -> Scalar:
    """Height of the centre of mass in running, relative to its height at touch-down; metres.

    On the ground the force is half a sine over the contact, whose mean over the step carries the weight; in the air it falls
    freely. Both follow from contact time and period alone.

    Parameters
    ----------
    part : float
        Seconds since touch-down, 0 to `period`.
    contact, period : float
        Seconds on the ground and of a whole step.
    """
    air = period - contact
    if part >= contact:
        t = part - contact
        return 0.5 * GRAVITY * t * (air - t)
    push = 0.5 * GRAVITY * period
    turns = 0.5 * part / contact
    # Twice integrated: the sine's part, less gravity's, from the downward speed at touch-down.
    return push * (part - contact / np.pi * sin_turns(turns)) - 0.5 * GRAVITY * part * (part + air)


@kernel
def carry_height(
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
def hips(root: Array, pelvis: Array, offsets: Array, place: Array, legs: Array) -> None:
    """Position of the pelvis and of both hip joints; `place` is float32 [3, frames], written."""
    for f in range(root.shape[1]):
        place[0, f], place[1, f], place[2, f] = root[ROOT_X, f], root[HEIGHT, f] - root[LOWERING, f], root[ROOT_Z, f]
    for side in range(2):
        place_child(pelvis, offsets[1 + side], place, legs[side, HIP_X : HIP_Z + 1])
