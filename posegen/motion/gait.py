"""Walking, running and stepping on the spot, from the literature.

Joint angles are Fourier series over the gait cycle in degrees: a0 + sum a_k cos(2 pi k phi) + b_k sin(2 pi k phi), phi = 0 at
the own foot's contact. Walking: Schwartz et al. 2008, fitted, by dimensionless speed v / sqrt(g L); trunk and arms: CGM 2.3
normative data. Running: BMC-RIC data at 2.5 m/s. Cadence: the walk ratio (PMC5430280); running contact times: published
means at 3.0, 4.5 and 6.0 m/s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.trigonometry import cos_turns

__all__ = [
    "GAITS",
    "HARMONICS",
    "HOP",
    "RUN",
    "SKIP",
    "STEP",
    "WALK",
    "Gaits",
    "gait_tables",
    "run_contact_seconds",
    "stride_rate",
    "warp_of",
    "warped",
]

Array = NDArray[Any]
Series = tuple[float, list[float], list[float]]

HARMONICS = 8
FASTEST_STEPS = 3.8
"""Steps a second on the spot at most: in quicker ones a foot is hardly off the ground."""

WALK_RATIO = 0.0064
"""Metres a step for each step a minute, at a leg of .9 m: about .0065 (PMC5430280), .0062 of the reference adult."""
NO_GAIT, WALK, RUN, STEP, HOP, SKIP = 0, 1, 2, 3, 4, 5
GAITS = {None: NO_GAIT, "walk": WALK, "run": RUN, "step": STEP, "hop": HOP, "skip": SKIP}

# Centres of the five speed bins of Schwartz et al., v / sqrt(g L); 0 is stepping on the spot.
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
    # The slow bin is not published; midway between its neighbours.
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
HIP_ADDUCTION: Series = (-0.34, [0.48, -0.05, -1.59], [4.94, -0.50, 0.46])
SHOULDER: Series = (-9.32, [-14.40, 0.19, -0.53], [-0.31, -1.32, 0.48])
ELBOW: Series = (36.22, [-12.16, 2.46, 0.08], [-1.79, 0.27, -0.67])
SHOULDER_ABDUCTION: Series = (11.1, [-3.22], [0.0])
TRUNK_ROTATION: Series = (0.0, [7.43], [0.0])
HEAD_STEADIED = 0.9
"""Share of the swing of pelvis and trunk that the neck makes up for."""
ARMS_BY_SPEED = (0.08, 0.55, 0.78, 1.0, 1.22, 1.45)

RUN_HIP: Series = (17.9, [19.1, -7.2, -2.2, -0.1, -0.3], [-11.2, 2.6, 1.3, 0.4, 0.0])
RUN_KNEE: Series = (42.4, [-10.9, -17.0, -3.3, -0.5, -0.3], [-24.8, 18.6, 2.6, 1.4, 0.2])
RUN_ANKLE: Series = (3.9, [11.0, -8.6, -0.7, 0.8, -0.1], [4.1, 1.5, -3.1, -0.6, -0.6])
RUN_SPEEDS = (2.5, 6.0)
FAST_RUN = {"hip": (1.5, 10.0), "knee": (1.35, 12.0), "shoulder": (1.5, 4.0)}
"""By how much the curves are wider and higher at the faster speed: thighs rise further forward, but reach back hardly further
(Novacheck 1998: hip flexion up to 65 degrees, extension as in running; swing knee 90 to 120)."""
RUN_TILT: Series = (6.0, [0.0], [0.0])
RUN_SHOULDER: Series = (-14.0, [-27.0, 1.0], [-4.0, 0.0])
RUN_ELBOW: Series = (86.0, [-13.0, 2.0], [-3.0, 0.0])
RUN_TRUNK: Series = (4.0, [0.0], [0.0])


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


def _row(series: Series, factor: float = 1.0) -> Array:
    constant, cosines, sines = series
    row = np.zeros(1 + 2 * HARMONICS)
    row[0] = constant
    row[1 : 1 + len(cosines)] = np.asarray(cosines) * factor
    row[1 + HARMONICS : 1 + HARMONICS + len(sines)] = np.asarray(sines) * factor
    return row / 360


def _mirror(row: Array) -> Array:
    """The same series seen from the other leg, half a cycle later."""
    other = row.copy()
    other[1 : 1 + HARMONICS : 2] *= -1
    other[1 + HARMONICS :: 2] *= -1
    return other


def _put(table: Array, channel: str, row: Array) -> None:
    """Set a channel of both sides from the left leg's phase."""
    table[CHANNELS.index(f"left_{channel}")] = row
    table[CHANNELS.index(f"right_{channel}")] = _mirror(row)


