"""Stances: when each foot is in contact, where its footprint lies, and how ankle and pitch follow from that.

A foot in contact is held to its footprint: it rolls over heel and ball, lies flat in between, and pivots on the ball in turns.
An action may place its feet itself ("guided"). Swings are in :mod:`posegen.motion.feet.swings`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.library_tables import PLACED
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.workspace import FOOT_ANKLE_HEIGHT, FOOT_BALL, FOOT_HEEL, between

Array = NDArray[Any]

FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW, PRINT_HEIGHT, EARLY, LATE = range(8)
"""Entries of a stance: first frame; frame behind the last one; footprint of the ankle on the floor in metres, yaw in turns;
height above the ground in metres; and the frames, between 0 and 1, by which the foot lands before the first frame and lifts off
behind the last frame. They make a step equal at any frame rate.
"""
PRINT_BACK, RUN_PRINT_BACK = 0.145, 0.255
"""Distance of a walking footprint behind the mean of the nominal foot, in lengths from ankle to ball, so that the foot is
within reach at landing with a nearly straight leg; and the addition in running.
"""
FAST_WALK, FAST_PRINT_BACK = 1.35, 0.07
"""Speed in m/s above which footprints lie further back, by this many metres for each m/s: a trailing leg on its toes spans more
of a long step than a leading leg on its heel.
"""
LONGER_LAST_STEP, MOST_BEFORE = 0.02, 0.03
"""Metres: how much longer the last step before rest may be than the steps of walking, and the largest distance that a foot
rests behind its place for that.
"""
ON_TOES = 0.0045
"""Metres that the ball rises in contact, in place of the toes, which the skeleton does not have."""
PIVOT, FREE_PITCH = 0.85, 20.0 / 360.0
"""Fraction of the turning of the body that a foot on its ball follows, and the pitch in turns at which it follows fully."""
FARTHEST_BEHIND, RUNNING_NEARER = 0.58, 0.06
"""Largest distance of a flat foot's ankle behind the body over the floor, in leg lengths (35 degrees of a straight leg); and
its reduction in running, where the pelvis is low.
"""
SHORTEST_STANCE = 3
"""Smallest number of frames of a shortened stance."""
FOOT_CHANNELS = CHANNELS.index("left_foot_forward"), CHANNELS.index("right_foot_forward")
"""First channel of each foot: forward, aside, up, pitch."""
FOOT_FORWARD, FOOT_ASIDE, FOOT_UP, FOOT_PITCH = range(4)


@kernel
def find_stances(contact: Array, stances: Array) -> int:
    """Write the runs of frames in which a foot is in contact, and return their number."""
    count, f, frames = 0, 0, len(contact)
    while f < frames and count < len(stances):
        if contact[f]:
            stances[count, FIRST], stances[count, PRINT_HEIGHT] = f, 0.0
            while f < frames and contact[f]:
                f += 1
            stances[count, LAST] = f
            count += 1
        else:
            f += 1
    return count


@kernel
def contact_offset(root: Array, side: int, on: int, off: int) -> Scalar:
    """Return the frames, by the phase, from a frame in contact to landing or lift-off, towards the frame `off`."""
    phase = root[rows.PHASE, on] + 0.5 * side
    moved = phase - (root[rows.PHASE, off] + 0.5 * side)
    if abs(moved) < 1e-6 or root[rows.BEATS, on] == 4:
        return 0.0
    into = phase - np.floor(phase)
    return min(max(into / moved if moved > 0 else (into - root[rows.DUTY, on]) / moved, 0.0), 1.0)


@kernel
def time_stances(root: Array, side: int, stances: Array, count: int) -> None:
    """Write the fractions of a frame by which each stance begins earlier and ends later."""
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        stances[i, EARLY] = contact_offset(root, side, first, first - 1) if first > 0 else 0.0
        stances[i, LATE] = contact_offset(root, side, last - 1, last) if last < root.shape[1] else 0.0


@kernel
def mark_contact(root: Array, side: int, airborne: Array, contact: Array) -> None:
    """Mark the frames in which a foot is in contact, by the phase of the stride; `side` is 0 for the left foot, 1 for the
    right.

    `airborne` marks the frames in which it is lifted at any phase. In hopping on one foot the other foot has no contact. In
    skipping each foot has two contacts within its half of the stride.
    """
    spared = np.float32(1.0 if side == 1 else -1.0)
    for f in range(len(contact)):
        phase = root[rows.PHASE, f] + np.float32(0.5 * side)
        phase -= np.floor(phase)
        duty = root[rows.DUTY, f] - max(np.float32(0.0), spared * root[rows.LONE_FOOT, f])
        if root[rows.BEATS, f] == 4 and phase < 0.5:
            phase = np.float32(4.0) * phase
            phase = np.float32(0.25) * (phase - np.floor(phase))
        contact[f] = (phase < duty) and not airborne[f]
    # One or two frames without contact between two stances are no step.
    f, frames = 0, len(contact)
    while f < frames:
        if contact[f] or airborne[f]:
            f += 1
            continue
        begin = f
        while f < frames and not contact[f] and not airborne[f]:
            f += 1
        if f - begin < 3 and begin > 0 and f < frames and contact[begin - 1] and contact[f]:
            contact[begin:f] = True


@kernel
def rest_frame(root: Array, first: int, last: int) -> int:
    """Return the first frame of a stance in which the body stands still, or -1."""
    for f in range(first, last):
        if root[rows.GAIT_WEIGHT, f] <= 0:
            return f
    return -1


@kernel
def plan_footprints(root: Array, leg: Array, side: int, widths: Array, foot: Array, stances: Array, count: int) -> None:
    """Write the footprint of each stance: about the position of the nominal foot while the body passes over it.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    side : int
    widths : float [3]
        Half the distance between the feet in walking and in standing (metres), toe-out (turns).
    foot : float [4]
    stances : float [stances, 8], changed
    count : int
        Number of stances.
    """
    out = 1.0 if side == 0 else -1.0
    frames = root.shape[1]
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        at = float(rest_frame(root, first, last))
        forward = 0.0
        if at >= 0:
            forward = leg[rows.FORWARD, int(at)]
        else:
            middle = 0.5 * (root[rows.ODOMETER, first] + root[rows.ODOMETER, last - 1])
            f = first
            while f < last - 2 and root[rows.ODOMETER, f + 1] < middle:
                f += 1
            gap = root[rows.ODOMETER, f + 1] - root[rows.ODOMETER, f] if f + 1 < frames else 0.0
            at = f + (min(max((middle - root[rows.ODOMETER, f]) / gap, 0.0), 1.0) if gap > 1e-6 else 0.0)
        f = min(int(at), frames - 2)
        share = at - f
        heading = root[rows.HEADING, f] + share * (root[rows.HEADING, f + 1] - root[rows.HEADING, f])
        x = root[rows.PATH_X, f] + share * (root[rows.PATH_X, f + 1] - root[rows.PATH_X, f])
        z = root[rows.PATH_Z, f] + share * (root[rows.PATH_Z, f + 1] - root[rows.PATH_Z, f])
        gait = root[rows.GAIT_WEIGHT, f]
        s, c = sin_turns(heading), cos_turns(heading)
        if gait > 0:
            # Mean over the stance of the nominal foot along the path, minus its roll over heel and ball.
            total, weights = 0.0, 0.0
            for j in range(first, last):
                # The first and last frame are weighted by the fraction of them that belongs to the stance.
                weight = (0.5 + stances[i, EARLY] if j == first else 1.0) + (stances[i, LATE] - 0.5 if j == last - 1 else 0.0)
                along = (root[rows.PATH_X, j] - x) * s + (root[rows.PATH_Z, j] - z) * c
                total += weight * (along + leg[rows.FORWARD, j] - roll_forward(leg[rows.PITCH, j], foot))
                weights += weight
            fast = max(0.0, abs(root[rows.SPEED, f]) - FAST_WALK) * (1.0 - root[rows.RUN_WEIGHT, f])
            back = PRINT_BACK + RUN_PRINT_BACK * root[rows.RUN_WEIGHT, f]
            forward = total / max(weights, 1e-3) - back * foot[FOOT_BALL] - FAST_PRINT_BACK * fast
        elif first > 0 and root[rows.RATE, first] > 0 and root[rows.RISING, first] == 0:
            # If the last step to the place of rest would be too long, the foot rests a little before that place.
            far = (x - root[rows.PATH_X, first]) * s + (z - root[rows.PATH_Z, first]) * c + forward
            usual = leg[rows.FORWARD, first] - PRINT_BACK * foot[FOOT_BALL] + LONGER_LAST_STEP
            forward -= min(max(far - max(usual, 0.0), 0.0), MOST_BEFORE)
        aside = out * (widths[1] + gait * (widths[0] - widths[1]) + root[rows.APART, f])
        stances[i, PRINT_X] = x + forward * s + aside * c
        stances[i, PRINT_Z] = z + forward * c - aside * s
        stances[i, PRINT_YAW] = heading + out * widths[2]


@kernel
def roll_forward(pitch: Scalar, foot: Array) -> Scalar:
    """Return the distance in metres of the ankle ahead of its position over a flat foot.

    With toes up the foot turns about the heel, with the heel up about the ball.
    """
    s, c = sin_turns(pitch), cos_turns(pitch)
    pivot = -foot[FOOT_HEEL] if pitch > 0 else foot[FOOT_BALL]
    return pivot - pivot * c - foot[FOOT_ANKLE_HEIGHT] * s


@kernel
def rise_on_toes(s: Scalar) -> Scalar:
    """Return the height of the ball above the floor in metres as a foot rolls off; `s` is the sine of its pitch."""
    share = min(max((-s - np.float32(0.6)) / np.float32(0.3), np.float32(0.0)), np.float32(1.0))
    return np.float32(ON_TOES) * share * share * (np.float32(3.0) - np.float32(2.0) * share)


@kernel
def rolled_height(pitch: Scalar, foot: Array) -> Scalar:
    """Return the height of the ankle of a foot in contact above the ground, in metres."""
    s, c = sin_turns(pitch), cos_turns(pitch)
    return foot[FOOT_ANKLE_HEIGHT] * c + (foot[FOOT_HEEL] * s if s > 0 else -foot[FOOT_BALL] * s + rise_on_toes(s))


@kernel
def flatten_pitch(leg: Array, first: int, last: int, landed: Scalar, landing: Scalar, lifting: Scalar, lifted: Scalar) -> None:
    """Flatten the foot between rolling down and rolling off.

    Rolling down begins `landed` frames after `first` and ends `landing` frames after it. Rolling off begins `lifting` frames
    before the last frame and ends `lifted` frames before it. The heel does not rise again during rolling down, nor the toes
    during rolling off.
    """
    none = np.float32(0.0)
    least, most = min(leg[rows.PITCH, first], none), max(leg[rows.PITCH, last - 1], none)
    for f in between(first, last):
        down, off = none, none
        if first > 0:
            down = np.float32(1.0) - smooth_step((np.int64(f) - first - landed) / (landing - landed))
        if last < leg.shape[1]:
            off = smooth_step((np.int64(f) - (last - 1 - lifting)) / (lifting - lifted))
        leg[rows.PITCH, f] = down * max(leg[rows.PITCH, f], least) if down >= off else off * min(leg[rows.PITCH, f], most)


@kernel
def pivot_turn(pitch: Scalar, behind: Scalar) -> Scalar:
    """Return the turns by which a stance foot pivots on its ball after a body that leads it by `behind` turns.

    With the heel up, a foot follows the body. Otherwise the knee, which bends towards the direction of the foot, would pass
    through the other leg.
    """
    return np.float32(PIVOT) * behind * smooth_step(-pitch / np.float32(FREE_PITCH))


@kernel
def place_stance_foot(leg: Array, stance: Array, foot: Array, heading: Array, toe_out: Scalar) -> None:
    """Write ankle and yaw of a foot in contact: it turns about heel or ball, and pivots on the ball.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    stance : float [8]
    foot : float [4]
    heading : float32 [frames]
        Turns.
    toe_out : float
        Turns by which the foot points to the left of the heading.
    """
    s_yaw, c_yaw = sin_turns(stance[PRINT_YAW]), cos_turns(stance[PRINT_YAW])
    for f in between(int(stance[FIRST]), int(stance[LAST])):
        forward = roll_forward(leg[rows.PITCH, f], foot)
        x, z, yaw = stance[PRINT_X] + forward * s_yaw, stance[PRINT_Z] + forward * c_yaw, stance[PRINT_YAW]
        if leg[rows.PITCH, f] < 0:
            yaw += pivot_turn(leg[rows.PITCH, f], heading[f] + toe_out - yaw)
            behind_ball = foot[FOOT_BALL] - forward
            x = stance[PRINT_X] + foot[FOOT_BALL] * s_yaw - behind_ball * sin_turns(yaw)
            z = stance[PRINT_Z] + foot[FOOT_BALL] * c_yaw - behind_ball * cos_turns(yaw)
        leg[rows.ANKLE_X, f], leg[rows.ANKLE_Y, f], leg[rows.ANKLE_Z, f] = x, rolled_height(leg[rows.PITCH, f], foot), z
        leg[rows.YAW, f] = yaw


@kernel
def flatten_stances(leg: Array, stances: Array, count: int, rate: Array, step: Scalar) -> None:
    """Change the nominal pitch of a foot into that of a foot in contact; `step` is seconds per frame.

    `rate` is the strides per second over the frames: where it is negative, landing and lift-off are exchanged.
    """
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        early, late = stances[i, EARLY], stances[i, LATE]
        whole = last - 1 + late - (first - early)
        heel = max(1.0, min(0.12 / step, 0.25 * whole))
        toe = max(1.0, min(0.42 / step, 0.58 * whole))
        # The heel is fully free well before the toe lifts off.
        landed, landing = (0.35 * toe, toe) if rate[first] < 0 else (0.0, heel)
        lifted, lifting = (0.0, heel) if rate[last - 1] < 0 else (0.35 * toe, toe)
        flatten_pitch(leg, first, last, landed - early, landing - early, lifting - late, lifted - late)


@kernel
def drop_brief_contacts(contact: Array) -> None:
    """Remove contacts of a single frame, which occur between two ways of hopping.

    `contact` is bool [frames].
    """
    for f in range(1, len(contact) - 1):
        if contact[f] and not contact[f - 1] and not contact[f + 1]:
            contact[f] = False


@kernel
def shorten_stances(root: Array, leg: Array, foot: Array, length: Scalar, contact: Array, stances: Array, count: int) -> None:
    """End stances of a gait before the leg would be overstretched; otherwise the pelvis would be lowered.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    foot : float [4]
    length : float
        Leg length, metres.
    contact : bool [frames], changed
    stances : float [stances, 8], changed
        Only the ends change; the footprints are planned already.
    count : int
    """
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        while last - first > SHORTEST_STANCE and last < len(contact) and root[rows.GAIT_WEIGHT, last - 1] > 0:
            x, z = root[rows.ROOT_X, last - 1] - stances[i, PRINT_X], root[rows.ROOT_Z, last - 1] - stances[i, PRINT_Z]
            farthest = (FARTHEST_BEHIND - RUNNING_NEARER * root[rows.RUN_WEIGHT, last - 1]) * length
            if np.sqrt(x * x + z * z) - roll_forward(leg[rows.PITCH, last - 1], foot) <= farthest:
                break
            last -= 1
            contact[last] = False
            stances[i, LAST], stances[i, LATE] = last, 0.0


@kernel
def separate_footprints(root: Array, stances: Array, counts: Array, least: Scalar) -> None:
    """Move the footprints of side steps outwards until the left one is `least` metres to the left of the right one.

    At the end of side steps, the foot that closes up lands in its place for standing, beside a foot that still has to step out;
    the footprint of the latter moves.

    Parameters
    ----------
    root : float32 [rows, frames]
    stances : float [2, stances, 8], changed
    counts : int [2]
        Number of stances of each foot.
    least : float
        Metres.
    """
    for i in range(counts[0]):
        for j in range(counts[1]):
            left, right = stances[0, i], stances[1, j]
            begin, end = max(left[FIRST], right[FIRST]), min(left[LAST], right[LAST])
            if begin >= end or root[rows.ASIDE_SPEED, int(begin)] == 0:
                continue
            yaw = 0.5 * (left[PRINT_YAW] + right[PRINT_YAW])
            s, c = sin_turns(yaw), cos_turns(yaw)
            lack = least - ((left[PRINT_X] - right[PRINT_X]) * c - (left[PRINT_Z] - right[PRINT_Z]) * s)
            if lack <= 0:
                continue
            left_rests = rest_frame(root, int(left[FIRST]), int(left[LAST])) >= 0
            right_rests = rest_frame(root, int(right[FIRST]), int(right[LAST])) >= 0
            share = 0.5
            if left_rests != right_rests:
                share = 1.0 if right_rests else 0.0
            left[PRINT_X] += share * lack * c
            left[PRINT_Z] -= share * lack * s
            right[PRINT_X] -= (1.0 - share) * lack * c
            right[PRINT_Z] += (1.0 - share) * lack * s


@kernel
def guide_pitch(root: Array, pitched: Array, leg: Array) -> None:
    """Write the pitch of a placed foot from its channel, in contact and in swing.

    `pitched` is float32 [frames] in turns, toes up; feet in contact have been flattened before.
    """
    for f in range(root.shape[1]):
        if root[rows.GUIDED, f] == PLACED:
            leg[rows.PITCH, f] = pitched[f]


@kernel
def guided_from(root: Array, stance: Array) -> int:
    """Return the first frame of a stance in which an action places the foot, or the last frame."""
    f, last = int(stance[FIRST]), int(stance[LAST]) - 1
    while f < last and root[rows.GUIDED, f] == 0:
        f += 1
    return f


@kernel
def guide_footprints(
    root: Array, foot: Array, ahead: Array, side: int, leg: Scalar, home: Scalar, stances: Array, count: int
) -> bool:
    """Move the footprints of guided feet from the previous ones by the change of path and foot channels.

    If the channel has the foot above the floor at landing, it stands on something, such as a rung.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
        Channels of the foot, in leg lengths.
    ahead : float32 [frames]
        Distance of the ankle ahead of the hip by the leg angles, in metres.
    side : int
    leg, home : float
        Leg length, and `ahead` in quiet standing, in metres.
    stances : float [stances, 8], changed
    count : int

    Returns
    -------
    bool
        Whether the foot stands on something above the floor.
    """
    out = 1.0 if side == 0 else -1.0
    raised = False
    for i in range(count):
        land = int(stances[i, FIRST])
        if root[rows.GUIDED, land] == 0:
            continue
        s, c = root[rows.HEADING_SIN, land], root[rows.HEADING_COS, land]
        # The first footprint follows from the path alone.
        x, z = stances[i, PRINT_X], stances[i, PRINT_Z]
        forward, aside = leg * foot[FOOT_FORWARD, land] + home - ahead[land], leg * out * foot[FOOT_ASIDE, land]
        if i > 0:
            before = guided_from(root, stances[i - 1])
            x = stances[i - 1, PRINT_X] + root[rows.PATH_X, land] - root[rows.PATH_X, before]
            z = stances[i - 1, PRINT_Z] + root[rows.PATH_Z, land] - root[rows.PATH_Z, before]
            forward = leg * (foot[FOOT_FORWARD, land] - foot[FOOT_FORWARD, before])
            aside = leg * out * (foot[FOOT_ASIDE, land] - foot[FOOT_ASIDE, before])
        stances[i, PRINT_X] = x + forward * s + aside * c
        stances[i, PRINT_Z] = z + forward * c - aside * s
        stances[i, PRINT_HEIGHT] = max(0.0, leg * foot[FOOT_UP, land])
        raised |= stances[i, PRINT_HEIGHT] > 0
    return raised
