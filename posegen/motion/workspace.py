"""Records and working arrays that the kernels of one actor share, and the names of their rows.

The arrays cover more frames than are stored (a margin at either end), because the footprint of the first frame depends on the
steps before it. What fills the rows is defined in the modules named after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, aligned_zeros, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.gait.steps import STRIDE_PARAMETERS
from posegen.motion.gait.walking import HARMONICS
from posegen.scene import DRAWS

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
NO_POINT, NO_DRAWS = np.zeros(8), np.full(DRAWS, 0.5)
"""Of an actor who meets nobody."""
KNOTS = 160
"""Room for the key poses of one slot, over all its repetitions, unless more is asked for."""
FOOT_HEEL, FOOT_BALL, FOOT_BALL_HEIGHT, FOOT_ANKLE_HEIGHT = range(4)
"""Entries of a foot in metres: heel behind the ankle, ball before it, heights of ball joint and ankle above the sole."""
MARGIN_SECONDS = 1.4
"""How much more than is shown is worked out at either end: a foot's print depends on its whole stance."""
POINT_X, POINT_Y, POINT_Z, POINT_SIN, POINT_COS, POINT_UNIT, PARTNER_Y, PARTNER_UNIT = range(8)
"""A meeting point: metres, sine and cosine of where the partner is, and what hands count in, metres; 0 where nobody is met.

The last two are height and unit for hands that hold the partner.
"""
POINT_SIZE = 8


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


class Clock(NamedTuple):
    """Time of scratch frames: seconds of the first one, from the first frame shown, and seconds from one to the next."""

    first: Scalar
    step: Scalar


class Segment(NamedTuple):
    """One slot: its row of the action tables, its numbers, as :class:`posegen.scene.Scenes` has them, and its action's."""

    kind: int
    start: Scalar
    end: Scalar
    tempo: Scalar
    amplitude: Scalar
    repetitions: int
    speed: Scalar
    support: int
    gait: int
    enter: Scalar
    exit: Scalar
    flight_seconds: Scalar
    flight_begin: Scalar
    flight_end: Scalar
    flight_again: Scalar
    first_key: int
    last_key: int
    first_series: int
    last_series: int
    guided: int
    first_interval: int
    last_interval: int


class Role(NamedTuple):
    """What one actor does, and where it begins.

    Attributes
    ----------
    base : int
        How many of the slots are base slots; the rest are layered.
    kinds : int [slots]
        Rows of the action tables.
    numbers : float [slots, 21]
        Start, end, tempo, amplitude, repetitions, speed of each slot, and :data:`posegen.motion.tables.SCALARS` of its action.
    turn : float [slots]
        Turns by which each slot changes the heading.
    left_leads : bool
        Whether the left foot takes the first step.
    phase, heading, x, z, seat_height : float
        Strides, turns, metres; in the first frame.
    steps : float [steps, 6]
        What there is to step on; see :mod:`posegen.motion.ground`.
    point : float [6]
        Where the hands of this actor meet somebody's; see :mod:`posegen.motion.meeting`.
    shared : float [DRAWS]
        Uniform on 0 to 1: what hands that meet do alike.
    """

    base: int
    kinds: Array
    numbers: Array
    turn: Array
    left_leads: bool
    phase: Scalar
    heading: Scalar
    x: Scalar
    z: Scalar
    seat_height: Scalar
    steps: Array
    point: Array = NO_POINT
    shared: Array = NO_DRAWS


class Person(NamedTuple):
    """Who acts.

    Attributes
    ----------
    offsets : float32 [22, 3]
        Bones in the rest pose, metres.
    foot : float [4]
        See :mod:`posegen.motion.legs`.
    widths : float [3]
        Half the distance between the feet walking and standing (metres), toe-out (turns).
    neutral, sway : float [channels]
        Posture in quiet standing, and how much each channel sways.
    stature : float
        Metres.
    energy : float
        -1 to 1.
    draws : float [DRAWS]
        Uniform on 0 to 1, for small irregularities.
    posture : float [channels]
        Turns by which the person's style differs from the usual posture; `neutral` has it already.
    style : float [7]
        How the style changes steps and arms; see :mod:`posegen.motion.styles`.
    """

    offsets: Array
    foot: Array
    widths: Array
    neutral: Array
    sway: Array
    stature: Scalar
    energy: Scalar
    draws: Array
    posture: Array
    style: Array