def _walk_table(knot: int) -> Array:
    table = np.zeros((len(CHANNELS), 1 + 2 * HARMONICS))
    arms = ARMS_BY_SPEED[knot]
    _put(table, "hip_flexion", _row(HIP[knot]))
    _put(table, "knee_flexion", _row(KNEE[knot]))
    _put(table, "ankle_dorsiflexion", _row(ANKLE[knot]))
    _put(table, "hip_abduction", -_row(HIP_ADDUCTION))
    _put(table, "shoulder_flexion", _row(SHOULDER, arms))
    _put(table, "shoulder_abduction", _row(SHOULDER_ABDUCTION, arms))
    _put(table, "elbow_flexion", _row((14.0 + 22.2 * min(arms, 1.0), ELBOW[1], ELBOW[2]), arms))
    # The published signs are "own side forward"; ours is "to the left", which is the left side backward.
    table[CHANNELS.index("pelvis_rotation")] = -_row(ROTATION, ROTATION_BY_SPEED[knot])
    table[CHANNELS.index("pelvis_obliquity")] = _row(OBLIQUITY, OBLIQUITY_BY_SPEED[knot])
    table[CHANNELS.index("pelvis_tilt")] = _row(TILT)
    table[CHANNELS.index("trunk_rotation")] = _row(TRUNK_ROTATION, arms)
    table[CHANNELS.index("trunk_flexion")] = _row((-8.5, [], []))
    table[CHANNELS.index("trunk_lateral")] = _row(OBLIQUITY, 0.9 * OBLIQUITY_BY_SPEED[knot])
    _steady_head(table)
    return table


def _steady_head(table: Array) -> None:
    """Let the neck make up for how pelvis and trunk swing: in walking and running the head hardly does (Pozzo et al. 1990)."""
    pelvis = {name: table[CHANNELS.index(f"pelvis_{name}")] for name in ("rotation", "obliquity", "tilt")}
    trunk = {name: table[CHANNELS.index(f"trunk_{name}")] for name in ("rotation", "lateral", "flexion")}
    turning = -(pelvis["rotation"] + trunk["rotation"])
    leaning = pelvis["obliquity"] - trunk["lateral"]
    nodding = -(pelvis["tilt"] + trunk["flexion"])
    for name, swing in (("rotation", turning), ("lateral", leaning), ("flexion", nodding)):
        table[CHANNELS.index(f"neck_{name}"), 1:] = HEAD_STEADIED * swing[1:]


def _widened(series: Series, factor: float, raised: float = 0.0) -> Series:
    constant, cosines, sines = series
    return constant + raised, [factor * a for a in cosines], [factor * b for b in sines]


def _run_table(fast: bool) -> Array:
    table = np.zeros((len(CHANNELS), 1 + 2 * HARMONICS))
    more = FAST_RUN if fast else dict.fromkeys(FAST_RUN, (1.0, 0.0))
    _put(table, "hip_flexion", _row(_widened(RUN_HIP, *more["hip"])))
    _put(table, "knee_flexion", _row(_widened(RUN_KNEE, *more["knee"])))
    _put(table, "ankle_dorsiflexion", _row(RUN_ANKLE))
    _put(table, "shoulder_flexion", _row(_widened(RUN_SHOULDER, *more["shoulder"])))
    _put(table, "shoulder_abduction", _row((14.0, [-3.0], [0.0])))
    _put(table, "shoulder_rotation", _row((-12.0, [8.0], [0.0])))
    _put(table, "elbow_flexion", _row(RUN_ELBOW))
    table[CHANNELS.index("pelvis_rotation")] = -_row(ROTATION, 2.0 if fast else 1.6)
    table[CHANNELS.index("pelvis_obliquity")] = _row(OBLIQUITY, 1.2)
    table[CHANNELS.index("pelvis_tilt")] = _row(RUN_TILT)
    table[CHANNELS.index("trunk_rotation")] = _row(TRUNK_ROTATION, 2.4)
    table[CHANNELS.index("trunk_flexion")] = _row(RUN_TRUNK)
    table[CHANNELS.index("trunk_lateral")] = _row(OBLIQUITY, 1.0)
    table[CHANNELS.index("neck_flexion")] = _row((-6.0, [], []))
    _steady_head(table)
    return table


def gait_tables() -> Gaits:
    """All gait curves, in turns."""
    walk = np.stack([_walk_table(knot) for knot in range(len(WALK_SPEEDS))]).astype(np.float32)
    run = np.stack([_run_table(fast) for fast in (False, True)]).astype(np.float32)
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


@kernel
def run_contact_seconds(speed: Scalar) -> Scalar:
    """How long a foot is on the ground in running: .280 s at 3.0 m/s, .209 at 4.5, .168 at 6.0, linear between and beyond."""
    if speed < 4.5:
        return min(0.36, 0.280 + (speed - 3.0) * (0.209 - 0.280) / 1.5)
    return max(0.12, 0.209 + (speed - 4.5) * (0.168 - 0.209) / 1.5)


@kernel
def warp_of(duty: Scalar) -> Scalar:
    """By how much the running curves must be warped so that toe-off, at 39 per cent of them, falls on the share `duty`."""
    return min(max(2.0 * (0.39 - duty) / (1.0 - cos_turns(2.0 * duty)), -0.06), 0.14)


@kernel
def warped(phase: Scalar, warp: Scalar) -> Scalar:
    """Phase at which the curves are read: contacts grow shorter with speed, and the curves with them.

    It keeps where both feet land, at 0 and one half, and runs up to `warp` strides ahead between.
    """
    return phase + np.float32(0.5) * warp * (np.float32(1.0) - cos_turns(np.float32(2.0) * phase))
