"""Records and working arrays that the kernels of one actor share.

The arrays cover more frames than are stored (a margin at either end), because the footprint in the first frame depends on the
steps before it. The rows are named in :mod:`posegen.motion.rows`; the modules named after body parts write them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from posegen.foundations.kernels import Array, Scalar, aligned_zeros, kernel
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.gaits import HARMONICS, STRIDE_PARAMETERS

NO_POINT = np.zeros(rows.POINT_SIZE)
"""Meeting point of an actor without a partner."""
KNOTS = 160
"""Default room for the key poses of one segment, over all its repetitions."""
MARGIN_SECONDS = 1.4
"""Seconds computed before the first and behind the last stored frame: a footprint depends on its whole stance."""

RANGED = ("key", "series", "interval", "travel")
"""Tables of which each action has a range of rows."""
ACTION = np.dtype(
    [
        *((name, np.float64) for name in ("enter", "exit", "flight_seconds", "flight_begin", "flight_end", "flight_again")),
        *((name, np.int64) for name in ("support", "gait", "guided", "opens", "closes")),
        *(("cycle", np.float64), ("action", np.int64), ("bend", np.float64), ("drawn", np.int64)),
        *((f"{end}_{table}", np.int64) for table in RANGED for end in ("first", "last")),
    ]
)
"""Numbers of an action: seconds of its stages and flights, shares of the cycle at which flights begin and end, support, gait,
placement of the feet, the seconds of its cycle, its index in the library, the turns by which its range of dorsiflexion is wider
than usual, whether its poses have offsets, and its ranges of rows in the tables of keys, series, intervals and travel.
"""
SEGMENT = np.dtype(
    [
        *((name, np.int64) for name in ("kind", "second", "repetitions")),
        *((name, np.float64) for name in ("start", "end", "shown_start", "shown_end", "tempo", "amplitude", "speed")),
        *((name, np.float64) for name in ("warp", "personal")),
        *((name, np.uint64) for name in ("way", "moment", "beat")),
        *ACTION.descr,
    ]
)
"""One segment: its row of the action tables, its numbers as in :class:`foundations.scene.Scenes`, and those of its action.

