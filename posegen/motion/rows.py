"""Names of the rows of the scratch arrays that the kernels of one actor share; each row runs over the frames.

The scratch runs over more frames than are shown (the margin on either side), since where a foot stands in the first frame
depends on where it came from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel

__all__ = [
    "LEG_ROWS",
    "ROOT_ROWS",
    "between",
    "copy_row",
    "fill_row",
]

Array = NDArray[Any]

# Root rows.
(
    SPEED,  # m/s along the heading
    TURNING,  # turns a second, positive to the left
    RATE,  # strides a second
    PHASE,  # strides; the left foot meets the ground at whole numbers, the right one half a stride later
    DUTY,  # share of the stride that a foot is on the ground
    GAIT_WEIGHT,  # 0 standing, 1 in full gait
    RUN_WEIGHT,
    STEP_WEIGHT,  # stepping on the spot
    HEADING,  # turns
    HEADING_SIN,
    HEADING_COS,
    PATH_X,  # m; where the body's path is
    PATH_Z,
    ODOMETER,  # m travelled, turning counted in
    HEIGHT,  # m; pelvis above the floor
    ROOT_X,  # m; the pelvis itself
    ROOT_Z,
    LOWERING,  # m; by how much the pelvis comes down so that planted feet stay in reach
    GUIDED,  # how the action guides the feet: RETURNED or PLACED, or 0 in a gait
    WORK,
    WORK2,
    ASIDE_SPEED,  # m/s to the left of the heading
    LIMPING,  # share of the stride by which the phase hurries; positive where the left leg is the bad one
    LONE_FOOT,  # 1 hopping on the left foot, -1 on the right one
    BEATS,  # contacts a stride of a gait with flights
    LIFT,  # m; clearance of swinging feet
    APART,  # m; by how much each foot is further from the path than in walking
    RUN_PERIOD,  # s; from one contact to the next in gaits with flights, times RUN_WEIGHT
    RUN_CONTACT,  # s; on the ground, times RUN_WEIGHT
    RISING,  # m that each step leads up
    WARP,  # strides; see posegen.motion.gait.warped
    RUN_HEIGHT,  # m; pelvis above the floor in the middle of such a contact, times RUN_WEIGHT
    BEND,  # turns by which ankles bend further up than usually, where the action has it so
) = range(33)
ROOT_ROWS = 33

# Rows of each leg.
(
    THIGH,  # turns forward of the vertical
    SHANK,
    FORWARD,  # m; nominal ankle from the hip, along the heading
    DOWN,  # m; nominal ankle below the hip
    PITCH,  # turns, toes up
    LOWEST,  # m; nominal depth of the sole's lowest point below the hip
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    YAW,  # turns
    HIP_X,
    HIP_Y,
    HIP_Z,
    BALL_X,
    BALL_Y,
    BALL_Z,
    KNEE_X,
    KNEE_Y,
    KNEE_Z,
    HEEL_HEIGHT,
    TOE_HEIGHT,
    GROUND,  # m; the surface under the foot
) = range(22)
LEG_ROWS = 22


@kernel
def between(first: int, last: int) -> range:
    """Frames `first` to `last`, as numbers of a kind that cannot be negative.

    Of any other number the compiler has to ask whether it counts from the end, and makes no vectors of the loop.
    """
    return range(np.uintp(first), np.uintp(last))


@kernel
def fill_row(row: Array, value: Scalar) -> None:
    """Write one value into all entries of a row; much faster than numba's own way to do so."""
    for f in range(len(row)):
        row[f] = value


@kernel
def copy_row(row: Array, first: int, last: int, out: Array) -> None:
    """Write entries `first` to `last` of one row into another."""
    for f in between(first, last):
        out[f] = row[f]
