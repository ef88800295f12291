"""Curves of walking and running: joint angles over the stride, and the course of a run under the force of its contacts.

Angles are Fourier series over the gait cycle in degrees: a0 + sum a_k cos(2 pi k phi) + b_k sin(2 pi k phi), where phi = 0 at
the contact of the own foot. Sources: legs and pelvis Schwartz et al. 2008, fitted, by dimensionless speed v / sqrt(g L); trunk
and arms CGM 2.3 normative data; running BMC-RIC data at 2.5 m/s, contact times published means at 3.0, 4.5 and 6.0 m/s. Cadence
and step parameters are in :mod:`posegen.motion.gait.steps`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.constants import GRAVITY
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.trigonometry import cos_turns, sin_turns

HARMONICS = 8
# Centres of the five speed bins of Schwartz et al., v / sqrt(g L); 0 means stepping on the spot.
WALK_SPEEDS = (0.0, 0.18, 0.295, 0.43, 0.565, 0.70)
HIP = (
    (13.0, [3.0, 0.0], [-1.0, -2.0]),
    (16.78, [14.20, -0.09, -0.49, 0.02], [-1.13, -3.08, 0.46, -0.07]),
    (17.70, [17.41, -2.16, -0.07, 0.09], [-3.32, -2.44, 1.48, -0.17]),
    (18.45, [20.87, -3.14, -0.10, -0.10, -0.27], [-3.19, -1.54, 1.62, -0.09, 0.27]),
    (20.01, [24.01, -3.90, -0.08, -0.12], [-3.32, -0.89, 1.71, -0.05]),
    (22.44, [25.71, -4.29, -0.31, -0.19], [-4.96, -1.22, 1.48, 0.03]),
)
KNEE = (
    (14.0, [0.0, -6.0], [-11.0, 1.0]),
    (16.13, [-0.35, -9.39, -1.68, 0.20], [-15.44, -0.36, 3.65, 0.70]),
    (20.02, [-2.94, -12.21, -0.04, -0.17], [-18.26, 4.51, 4.59, 0.30]),
    (22.87, [-1.91, -13.63, -0.70, -0.87, -0.54], [-18.75, 7.00, 4.31, 0.63, 0.73]),
    (24.00, [-0.39, -14.04, -0.73, -1.12], [-18.99, 9.08, 4.20, 0.52]),
    (23.43, [1.13, -13.81, -0.82, -1.29], [-21.48, 9.22, 3.69, 0.38]),
)
ANKLE = (
    (3.5, [-1.0, 1.0], [1.0, -2.0]),
    (3.15, [-6.09, 1.83, -2.73, -0.14], [1.22, -3.30, -1.73, 0.94]),
    # The slow bin is not published; this is the mean of its neighbours.
    (1.95, [-4.07, 1.33, -3.67, 1.03, -0.26, 0.13, 0.26, -0.04], [4.16, -5.26, -0.44, 0.59, -0.69, 0.28, -0.25, -0.02]),
    (0.75, [-2.05, 0.82, -4.60, 2.20, -0.52, 0.26, 0.53, -0.08], [7.09, -7.22, 0.86, 0.24, -1.38, 0.55, -0.49, -0.04]),
    (-0.62, [0.16, -1.13, -4.15, 2.09], [7.49, -7.48, 1.72, -0.76]),
    (-1.29, [2.52, -3.35, -2.97, 1.38], [6.80, -7.57, 2.03, -1.27]),
)
OBLIQUITY: Series = (-0.02, [1.85, 0.02, -1.19], [2.12, 0.04, 0.22])
OBLIQUITY_BY_SPEED = (0.30, 0.54, 0.75, 1.0, 1.34, 1.56)
ROTATION: Series = (-0.04, [3.74, 0.01, 0.34, 0.01, 0.26], [2.10, 0.01, -0.37])
ROTATION_BY_SPEED = (0.30, 0.98, 0.99, 1.0, 1.45, 1.82)
TILT: Series = (11.59, [0.0, 0.41], [0.0, -0.72])
KNEES_AHEAD: Series = (-5.0, [], [])
"""Rotation of the hips from the direction of the feet: toes point out by some 7 degrees, knees ahead (Schwartz et al. 2008)."""
HIP_ADDUCTION: Series = (-0.34, [0.48, -0.05, -1.59], [4.94, -0.50, 0.46])
# Published relative to an upright thorax (-9.3); the uppermost spine joint is turned back by some 6 degrees against it.
SHOULDER: Series = (-15.3, [-14.40, 0.19, -0.53], [-0.31, -1.32, 0.48])
ELBOW: Series = (36.22, [-12.16, 2.46, 0.08], [-1.79, 0.27, -0.67])
# Published with the markers of elbows, which lie outside the joints (11.1); arms hang close to vertical.
SHOULDER_ABDUCTION: Series = (3.0, [-3.22], [0.0])
TRUNK_ROTATION: Series = (0.0, [7.43], [0.0])
TRUNK_NOD: Series = (0.0, [0.0, 1.12], [0.0, -0.44])
"""Flexion of the trunk in walking: twice a stride, furthest forward about touch-down (Thorstensson et al. 1984)."""
HEAD_STEADIED = 0.9
"""Fraction of the swing of pelvis and trunk that the neck compensates."""
ARMS_BY_SPEED = (0.08, 0.55, 0.78, 1.0, 1.22, 1.45)
Series = tuple[float, list[float], list[float]]
RUN_HIP: Series = (17.9, [19.1, -7.2, -2.2, -0.1, -0.3], [-11.2, 2.6, 1.3, 0.4, 0.0])
RUN_KNEE: Series = (42.4, [-10.9, -17.0, -3.3, -0.5, -0.3], [-24.8, 18.6, 2.6, 1.4, 0.2])
RUN_ANKLE: Series = (3.9, [11.0, -8.6, -0.7, 0.8, -0.1], [4.1, 1.5, -3.1, -0.6, -0.6])
RUN_SPEEDS = (2.5, 6.0)
FAST_RUN = {"hip": (1.5, 10.0), "knee": (1.35, 12.0), "shoulder": (1.5, 4.0)}
"""Factor on the amplitude and offset in degrees of the curves at the faster speed. Thighs rise further forward but hardly
further backward (Novacheck 1998: hip flexion up to 65 degrees, extension as in running; swing knee 90 to 120).
"""
RUN_TILT: Series = (6.0, [0.0, -0.97], [0.0, -0.71])
RUN_SHOULDER: Series = (-14.0, [-27.0, 1.0], [-4.0, 0.0])
RUN_ELBOW: Series = (98.0, [-13.0, 2.0], [-3.0, 0.0])
RUN_TRUNK: Series = (4.0, [0.0, -1.18], [0.0, 1.86])
"""Flexion of the trunk in running: furthest forward in the middle of each contact (Thorstensson et al. 1984)."""
RUN_TRUNK_ROTATION = 1.9
"""Rotation of the trunk in running relative to that in walking."""


def series_row(series: Series, factor: float = 1.0) -> Array:
    """Return a series in turns, [1 + 2 * HARMONICS], with its harmonics scaled by `factor`."""
    constant, cosines, sines = series
    row = np.zeros(1 + 2 * HARMONICS)
    row[0] = constant
    row[1 : 1 + len(cosines)] = np.asarray(cosines) * factor
    row[1 + HARMONICS : 1 + HARMONICS + len(sines)] = np.asarray(sines) * factor
    return row / 360


def half_cycle_later(harmonics: Array) -> Array:
    """Return cosines or sines of a series half a cycle later: the odd ones change their sign."""
    return harmonics * np.where(np.arange(len(harmonics)) % 2 == 0, -1.0, 1.0)


def set_both_sides(table: Array, channel: str, row: Array) -> None:
    """Write a channel of both sides from the series of the left side."""
    table[CHANNELS.index(f"left_{channel}")] = row
    later = [half_cycle_later(harmonics) for harmonics in (row[1 : 1 + HARMONICS], row[1 + HARMONICS :])]
    table[CHANNELS.index(f"right_{channel}")] = np.concatenate([row[:1], *later])


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


def walk_table(knot: int) -> Array:
    """Return the series of all channels at walking speed number `knot`, [channels, 1 + 2 * HARMONICS] in turns."""
    table = np.zeros((len(CHANNELS), 1 + 2 * HARMONICS))
    arms = ARMS_BY_SPEED[knot]
    set_both_sides(table, "hip_flexion", series_row(HIP[knot]))
    set_both_sides(table, "knee_flexion", series_row(KNEE[knot]))
    set_both_sides(table, "ankle_dorsiflexion", series_row(ANKLE[knot]))
    set_both_sides(table, "hip_abduction", -series_row(HIP_ADDUCTION))
    set_both_sides(table, "hip_rotation", series_row(KNEES_AHEAD))
    set_both_sides(table, "shoulder_flexion", series_row(SHOULDER, arms))
    set_both_sides(table, "shoulder_abduction", series_row(SHOULDER_ABDUCTION, arms))
    # The posture of a person adds some 9 degrees to the bend of a walking elbow.
    set_both_sides(table, "elbow_flexion", series_row((11.0 + 14.0 * min(arms, 1.0), ELBOW[1], ELBOW[2]), arms))
    # The published sign is positive for "own side forward"; ours is positive "to the left", which moves the left side backward.
    table[CHANNELS.index("pelvis_rotation")] = -series_row(ROTATION, ROTATION_BY_SPEED[knot])
    table[CHANNELS.index("pelvis_obliquity")] = series_row(OBLIQUITY, OBLIQUITY_BY_SPEED[knot])
    table[CHANNELS.index("pelvis_tilt")] = series_row(TILT)
    table[CHANNELS.index("trunk_rotation")] = series_row(TRUNK_ROTATION, arms)
    table[CHANNELS.index("trunk_flexion")] = series_row((-19.0, *TRUNK_NOD[1:]), 1.0 if knot else 0.3)
    table[CHANNELS.index("trunk_lateral")] = series_row(OBLIQUITY, 0.9 * OBLIQUITY_BY_SPEED[knot])
    steady_head(table)
    return table


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
    table[CHANNELS.index("trunk_rotation")] = series_row(TRUNK_ROTATION, RUN_TRUNK_ROTATION)
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
