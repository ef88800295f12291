"""Both legs of one actor: lift-off, stances, pelvis within reach, swings, knees.

This module calls the steps in order; the other modules of this package define them.
"""

from __future__ import annotations

import numpy as np

from posegen.kernels import Array, Scalar, kernel
from posegen.motion import rows
from posegen.motion.feet import legs, swings
from posegen.motion.feet.ground import fill_ground, raise_body, raise_feet, stair_levels
from posegen.motion.feet.stances import FOOT_CHANNELS, place_stance_foot, plan_stances
from posegen.motion.key_poses import mark_intervals
from posegen.motion.library_tables import LIFTED, ActionTables, channels_named
from posegen.motion.trunk import place_hips
from posegen.motion.workspace import Clock, Person, Role, Workspace, copy_row, fill_row, frame_window

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
HIP_ROTATION = tuple(channels_named("hip_rotation"))
"""Channels by which the knee points further out than the foot: hip and shank turn together about the planted foot."""
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
def place_stance_feet(work: Workspace, person: Person, steps: Array, raised: bool) -> bool:
    """Place feet in contact on their footprints and on the ground; return whether the ground is uneven."""
    root, levels = work.root, work.levels
    for side in range(2):
        toe_out = person.widths[2] if side == 0 else -person.widths[2]
        for i in range(work.counts[side]):
            place_stance_foot(work.legs[side], work.stances[side, i], person.foot, root[rows.HEADING], toe_out)
    uneven = stair_levels(root[rows.RISING], work.stances, work.counts, levels) or raised or len(steps) > 0
    for side in range(2):
        if uneven:
            fill_ground(steps, work.stances[side, : work.counts[side]], levels[side], work.legs[side, rows.GROUND])
        else:
            fill_row(work.legs[side, rows.GROUND], np.float32(0.0))
    if uneven:
        raise_body(root, work.legs, work.contact)
    return uneven


@kernel
def lower_pelvis(work: Workspace, person: Person, step: Scalar) -> None:
    """Lower the pelvis where a foot in contact would be out of reach, and place the hips."""
    root, place, pelvis, offsets = work.root, work.joints[0], work.turns[6], person.offsets
    fill_row(root[rows.LOWERING], np.float32(0.0))
    place_hips(root, pelvis, offsets, place, work.legs)
    for side in range(2):
        legs.add_excess_height(
            work.legs[side], work.contact[side], REACH * (-offsets[4, 1] - offsets[7, 1]), root[rows.LOWERING]
        )
    legs.smooth_upper_envelope(root[rows.LOWERING], max(1, int(YIELD_SECONDS / step + 0.5)), root[rows.WORK])
    place_hips(root, pelvis, offsets, place, work.legs)


@kernel
def clear_ground(work: Workspace, person: Person, side: int, uneven: bool) -> None:
    """Keep the sole of one foot above the ground in all its swings."""
    leg, contact = work.legs[side], work.contact[side]
    if uneven:
        raise_feet(leg, contact, -1.0, True)
    swings.clear_swings(leg, work.stances[side, : work.counts[side]], person.foot, work.root[rows.LIFT])
    if uneven:
        raise_feet(leg, contact, 1.0, True)


@kernel
def swing_leg(work: Workspace, person: Person, side: int, guided: bool, uneven: bool, clock: Clock) -> None:
    """Swing one foot from stance to stance, clear of the ground, and bend its knee in the stored frames."""
    root, leg, contact, foot = work.root, work.legs[side], work.contact[side], person.foot
    stances, thigh, shank = work.stances[side, : work.counts[side]], -person.offsets[4, 1], -person.offsets[7, 1]
    nominal_feet(root, leg, person.widths[2] if side == 0 else -person.widths[2], work.nominal)
    if guided:
        channels, length = work.channels[FOOT_CHANNELS[side] : FOOT_CHANNELS[side] + 4], float(thigh + shank)
        high = foot[rows.FOOT_ANKLE_HEIGHT]
        swings.guide_swings(root, channels, side, length, high, work.airborne, stances, work.nominal)
    turning = swings.heading_changes(root[rows.HEADING])
    if turning:
        swings.to_path_frame(root, leg, work.nominal)
    rising, passing = RISING_SECONDS / clock.step, PASSING_SECONDS / clock.step
    swings.swing_foot(leg, work.nominal, stances, root[rows.RUN_WEIGHT], rising, passing)
    if turning:
        swings.to_world_frame(root, leg, contact)
    clear_ground(work, person, side, uneven)
    # A raised foot bends its ankle further, so that hanging toes must be cleared again.
    for _ in range(HANGING_PASSES):
        if not legs.limit_swing_ankles(root, leg, contact, float(thigh), float(shank)):
            break
        clear_ground(work, person, side, uneven)
    first, last = clock.margin, clock.margin + clock.frames
    legs.place_foot(first, last, foot, leg)
    if uneven:
        raise_feet(leg, contact, -1.0, False)
    legs.ease_reach(first, last, thigh + shank, contact, root[rows.RUN_WEIGHT], leg)
    legs.solve_knee(first, last, thigh, shank, leg)
    legs.turn_knee(first, last, work.channels[HIP_ROTATION[side]], 1.0 - 2.0 * side, leg)


@kernel
def solve_legs(work: Workspace, role: Role, person: Person, guided: bool, clock: Clock) -> None:
    """Compute both legs from the course of the root, the rotation of the pelvis and the nominal legs.

    `guided` is whether an action places the feet itself. The knees are bent in the stored frames only.
    """
    raised = plan_stances(work, person, guided, clock.step)
    uneven = place_stance_feet(work, person, role.steps, raised)
    lower_pelvis(work, person, clock.step)
    thigh, shank = -float(person.offsets[4, 1]), -float(person.offsets[7, 1])
    for side in range(2):
        stances = work.stances[side, : work.counts[side]]
        legs.limit_stance_ankles(work.root, work.legs[side], person.foot, stances, thigh, shank, clock.step)
        swing_leg(work, person, side, guided, uneven, clock)


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
            f0, f1 = frame_window(clock, segment.shown_start, segment.shown_end, work.root.shape[1])
            work.root[rows.GUIDED, f0:f1] = np.float32(segment.guided)
        if actions.bend[segment.kind] > 0:
            legs.widen_ankle_range(segment, actions.bend[segment.kind], clock, work.root[rows.BEND])
        for side in range(2):
            mark_intervals(segment, actions, person.draws, clock, LIFTED_FEET[side], work.lifted[side])
    return guided
