"""Gaits: cadence, steps and stances, curves of joint angles, and what actions, styles and persons change of them.

The curves, with their sources, are in ``gaits.yaml``. Contact times of running are published means at 3.0, 4.5 and 6.0 m/s, the
cadence of walking follows the walk ratio (PMC5430280).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.scene import Habit
from posegen.foundations.trigonometry import cos_turns, sin_turns
from posegen.foundations.yaml_files import read_yaml
from posegen.library.channels import CHANNELS, channels_named
from posegen.library.schema import Action, GaitStyle
from posegen.motion import rows

FASTEST_STEPS = 3.8
"""Largest number of steps per second on the spot; in quicker steps a foot hardly leaves the ground."""
WALK_RATIO = 0.0065
"""Metres per step for each step per minute, for a leg of .9 m: about .0065 (PMC5430280), .0062 for the reference adult."""
NO_GAIT, WALK, RUN, STEP, HOP, SKIP = 0, 1, 2, 3, 4, 5
GAITS = {None: NO_GAIT, "walk": WALK, "run": RUN, "step": STEP, "hop": HOP, "skip": SKIP}
AHEAD, ASIDE, CADENCE, STEP_LENGTH, STANCE, CLEARANCE, WIDTH, LIMP, LONE_SIDE, BOUNCES, RISE = range(11)
"""
AHEAD, ASIDE : fractions of the speed along the heading (negative is backward), and to the left
CADENCE : factor on strides per second
STEP_LENGTH, STANCE : m, and fraction of the stride; 0: by the law of the gait
CLEARANCE, WIDTH : m
LIMP : fraction of the stride; positive: the left leg is affected
LONE_SIDE : 1: hops on the left foot, -1: on the right foot
BOUNCES : contacts per stride with flights between them; 0: no flight
RISE : m of height gained per step
"""
STRIDE_PARAMETERS = 11
"""Number of columns of :attr:`posegen.motion.library_tables.ActionTables.stride`, which are named above."""
STANDING_LIFT = 0.034
"""Smallest distance in metres between the ball of the foot and the floor in the middle of a plain swing. The toes reach some 5
cm beyond the ball and point down by 15 to 20 degrees then, so that they are 1 to 2.5 cm above the floor (Winter 1992).
"""
_AHEAD = {"forward": 1.0, "backward": -1.0, "sideways": 0.0}
_BOUNCES = {RUN: 2.0, HOP: 1.0, SKIP: 4.0}
ARM_SWING, MORE_BOUNCE, MORE_SIDEWAYS, MORE_CADENCE, MORE_STANCE, MORE_CLEARANCE, MORE_WIDTH = range(7)
"""
ARM_SWING, MORE_CADENCE : factors on the swing of the arms, and on strides per second
MORE_BOUNCE, MORE_SIDEWAYS : leg lengths; more rise and fall of the pelvis in each step, and more swing to either side
MORE_STANCE : fraction of the stride
MORE_CLEARANCE, MORE_WIDTH : m
"""
STANDING_TURNS = 0.32
"""Phase of the stride at which the left leg is upright; there the pelvis is highest and furthest to the left."""
COS_ONE, SIN_ONE = -0.42577929, 0.90482705
COS_TWO, SIN_TWO = -0.63742399, -0.77051324
"""Cosine and sine of STANDING_TURNS (ONE) and of twice STANDING_TURNS (TWO)."""
HARMONICS = 8
WALK_SPEEDS = (0.0, 0.18, 0.295, 0.43, 0.565, 0.70)
"""Speeds of the walking curves, v / sqrt(g L): centres of the five bins of Schwartz et al.; 0 means stepping on the spot."""
RUN_SPEEDS = (2.5, 6.0)
"""Speeds of the running curves, m/s."""
HEAD_STEADIED = 0.9
"""Fraction of the swing of pelvis and trunk that the neck compensates."""
# How the curves of a person differ from the mean curves of many people. The standard deviations are about those between healthy
# adults (Schwartz et al. 2008 for legs and pelvis, CGM 2.3 normative data for trunk and arms).
TURNED = (rows.PELVIS_ROTATION, rows.OBLIQUITY, rows.TRUNK_ROTATION)
SWING_BEND = 0.1762, (-0.1272, -0.1645, 0.1391, -0.0046, -0.0263, 0.0071), (-0.2940, 0.1751, 0.0501, -0.0738, 0.0134, 0.0059)
"""A knee that bends further in its swing: ((1 + cos) / 2)^10 about 68.5 per cent of the stride, 1 at its peak."""
MORE_BEND, MORE_RUNNING_BEND, FASTER_BEND = 8.0 / 360, 9.0 / 360, 2.7 / 360
"""Turns by which the knee of each person bends further in its swing than the mean of many, which is flatter since their peaks
differ in time: in walking, in running at 3 m/s, and by how much less for each m/s above. Captured walks reach 65 to 71 degrees.
"""
CROUCH, MEAN_CROUCH, LEAST_CROUCH = 4.0 / 360, 0.93 / 360, -2.5 / 360
"""Standard deviation of the flexion of a knee throughout the stride, what is taken off it so that the mean is 0, and its least
value: legs are nearly straight already.
"""
SWING_KNEE = 4.0 / 360
"""Standard deviation of the additional bend of a swinging knee."""
STRIDE, PUSH = 0.04, 0.1
"""Standard deviations of the size of the curves of hips and ankles."""
TILTED, OWN_SHOULDER, OWN_ELBOW = 2.5 / 360, 3.0 / 360, 6.0 / 360
"""Standard deviations of the offsets of pelvic tilt, shoulders and elbows."""
TURNING, NODDING = 0.25, 0.45
"""Standard deviations of the size of the swing of pelvis and trunk, and of the nodding of the trunk."""
UNLIKE = 1.2 / 360, 2.0 / 360, 0.05
"""Standard deviation of each leg from the mean of both (chosen): the offset of the hip, the additional bend of a
swinging knee, and the size of the curve of the ankle.
"""
FIRST_HABIT = int(Habit.GAIT)
_BEND_ZERO, _BEND_COS, _BEND_SIN = SWING_BEND
_CURVES = read_yaml(Path(__file__).with_suffix(".yaml"))


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


def gait_curves() -> Gaits:
    """Return the curves of all gaits."""
    walk, run = _series_of("walk"), _series_of("run")
    return Gaits(np.asarray(WALK_SPEEDS, np.float32), walk, run, moved=(walk != 0).any((0, 2)) | (run != 0).any((0, 2)))


def half_cycle_later(harmonics: Array) -> Array:
    """Return cosines or sines of a series half a cycle later: the odd ones change their sign."""
    return harmonics * np.where(np.arange(len(harmonics)) % 2 == 0, -1.0, 1.0)


def steady_head(table: Array) -> None:
    """Compensate the swing of pelvis and trunk by the neck: in walking and running the head hardly turns
    (Pozzo et al. 1990).
    """
    pelvis = {name: table[CHANNELS.index(f"pelvis_{name}")] for name in ("rotation", "obliquity", "tilt")}
    trunk = {name: table[CHANNELS.index(f"trunk_{name}")] for name in ("rotation", "lateral", "flexion")}
    turning = -(pelvis["rotation"] + trunk["rotation"])
    leaning = pelvis["obliquity"] - trunk["lateral"]
    nodding = -(pelvis["tilt"] + trunk["flexion"])
    for name, swing in (("rotation", turning), ("lateral", leaning), ("flexion", nodding)):
        table[CHANNELS.index(f"neck_{name}"), 1:] = HEAD_STEADIED * swing[1:]


def _series_of(gait: str) -> Array:
    """Return the series of all channels of a gait, `walk` or `run`, at each of its speeds: float32 in turns.

    The shape is [speeds, channels, 1 + 2 * HARMONICS]: constant, cosines and sines.
    """
    tables = np.zeros((len(WALK_SPEEDS if gait == "walk" else RUN_SPEEDS), len(CHANNELS), 1 + 2 * HARMONICS))
    for name, curve in _CURVES[gait].items():
        for number, table in enumerate(tables):
            constant, cosines, sines = curve["series"][number % len(curve["series"])]
            size = curve.get("size", np.ones(len(tables)))[number]
            row = np.zeros(1 + 2 * HARMONICS)
            row[0] = constant
            row[1 : 1 + len(cosines)] = np.asarray(cosines) * size
            row[1 + HARMONICS : 1 + HARMONICS + len(sines)] = np.asarray(sines) * size
            later = [half_cycle_later(harmonics) for harmonics in (row[1 : 1 + HARMONICS], row[1 + HARMONICS :])]
            for c, series in zip(channels_named(name), (row, np.concatenate([row[:1], *later])), strict=False):
                table[c] = series / 360
    for table in tables:
        steady_head(table)
    return tables.astype(np.float32)


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
    stride, to_near = action.gait_style or GaitStyle(), 1.0 if near == "left" else -1.0
    aside, lone = to_near * (stride.direction == "sideways"), to_near * (gait == HOP)
    plain = stride.cadence, stride.step or 0.0, stride.stance or 0.0, stride.clearance, stride.width
    return _AHEAD[stride.direction], aside, *plain, to_near * stride.limp, lone, _BOUNCES.get(gait, 0.0), stride.rise


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
    return (channel == rows.ROOT_HEIGHT and style[MORE_BOUNCE] != 0) or (
        channel == rows.ROOT_LATERAL and style[MORE_SIDEWAYS] != 0
    )


@kernel
def add_bounce(channel: int, style: Array, series: Array, first_sine: int) -> None:
    """Add the oscillation of a style to the series of a channel: constant, cosines, and sines from index `first_sine` on.

    A lively walk lowers the pelvis more between the steps, a dull walk lowers it in their middle. The pelvis is never raised,
    because the legs have a fixed length.
    """
    if channel == rows.ROOT_HEIGHT:
        more = style[MORE_BOUNCE]
        series[0] -= np.float32(abs(more))
        series[2] += np.float32(more * COS_TWO)
        series[first_sine + 1] += np.float32(more * SIN_TWO)
    else:
        series[1] += np.float32(style[MORE_SIDEWAYS] * COS_ONE)
        series[first_sine] += np.float32(style[MORE_SIDEWAYS] * SIN_ONE)


@kernel
def run_contact_seconds(speed: Scalar) -> Scalar:
    """Return the contact time of a foot in running: .280 s at 3.0 m/s, .209 at 4.5, .168 at 6.0, linear between and beyond."""
    if speed < 4.5:
        return min(0.36, 0.280 + (speed - 3.0) * (0.209 - 0.280) / 1.5)
    return max(0.12, 0.209 + (speed - 4.5) * (0.168 - 0.209) / 1.5)


@kernel
def curve_warp(duty: Scalar) -> Scalar:
    """Return the warp of the running curves that moves toe-off, at 39 per cent of the curves, to the fraction `duty`."""
    return min(max(2.0 * (0.39 - duty) / (1.0 - cos_turns(2.0 * duty)), -0.06), 0.14)


@kernel
def warp_phase(phase: Scalar, warp: Scalar) -> Scalar:
    """Return the phase at which the curves are read, so that they shorten with the contact as speed grows.

    The landings of both feet, at 0 and one half, are unchanged. The phase is up to `warp` strides ahead between them.
    """
    return phase + np.float32(0.5) * warp * (np.float32(1.0) - cos_turns(np.float32(2.0) * phase))


@kernel
def run_rise(part: Scalar, contact: Scalar, period: Scalar) -> Scalar:
    """Return the height of the centre of mass in running, relative to its height at touch-down; metres.

    During contact the force is half a sine, whose mean over the step carries the weight. In the air the body falls freely. Both
    follow from contact time and period alone.

    Parameters
    ----------
    part : float
        Seconds since touch-down, 0 to `period`.
    contact, period : float
        Seconds of the contact and of the whole step.
    """
    air = period - contact
    if part >= contact:
        t = part - contact
        return 0.5 * GRAVITY * t * (air - t)
    push = 0.5 * GRAVITY * period
    turns = 0.5 * part / contact
    # The force integrated twice, minus gravity, from the downward speed at touch-down.
    return push * (part - contact / np.pi * sin_turns(turns)) - 0.5 * GRAVITY * part * (part + air)


@kernel
def _scale(series: Array, factor: Scalar) -> None:
    for n in range(1, len(series)):
        series[n] *= factor


@kernel
def _bend_swing(series: Array, size: Scalar, side: int) -> None:
    """Add `size` turns of bend in the swing; on the right side (1) half a stride later."""
    series[0] += size * _BEND_ZERO
    for n in range(len(_BEND_COS)):
        sign = -1.0 if side == 1 and n % 2 == 0 else 1.0
        series[1 + n] += sign * size * _BEND_COS[n]
        series[1 + HARMONICS + n] += sign * size * _BEND_SIN[n]


@kernel
def vary_series(running: bool, speed: Scalar, channel: int, habits: Array, legs: Array, series: Array) -> None:
    """Change the series of one channel of a walk or run into that of a person.

    Parameters
    ----------
    running : bool
    speed : float
        Metres per second.
    channel : int
    habits, legs : float [HABITS], float [3]
        Of the person; see :class:`posegen.motion.workspace.Person`.
    series : float32 [1 + 2 * HARMONICS], changed
    """
    bend = MORE_RUNNING_BEND - FASTER_BEND * max(speed - 3.0, 0.0) if running else MORE_BEND
    crouch = max(CROUCH * habits[FIRST_HABIT] - MEAN_CROUCH, LEAST_CROUCH)
    tilted = TILTED * habits[FIRST_HABIT + 1]
    if channel == rows.PELVIS_TILT:
        series[0] += tilted
    elif channel == rows.TRUNK_FLEXION:
        # The back compensates a tilted pelvis.
        series[0] -= 0.8 * tilted
        _scale(series, max(1.0 + NODDING * habits[FIRST_HABIT + 2], 0.2))
    elif channel in TURNED:
        _scale(series, max(1.0 + TURNING * habits[FIRST_HABIT + 3], 0.3))
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        if channel == rows.HIP_FLEXION[side]:
            # The thigh keeps its direction, and the foot its pitch.
            series[0] += tilted + 0.5 * crouch + UNLIKE[0] * sign * legs[0]
            _scale(series, 1.0 + STRIDE * habits[FIRST_HABIT + 4])
        elif channel == rows.KNEE_FLEXION[side]:
            series[0] += crouch
            own = UNLIKE[1] * sign * legs[1]
            _bend_swing(series, max(bend + SWING_KNEE * habits[FIRST_HABIT + 5] + own, 0.0), side)
        elif channel == rows.DORSIFLEXION[side]:
            series[0] += 0.5 * crouch
            own = UNLIKE[2] * sign * legs[2]
            _scale(series, max(1.0 + PUSH * habits[FIRST_HABIT + 6] + own, 0.6))
        elif channel == rows.SHOULDER_FLEXION[side]:
            series[0] += OWN_SHOULDER * habits[FIRST_HABIT + 7]
        elif channel == rows.ELBOW_FLEXION[side]:
            series[0] += OWN_ELBOW * habits[FIRST_HABIT + 8]
