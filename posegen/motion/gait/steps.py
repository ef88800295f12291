"""Steps of all gaits: cadence, stance share, and the stride parameters that actions and styles change.

Source of the walking cadence: the walk ratio (PMC5430280). The joint angles are in :mod:`posegen.motion.gait.curves`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.library.schema import Action, GaitOptions
from posegen.motion.gait.curves import WALK_SPEEDS, run_contact_seconds, run_table, walk_table

FASTEST_STEPS = 3.8
"""Largest number of steps per second on the spot; in quicker steps a foot hardly leaves the ground."""
WALK_RATIO = 0.0065
"""Metres per step for each step per minute, for a leg of .9 m: about .0065 (PMC5430280), .0062 for the reference adult."""
NO_GAIT, WALK, RUN, STEP, HOP, SKIP = 0, 1, 2, 3, 4, 5
GAITS = {None: NO_GAIT, "walk": WALK, "run": RUN, "step": STEP, "hop": HOP, "skip": SKIP}
(
    AHEAD,  # fraction of the speed along the heading; negative is backward
    ASIDE,  # fraction of the speed to the left
    CADENCE,  # factor on strides per second
    STEP_LENGTH,  # m; 0: by the law of the gait
    STANCE,  # fraction of the stride; 0: by the law of the gait
    CLEARANCE,  # m
    WIDTH,  # m
    LIMP,  # fraction of the stride; positive: the left leg is affected
    LONE_SIDE,  # 1: hops on the left foot, -1: on the right foot
    BOUNCES,  # contacts per stride with flights between them; 0: no flight
    RISE,  # m of height gained per step
) = range(11)
STRIDE_PARAMETERS = 11
"""Number of columns of :attr:`posegen.motion.library_tables.ActionTables.stride`, which are named above."""
STANDING_LIFT = 0.034
"""Smallest distance in metres between the ball of the foot and the floor in the middle of a plain swing. The toes reach some 5
cm beyond the ball and point down by 15 to 20 degrees then, so that they are 1 to 2.5 cm above the floor (Winter 1992).
"""
_AHEAD = {"forward": 1.0, "backward": -1.0, "sideways": 0.0}
_BOUNCES = {RUN: 2.0, HOP: 1.0, SKIP: 4.0}
(
    ARM_SWING,  # factor on the swing of the arms
    MORE_BOUNCE,  # leg lengths; more rise and fall of the pelvis in each step
    MORE_SIDEWAYS,  # leg lengths; more swing of the pelvis to either side
    MORE_CADENCE,  # factor on strides per second
    MORE_STANCE,  # fraction of the stride
    MORE_CLEARANCE,  # m
    MORE_WIDTH,  # m
) = range(7)
ROOT_HEIGHT, ROOT_LATERAL = CHANNELS.index("root_height"), CHANNELS.index("root_lateral")
STANDING_TURNS = 0.32
"""Phase of the stride at which the left leg is upright; there the pelvis is highest and furthest to the left."""
COS_ONE, SIN_ONE = -0.42577929, 0.90482705
COS_TWO, SIN_TWO = -0.63742399, -0.77051324
"""Cosine and sine of STANDING_TURNS (ONE) and of twice STANDING_TURNS (TWO)."""


class Gaits(NamedTuple):
    """Curves of all gaits as flat arrays.

    Attributes
    ----------
    speeds : float32 [knots]
        Dimensionless speed of each walking curve.
    walk : float32 [knots, channels, 1 + 2 * HARMONICS]
        Constant, cosines and sines of each channel, in turns.
    run : float32 [2, channels, 1 + 2 * HARMONICS]
        The same at the two speeds of RUN_SPEEDS.
    moved : bool [channels]
        Whether gait moves the channel.
    """

    speeds: Array
    walk: Array
    run: Array
    moved: Array


def gait_tables() -> Gaits:
    """Return the curves of all gaits, in turns."""
    walk = np.stack([walk_table(knot) for knot in range(len(WALK_SPEEDS))]).astype(np.float32)
    run = np.stack([run_table(fast) for fast in (False, True)]).astype(np.float32)
    moved = (walk != 0).any((0, 2)) | (run != 0).any((0, 2))
    return Gaits(np.asarray(WALK_SPEEDS, np.float32), walk, run, moved)


@kernel
def stride_rate(gait: int, speed: Scalar, leg: Scalar, turn: Scalar, seconds: Scalar) -> Scalar:
    """Return the strides per second of a gait.

    Walking: sqrt(60 v / .0065) steps per minute for a leg of .9 m; the walk ratio grows with the leg. Running: 153.6 steps
    per minute at 2.65 m/s (1.28 Hz), 7 more for each m/s, 11.3 more above 4.5 m/s, where flights would else be longer than
    published. Stepping on the spot: a step for each 36 degrees of the turn, up to FASTEST_STEPS. Hopping: 2 hops per second,
    the natural frequency of legs (2.2 Hz, Farley et al. 1991). Skipping: about 1 stride per second.

    Parameters
    ----------
    gait : int
        WALK, RUN, STEP, HOP or SKIP.
    speed, leg : float
        Speed in m/s; hip height of a straight leg in metres.
    turn, seconds : float
        Change of the heading in turns, and its duration.
    """
    if gait == STEP:
        # Both feet must turn; they start and end .15 s after the segment. A quick turn takes fewer steps.
        whole = max(seconds - 0.3, 0.3)
        steps = min(np.floor(abs(turn) * 10.0 + 0.999), np.floor(FASTEST_STEPS * whole))
        return 0.5 * max(2.0, steps) / whole
    if gait == RUN:
        return (153.6 + 7.0 * (speed - 2.65) + 4.3 * max(speed - 4.5, 0.0)) / 120.0 * np.sqrt(0.9 / leg)
    if gait == HOP:
        return 2.0 * np.sqrt(0.9 / leg)
    if gait == SKIP:
        return 0.95 * np.sqrt(0.9 / leg)
    return np.sqrt(60.0 * max(speed, 0.2) / (WALK_RATIO / 0.9 * leg)) / 120.0


def stride_parameters(action: Action, gait: int, near: str) -> tuple[float, ...]:
    """Return the stride parameters of an action performed with the side `near`; `gait` is its number in GAITS."""
    stride, to_near = action.manner or GaitOptions(), 1.0 if near == "left" else -1.0
    return (
        _AHEAD[stride.direction],
        to_near if stride.direction == "sideways" else 0.0,
        stride.cadence,
        stride.step or 0.0,
        stride.stance or 0.0,
        stride.clearance,
        stride.width,
        to_near * stride.limp,
        to_near if gait == HOP else 0.0,
        _BOUNCES.get(gait, 0.0),
        stride.rise,
    )


@kernel
def stance_share(gait: int, speed: Scalar, rate: Scalar, stride: Array) -> Scalar:
    """Return the fraction of the stride in which a foot is in contact."""
    if stride[STANCE] > 0:
        return stride[STANCE]
    if gait == RUN:
        return run_contact_seconds(speed) * rate
    return 0.66 if gait == STEP else 0.642 - 0.035 * speed


@kernel
def step_in_style(stride: Array, gait: int, speed: Scalar, style: Array) -> None:
    """Change the stride parameters of a walking segment by a style; `speed` is in m/s. Other gaits are unchanged."""
    if gait != WALK:
        return
    stride[CADENCE] *= style[MORE_CADENCE]
    stride[CLEARANCE] += style[MORE_CLEARANCE]
    stride[WIDTH] += style[MORE_WIDTH]
    if style[MORE_STANCE] != 0:
        stride[STANCE] = stance_share(gait, speed, 1.0, stride) + style[MORE_STANCE]


@kernel
def has_bounce(channel: int, style: Array) -> bool:
    """Return whether a style adds an oscillation of this channel to a walk."""
    return (channel == ROOT_HEIGHT and style[MORE_BOUNCE] != 0) or (channel == ROOT_LATERAL and style[MORE_SIDEWAYS] != 0)


@kernel
def add_bounce(channel: int, style: Array, series: Array, first_sine: int) -> None:
    """Add the oscillation of a style to the series of a channel: constant, cosines, and sines from index `first_sine` on.

    A lively walk lowers the pelvis more between the steps, a dull walk lowers it in their middle. The pelvis is never raised,
    because the legs have a fixed length.
    """
    if channel == ROOT_HEIGHT:
        more = style[MORE_BOUNCE]
        series[0] -= np.float32(abs(more))
        series[2] += np.float32(more * COS_TWO)
        series[first_sine + 1] += np.float32(more * SIN_TWO)
    else:
        series[1] += np.float32(style[MORE_SIDEWAYS] * COS_ONE)
        series[first_sine] += np.float32(style[MORE_SIDEWAYS] * SIN_ONE)
