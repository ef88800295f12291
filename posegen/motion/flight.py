"""Free fall: in the air the centre of mass follows its parabola, whatever the limbs do.

The pelvis is carried along a parabola already; arms and legs that swing meanwhile take the centre of mass off it by some
centimetres. The whole body is moved up or down by what is lacking.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.motion.rows import ANKLE_Y, BALL_Y, GAIT_WEIGHT, HEEL_HEIGHT, HIP_Y, KNEE_Y, TOE_HEIGHT
from posegen.skeleton import JOINTS

__all__ = ["centre_height", "fall_freely", "mark_free"]

Array = NDArray[Any]

HEAD = JOINTS.index("head")
SHOULDERS, ELBOWS, WRISTS = (
    (JOINTS.index(f"left_{name}"), JOINTS.index(f"right_{name}")) for name in ("shoulder", "elbow", "wrist")
)
UPRIGHT = (HIP_Y, KNEE_Y, ANKLE_Y, BALL_Y, HEEL_HEIGHT, TOE_HEIGHT)


@kernel
def mark_free(root: Array, planted: Array, airborne: Array) -> None:
    """Mark the frames of jumps, in `airborne` already, and those in which a gait has no foot on the ground."""
    for f in range(len(airborne)):
        airborne[f] = airborne[f] or (root[GAIT_WEIGHT, f] > 0 and not planted[0, f] and not planted[1, f])


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