@kernel
def segment_at(role: Role, k: int) -> Segment:
    """One of a role's slots."""
    row = role.numbers[k]
    return Segment(
        role.kinds[k],
        row[0],
        row[1],
        row[2],
        row[3],
        int(row[4]),
        row[5],
        int(row[6]),
        int(row[7]),
        row[8],
        row[9],
        row[10],
        row[11],
        row[12],
        row[13],
        int(row[14]),
        int(row[15]),
        int(row[16]),
        int(row[17]),
        int(row[18]),
        int(row[19]),
        int(row[20]),
    )


class Workspace(NamedTuple):
    """Arrays that the kernels of one actor work in; each row runs over the scratch frames.

    Attributes
    ----------
    root : float32 [ROOT_ROWS, frames]
    legs : float32 [2, LEG_ROWS, frames]
    channels : float32 [channels, frames]
    waves : float32 [2 * HARMONICS, frames]
    weights : float32 [slots, frames]
    turns : float32 [7, 9, frames]
        Rotations; the last three are those of head, uppermost spine joint and pelvis.
    joints : float32 [22, 3, frames]
    nominal : float32 [4, frames]
    planted : bool [2, frames]
    airborne : bool [frames]
    lifted : bool [2, frames]
    stances : float [2, stances, 8]
    times : float [knots]
    knots : float [4, knots]
    moving : bool [knots]
    series : float32 [1 + 2 * HARMONICS]
    angles : float [4]
    gaits : int [slots]
    manners : float [slots, MANNERS]
        See :mod:`posegen.motion.manner`.
    rates : float [2, slots]
        Strides, and turns of the heading, a second of each base slot.
    ramps : float [slots, 8]
    levels : float [2, stances]
    counts : int [2]
        How many stances each foot has.
    """

    root: Array
    legs: Array
    channels: Array
    waves: Array
    weights: Array
    turns: Array
    joints: Array
    nominal: Array
    contact: Array
    airborne: Array
    lifted: Array
    stances: Array
    times: Array
    knots: Array
    moving: Array
    series: Array
    angles: Array
    gaits: Array
    strides: Array
    rates: Array
    ramps: Array
    levels: Array
    counts: Array


def empty_workspace(frames: int, segments: int, knots: int = KNOTS) -> Workspace:
    """Room for one actor of `slots` slots with up to `knots` key poses each, over `frames` scratch frames."""

    def rows(*shape: int) -> Array:
        return aligned_zeros((*shape, frames), np.float32)

    return Workspace(
        root=rows(ROOT_ROWS),
        legs=rows(2, LEG_ROWS),
        channels=rows(len(CHANNELS)),
        waves=rows(2 * HARMONICS),
        weights=rows(segments),
        turns=rows(7, 9),
        joints=rows(22, 3),
        nominal=rows(4),
        contact=np.zeros((2, frames), bool),
        airborne=np.zeros(frames, bool),
        lifted=np.zeros((2, frames), bool),
        # Between two stances a foot is off the ground for a frame at least.
        stances=np.zeros((2, frames // 2 + 1, 8)),
        times=np.zeros(knots),
        knots=np.zeros((4, knots)),
        moving=np.zeros(knots, bool),
        series=np.zeros(1 + 2 * HARMONICS, np.float32),
        angles=np.zeros(4),
        gaits=np.zeros(segments, np.int64),
        strides=np.zeros((segments, STRIDE_PARAMETERS)),
        rates=np.zeros((2, segments)),
        ramps=np.zeros((segments, 8)),
        levels=np.zeros((2, frames // 2 + 1)),
        counts=np.zeros(2, np.int64),
    )


@kernel
def to_grid(x: Scalar) -> Scalar:
    """Nearest multiple of 2^-13 (float32)."""
    # Adding 0 turns -0 into 0, as which it is stored.
    return np.rint(np.float32(x) * np.float32(8192.0)) * np.float32(1.0 / 8192.0) + np.float32(0.0)
