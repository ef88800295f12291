"""Both legs of one actor: lift-off, stances, pelvis within reach, the ground under the feet, swings, knees.

The channels give a nominal course of each foot. The difference between the foot and its nominal course passes smoothly from its
value at lift-off to its value at landing. While the body turns, this is computed in the frame of the path, so that feet turn
with the body.

The ground is the floor at height 0, the stairs of an action, and what an action places a foot on. Stances and pelvis are
computed as if all footprints were on the floor. Then each foot is raised by the ground under its footprints, and the pelvis by
the mean of both.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.randomness import keyed_uniforms
from posegen.foundations.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion import habits, legs, rows
from posegen.motion.key_poses import mark_intervals
from posegen.motion.library_tables import LIFTED, ActionTables
from posegen.motion.placed_feet import guide_swings
from posegen.motion.stances import place_stance_foot
from posegen.motion.trunk import place_hips
from posegen.motion.workspace import Clock, Person, Role, Workspace, between, copy_row, fill_row, frame_window

REACH = 0.9992
"""Largest fraction of its length that a stance leg spans: 4.6 degrees of flexion are left in the knee."""
PASSING_SECONDS = 0.32
"""Longest time in which a foot passes from lift-off to its nominal course, and from there to landing."""
RISING_SECONDS = 0.08
"""The same for its height after lift-off: the ball leaves the floor at once, as a foot does that rolls off over its toes."""
HANGING_PASSES = 3
"""Largest number of passes that clear the floor for toes that hang."""
YIELD_SECONDS, YIELD_ON_STEPS = 0.1, 0.03
"""Time before a limit of reach at which the pelvis begins to lower: less would throw it down and up within a step. Steps of a
staircase are so high that it would stay low throughout.
"""
LIFTED_FEET = (LIFTED["left"], LIFTED["right"])
LEAST_TREAD = 0.1
"""Distance in metres along the path from which two footprints lie on different steps."""
RUN_HASTE = 0.5
"""Fraction of the time by which the foot of a runner reaches its nominal course earlier."""
RATE_WINDOW = 0.125
"""Window over which the rate of a foot in contact is taken, as a fraction of `fade_in`."""
LIFT_OFF_RATE, LANDING_RATE = 0.25, 0.4
"""Fractions of `fade_out` and `fade_in` in which the rate at lift-off fades, and in which that at landing builds up."""

YIELDING, FAR = 0.045, 0.5
"""Share of its distance from the pelvis, over the floor, by which the ankle of a placed foot gives way towards it, and the
distance in metres that halves this share.
"""
WOBBLE, SWAYING, SHAKING = (0.0025, 0.0014), 0.6, 1.35
"""Metres by which such an ankle moves in two sines for each axis, and their least cycles per second: ankles of people who stand
still move by 5 to 25 mm/s.
"""


@kernel
def stair_levels(rising: Array, stances: Array, counts: Array, levels: Array) -> bool:
    """Write the height of each footprint on stairs that lead from footprint to footprint; the lowest one is on the floor.

    A foot that lands beside the other one, as in the last step, stays on the same step.

    Parameters
    ----------
    rising : float32 [frames]
        Metres of height gained per step.
    stances : float [2, stances, 8]
    counts : int [2]
        Number of stances of each foot.
    levels : float [2, stances], written
        Metres.

    Returns
    -------
    bool
        Whether there are stairs.
    """
    levels[:] = 0.0
    has_stairs = False
    for f in range(len(rising)):
        has_stairs = has_stairs or rising[f] != 0
    if not has_stairs:
        return False
    left, right, level, lowest = 0, 0, 0.0, 0.0
    x, z = np.nan, np.nan
    while left < counts[0] or right < counts[1]:
        side = 1
        if right == counts[1] or (left < counts[0] and stances[0, left, rows.FIRST] <= stances[1, right, rows.FIRST]):
            side = 0
        i = left if side == 0 else right
        stance = stances[side, i]
        s, c = sin_turns(stance[rows.PRINT_YAW]), cos_turns(stance[rows.PRINT_YAW])
        ahead = (stance[rows.PRINT_X] - x) * s + (stance[rows.PRINT_Z] - z) * c
        if ahead > LEAST_TREAD:
            level += rising[int(stance[rows.FIRST])]
        lowest = min(lowest, level)
        levels[side, i] = level
        x, z = stance[rows.PRINT_X], stance[rows.PRINT_Z]
        left, right = left + (side == 0), right + (side == 1)
    for side in range(2):
        for i in range(counts[side]):
            levels[side, i] -= lowest
    return True


@kernel
def fill_ground(stances: Array, levels: Array, row: Array) -> None:
    """Write the height of the ground under a foot over the frames; `levels` is the height of each footprint on the stairs.

    Between two stances the ground changes early on the way up and late on the way down, because the foot must clear the edge.
    """
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        stance = stances[i]
        here = levels[i] + stance[rows.PRINT_HEIGHT]
        row[first:last] = np.float32(here)
        if i == 0:
            row[:first] = np.float32(here)
        if i == len(stances) - 1:
            row[last:] = np.float32(here)
            continue
        land = int(stances[i + 1, rows.FIRST])
        there = levels[i + 1] + stances[i + 1, rows.PRINT_HEIGHT]
        for f in range(last, land):
            x = (f - last + 1.0) / (land - last + 1.0)
            share = smooth_step(2.0 * x) if there > here else smooth_step(2.0 * x - 1.0)
            row[f] = np.float32(here + (there - here) * share)
    if len(stances) == 0:
        row[:] = np.float32(0.0)


@kernel
def raise_feet(leg: Array, contact: Array, sign: Scalar, swinging: bool) -> None:
    """Add (`sign` 1) or subtract (-1) the ground: to ankles of swinging feet, or to the heights of heel and toe."""
    change = np.float32(sign)
    for f in range(leg.shape[1]):
        if swinging and not contact[f]:
            leg[rows.ANKLE_Y, f] += change * leg[rows.GROUND, f]
        if not swinging:
            leg[rows.HEEL_HEIGHT, f] += change * leg[rows.GROUND, f]
            leg[rows.TOE_HEIGHT, f] += change * leg[rows.GROUND, f]


@kernel
def fill_swing(
    row: Array, nominal: Array, lift: int, land: int, early: Scalar, late: Scalar, fade_out: Scalar, fade_in: Scalar
) -> None:
    """Fill a row between two stances: the nominal course plus a correction.

    The correction is a cubic. It starts with value and rate at lift-off (`late` frames behind frame `lift`, the last one in
    contact) and ends with those at landing (`early` frames before frame `land`), so that the foot neither jumps nor jerks. The
    value at lift-off fades within `fade_out` frames, that at landing builds up within `fade_in` frames. The rates take a
    quarter and two fifths of these times, so that they do not move the foot far from its course.
    """
    begin, end = lift + late, land - early
    whole = max(end - begin, 1.0)
    away, span = min(whole, fade_out), min(whole, fade_in)
    away_rate, span_rate = (max(min(whole, LIFT_OFF_RATE * fade_out), 1.0), max(min(whole, LANDING_RATE * fade_in), 1.0))
    # Rates are taken over the same time at any frame rate: of the foot in contact, and of the nominal course in the swing.
    over = min(max(int(RATE_WINDOW * fade_in + 0.5), 1), land - lift)
    held = (row[lift] - row[lift - over]) / over if lift >= over else np.float32(0.0)
    free = (nominal[lift + over] - nominal[lift]) / over
    here, v0 = np.float32(row[lift] - nominal[lift] + (held - free) * late), np.float32((held - free) * away_rate)
    held = (row[land + over] - row[land]) / over if land + over < len(row) else np.float32(0.0)
    free = (nominal[land] - nominal[land - over]) / over
    there, v1 = np.float32(row[land] - nominal[land] - (held - free) * early), np.float32((held - free) * span_rate)
    for f in between(lift + 1, land):
        x, y = np.float32(min((np.int64(f) - begin) / away, 1.0)), np.float32(min((end - np.int64(f)) / span, 1.0))
        # If both span the whole swing, x + y = 1, and these are the four Hermite polynomials.
        going, coming = np.float32(1.0) - x, np.float32(1.0) - y
        value = here * (going * going * (np.float32(1.0) + np.float32(2.0) * x))
        value += there * (coming * coming * (np.float32(1.0) + np.float32(2.0) * y))
        x, y = np.float32(min((np.int64(f) - begin) / away_rate, 1.0)), np.float32(min((end - np.int64(f)) / span_rate, 1.0))
        going, coming = np.float32(1.0) - x, np.float32(1.0) - y
        row[f] = nominal[f] + value + v0 * (x * going * going) - v1 * (coming * coming * y)


@kernel
def to_path_frame(root: Array, leg: Array, nominal: Array) -> None:
    """Transform ankles from the world to the frame of the path: left of the path and ahead on it; KEPT rows keep them.

    A straight line between footprints in the world frame would take a foot through the other leg while the body turns.

    Parameters
    ----------
    root : float32 [rows, frames], changed
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames], changed
        Nominal ankle; its place over the floor is transformed.
    """
    copy_row(leg[rows.ANKLE_X], 0, root.shape[1], root[rows.KEPT_X])
    copy_row(leg[rows.ANKLE_Z], 0, root.shape[1], root[rows.KEPT_Z])
    for which in range(2):
        left, ahead = (leg[rows.ANKLE_X], leg[rows.ANKLE_Z]) if which == 0 else (nominal[rows.FOOT_X], nominal[rows.FOOT_Z])
        for f in range(len(left)):
            s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
            x, z = left[f] - root[rows.PATH_X, f], ahead[f] - root[rows.PATH_Z, f]
            left[f], ahead[f] = x * c - z * s, x * s + z * c


@kernel
def to_world_frame(root: Array, leg: Array, contact: Array) -> None:
    """Transform the ankle of a leg back to the world; in contact, restore the exact former positions."""
    for f in range(leg.shape[1]):
        if contact[f]:
            leg[rows.ANKLE_X, f], leg[rows.ANKLE_Z, f] = root[rows.KEPT_X, f], root[rows.KEPT_Z, f]
        else:
            s, c, left, ahead = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f], leg[rows.ANKLE_X, f], leg[rows.ANKLE_Z, f]
            leg[rows.ANKLE_X, f] = root[rows.PATH_X, f] + left * c + ahead * s
            leg[rows.ANKLE_Z, f] = root[rows.PATH_Z, f] + ahead * c - left * s


@kernel
def clear_floor(leg: Array, lift: int, land: int, early: Scalar, late: Scalar, foot: Array, clearance: Scalar) -> None:
    """Raise a swinging foot so that its sole stays above the floor, most in mid swing; times as in :func:`fill_swing`."""
    heel, ball = np.float32(foot[rows.FOOT_HEEL]), np.float32(foot[rows.FOOT_BALL])
    high = np.float32(foot[rows.FOOT_ANKLE_HEIGHT])
    begin, whole = lift + late, max(land - early - lift - late, 1.0)
    for f in between(lift + 1, land):
        x = np.float32((np.int64(f) - begin) / whole)
        s, c = sin_turns(leg[rows.PITCH, f]), cos_turns(leg[rows.PITCH, f])
        sole = leg[rows.ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        # Highest in the middle, and level at both ends.
        least = np.float32(16.0 * clearance) * x * x * (np.float32(1.0) - x) * (np.float32(1.0) - x)
        lack = least - sole
        soft = np.float32(0.006)
        near_ends = min(np.float32(1.0), np.float32(8.0) * x * (np.float32(1.0) - x))
        leg[rows.ANKLE_Y, f] += np.float32(0.5) * (lack + np.sqrt(lack * lack + soft * soft)) * near_ends
        sole = leg[rows.ANKLE_Y, f] - high * c - max(heel * s, -ball * s)
        leg[rows.ANKLE_Y, f] += max(-sole, np.float32(0.0))


@kernel
def swing_foot(leg: Array, nominal: Array, stances: Array, running: Array, rising: Scalar, fade_in: Scalar) -> None:
    """Write ankle and yaw of one foot in its swings.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    nominal : float32 [4, frames]
        Nominal ankle x, y, z in metres and yaw in turns.
    stances : float [stances, 8]
    running : float32 [frames]
        1 in gaits with flights, where a foot leaves its footprint earlier.
    rising, fade_in : float
        Frames in which the height leaves its value at lift-off; see :func:`fill_swing` for the rest.
    """
    frames, count = leg.shape[1], len(stances)
    for i in range(count + 1):
        lift = int(stances[i - 1, rows.LAST]) - 1 if i > 0 else -1
        land = int(stances[i, rows.FIRST]) if i < count else frames
        if land - lift <= 1:
            continue
        for r in range(4):
            row = leg[rows.ANKLE_X + r]
            if lift >= 0 and land < frames:
                early, late = stances[i, rows.EARLY], stances[i - 1, rows.LATE]
                fade_out = rising if r == 1 else fade_in * (1.0 - RUN_HASTE * running[lift])
                fill_swing(row, nominal[r], lift, land, early, late, fade_out, fade_in)
            elif lift >= 0:
                fill_open_swing(row, nominal[r], lift, -1, stances[i - 1, rows.LATE], rising if r == 1 else fade_in, fade_in)
            elif land < frames:
                fill_open_swing(row, nominal[r], land, 1, stances[i, rows.EARLY], fade_in, fade_in)
            else:
                copy_row(nominal[r], 0, frames, row)


@kernel
def clear_swings(leg: Array, stances: Array, foot: Array, clearance: Array) -> None:
    """Keep the sole of one foot above the floor in all its swings; `clearance` is metres in mid swing, over the frames."""
    count = len(stances)
    for i in range(count + 1):
        lift = int(stances[i - 1, rows.LAST]) - 1 if i > 0 else -1
        land = int(stances[i, rows.FIRST]) if i < count else leg.shape[1]
        if land - lift > 1:
            early, late = stances[i, rows.EARLY] if i < count else 0.0, stances[i - 1, rows.LATE] if i > 0 else 0.0
            clear_floor(leg, lift, land, early, late, foot, clearance[(lift + land) // 2])


@kernel
def fill_open_swing(
    row: Array, nominal: Array, edge: int, inward: int, beyond: Scalar, fade_out: Scalar, fade_in: Scalar
) -> None:
    """Fill a row before the first stance or behind the last one, as :func:`fill_swing` does for a distant other stance.

    So the stored frames do not depend on the number of frames behind them.

    Parameters
    ----------
    row, nominal, fade_out, fade_in
        See :func:`fill_swing`.
    edge : int
        Last frame in contact, or the first one.
    inward : int
        Direction from there to the next frame in contact: -1 or 1.
    beyond : float
        Frames by which the stance extends beyond `edge`.
    """
    first, last, one = 0 if inward > 0 else edge + 1, edge if inward > 0 else len(row), np.float32(1.0)
    over = max(int(RATE_WINDOW * fade_in + 0.5), 1)
    rate_frames = max((LANDING_RATE if inward > 0 else LIFT_OFF_RATE) * fade_out, 1.0)
    inner, outer, change = edge + inward * over, edge - inward * over, np.float32(0.0)
    if 0 <= inner < len(row) and 0 <= outer < len(row):
        change = (row[edge] - row[inner] - nominal[outer] + nominal[edge]) / over
    keep, rate = np.float32(row[edge] - nominal[edge] + change * beyond), np.float32(change * rate_frames)
    for f in between(first, last):
        since = max(abs(np.int64(f) - edge) - beyond, 0.0)
        x, y = np.float32(min(since / fade_out, 1.0)), np.float32(min(since / rate_frames, 1.0))
        row[f] = nominal[f] + keep * ((one - x) * (one - x) * (one + np.float32(2.0) * x)) + rate * (y * (one - y) * (one - y))


@kernel
def nominal_feet(root: Array, leg: Array, toe_out: Scalar, nominal: Array) -> None:
    """Write the ankle given by the channels alone: float32 [4, frames], x, y, z in metres and yaw in turns."""
    out = np.float32(toe_out)
    for f in range(root.shape[1]):
        nominal[rows.FOOT_X, f] = leg[rows.HIP_X, f] + leg[rows.FORWARD, f] * root[rows.HEADING_SIN, f]
        nominal[rows.FOOT_Y, f] = leg[rows.HIP_Y, f] - leg[rows.DOWN, f]
        nominal[rows.FOOT_Z, f] = leg[rows.HIP_Z, f] + leg[rows.FORWARD, f] * root[rows.HEADING_COS, f]
        nominal[rows.FOOT_YAW, f] = root[rows.HEADING, f] + out


@kernel
def loosen_foot(root: Array, leg: Array, contact: Array, side: int, key: Scalar, clock: Clock) -> None:
    """Move a foot in contact over the floor by some millimetres: soles and joints of feet yield under the body, and sway.

    Runners touch the ground too shortly for that.
    """
    a, b, c, d = keyed_uniforms(key, habits.WOBBLES, side)
    slow, quick = np.float32(SWAYING * (1.0 + 0.4 * a)), np.float32(SHAKING * (1.0 + 0.4 * b))
    first, second, large, small = np.float32(c), np.float32(d), np.float32(WOBBLE[0]), np.float32(WOBBLE[1])
    quarter, far, share = np.float32(0.3), np.float32(FAR), np.float32(YIELDING)
    for f in range(len(contact)):
        if not contact[f]:
            continue
        t = np.float32(clock.first + f * clock.step)
        x, z = root[rows.ROOT_X, f] - leg[rows.ANKLE_X, f], root[rows.ROOT_Z, f] - leg[rows.ANKLE_Z, f]
        placed = np.float32(1.0) - root[rows.RUN_WEIGHT, f]
        here, there = slow * t + first, quick * t + second
        yielding = placed * share * far / (far + np.sqrt(x * x + z * z))
        leg[rows.ANKLE_X, f] += yielding * x + placed * (large * sin_turns(here) + small * sin_turns(there))
        leg[rows.ANKLE_Z, f] += yielding * z + placed * (large * sin_turns(here + quarter) + small * cos_turns(there))


@kernel
def place_stance_feet(work: Workspace, person: Person, raised: bool, clock: Clock) -> bool:
    """Place feet in contact on their footprints and on the ground; return whether the ground is uneven."""
    root, levels = work.root, work.levels
    for side in range(2):
        toe_out = person.widths[2] if side == 0 else -person.widths[2]
        for i in range(work.counts[side]):
            place_stance_foot(work.legs[side], work.stances[side, i], person.foot, root[rows.HEADING], toe_out)
        loosen_foot(root, work.legs[side], work.contact[side], side, person.key, clock)
    uneven = stair_levels(root[rows.RISING], work.stances, work.counts, levels) or raised
    for side in range(2):
        if uneven:
            fill_ground(work.stances[side, : work.counts[side]], levels[side], work.legs[side, rows.GROUND])
        else:
            fill_row(work.legs[side, rows.GROUND], np.float32(0.0))
    for f in range(root.shape[1] if uneven else 0):
        # The pelvis is raised by the mean of both grounds.
        root[rows.HEIGHT, f] += np.float32(0.5) * (work.legs[0, rows.GROUND, f] + work.legs[1, rows.GROUND, f])
        for side in range(2):
            if work.contact[side, f]:
                work.legs[side, rows.ANKLE_Y, f] += work.legs[side, rows.GROUND, f]
    return uneven


@kernel
def lower_pelvis(work: Workspace, person: Person, uneven: bool, step: Scalar) -> None:
    """Lower the pelvis where a foot in contact would be out of reach, and place the hips."""
    root, place, pelvis, offsets = work.root, work.joints[0], work.turns[rows.PELVIS], person.offsets
    fill_row(root[rows.LOWERING], np.float32(0.0))
    place_hips(root, pelvis, offsets, place, work.legs)
    for side in range(2):
        legs.add_excess_height(
            work.legs[side], work.contact[side], REACH * (-offsets[4, 1] - offsets[7, 1]), root[rows.LOWERING]
        )
    seconds = YIELD_ON_STEPS if uneven else YIELD_SECONDS
    legs.smooth_upper_envelope(root[rows.LOWERING], max(1, int(seconds / step + 0.5)), root[rows.SMOOTHED])
    place_hips(root, pelvis, offsets, place, work.legs)


@kernel
def clear_ground(work: Workspace, person: Person, side: int, uneven: bool) -> None:
    """Keep the sole of one foot above the ground in all its swings."""
    leg, contact = work.legs[side], work.contact[side]
    if uneven:
        raise_feet(leg, contact, -1.0, True)
    clear_swings(leg, work.stances[side, : work.counts[side]], person.foot, work.root[rows.LIFT])
    if uneven:
        raise_feet(leg, contact, 1.0, True)


@kernel
def swing_leg(work: Workspace, person: Person, side: int, guided: bool, uneven: bool, clock: Clock) -> None:
    """Swing one foot from stance to stance, clear of the ground, and bend its knee in the stored frames."""
    root, leg, contact, foot = work.root, work.legs[side], work.contact[side], person.foot
    stances, thigh, shank = work.stances[side, : work.counts[side]], -person.offsets[4, 1], -person.offsets[7, 1]
    nominal_feet(root, leg, person.widths[2] if side == 0 else -person.widths[2], work.nominal)
    if guided:
        channels, length = work.channels[rows.FOOT_CHANNELS[side] : rows.FOOT_CHANNELS[side] + 4], float(thigh + shank)
        high = foot[rows.FOOT_ANKLE_HEIGHT]
        guide_swings(root, channels, side, length, high, work.airborne, stances, work.nominal)
    turning = False
    for f in range(root.shape[1]):
        turning = turning or root[rows.HEADING, f] != root[rows.HEADING, 0]
    if turning:
        to_path_frame(root, leg, work.nominal)
    rising, passing = RISING_SECONDS / clock.step, PASSING_SECONDS / clock.step
    swing_foot(leg, work.nominal, stances, root[rows.RUN_WEIGHT], rising, passing)
    if turning:
        to_world_frame(root, leg, contact)
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
    legs.turn_knee(first, last, work.channels[rows.HIP_ROTATION[side]], 1.0 - 2.0 * side, leg)


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
        if segment.bend > 0:
            legs.widen_ankle_range(segment, segment.bend, clock, work.root[rows.BEND])
        for side in range(2):
            mark_intervals(segment, actions, clock, LIFTED_FEET[side], work.lifted[side])
    return guided
