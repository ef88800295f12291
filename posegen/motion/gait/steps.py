"""Steps of all gaits: cadence, stance share, and the stride parameters that actions and styles change.

Source of the walking cadence: the walk ratio (PMC5430280). The joint angles are in :mod:`posegen.motion.gait.walking` and
:mod:`posegen.motion.gait.running`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.library.models import Action, Manner
from posegen.motion.gait.running import run_contact_seconds, run_table
from posegen.motion.gait.walking import WALK_SPEEDS, walk_table

Array = NDArray[Any]

FASTEST_STEPS = 3.8
"""Steps a second on the spot at most: in quicker ones a foot is hardly off the ground."""
WALK_RATIO = 0.0064
"""Metres a step for each step a minute, at a leg of .9 m: about .0065 (PMC5430280), .0062 of the reference adult."""
NO_GAIT, WALK, RUN, STEP, HOP, SKIP = 0, 1, 2, 3, 4, 5
GAITS = {None: NO_GAIT, "walk": WALK, "run": RUN, "step": STEP, "hop": HOP, "skip": SKIP}
(
    AHEAD,  # share of the speed along the heading; negative is backward
    ASIDE,  # share of the speed to the left
    CADENCE,  # factor on strides a second
    STEP_LENGTH,  # m; 0 where the gait's own law decides
    STANCE,  # share of the stride; 0 where the gait's own law decides
    CLEARANCE,  # m
    WIDTH,  # m
    LIMP,  # share of the stride; positive where the left leg is the bad one
    LONE_SIDE,  # 1 hopping on the left foot, -1 on the right one
    BOUNCES,  # contacts a stride that the body flies between; 0 where it does not fly
    RISE,  # m that each step leads up
) = range(11)
STRIDE_PARAMETERS = 11
"""Columns of :attr:`posegen.motion.tables.ActionTables.manner`."""
STANDING_LIFT = 0.034
"""Metres between the ball of the foot and the floor in the middle of a plain swing, at least. Toes, which reach some 5 cm
beyond the ball and point down by 15 to 20 degrees then, are 1 to 2.5 cm above it (Winter 1992)."""
_AHEAD = {"forward": 1.0, "backward": -1.0, "sideways": 0.0}
_BOUNCES = {RUN: 2.0, HOP: 1.0, SKIP: 4.0}
(
    ARM_SWING,  # factor on the swing of the arms
    MORE_BOUNCE,  # leg lengths; more rise and fall of the pelvis in each step
    MORE_SIDEWAYS,  # leg lengths; more swing of the pelvis to either side
    MORE_CADENCE,  # factor on strides a second
    MORE_STANCE,  # share of the stride
    MORE_CLEARANCE,  # m
    MORE_WIDTH,  # m
) = range(7)
ROOT_HEIGHT, ROOT_LATERAL = CHANNELS.index("root_height"), CHANNELS.index("root_lateral")
STANDING_TURNS = 0.32
"""Where in its stride the left leg stands upright: there the pelvis is highest, and furthest to the left."""
COS_ONE, SIN_ONE = -0.42577929, 0.90482705
COS_TWO, SIN_TWO = -0.63742399, -0.77051324
"""Cosine and sine of once and of twice STANDING_TURNS."""


class Gaits(NamedTuple):
    """Gait curves as flat arrays.

    Attributes
    ----------
    speeds : float32 [knots]
        Dimensionless speed of each walking curve.
    walk : float32 [knots, channels, 1 + 2 * HARMONICS]
        Constant, cosines, sines of each channel in turns.
    run : float32 [2, channels, 1 + 2 * HARMONICS]
        At the two speeds of RUN_SPEEDS.
    moved : bool [channels]
        Channels that gait moves.
    """

    speeds: Array
    walk: Array
    run: Array
    moved: Array


def gait_tables() -> Gaits:
    """All gait curves, in turns."""
    walk = np.stack([walk_table(knot) for knot in range(len(WALK_SPEEDS))]).astype(np.float32)
    run = np.stack([run_table(fast) for fast in (False, True)]).astype(np.float32)
    moved = (walk != 0).any((0, 2)) | (run != 0).any((0, 2))
    return Gaits(np.asarray(WALK_SPEEDS, np.float32), walk, run, moved)


@kernel
def stride_rate(gait: int, speed: Scalar, leg: Scalar, turn: Scalar, seconds: Scalar) -> Scalar:
    """Strides a second.

    Walking: cadence = sqrt(60 v / .0064) steps a minute at a leg of .9 m, the walk ratio growing with the leg. Running: 155
    steps a minute at 2.65 m/s and 7 more for each m/s, 14 above 4.5. Stepping on the spot: a step for each 36 degrees turned,
    but no more than feet can take. Hopping: 2 hops a second, as legs bounce by themselves (2.2 Hz, Farley et al. 1991).
    Skipping: about 1 stride a second.

    Parameters
    ----------
    gait : int
        WALK, RUN, STEP, HOP or SKIP.
    speed, leg : float
        m/s; height of the hip of a straight leg, m.
    turn, seconds : float
        Turns that the heading changes by, and in how long.
    """
    if gait == 3:
        # Both feet must come round; they start and end later than the slot by .15 s each. Who is in a hurry takes fewer steps.
        whole = max(seconds - 0.3, 0.3)
        steps = min(np.floor(abs(turn) * 10.0 + 0.999), np.floor(FASTEST_STEPS * whole))
        return 0.5 * max(2.0, steps) / whole
    if gait == 2:
        return (155.0 + 7.0 * (speed - 2.65) + 7.0 * max(speed - 4.5, 0.0)) / 120.0 * np.sqrt(0.9 / leg)
    if gait == 4:
        return 2.0 * np.sqrt(0.9 / leg)
    if gait == 5:
        return 0.95 * np.sqrt(0.9 / leg)
    return np.sqrt(60.0 * max(speed, 0.2) / (WALK_RATIO / 0.9 * leg)) / 120.0


def stride_parameters(action: Action, gait: int, near: str) -> tuple[float, ...]:
    """Numbers of an action done with the side `near`; `gait` is its number."""
    stride, to_near = action.manner or Manner(), 1.0 if near == "left" else -1.0
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


def half_cycle_later(cosines: Array, sines: Array) -> tuple[Array, Array]:
    """Return the same series half a cycle later: its odd harmonics change their sign."""
    signs = np.where(np.arange(len(cosines)) % 2 == 0, -1.0, 1.0)
    return cosines * signs, sines * signs


@kernel
def stance_share(gait: int, speed: Scalar, rate: Scalar, stride: Array) -> Scalar:
    """Share of the stride that a foot is on the ground each time."""
    if stride[STANCE] > 0:
        return stride[STANCE]
    if gait == RUN:
        return run_contact_seconds(speed) * rate
    return 0.66 if gait == STEP else 0.642 - 0.035 * speed


@kernel
def step_in_style(stride: Array, gait: int, speed: Scalar, style: Array) -> None:
    """Change the numbers of a walking slot's steps by a style; `manner` is its row of the action tables, `speed` in m/s."""
    if gait != WALK:
        return
    stride[CADENCE] *= style[MORE_CADENCE]
    stride[CLEARANCE] += style[MORE_CLEARANCE]
    stride[WIDTH] += style[MORE_WIDTH]
    if style[MORE_STANCE] != 0:
        stride[STANCE] = stance_share(gait, speed, 1.0, stride) + style[MORE_STANCE]


@kernel
def has_bounce(channel: int, style: Array) -> bool:
    """Whether a style lets this channel swing over the stride of a walk."""
    return (channel == ROOT_HEIGHT and style[MORE_BOUNCE] != 0) or (channel == ROOT_LATERAL and style[MORE_SIDEWAYS] != 0)


@kernel
def add_bounce(channel: int, style: Array, series: Array, first_sine: int) -> None:
    """Add what a style adds to the series of a channel: constant, cosines, and sines from `first_sine` on.

    A livelier walk comes down further between the steps, a duller one is lower in their middle: nobody's legs grow.
    """
    if channel == ROOT_HEIGHT:
        more = style[MORE_BOUNCE]
        series[0] -= np.float32(abs(more))
        series[2] += np.float32(more * COS_TWO)
        series[first_sine + 1] += np.float32(more * SIN_TWO)
    else:
        series[1] += np.float32(style[MORE_SIDEWAYS] * COS_ONE)
        series[first_sine] += np.float32(style[MORE_SIDEWAYS] * SIN_ONE)
