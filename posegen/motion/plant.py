"""Both legs together: feet planted, pelvis kept within their reach, feet swung, knees bent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.apart import keep_apart
from posegen.motion.contacts import (
    add_lack,
    clear_swings,
    find_stances,
    flatten_feet,
    hold_stance,
    mark_planted,
    plan_prints,
    smooth_cover,
    swing_foot,
)
from posegen.motion.ground import climb, fill_ground, raise_body, raise_feet
from posegen.motion.guided import FOOT, guide_pitch, guide_prints, guide_swings
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, ease_reach, place_foot, solve_knee
from posegen.motion.root import hips
from posegen.motion.rows import (
    DOWN,
    FORWARD,
    GROUND,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    HIP_X,
    HIP_Y,
    HIP_Z,
    LIFT,
    LOWERING,
    RATE,
    RISING,
    WORK,
)
from posegen.motion.state import Person, Scratch
from posegen.motion.trigonometry import sin_turns

__all__ = ["plant_and_swing"]

HIP, KNEE, TILT = (CHANNELS.index(name) for name in ("left_hip_flexion", "left_knee_flexion", "pelvis_tilt"))

Array = NDArray[Any]

REACH = 0.9992
"""Share of its length that a planted leg spans at most: 4.6 degrees of flexion are left in the knee."""
PASSING_SECONDS = 0.32
"""Longest time that a foot takes from where it lifts to its free course, and from there to where it lands."""
YIELD_SECONDS = 0.05
"""How long before it has to the pelvis begins to come down."""


@kernel
def nominal_feet(root: Array, leg: Array, toe_out: Scalar, nominal: Array) -> None:
    """Where the channels alone would have the ankle: float32 [4, frames], x, y, z in metres and yaw in turns, written."""
    out = np.float32(toe_out)
    for f in range(root.shape[1]):
        nominal[0, f] = leg[HIP_X, f] + leg[FORWARD, f] * root[HEADING_SIN, f]
        nominal[1, f] = leg[HIP_Y, f] - leg[DOWN, f]
        nominal[2, f] = leg[HIP_Z, f] + leg[FORWARD, f] * root[HEADING_COS, f]
        nominal[3, f] = root[HEADING, f] + out


@kernel
def home_ahead(neutral: Array, thigh: Scalar, shank: Scalar) -> Scalar:
    """How far ahead of the hip the ankle is in quiet standing; metres."""
    upper = neutral[HIP] - neutral[TILT]
    return thigh * sin_turns(upper) + shank * sin_turns(upper - neutral[KNEE])


@kernel
def plant_and_swing(
    scratch: Scratch, person: Person, steps: Array, guided: bool, step: Scalar, margin: int, frames: int
) -> None:
    """Work out both legs from the root's course, the pelvis' rotation and the nominal legs.

    Parameters
    ----------
    scratch, person : see there
    steps : float [steps, 6]
        See :mod:`posegen.motion.ground`.
    guided : bool
        Whether some action says itself where the feet go.
    step : float
        Seconds a frame.
    margin, frames : int
        The scratch frames to bend the knees in.
    """
    root, legs, place, pelvis = scratch.root, scratch.legs, scratch.joints[0], scratch.turns[6]
    offsets, foot, widths = person.offsets, person.foot, person.widths
    thigh, shank = -offsets[4, 1], -offsets[7, 1]
    leg = float(thigh + shank)
    counts = np.zeros(2, np.int64)
    root[LOWERING, :] = np.float32(0.0)
    uneven = len(steps) > 0
    for side in range(2):
        planted, stances = scratch.planted[side], scratch.stances[side]
        mark_planted(root, side, scratch.lifted[side], planted)
        counts[side] = find_stances(planted, stances)
        flatten_feet(legs[side], stances, counts[side], root[RATE], step)
        plan_prints(root, legs[side], side, widths, foot, stances, counts[side])
        if guided:
            channels = scratch.channels[FOOT[side] : FOOT[side] + 4]
            guide_pitch(root, channels[3], legs[side])
            home = home_ahead(person.neutral, thigh, shank)
            uneven |= guide_prints(root, channels, legs[side, FORWARD], side, leg, home, stances, counts[side])
    keep_apart(root, scratch.stances, counts, 2.0 * widths[0])
    for side in range(2):
        for i in range(counts[side]):
            hold_stance(legs[side], scratch.stances[side, i], foot)
    levels = np.zeros((2, scratch.stances.shape[1]))
    uneven |= climb(root[RISING], scratch.stances, counts, levels)
    if uneven:
        for side in range(2):
            fill_ground(steps, scratch.stances[side], counts[side], levels[side], legs[side, GROUND])
        raise_body(root, legs, scratch.planted)
    hips(root, pelvis, offsets, place, legs)
    for side in range(2):
        add_lack(legs[side], scratch.planted[side], REACH * (thigh + shank), root[LOWERING])
    smooth_cover(root[LOWERING], max(1, int(YIELD_SECONDS / step + 0.5)), root[WORK])
    hips(root, pelvis, offsets, place, legs)
    for side in range(2):
        nominal_feet(root, legs[side], widths[2] if side == 0 else -widths[2], scratch.nominal)
        if guided:
            channels = scratch.channels[FOOT[side] : FOOT[side] + 4]
            high, count = foot[FOOT_ANKLE_HEIGHT], counts[side]
            guide_swings(root, channels, side, leg, high, scratch.airborne, scratch.stances[side], count, scratch.nominal)
        swing_foot(legs[side], scratch.nominal, scratch.stances[side], counts[side], int(PASSING_SECONDS / step))
        if uneven:
            raise_feet(legs[side], scratch.planted[side], -1.0, True)
        clear_swings(legs[side], scratch.stances[side], counts[side], foot, root[LIFT])
        if uneven:
            raise_feet(legs[side], scratch.planted[side], 1.0, True)
        place_foot(margin, margin + frames, foot, legs[side])
        if uneven:
            raise_feet(legs[side], scratch.planted[side], -1.0, False)
        ease_reach(margin, margin + frames, thigh, shank, scratch.planted[side], legs[side])
        solve_knee(margin, margin + frames, thigh, shank, legs[side])
