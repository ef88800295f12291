"""Planted feet held to their prints: rolling over heel and ball, flat in between, and pivoting on the ball in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.motion.contacts import (
    EARLY,
    FIRST,
    LAST,
    LATE,
    PRINT_X,
    PRINT_YAW,
    PRINT_Z,
    roll_forward,
    rolled_height,
)
from posegen.motion.legs import FOOT_BALL
from posegen.motion.rows import ANKLE_X, ANKLE_Y, ANKLE_Z, PITCH, YAW, between
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step

__all__ = ["FREE_PITCH", "PIVOT", "flatten_feet", "hold_stance"]

Array = NDArray[Any]

PIVOT, FREE_PITCH = 0.85, 20.0 / 360.0
"""How much of a body's turning a foot on its ball follows, and how far, in turns, its heel is up when it does."""


@kernel
def hold_pitch(leg: Array, first: int, last: int, landed: Scalar, landing: Scalar, lifting: Scalar, lifted: Scalar) -> None:
    """Flatten the foot in between rolling down and rolling off.

    Rolling down begins `landed` frames after `first` and ends `landing` frames after it; rolling off begins `lifting` frames
    before the last frame and ends `lifted` frames before it. The heel does not rise anew in rolling down, nor the toes in
    rolling off.
    """
    none = np.float32(0.0)
    least, most = min(leg[PITCH, first], none), max(leg[PITCH, last - 1], none)
    for f in between(first, last):
        down, off = none, none
        if first > 0:
            down = np.float32(1.0) - smooth_step((np.int64(f) - first - landed) / (landing - landed))
        if last < leg.shape[1]:
            off = smooth_step((np.int64(f) - (last - 1 - lifting)) / (lifting - lifted))
        leg[PITCH, f] = down * max(leg[PITCH, f], least) if down >= off else off * min(leg[PITCH, f], most)


@kernel
def pivot(pitch: Scalar, behind: Scalar) -> Scalar:
    """Turns by which a planted foot has turned on its ball after a body that is `behind` turns ahead of it.

    Once the heel is up, a foot gives way to a body that turns; else the knee, which bends towards where the foot points, would
    swing through the other leg.
    """
    return np.float32(PIVOT) * behind * smooth_step(-pitch / np.float32(FREE_PITCH))


@kernel
def hold_stance(leg: Array, stance: Array, foot: Array, heading: Array, toe_out: Scalar) -> None:
    """Ankle and yaw of a planted foot: toes up it turns about the heel, heel up about the ball, on which it also pivots.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    stance : float [8]
    foot : float [4]
    heading : float32 [frames]
        Turns.
    toe_out : float
        Turns by which this foot points to the left of the heading.
    """
    s_yaw, c_yaw = sin_turns(stance[PRINT_YAW]), cos_turns(stance[PRINT_YAW])
    for f in between(int(stance[FIRST]), int(stance[LAST])):
        forward = roll_forward(leg[PITCH, f], foot)
        x, z, yaw = stance[PRINT_X] + forward * s_yaw, stance[PRINT_Z] + forward * c_yaw, stance[PRINT_YAW]
        if leg[PITCH, f] < 0:
            yaw += pivot(leg[PITCH, f], heading[f] + toe_out - yaw)
            behind_ball = foot[FOOT_BALL] - forward
            x = stance[PRINT_X] + foot[FOOT_BALL] * s_yaw - behind_ball * sin_turns(yaw)
            z = stance[PRINT_Z] + foot[FOOT_BALL] * c_yaw - behind_ball * cos_turns(yaw)
        leg[ANKLE_X, f], leg[ANKLE_Y, f], leg[ANKLE_Z, f] = x, rolled_height(leg[PITCH, f], foot), z
        leg[YAW, f] = yaw


@kernel
def flatten_feet(leg: Array, stances: Array, count: int, rate: Array, step: Scalar) -> None:
    """Turn the nominal pitch of a foot into that of a planted one, wherever it is planted; `step` is seconds a frame.

    `rate` is the strides a second over the frames: where it is negative, a foot lands as it otherwise lifts.
    """
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        early, late = stances[i, EARLY], stances[i, LATE]
        whole = last - 1 + late - (first - early)
        heel = max(1.0, min(0.12 / step, 0.25 * whole))
        toe = max(1.0, min(0.42 / step, 0.58 * whole))
        # The heel is fully free well before the toe leaves.
        landed, landing = (0.35 * toe, toe) if rate[first] < 0 else (0.0, heel)
        lifted, lifting = (0.0, heel) if rate[last - 1] < 0 else (0.35 * toe, toe)
        hold_pitch(leg, first, last, landed - early, landing - early, lifting - late, lifted - late)
