"""What the kernels of one actor hand to one another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, aligned_zeros, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.gait import HARMONICS
from posegen.motion.manner import MANNERS
from posegen.motion.rows import LEG_ROWS, ROOT_ROWS
from posegen.scene import DRAWS

__all__ = ["KNOTS", "Clock", "Person", "Role", "Scratch", "Slot", "scratch", "slot_of"]

Array = NDArray[Any]

NO_POINT, NO_DRAWS = np.zeros(8), np.full(DRAWS, 0.5)
"""Of an actor who meets nobody."""
KNOTS = 160
"""Room for the key poses of one slot, over all its repetitions, unless more is asked for."""


class Clock(NamedTuple):
    """Time of scratch frames: seconds of the first one, from the first frame shown, and seconds from one to the next."""

    first: Scalar
    step: Scalar


class Slot(NamedTuple):
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
    first_stretch: int
    last_stretch: int


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
def slot_of(role: Role, k: int) -> Slot:
    """One of a role's slots."""
    row = role.numbers[k]
    return Slot(
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


class Scratch(NamedTuple):
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
    planted: Array
    airborne: Array
    lifted: Array
    stances: Array
    times: Array
    knots: Array
    moving: Array
    series: Array
    angles: Array
    gaits: Array
    manners: Array
    rates: Array
    ramps: Array
    levels: Array
    counts: Array


def scratch(frames: int, slots: int, knots: int = KNOTS) -> Scratch:
    """Room for one actor of `slots` slots with up to `knots` key poses each, over `frames` scratch frames."""

    def rows(*shape: int) -> Array:
        return aligned_zeros((*shape, frames), np.float32)

    return Scratch(
        root=rows(ROOT_ROWS),
        legs=rows(2, LEG_ROWS),
        channels=rows(len(CHANNELS)),
        waves=rows(2 * HARMONICS),
        weights=rows(slots),
        turns=rows(7, 9),
        joints=rows(22, 3),
        nominal=rows(4),
        planted=np.zeros((2, frames), bool),
        airborne=np.zeros(frames, bool),
        lifted=np.zeros((2, frames), bool),
        # Between two stances a foot is off the ground for a frame at least.
        stances=np.zeros((2, frames // 2 + 1, 8)),
        times=np.zeros(knots),
        knots=np.zeros((4, knots)),
        moving=np.zeros(knots, bool),
        series=np.zeros(1 + 2 * HARMONICS, np.float32),
        angles=np.zeros(4),
        gaits=np.zeros(slots, np.int64),
        manners=np.zeros((slots, MANNERS)),
        rates=np.zeros((2, slots)),
        ramps=np.zeros((slots, 8)),
        levels=np.zeros((2, frames // 2 + 1)),
        counts=np.zeros(2, np.int64),
    )
