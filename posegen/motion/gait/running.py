"""Running: joint angles over the stride, contact time, and vertical movement under the force of the contacts.

Angles are Fourier series as in :mod:`posegen.motion.gait.walking`. Sources: BMC-RIC data at 2.5 m/s; contact times are
published means at 3.0, 4.5 and 6.0 m/s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRAVITY
from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.gait.walking import (
    HARMONICS,
    OBLIQUITY,
    ROTATION,
    TRUNK_ROTATION,
    Series,
    series_row,
    set_both_sides,
    steady_head,
)
from posegen.motion.trigonometry import cos_turns, sin_turns

Array = NDArray[Any]

RUN_HIP: Series = (17.9, [19.1, -7.2, -2.2, -0.1, -0.3], [-11.2, 2.6, 1.3, 0.4, 0.0])
RUN_KNEE: Series = (42.4, [-10.9, -17.0, -3.3, -0.5, -0.3], [-24.8, 18.6, 2.6, 1.4, 0.2])
RUN_ANKLE: Series = (3.9, [11.0, -8.6, -0.7, 0.8, -0.1], [4.1, 1.5, -3.1, -0.6, -0.6])
RUN_SPEEDS = (2.5, 6.0)
FAST_RUN = {"hip": (1.5, 10.0), "knee": (1.35, 12.0), "shoulder": (1.5, 4.0)}
"""Factor on the amplitude and offset in degrees of the curves at the faster speed. Thighs rise further forward but hardly
further backward (Novacheck 1998: hip flexion up to 65 degrees, extension as in running; swing knee 90 to 120).
"""
RUN_TILT: Series = (6.0, [0.0], [0.0])
RUN_SHOULDER: Series = (-14.0, [-27.0, 1.0], [-4.0, 0.0])
RUN_ELBOW: Series = (86.0, [-13.0, 2.0], [-3.0, 0.0])
RUN_TRUNK: Series = (4.0, [0.0], [0.0])


def _widened(series: Series, factor: float, raised: float = 0.0) -> Series:
    """Return a series with its harmonics scaled by `factor` and its constant raised by `raised`."""
    constant, cosines, sines = series
    return constant + raised, [factor * a for a in cosines], [factor * b for b in sines]


def run_table(fast: bool) -> Array:
    """Return the series of all channels at the slower or faster running speed, [channels, 1 + 2 * HARMONICS] in turns."""
    table = np.zeros((len(CHANNELS), 1 + 2 * HARMONICS))
    more = FAST_RUN if fast else dict.fromkeys(FAST_RUN, (1.0, 0.0))
    set_both_sides(table, "hip_flexion", series_row(_widened(RUN_HIP, *more["hip"])))
    set_both_sides(table, "knee_flexion", series_row(_widened(RUN_KNEE, *more["knee"])))
    set_both_sides(table, "ankle_dorsiflexion", series_row(RUN_ANKLE))
    set_both_sides(table, "shoulder_flexion", series_row(_widened(RUN_SHOULDER, *more["shoulder"])))
    set_both_sides(table, "shoulder_abduction", series_row((14.0, [-3.0], [0.0])))
    set_both_sides(table, "shoulder_rotation", series_row((-12.0, [8.0], [0.0])))
    set_both_sides(table, "elbow_flexion", series_row(RUN_ELBOW))
    table[CHANNELS.index("pelvis_rotation")] = -series_row(ROTATION, 2.0 if fast else 1.6)
    table[CHANNELS.index("pelvis_obliquity")] = series_row(OBLIQUITY, 1.2)
    table[CHANNELS.index("pelvis_tilt")] = series_row(RUN_TILT)
    table[CHANNELS.index("trunk_rotation")] = series_row(TRUNK_ROTATION, 2.4)
    table[CHANNELS.index("trunk_flexion")] = series_row(RUN_TRUNK)
    table[CHANNELS.index("trunk_lateral")] = series_row(OBLIQUITY, 1.0)
    table[CHANNELS.index("neck_flexion")] = series_row((-6.0, [], []))
    steady_head(table)
    return table


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
