"""Steps of walks, the foot that makes the first one, and whether a walk leads back, measured from the joints."""

from __future__ import annotations

import numpy as np

from posegen.foundations.arrays import Array
from posegen.foundations.constants import RETURNS
from posegen.foundations.kernels import Scalar, kernel
from posegen.foundations.scene import BOTH
from posegen.foundations.skeleton import JOINTS

SWING_SPEEDS, SWING_SECONDS, STEP_LENGTH = (0.4, 0.6), 0.12, 0.15
"""Speeds from which a foot swings, in metres per second: all must give the same steps; least seconds and metres of a step."""
AWAY, NEAR_START, LESS_FAR = 1.2, 0.4, 0.6
"""Metres from the initial position that are away from it, and at it; share of the distance that is left on the way back."""
_BACK, _THERE = RETURNS.index("back"), RETURNS.index("there")
_PELVIS, _ANKLES = JOINTS.index("pelvis"), (JOINTS.index("left_ankle"), JOINTS.index("right_ankle"))


@kernel
def count_steps(joints: Array, speed: Scalar, frame_seconds: Scalar) -> tuple[int, int]:
    """Return the number of steps, and the side of the first one.

    Parameters
    ----------
    joints : float32 [frames, 22, 3]
        Metres.
    speed : float
        Metres per second from which a foot swings.
    frame_seconds : float
        Duration of a frame.

    Returns
    -------
    int
        0 where a foot swings in the first or in the last frame.
    int
        LEFT or RIGHT; BOTH where no foot makes a step, or one swings in the first frame.
    """
    count, first, earliest = 0, BOTH, len(joints)
    begun, ended = False, False
    for side in range(2):
        start = -1
        for f in range(1, len(joints)):
            x = float(joints[f, _ANKLES[side], 0]) - float(joints[f - 1, _ANKLES[side], 0])
            z = float(joints[f, _ANKLES[side], 2]) - float(joints[f - 1, _ANKLES[side], 2])
            swings = np.sqrt(x * x + z * z) > speed * frame_seconds
            if swings and start < 0:
                start = f - 1
            elif start >= 0 and not swings:
                x = float(joints[f, _ANKLES[side], 0]) - float(joints[start, _ANKLES[side], 0])
                z = float(joints[f, _ANKLES[side], 2]) - float(joints[start, _ANKLES[side], 2])
                if (f - start) * frame_seconds > SWING_SECONDS and np.sqrt(x * x + z * z) > STEP_LENGTH:
                    count += 1
                    begun = begun or start == 0
                    if start == earliest:
                        first = BOTH
                    elif start < earliest:
                        first, earliest = side, start
                start = -1
        ended = ended or start >= 0
    return 0 if begun or ended else count, BOTH if begun else first


@kernel
def measured_steps(joints: Array, frame_seconds: Scalar) -> tuple[int, int]:
    """Return what :func:`count_steps` returns where it is the same for both SWING_SPEEDS; else 0, and BOTH."""
    steps, foot = count_steps(joints, SWING_SPEEDS[0], frame_seconds)
    other_steps, other_foot = count_steps(joints, SWING_SPEEDS[1], frame_seconds)
    return steps if steps == other_steps else 0, foot if foot == other_foot else BOTH


@kernel
def return_of(joints: Array, start: int, end: int) -> int:
    """Return whether a path leads back, as index into RETURNS; `joints` [frames, 22, 3] are those of the whole clip."""
    farthest, before, after = 0.0, 0.0, 0.0
    for f in range(start, end):
        x = float(joints[f, _PELVIS, 0]) - float(joints[0, _PELVIS, 0])
        z = float(joints[f, _PELVIS, 2]) - float(joints[0, _PELVIS, 2])
        after = np.sqrt(x * x + z * z)
        farthest = max(farthest, after)
        before = after if f == start else before
    if farthest > AWAY and after < NEAR_START:
        return _THERE
    return _BACK if before > AWAY and after < LESS_FAR * before else 0
