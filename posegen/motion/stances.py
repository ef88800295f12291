"""Stances: when each foot is in contact, where its footprint lies, and how ankle and pitch follow from that.

A foot in contact is held to its footprint: it rolls over heel and ball, lies flat in between, and pivots on the ball in turns.
An action may place its feet itself ("guided"). Swings are in :mod:`posegen.motion.footsteps`.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion import rows
from posegen.motion.library_tables import PLACED
from posegen.motion.placed_feet import guide_footprints
from posegen.motion.workspace import Person, Workspace, between

PRINT_BACK, RUN_PRINT_BACK = 0.165, 0.41
"""Distance of a walking footprint behind the mean of the nominal foot, in lengths from ankle to ball, so that the foot is
within reach at landing with a nearly straight leg; and the addition in running.
"""
FAST_WALK, FAST_PRINT_BACK = 1.35, 0.07
"""Speed in m/s above which footprints lie further back, by this many metres for each m/s: a trailing leg on its toes spans more
of a long step than a leading leg on its heel.
"""
FAST_RUN, FAST_RUN_BACK = 4.3, 0.055
"""The same in running: in a sprint the foot lands closer to the body than half the way of the stance."""
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
TURNS_A_METRE = 0.5
"""Rise of the heel in turns for each metre that the foot is behind: about half of the full compensation."""
RETURN_SECONDS = 0.25
"""Time in which a swinging foot returns to its own pitch."""
SHORTEST_STANCE = 3
"""Smallest number of frames of a shortened stance."""


@kernel
def find_stances(contact: Array, stances: Array) -> int:
    """Write the runs of frames in which a foot is in contact, and return their number."""
    count, f, frames = 0, 0, len(contact)
    while f < frames and count < len(stances):
        if contact[f]:
            stances[count, rows.FIRST], stances[count, rows.PRINT_HEIGHT] = f, 0.0
            while f < frames and contact[f]:
                f += 1
            stances[count, rows.LAST] = f
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
def time_stances(root: Array, side: int, stances: Array) -> None:
    """Write the fractions of a frame by which each stance begins earlier and ends later."""
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        stances[i, rows.EARLY] = contact_offset(root, side, first, first - 1) if first > 0 else 0.0
        stances[i, rows.LATE] = contact_offset(root, side, last - 1, last) if last < root.shape[1] else 0.0


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
    # Contacts of a single frame occur between two ways of hopping.
    for f in range(1, frames - 1):
        if contact[f] and not contact[f - 1] and not contact[f + 1]:
            contact[f] = False


@kernel
def rest_frame(root: Array, first: int, last: int) -> int:
    """Return the first frame of a stance in which the body stands still, or -1."""
    for f in range(first, last):
        if root[rows.GAIT_WEIGHT, f] <= 0:
            return f
    return -1


@kernel
def middle_frame(way: Array, first: int, last: int) -> Scalar:
    """Return the frame, and the fraction of one, in which half of the way in a stance is travelled; `way` is metres so far."""
    middle, f = 0.5 * (way[first] + way[last - 1]), first
    while f < last - 2 and way[f + 1] < middle:
        f += 1
    gap = way[f + 1] - way[f] if f + 1 < len(way) else 0.0
    return f + (min(max((middle - way[f]) / gap, 0.0), 1.0) if gap > 1e-6 else 0.0)


@kernel
def plan_footprints(root: Array, leg: Array, side: int, widths: Array, ahead: Scalar, foot: Array, stances: Array) -> None:
    """Write the footprint of each stance: about the position of the nominal foot while the body passes over it.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    side : int
    widths : float [4]
        Half the distance between the feet in walking and in standing (metres), toe-out (turns), and the distance by which the
        left foot stands ahead of the middle (metres).
    ahead : float
        Distance in metres of the hips ahead of the pelvis joint, which follows the path. The legs of a gait hang on the hips.
    foot : float [4]
    stances : float [stances, 8], changed
    """
    out = 1.0 if side == 0 else -1.0
    frames = root.shape[1]
    for i in range(len(stances)):
        stance = stances[i]
        first, last = int(stance[rows.FIRST]), int(stance[rows.LAST])
        at = float(rest_frame(root, first, last))
        forward = 0.0
        if at >= 0:
            forward = leg[rows.FORWARD, int(at)]
            # In a turn on the spot the one foot must not be in the way of the other.
            if root[rows.TURNING, first] == 0 and root[rows.TURNING, last - 1] == 0:
                forward += out * widths[3]
        else:
            at = middle_frame(root[rows.ODOMETER], first, last)
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
                weight = (0.5 + stance[rows.EARLY] if j == first else 1.0) + (stance[rows.LATE] - 0.5 if j == last - 1 else 0.0)
                along = (root[rows.PATH_X, j] - x) * s + (root[rows.PATH_Z, j] - z) * c
                total += weight * (along + leg[rows.FORWARD, j] - roll_forward(leg[rows.PITCH, j], foot))
                weights += weight
            fast = max(0.0, abs(root[rows.SPEED, f]) - FAST_WALK) * (1.0 - root[rows.RUN_WEIGHT, f])
            sprinting = max(0.0, abs(root[rows.SPEED, f]) - FAST_RUN) * root[rows.RUN_WEIGHT, f]
            back = PRINT_BACK + RUN_PRINT_BACK * root[rows.RUN_WEIGHT, f]
            forward = total / max(weights, 1e-3) + ahead - back * foot[rows.FOOT_BALL]
            forward -= FAST_PRINT_BACK * fast + FAST_RUN_BACK * sprinting
        elif first > 0 and root[rows.RATE, first] > 0 and root[rows.RISING, first] == 0:
            # If the last step to the place of rest would be too long, the foot rests a little before that place.
            far = (x - root[rows.PATH_X, first]) * s + (z - root[rows.PATH_Z, first]) * c + forward
            usual = leg[rows.FORWARD, first] + ahead - PRINT_BACK * foot[rows.FOOT_BALL] + LONGER_LAST_STEP
            forward -= min(max(far - max(usual, 0.0), 0.0), MOST_BEFORE)
        aside = out * (widths[1] + gait * (widths[0] - widths[1]) + root[rows.APART, f])
        stance[rows.PRINT_X] = x + forward * s + aside * c
        stance[rows.PRINT_Z] = z + forward * c - aside * s
        stance[rows.PRINT_YAW] = heading + out * widths[2]


@kernel
def roll_forward(pitch: Scalar, foot: Array) -> Scalar:
    """Return the distance in metres of the ankle ahead of its position over a flat foot.

    With toes up the foot turns about the heel, with the heel up about the ball.
    """
    s, c = sin_turns(pitch), cos_turns(pitch)
    pivot = -foot[rows.FOOT_HEEL] if pitch > 0 else foot[rows.FOOT_BALL]
    return pivot - pivot * c - foot[rows.FOOT_ANKLE_HEIGHT] * s


@kernel
def rise_on_toes(s: Scalar) -> Scalar:
    """Return the height of the ball above the floor in metres as a foot rolls off; `s` is the sine of its pitch."""
    share = min(max((-s - np.float32(0.6)) / np.float32(0.3), np.float32(0.0)), np.float32(1.0))
    return np.float32(ON_TOES) * share * share * (np.float32(3.0) - np.float32(2.0) * share)


@kernel
def rolled_height(pitch: Scalar, foot: Array) -> Scalar:
    """Return the height of the ankle of a foot in contact above the ground, in metres."""
    s, c = sin_turns(pitch), cos_turns(pitch)
    rolled = foot[rows.FOOT_HEEL] * s if s > 0 else -foot[rows.FOOT_BALL] * s + rise_on_toes(s)
    return foot[rows.FOOT_ANKLE_HEIGHT] * c + rolled


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
    s_yaw, c_yaw = sin_turns(stance[rows.PRINT_YAW]), cos_turns(stance[rows.PRINT_YAW])
    for f in between(int(stance[rows.FIRST]), int(stance[rows.LAST])):
        forward = roll_forward(leg[rows.PITCH, f], foot)
        x, z, yaw = stance[rows.PRINT_X] + forward * s_yaw, stance[rows.PRINT_Z] + forward * c_yaw, stance[rows.PRINT_YAW]
        if leg[rows.PITCH, f] < 0:
            # With the heel up, a foot follows the body. Otherwise the knee, which bends towards the direction of the foot,
            # would pass through the other leg.
            free = smooth_step(-leg[rows.PITCH, f] / np.float32(FREE_PITCH))
            yaw += np.float32(PIVOT) * (heading[f] + toe_out - yaw) * free
            behind_ball = foot[rows.FOOT_BALL] - forward
            x = stance[rows.PRINT_X] + foot[rows.FOOT_BALL] * s_yaw - behind_ball * sin_turns(yaw)
            z = stance[rows.PRINT_Z] + foot[rows.FOOT_BALL] * c_yaw - behind_ball * cos_turns(yaw)
        leg[rows.ANKLE_X, f], leg[rows.ANKLE_Y, f], leg[rows.ANKLE_Z, f] = x, rolled_height(leg[rows.PITCH, f], foot), z
        leg[rows.YAW, f] = yaw


@kernel
def flatten_stances(leg: Array, stances: Array, rate: Array, step: Scalar) -> None:
    """Change the nominal pitch of a foot into that of a foot in contact; `step` is seconds per frame.

    `rate` is the strides per second over the frames: where it is negative, landing and lift-off are exchanged.
    """
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        early, late = stances[i, rows.EARLY], stances[i, rows.LATE]
        whole = last - 1 + late - (first - early)
        heel = max(1.0, min(0.12 / step, 0.25 * whole))
        toe = max(1.0, min(0.42 / step, 0.58 * whole))
        # The heel is fully free well before the toe lifts off.
        landed, landing = (0.35 * toe, toe) if rate[first] < 0 else (0.0, heel)
        lifted, lifting = (0.0, heel) if rate[last - 1] < 0 else (0.35 * toe, toe)
        flatten_pitch(leg, first, last, landed - early, landing - early, lifting - late, lifted - late)


@kernel
def shorten_stances(root: Array, leg: Array, foot: Array, length: Scalar, contact: Array, stances: Array) -> None:
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
    """
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        while last - first > SHORTEST_STANCE and last < len(contact) and root[rows.GAIT_WEIGHT, last - 1] > 0:
            stance, f = stances[i], last - 1
            x, z = root[rows.ROOT_X, f] - stance[rows.PRINT_X], root[rows.ROOT_Z, f] - stance[rows.PRINT_Z]
            farthest = (FARTHEST_BEHIND - RUNNING_NEARER * root[rows.RUN_WEIGHT, last - 1]) * length
            if np.sqrt(x * x + z * z) - roll_forward(leg[rows.PITCH, last - 1], foot) <= farthest:
                break
            last -= 1
            contact[last] = False
            stances[i, rows.LAST], stances[i, rows.LATE] = last, 0.0


