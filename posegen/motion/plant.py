"""Both legs together: feet planted, pelvis kept within their reach, feet swung, knees bent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.apart import keep_apart
from posegen.motion.contacts import (
    find_stances,
    mark_planted,
    plan_prints,
    time_stances,
)
from posegen.motion.ground import climb, fill_ground, raise_body, raise_feet
from posegen.motion.guided import FOOT, guide_pitch, guide_prints, guide_swings
from posegen.motion.heels import raise_heels, relax_ankles, yield_heels
from posegen.motion.legs import FOOT_ANKLE_HEIGHT, ease_reach, place_foot, solve_knee
from posegen.motion.planted import flatten_feet, hold_stance
from posegen.motion.reach import add_lack, smooth_cover
from posegen.motion.release import ignore_touches, release
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
    RUN_WEIGHT,
    WORK,
    fill_row,
)
from posegen.motion.state import Person, Scratch
from posegen.motion.swings import clear_swings, see_from_floor, see_from_path, swing_foot, turns
from posegen.motion.trigonometry import sin_turns

__all__ = ["plant_and_swing"]

HIP, KNEE, TILT = (CHANNELS.index(name) for name in ("left_hip_flexion", "left_knee_flexion", "pelvis_tilt"))

Array = NDArray[Any]

REACH = 0.9992
"""Share of its length that a planted leg spans at most: 4.6 degrees of flexion are left in the knee."""
PASSING_SECONDS = 0.32
"""Longest time that a foot takes from where it lifts to its free course, and from there to where it lands."""
RISING_SECONDS = 0.08
"""The same for its height after the lift: the ball leaves the floor at once, as where a foot has rolled off over its toes."""
HANGING_PASSES = 3
"""How often toes that hang are given room above the floor at most."""
YIELD_SECONDS = 0.03
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
def plan_feet(scratch: Scratch, person: Person, guided: bool, step: Scalar, counts: Array) -> bool:
    """Plan both feet's stances and prints; tells whether an action sets a foot down above what is there.

    `counts` is int [2], written: how many stances each foot has. For the rest see :func:`plant_and_swing`.
    """
    root, raised = scratch.root, False
    thigh, shank = -person.offsets[4, 1], -person.offsets[7, 1]
    for side in range(2):
        leg, planted, stances = scratch.legs[side], scratch.planted[side], scratch.stances[side]
        mark_planted(root, side, scratch.lifted[side], planted)
        ignore_touches(planted)
        counts[side] = find_stances(planted, stances)
        time_stances(root, side, stances, counts[side])
        flatten_feet(leg, stances, counts[side], root[RATE], step)
        plan_prints(root, leg, side, person.widths, person.foot, stances, counts[side])
        if guided:
            channels = scratch.channels[FOOT[side] : FOOT[side] + 4]
            guide_pitch(root, channels[3], leg)
            home, length = home_ahead(person.neutral, thigh, shank), float(thigh + shank)
            raised |= guide_prints(root, channels, leg[FORWARD], side, length, home, stances, counts[side])
        raise_heels(root, leg, person.foot, stances, counts[side], step)
    keep_apart(root, scratch.stances, counts, 2.0 * person.widths[0])
    for side in range(2):
        planted, stances = scratch.planted[side], scratch.stances[side]
        release(root, scratch.legs[side], person.foot, float(thigh + shank), planted, stances, counts[side])
    return raised


@kernel
def stand_feet(scratch: Scratch, person: Person, steps: Array, raised: bool, counts: Array) -> bool:
    """Put planted feet onto their prints and onto what is there to stand on; tells whether that is other than the floor."""
    root, legs = scratch.root, scratch.legs
    for side in range(2):
        toe_out = person.widths[2] if side == 0 else -person.widths[2]
        for i in range(counts[side]):
            hold_stance(legs[side], scratch.stances[side, i], person.foot, root[HEADING], toe_out)
    levels = scratch.levels
    uneven = climb(root[RISING], scratch.stances, counts, levels) or raised or len(steps) > 0
    if uneven:
        for side in range(2):
            fill_ground(steps, scratch.stances[side], counts[side], levels[side], legs[side, GROUND])
        raise_body(root, legs, scratch.planted)
    else:
        for side in range(2):
            fill_row(legs[side, GROUND], np.float32(0.0))
    return uneven


@kernel
def keep_in_reach(scratch: Scratch, person: Person, step: Scalar) -> None:
    """Lower the pelvis where a planted foot would be out of reach, and place the hips."""
    root, place, pelvis, offsets = scratch.root, scratch.joints[0], scratch.turns[6], person.offsets
    fill_row(root[LOWERING], np.float32(0.0))
    hips(root, pelvis, offsets, place, scratch.legs)
    for side in range(2):
        add_lack(scratch.legs[side], scratch.planted[side], REACH * (-offsets[4, 1] - offsets[7, 1]), root[LOWERING])
    smooth_cover(root[LOWERING], max(1, int(YIELD_SECONDS / step + 0.5)), root[WORK])
    hips(root, pelvis, offsets, place, scratch.legs)


@kernel
def clear_ground(scratch: Scratch, person: Person, side: int, uneven: bool, count: int) -> None:
    """Keep the sole of one foot above what is under it in all its swings."""
    leg, planted = scratch.legs[side], scratch.planted[side]
    if uneven:
        raise_feet(leg, planted, -1.0, True)
    clear_swings(leg, scratch.stances[side], count, person.foot, scratch.root[LIFT])
    if uneven:
        raise_feet(leg, planted, 1.0, True)


@kernel
def swing_leg(
    scratch: Scratch, person: Person, side: int, guided: bool, uneven: bool, count: int, step: Scalar, first: int, last: int
) -> None:
    """Swing one foot from stance to stance, clear of the ground, and bend its knee in the scratch frames `first` to `last`."""
    root, leg, stances, planted = scratch.root, scratch.legs[side], scratch.stances[side], scratch.planted[side]
    foot, thigh, shank = person.foot, -person.offsets[4, 1], -person.offsets[7, 1]
    nominal_feet(root, leg, person.widths[2] if side == 0 else -person.widths[2], scratch.nominal)
    if guided:
        channels, length = scratch.channels[FOOT[side] : FOOT[side] + 4], float(thigh + shank)
        high = foot[FOOT_ANKLE_HEIGHT]
        guide_swings(root, channels, side, length, high, scratch.airborne, stances, count, scratch.nominal)
    turning = turns(root[HEADING])
    if turning:
        see_from_path(root, leg, scratch.nominal)
    swing_foot(leg, scratch.nominal, stances, count, root[RUN_WEIGHT], RISING_SECONDS / step, PASSING_SECONDS / step)
    if turning:
        see_from_floor(root, leg, planted)
    clear_ground(scratch, person, side, uneven, count)
    # A raised foot bends its ankle further, and toes that hang need room anew.
    for _ in range(HANGING_PASSES):
        if not relax_ankles(root, leg, planted, float(thigh), float(shank)):
            break
        clear_ground(scratch, person, side, uneven, count)
    place_foot(first, last, foot, leg)
    if uneven:
        raise_feet(leg, planted, -1.0, False)
    ease_reach(first, last, thigh, shank, planted, root[RUN_WEIGHT], leg)
    solve_knee(first, last, thigh, shank, leg)


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
    counts = scratch.counts
    raised = plan_feet(scratch, person, guided, step, counts)
    uneven = stand_feet(scratch, person, steps, raised, counts)
    keep_in_reach(scratch, person, step)
    thigh, shank = -float(person.offsets[4, 1]), -float(person.offsets[7, 1])
    for side in range(2):
        yield_heels(scratch.root, scratch.legs[side], person.foot, scratch.stances[side], counts[side], thigh, shank, step)
        swing_leg(scratch, person, side, guided, uneven, counts[side], step, margin, margin + frames)
