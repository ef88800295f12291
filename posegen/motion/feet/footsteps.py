"""Both legs of one actor: lift-off, stances, pelvis within reach, swings, knees.

This module calls the steps in order; the other modules of this package define them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.feet.ground import fill_ground, raise_body, raise_feet, stair_levels
from posegen.motion.feet.legs import (
    add_excess_height,
    ease_reach,
    limit_stance_ankles,
    limit_swing_ankles,
    place_foot,
    raise_heels,
    smooth_upper_envelope,
    solve_knee,
    widen_ankle_range,
)
from posegen.motion.feet.stances import (
    FOOT_CHANNELS,
    drop_brief_contacts,
    find_stances,
    flatten_stances,
    guide_footprints,
    guide_pitch,
    mark_contact,
    place_stance_foot,
    plan_footprints,
    separate_footprints,
    shorten_stances,
    time_stances,
)
from posegen.motion.feet.swings import clear_swings, guide_swings, heading_changes, swing_foot, to_path_frame, to_world_frame
from posegen.motion.key_poses import mark_intervals
from posegen.motion.library_tables import LIFTED, ActionTables
from posegen.motion.trigonometry import sin_turns
from posegen.motion.trunk import place_hips
from posegen.motion.workspace import (
    FOOT_ANKLE_HEIGHT,
    Clock,
    Person,
    Role,
    Segment,
    Workspace,
    copy_row,
    fill_row,
    frame_window,
)

Array = NDArray[Any]

HIP, KNEE, TILT = (CHANNELS.index(name) for name in ("left_hip_flexion", "left_knee_flexion", "pelvis_tilt"))
REACH = 0.9992
"""Largest fraction of its length that a stance leg spans: 4.6 degrees of flexion are left in the knee."""
PASSING_SECONDS = 0.32
"""Longest time in which a foot passes from lift-off to its nominal course, and from there to landing."""
RISING_SECONDS = 0.08
"""The same for its height after lift-off: the ball leaves the floor at once, as a foot does that rolls off over its toes."""
HANGING_PASSES = 3
"""Largest number of passes that clear the floor for toes that hang."""
YIELD_SECONDS = 0.03
"""Time before a limit of reach at which the pelvis begins to lower."""
LIFTED_FEET = (LIFTED["left"], LIFTED["right"])


@kernel
def nominal_feet(root: Array, leg: Array, toe_out: Scalar, nominal: Array) -> None:
    """Write the ankle given by the channels alone: float32 [4, frames], x, y, z in metres and yaw in turns."""
    out = np.float32(toe_out)
    for f in range(root.shape[1]):
        nominal[0, f] = leg[rows.HIP_X, f] + leg[rows.FORWARD, f] * root[rows.HEADING_SIN, f]
        nominal[1, f] = leg[rows.HIP_Y, f] - leg[rows.DOWN, f]
        nominal[2, f] = leg[rows.HIP_Z, f] + leg[rows.FORWARD, f] * root[rows.HEADING_COS, f]
        nominal[3, f] = root[rows.HEADING, f] + out


@kernel
def standing_ankle_ahead(neutral: Array, thigh: Scalar, shank: Scalar) -> Scalar:
    """Return the distance of the ankle ahead of the hip in quiet standing, in metres."""
    upper = neutral[HIP] - neutral[TILT]
    return thigh * sin_turns(upper) + shank * sin_turns(upper - neutral[KNEE])


@kernel
def plan_stances(work: Workspace, person: Person, guided: bool, step: Scalar, counts: Array) -> bool:
    """Plan stances and footprints of both feet; return whether an action places a foot above the ground.

    `counts` is int [2], written: the number of stances of each foot. For the other parameters see :func:`solve_legs`.
    """
    root, raised = work.root, False
    thigh, shank = -person.offsets[4, 1], -person.offsets[7, 1]
    for side in range(2):
        leg, contact, stances = work.legs[side], work.contact[side], work.stances[side]
        mark_contact(root, side, work.lifted[side], contact)
        drop_brief_contacts(contact)
        counts[side] = find_stances(contact, stances)
        time_stances(root, side, stances, counts[side])
        flatten_stances(leg, stances, counts[side], root[rows.RATE], step)
        plan_footprints(root, leg, side, person.widths, person.foot, stances, counts[side])
        if guided:
            channels = work.channels[FOOT_CHANNELS[side] : FOOT_CHANNELS[side] + 4]
            guide_pitch(root, channels[3], leg)
            home, length = standing_ankle_ahead(person.neutral, thigh, shank), float(thigh + shank)
            raised |= guide_footprints(root, channels, leg[rows.FORWARD], side, length, home, stances, counts[side])
        raise_heels(root, leg, person.foot, stances, counts[side], step)
    separate_footprints(root, work.stances, counts, 2.0 * person.widths[0])
    for side in range(2):
        contact, stances = work.contact[side], work.stances[side]
        shorten_stances(root, work.legs[side], person.foot, float(thigh + shank), contact, stances, counts[side])
    return raised


@kernel
def place_stance_feet(work: Workspace, person: Person, steps: Array, raised: bool, counts: Array) -> bool:
    """Place feet in contact on their footprints and on the ground; return whether the ground is uneven."""
    root, legs = work.root, work.legs
    for side in range(2):
        toe_out = person.widths[2] if side == 0 else -person.widths[2]
        for i in range(counts[side]):
            place_stance_foot(legs[side], work.stances[side, i], person.foot, root[rows.HEADING], toe_out)
    levels = work.levels
    uneven = stair_levels(root[rows.RISING], work.stances, counts, levels) or raised or len(steps) > 0
    if uneven:
        for side in range(2):
            fill_ground(steps, work.stances[side], counts[side], levels[side], legs[side, rows.GROUND])
        raise_body(root, legs, work.contact)
    else:
        for side in range(2):
            fill_row(legs[side, rows.GROUND], np.float32(0.0))
    return uneven


@kernel
def lower_pelvis(work: Workspace, person: Person, step: Scalar) -> None:
    """Lower the pelvis where a foot in contact would be out of reach, and place the hips."""
    root, place, pelvis, offsets = work.root, work.joints[0], work.turns[6], person.offsets
    fill_row(root[rows.LOWERING], np.float32(0.0))
    place_hips(root, pelvis, offsets, place, work.legs)
    for side in range(2):
        add_excess_height(work.legs[side], work.contact[side], REACH * (-offsets[4, 1] - offsets[7, 1]), root[rows.LOWERING])
    smooth_upper_envelope(root[rows.LOWERING], max(1, int(YIELD_SECONDS / step + 0.5)), root[rows.WORK])
    place_hips(root, pelvis, offsets, place, work.legs)


@kernel
def clear_ground(work: Workspace, person: Person, side: int, uneven: bool, count: int) -> None:
    """Keep the sole of one foot above the ground in all its swings."""
    leg, contact = work.legs[side], work.contact[side]
    if uneven:
        raise_feet(leg, contact, -1.0, True)
    clear_swings(leg, work.stances[side], count, person.foot, work.root[rows.LIFT])
    if uneven:
        raise_feet(leg, contact, 1.0, True)


@kernel
def swing_leg(
    work: Workspace, person: Person, side: int, guided: bool, uneven: bool, count: int, step: Scalar, first: int, last: int
) -> None:
    """Swing one foot from stance to stance, clear of the ground, and bend its knee in the frames `first` to `last`."""
    root, leg, stances, contact = work.root, work.legs[side], work.stances[side], work.contact[side]
    foot, thigh, shank = person.foot, -person.offsets[4, 1], -person.offsets[7, 1]
    nominal_feet(root, leg, person.widths[2] if side == 0 else -person.widths[2], work.nominal)
    if guided:
        channels, length = work.channels[FOOT_CHANNELS[side] : FOOT_CHANNELS[side] + 4], float(thigh + shank)
        high = foot[FOOT_ANKLE_HEIGHT]
        guide_swings(root, channels, side, length, high, work.airborne, stances, count, work.nominal)
    turning = heading_changes(root[rows.HEADING])
    if turning:
        to_path_frame(root, leg, work.nominal)
    swing_foot(leg, work.nominal, stances, count, root[rows.RUN_WEIGHT], RISING_SECONDS / step, PASSING_SECONDS / step)
    if turning:
        to_world_frame(root, leg, contact)
    clear_ground(work, person, side, uneven, count)
    # A raised foot bends its ankle further, so that hanging toes must be cleared again.
    for _ in range(HANGING_PASSES):
        if not limit_swing_ankles(root, leg, contact, float(thigh), float(shank)):
            break
        clear_ground(work, person, side, uneven, count)
    place_foot(first, last, foot, leg)
    if uneven:
        raise_feet(leg, contact, -1.0, False)
    ease_reach(first, last, thigh, shank, contact, root[rows.RUN_WEIGHT], leg)
    solve_knee(first, last, thigh, shank, leg)


@kernel
def solve_legs(work: Workspace, person: Person, steps: Array, guided: bool, step: Scalar, margin: int, frames: int) -> None:
    """Compute both legs from the course of the root, the rotation of the pelvis and the nominal legs.

    Parameters
    ----------
    work, person
        Working arrays and body of the actor.
    steps : float [steps, 6]
        See :mod:`posegen.motion.feet.ground`.
    guided : bool
        Whether an action places the feet itself.
    step : float
        Seconds per frame.
    margin, frames : int
        The knees are bent in frames `margin` to `margin + frames`.
    """
    counts = work.counts
    raised = plan_stances(work, person, guided, step, counts)
    uneven = place_stance_feet(work, person, steps, raised, counts)
    lower_pelvis(work, person, step)
    thigh, shank = -float(person.offsets[4, 1]), -float(person.offsets[7, 1])
    for side in range(2):
        limit_stance_ankles(work.root, work.legs[side], person.foot, work.stances[side], counts[side], thigh, shank, step)
        swing_leg(work, person, side, guided, uneven, counts[side], step, margin, margin + frames)


@kernel
def mark_guided(segment: Segment, clock: Clock, guided: Array) -> None:
    """Write how a segment places its feet to its frames; `guided` is float32 [frames]."""
    f0, f1 = frame_window(clock, segment.start, segment.end, len(guided))
    guided[f0:f1] = np.float32(segment.guided)


@kernel
def mark_lifted_feet(work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock) -> bool:
    """Mark the frames in which each foot is lifted, and write the range of the ankles; return whether an action places feet."""
    guided = False
    fill_row(work.root[rows.GUIDED], np.float32(0.0))
    fill_row(work.root[rows.BEND], np.float32(0.0))
    for side in range(2):
        copy_row(work.airborne, 0, len(work.airborne), work.lifted[side])
    for k in range(role.base):
        segment = role.segments[k]
        if segment.guided:
            guided = True
            mark_guided(segment, clock, work.root[rows.GUIDED])
        if actions.bend[segment.kind] > 0:
            widen_ankle_range(segment, actions.bend[segment.kind], clock, work.root[rows.BEND])
        for side in range(2):
            mark_intervals(segment, actions, person.draws, clock, LIFTED_FEET[side], work.lifted[side])
    return guided