@kernel
def separate_footprints(root: Array, stances: Array, counts: Array, least: Scalar) -> None:
    """Move the footprints of side steps outwards until the left one is `least` metres to the left of the right one.

    At the end of side steps, the foot that closes up lands in its place for standing, beside a foot that still has to step out;
    the footprint of the latter moves. Feet that an action places itself stay where it places them.

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
            begin, end = max(left[rows.FIRST], right[rows.FIRST]), min(left[rows.LAST], right[rows.LAST])
            if begin >= end or root[rows.ASIDE_SPEED, int(begin)] == 0 or root[rows.GUIDED, int(begin)] != 0:
                continue
            yaw = 0.5 * (left[rows.PRINT_YAW] + right[rows.PRINT_YAW])
            s, c = sin_turns(yaw), cos_turns(yaw)
            lack = least - ((left[rows.PRINT_X] - right[rows.PRINT_X]) * c - (left[rows.PRINT_Z] - right[rows.PRINT_Z]) * s)
            if lack <= 0:
                continue
            left_rests = rest_frame(root, int(left[rows.FIRST]), int(left[rows.LAST])) >= 0
            right_rests = rest_frame(root, int(right[rows.FIRST]), int(right[rows.LAST])) >= 0
            share = 0.5
            if left_rests != right_rests:
                share = 1.0 if right_rests else 0.0
            left[rows.PRINT_X] += share * lack * c
            left[rows.PRINT_Z] -= share * lack * s
            right[rows.PRINT_X] -= (1.0 - share) * lack * c
            right[rows.PRINT_Z] += (1.0 - share) * lack * s


@kernel
def raise_heels(root: Array, leg: Array, foot: Array, stances: Array, step: Scalar) -> None:
    """Turn the pitch of feet in contact further down where they are behind the body, in gaits with flights.

    At most speeds the foot of a runner is further behind at lift-off than the published angles span. The heel then rises more,
    instead of the knee becoming straight.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
        The pitch is changed, in contact and into the swing.
    foot : float [4]
    stances : float [stances, 8]
    step : float
        Seconds per frame.
    """
    frames = root.shape[1]
    for i in range(len(stances)):
        first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
        more = np.float32(0.0)
        for f in range(first, last):
            more = np.float32(0.0)
            if root[rows.RUN_WEIGHT, f] > 0 and leg[rows.PITCH, f] < 0:
                along = (root[rows.PATH_X, f] - stances[i, rows.PRINT_X]) * root[rows.HEADING_SIN, f]
                along += (root[rows.PATH_Z, f] - stances[i, rows.PRINT_Z]) * root[rows.HEADING_COS, f]
                behind = along + leg[rows.FORWARD, f] - roll_forward(leg[rows.PITCH, f], foot)
                passed = (f - first + 1.0) / (last - first)
                more = np.float32(root[rows.RUN_WEIGHT, f] * passed * TURNS_A_METRE * max(behind, 0.0))
                leg[rows.PITCH, f] -= more
        end = min(int(stances[i + 1, rows.FIRST]), frames) if i + 1 < len(stances) else frames
        fade_pitch(leg, float(more), last - 1 + stances[i, rows.LATE], last, end, step)


@kernel
def fade_pitch(leg: Array, more: Scalar, lift: Scalar, first: int, end: int, step: Scalar) -> None:
    """Subtract `more` turns from the pitch of a swinging foot, fading out after frame `lift`."""
    if more != 0:
        for f in between(first, end):
            kept = np.float32(1.0) - smooth_step((np.int64(f) - lift) * step / RETURN_SECONDS)
            leg[rows.PITCH, f] -= np.float32(more) * kept


@kernel
def standing_ankle_ahead(neutral: Array, thigh: Scalar, shank: Scalar) -> Scalar:
    """Return the distance of the ankle ahead of the hip in quiet standing, in metres."""
    upper = neutral[rows.HIP_FLEXION[0]] - neutral[rows.PELVIS_TILT]
    return thigh * sin_turns(upper) + shank * sin_turns(upper - neutral[rows.KNEE_FLEXION[0]])


@kernel
def plan_stances(work: Workspace, person: Person, guided: bool, step: Scalar) -> bool:
    """Plan stances and footprints of both feet; return whether an action places a foot above the ground.

    `guided` is whether an action places the feet itself, and `step` is seconds per frame.
    """
    root, raised, foot = work.root, False, person.foot
    thigh, shank = -person.offsets[4, 1], -person.offsets[7, 1]
    length = float(thigh + shank)
    for side in range(2):
        leg, contact = work.legs[side], work.contact[side]
        mark_contact(root, side, work.lifted[side], contact)
        work.counts[side] = find_stances(contact, work.stances[side])
        stances = work.stances[side, : work.counts[side]]
        time_stances(root, side, stances)
        flatten_stances(leg, stances, root[rows.RATE], step)
        plan_footprints(root, leg, side, person.widths, float(person.offsets[1, 2]), foot, stances)
        if guided:
            channels = work.channels[rows.FOOT_CHANNELS[side] : rows.FOOT_CHANNELS[side] + 4]
            for f in range(root.shape[1]):
                if root[rows.GUIDED, f] == PLACED:
                    leg[rows.PITCH, f] = channels[rows.FOOT_PITCH, f]
            home = standing_ankle_ahead(person.neutral, thigh, shank)
            raised |= guide_footprints(root, channels, leg[rows.FORWARD], side, length, home, stances)
        raise_heels(root, leg, foot, stances, step)
    separate_footprints(root, work.stances, work.counts, 2.0 * person.widths[0])
    for side in range(2):
        stances = work.stances[side, : work.counts[side]]
        shorten_stances(root, work.legs[side], foot, length, work.contact[side], stances)
    return raised