`second` is the row that every second repetition takes, `warp` the unevenness of the pace of its repetitions, `personal` the
weight of the habits of the person. `way` and `moment` are the keys of the person and of the scene for the action, `beat` is the
key of its times, which partners share; see :mod:`posegen.motion.habits`. It is shown, and labelled, from `shown_start` to
`shown_end`; its movement may begin earlier and end later.
"""
Segment: TypeAlias = Any
"""A record of the type :data:`SEGMENT`."""


@kernel
def between(first: int, last: int) -> range:
    """Return the range of frames `first` to `last` as unsigned numbers.

    With signed numbers the compiler must handle indices that count from the end, and does not vectorise the loop.
    """
    return range(np.uintp(first), np.uintp(last))


@kernel
def fill_row(row: Array, value: Scalar) -> None:
    """Write one value into all entries of a row; much faster than the assignment of numba."""
    for f in range(len(row)):
        row[f] = value


@kernel
def copy_row(row: Array, first: int, last: int, out: Array) -> None:
    """Copy entries `first` to `last` of one row to another."""
    for f in between(first, last):
        out[f] = row[f]


@kernel
def triangular_mean(row: Array, radius: int, out: Array) -> None:
    """Write the mean of a row over a triangular window of `radius` frames to either side."""
    frames = len(row)
    for f in range(frames):
        total, weights = np.float32(0.0), np.float32(0.0)
        for g in range(max(0, f - radius), min(frames, f + radius + 1)):
            weight = np.float32(radius + 1 - abs(g - f))
            total += weight * row[g]
            weights += weight
        out[f] = total / weights


class Clock(NamedTuple):
    """Time of the frames of the workspace.

    Attributes
    ----------
    first, step : float
        Seconds of frame 0 relative to the first stored frame, and seconds per frame.
    margin, frames : int
        Frame of the workspace that holds the first stored frame, and the number of stored frames.
    """

    first: Scalar
    step: Scalar
    margin: int = 0
    frames: int = 0


@kernel
def frame_window(clock: Clock, begin: Scalar, end: Scalar, frames: int) -> tuple[int, int]:
    """Return the first frame at or after `begin` seconds and the first one at or after `end`, within 0 to `frames`."""
    first = max(0, int(np.ceil((begin - clock.first) / clock.step)))
    return first, min(frames, int(np.ceil((end - clock.first) / clock.step)))


class Role(NamedTuple):
    """What one actor does and where it starts.

    Attributes
    ----------
    base : int
        Number of base segments; the segments behind them are layered.
    segments : SEGMENT [segments]
    turn : float [segments]
        Change of the heading by each segment, in turns.
    left_leads : bool
        Whether the left foot takes the first step.
    start : float [5]
        In the first stored frame; see :data:`posegen.motion.rows.START_PHASE`.
    point : float [rows.POINT_SIZE]
        Meeting point of the hands with those of the partner.
    """

    base: int
    segments: Any
    turn: Array
    left_leads: bool
    start: Array
    point: Array = NO_POINT


class Person(NamedTuple):
    """Body, posture and habits of one actor.

    Attributes
    ----------
    offsets : float32 [22, 3]
        Bones in the rest pose, metres.
    foot : float [4]
        Dimensions of a foot, see :data:`posegen.motion.rows.FOOT_HEEL`.
    widths : float [4]
        Half the distance between the feet in walking and in standing (metres), toe-out (turns), and the distance by which the
        left foot stands ahead of the middle (metres).
    neutral, sway : float [channels]
        Posture in quiet standing, and amplitude of the sway of each channel.
    stature : float
        Metres.
    energy : float
        -1 to 1.
    key : uint64
        From which small irregularities of the scene are drawn.
    posture : float [channels]
        Turns by which the person, with its style, differs from the usual posture; `neutral` contains it.
    style : float [7]
        Changes of steps and arms by the style; the columns are named in :mod:`posegen.motion.gaits`.
    habits : float [HABITS]
        Numbers of the person in standing and in gait; see :class:`foundations.scene.Habit`.
    swing : float [2]
        Factors on the swing of the left and of the right arm.
    rests : float32 [RESTS, channels]
        Turns by which the channels differ from the posture in each resting posture; see :mod:`posegen.motion.rests`.
    legs : float [3]
        Numbers by which the left leg differs from the mean of both in gait: hip, knee and ankle.
    """

    offsets: Array
    foot: Array
    widths: Array
    neutral: Array
    sway: Array
    stature: Scalar
    energy: Scalar
    key: Scalar
    posture: Array
    style: Array
    habits: Array
    swing: Array
    rests: Array
    legs: Array


@kernel
def leg_length(offsets: Array) -> Scalar:
    """Return the length of thigh and shank together, in metres; `offsets` are those of a person."""
    return -float(offsets[4, 1] + offsets[7, 1])


class Curve(NamedTuple):
    """Key poses of one channel over a segment.

    Attributes
    ----------
    times : float [knots]
        Seconds of the keys of all channels.
    knots : float [4, knots]
        Time, value, first and second derivative at each key pose of the channel.
    moving : int8 [knots]
        Whether the channel moves through a key pose without rest, as `through` of the library's keys.
    """

    times: Array
    knots: Array
    moving: Array


class Workspace(NamedTuple):
    """Working arrays of one actor; each row covers the frames.

    Attributes
    ----------
    root : float32 [ROOT_ROWS, frames]
    legs : float32 [2, LEG_ROWS, frames]
    channels : float32 [channels, frames]
    waves : float32 [2 * HARMONICS, frames]
    weights : float32 [segments, frames]
    turns : float32 [TURNS, 9, frames]
        Rotations, row by row.
    joints : float32 [22, 3, frames]
    nominal : float32 [4, frames]
    contact : bool [2, frames]
        Whether each foot is in contact.
    airborne : bool [frames]
    lifted : bool [2, frames]
    stances : float [2, stances, 8]
    curve : Curve
        Key poses of one channel.
    series : float32 [1 + 2 * HARMONICS]
    strides : float [segments, STRIDE_PARAMETERS]
    rates : float [2, segments]
        Strides per second of each base segment, and turns of the heading per second.
    ramps : float [segments, 2, 4]
        Times in which the speed and the steps of each base segment rise and fall.
    levels : float [2, stances]
    counts : int [2]
        Number of stances of each foot.
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
    curve: Curve
    series: Array
    strides: Array
    rates: Array
    ramps: Array
    levels: Array
    counts: Array


def empty_workspace(frames: int, segments: int, knots: int = KNOTS) -> Workspace:
    """Return the workspace of one actor for `frames` frames, `segments` segments and `knots` key poses per segment."""

    def row_arrays(*shape: int) -> Array:
        return aligned_zeros((*shape, frames), np.float32)

    return Workspace(
        root=row_arrays(rows.ROOT_ROWS),
        legs=row_arrays(2, rows.LEG_ROWS),
        channels=row_arrays(len(CHANNELS)),
        waves=row_arrays(2 * HARMONICS),
        weights=row_arrays(segments),
        turns=row_arrays(rows.TURNS, 9),
        joints=row_arrays(22, 3),
        nominal=row_arrays(4),
        contact=np.zeros((2, frames), bool),
        airborne=np.zeros(frames, bool),
        lifted=np.zeros((2, frames), bool),
        # Two stances are at least one frame apart.
        stances=np.zeros((2, frames // 2 + 1, 8)),
        curve=Curve(np.zeros(knots), np.zeros((4, knots)), np.zeros(knots, np.int8)),
        series=np.zeros(1 + 2 * HARMONICS, np.float32),
        strides=np.zeros((segments, STRIDE_PARAMETERS)),
        rates=np.zeros((2, segments)),
        ramps=np.zeros((segments, 2, 4)),
        levels=np.zeros((2, frames // 2 + 1)),
        counts=np.zeros(2, np.int64),
    )


@kernel
def to_grid(x: Scalar) -> Scalar:
    """Return the nearest multiple of 2^-13 (float32)."""
    # Adding 0 turns -0 into 0.
    return np.rint(np.float32(x) * np.float32(8192.0)) * np.float32(1.0 / 8192.0) + np.float32(0.0)
