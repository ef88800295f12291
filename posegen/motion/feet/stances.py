"""Stances: when each foot is in contact, where its footprint lies, and how ankle and pitch follow from that.

While a foot is in contact it is held to its footprint: it rolls over heel and ball, lies flat in between, and pivots on the ball
in turns. Swings are in :mod:`posegen.motion.feet.swings`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.library_tables import PLACED
from posegen.motion.trigonometry import cos_turns, sin_turns, smooth_step
from posegen.motion.workspace import (
    ANKLE_X,
    ANKLE_Y,
    ANKLE_Z,
    APART,
    ASIDE_SPEED,
    BEATS,
    DUTY,
    FOOT_ANKLE_HEIGHT,
    FOOT_BALL,
    FOOT_HEEL,
    FORWARD,
    GAIT_WEIGHT,
    GUIDED,
    HEADING,
    HEADING_COS,
    HEADING_SIN,
    LONE_FOOT,
    ODOMETER,
    PATH_X,
    PATH_Z,
    PHASE,
    PITCH,
    RATE,
    RISING,
    ROOT_X,
    ROOT_Z,
    RUN_WEIGHT,
    SPEED,
    YAW,
    between,
)

Array = NDArray[Any]

FIRST, LAST, PRINT_X, PRINT_Z, PRINT_YAW, PRINT_HEIGHT, EARLY, LATE = range(8)
"""Entries of a stance: first frame, frame behind the last, print of the ankle on the floor in metres, yaw in turns, how far
above what is there (floor or step) the foot stands, in metres, and by how many frames it lands before the first and lifts
behind the last one that is planted: between 0 and 1, so that a step is the same at any frame rate."""
PRINT_BACK, RUN_PRINT_BACK = 0.145, 0.255
"""How far behind the mean of the nominal foot a walking print lies, in lengths from ankle to ball: so the foot is within reach
when it lands, on a leg that is nearly straight; the second number is how much more in running."""
FAST_WALK, FAST_PRINT_BACK = 1.35, 0.07
"""Above this speed in m/s, prints lie further back by this many metres for each m/s: the longer the step, the more of it a
trailing foot on its toes can span, which is longer than a leading one on its heel."""
LONGER_LAST_STEP, MOST_BEFORE = 0.02, 0.03
"""Metres: by how much the last step before rest may lead further than those in walking, and how far at most a foot rests behind
its place for the sake of that."""
ON_TOES = 0.0045
"""Metres that the ball of the foot rises while it still touches; over toes, which the skeleton lacks, it would rise on."""
PIVOT, FREE_PITCH = 0.85, 20.0 / 360.0
"""How much of a body's turning a foot on its ball follows, and how far, in turns, its heel is up when it does."""
FARTHEST_BEHIND, RUNNING_NEARER = 0.58, 0.06
"""Lengths of the leg by which a flat foot's ankle may be behind the body, over the floor: 35 degrees of a straight leg; by how
much less that is in running, where the pelvis is low."""
SHORTEST_STANCE = 3
"""Frames that are left of a stance."""
FOOT_CHANNELS = CHANNELS.index("left_foot_forward"), CHANNELS.index("right_foot_forward")
"""First of a foot's channels: forward, aside, up, pitch."""
FOOT_FORWARD, FOOT_ASIDE, FOOT_UP, FOOT_PITCH = range(4)


@kernel
def find_stances(contact: Array, stances: Array) -> int:
    """List the stretches of frames in which a foot is planted; returns how many."""
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
    """How many frames from a planted frame towards one off the ground the phase says that the foot lands or lifts."""
    phase = root[PHASE, on] + 0.5 * side
    moved = phase - (root[PHASE, off] + 0.5 * side)
    if abs(moved) < 1e-6 or root[BEATS, on] == 4:
        return 0.0
    into = phase - np.floor(phase)
    return min(max(into / moved if moved > 0 else (into - root[DUTY, on]) / moved, 0.0), 1.0)


@kernel
def time_stances(root: Array, side: int, stances: Array, count: int) -> None:
    """Write how much earlier and later than in whole frames each stance begins and ends."""
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        stances[i, EARLY] = contact_offset(root, side, first, first - 1) if first > 0 else 0.0
        stances[i, LATE] = contact_offset(root, side, last - 1, last) if last < root.shape[1] else 0.0


@kernel
def mark_contact(root: Array, side: int, airborne: Array, contact: Array) -> None:
    """Which frames a foot is planted in, by the phase of the stride; `side` is 0 for the left foot, 1 for the right.

    `airborne` are the frames in which it is off the ground whatever the phase. Who hops on one foot does not plant the other;
    who skips plants each foot twice within its half of the stride.
    """
    spared = np.float32(1.0 if side == 1 else -1.0)
    for f in range(len(contact)):
        phase = root[PHASE, f] + np.float32(0.5 * side)
        phase -= np.floor(phase)
        duty = root[DUTY, f] - max(np.float32(0.0), spared * root[LONE_FOOT, f])
        if root[BEATS, f] == 4 and phase < 0.5:
            phase = np.float32(4.0) * phase
            phase = np.float32(0.25) * (phase - np.floor(phase))
        contact[f] = (phase < duty) and not airborne[f]
    # A foot off the ground for a frame or two between two stances has not stepped.
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
    """Frame within a stance in which the body stands still; -1 if it never does."""
    for f in range(first, last):
        if root[GAIT_WEIGHT, f] <= 0:
            return f
    return -1


@kernel
def plan_footprints(root: Array, leg: Array, side: int, widths: Array, foot: Array, stances: Array, count: int) -> None:
    """Where each stance's print lies: about where the nominal foot is while the body passes over it.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    side : int
    widths : float [3]
        Half the distance between the feet walking and standing (metres), toe-out (turns).
    foot : float [4]
    stances : float [stances, 8], changed
    count : int
    """
    out = 1.0 if side == 0 else -1.0
    frames = root.shape[1]
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        at = float(rest_frame(root, first, last))
        forward = 0.0
        if at >= 0:
            forward = leg[FORWARD, int(at)]
        else:
            middle = 0.5 * (root[ODOMETER, first] + root[ODOMETER, last - 1])
            f = first
            while f < last - 2 and root[ODOMETER, f + 1] < middle:
                f += 1
            gap = root[ODOMETER, f + 1] - root[ODOMETER, f] if f + 1 < frames else 0.0
            at = f + (min(max((middle - root[ODOMETER, f]) / gap, 0.0), 1.0) if gap > 1e-6 else 0.0)
        f = min(int(at), frames - 2)
        share = at - f
        heading = root[HEADING, f] + share * (root[HEADING, f + 1] - root[HEADING, f])
        x = root[PATH_X, f] + share * (root[PATH_X, f + 1] - root[PATH_X, f])
        z = root[PATH_Z, f] + share * (root[PATH_Z, f + 1] - root[PATH_Z, f])
        gait = root[GAIT_WEIGHT, f]
        s, c = sin_turns(heading), cos_turns(heading)
        if gait > 0:
            # Where the nominal foot is along the path, its roll over heel and ball taken off, in the mean over the stance.
            total, weights = 0.0, 0.0
            for j in range(first, last):
                # The ends count for the parts of frames that they stand for.
                weight = (0.5 + stances[i, EARLY] if j == first else 1.0) + (stances[i, LATE] - 0.5 if j == last - 1 else 0.0)
                along = (root[PATH_X, j] - x) * s + (root[PATH_Z, j] - z) * c
                total += weight * (along + leg[FORWARD, j] - roll_forward(leg[PITCH, j], foot))
                weights += weight
            fast = max(0.0, abs(root[SPEED, f]) - FAST_WALK) * (1.0 - root[RUN_WEIGHT, f])
            back = PRINT_BACK + RUN_PRINT_BACK * root[RUN_WEIGHT, f]
            forward = total / max(weights, 1e-3) - back * foot[FOOT_BALL] - FAST_PRINT_BACK * fast
        elif first > 0 and root[RATE, first] > 0 and root[RISING, first] == 0:
            # Where the body will rest may be too long a last step from where it lands: then it rests a little before it.
            far = (x - root[PATH_X, first]) * s + (z - root[PATH_Z, first]) * c + forward
            usual = leg[FORWARD, first] - PRINT_BACK * foot[FOOT_BALL] + LONGER_LAST_STEP
            forward -= min(max(far - max(usual, 0.0), 0.0), MOST_BEFORE)
        aside = out * (widths[1] + gait * (widths[0] - widths[1]) + root[APART, f])
        stances[i, PRINT_X] = x + forward * s + aside * c
        stances[i, PRINT_Z] = z + forward * c - aside * s
        stances[i, PRINT_YAW] = heading + out * widths[2]


@kernel
def roll_forward(pitch: Scalar, foot: Array) -> Scalar:
    """How far the ankle of a planted foot is ahead of where it is when the foot lies flat; metres.

    Toes up, the foot turns about the heel; heel up, about the ball.
    """
    s, c = sin_turns(pitch), cos_turns(pitch)
    pivot = -foot[FOOT_HEEL] if pitch > 0 else foot[FOOT_BALL]
    return pivot - pivot * c - foot[FOOT_ANKLE_HEIGHT] * s


@kernel
def rise_on_toes(s: Scalar) -> Scalar:
    """How far the ball of a foot is above the floor when the sine of its pitch is `s`, as it rolls off; metres."""
    share = min(max((-s - np.float32(0.6)) / np.float32(0.3), np.float32(0.0)), np.float32(1.0))
    return np.float32(ON_TOES) * share * share * (np.float32(3.0) - np.float32(2.0) * share)


@kernel
def rolled_height(pitch: Scalar, foot: Array) -> Scalar:
    """Height of the ankle of a planted foot above what it stands on; metres."""
    s, c = sin_turns(pitch), cos_turns(pitch)
    return foot[FOOT_ANKLE_HEIGHT] * c + (foot[FOOT_HEEL] * s if s > 0 else -foot[FOOT_BALL] * s + rise_on_toes(s))


@kernel
def flatten_pitch(leg: Array, first: int, last: int, landed: Scalar, landing: Scalar, lifting: Scalar, lifted: Scalar) -> None:
    """Flatten the foot in between rolling down and rolling off.

    Rolling down begins `landed` frames after `first` and ends `landing` frames after it; rolling off begins `lifting` frames
    before the last frame and ends `lifted` frames before it. The heel does not rise anew in rolling down, nor the toes in
    rolling off.
    """
    none = np.float32(0.0)
    least, most = min(leg[PITCH, first], none), max(leg[PITCH, last - 1], none)
    for f in between(first, last):
        down, off = none, none
        if first > 0:
            down = np.float32(1.0) - smooth_step((np.int64(f) - first - landed) / (landing - landed))
        if last < leg.shape[1]:
            off = smooth_step((np.int64(f) - (last - 1 - lifting)) / (lifting - lifted))
        leg[PITCH, f] = down * max(leg[PITCH, f], least) if down >= off else off * min(leg[PITCH, f], most)


@kernel
def pivot_turn(pitch: Scalar, behind: Scalar) -> Scalar:
    """Turns by which a planted foot has turned on its ball after a body that is `behind` turns ahead of it.

    Once the heel is up, a foot gives way to a body that turns; else the knee, which bends towards where the foot points, would
    swing through the other leg.
    """
    return np.float32(PIVOT) * behind * smooth_step(-pitch / np.float32(FREE_PITCH))


@kernel
def place_stance_foot(leg: Array, stance: Array, foot: Array, heading: Array, toe_out: Scalar) -> None:
    """Ankle and yaw of a planted foot: toes up it turns about the heel, heel up about the ball, on which it also pivots.

    Parameters
    ----------
    leg : float32 [rows, frames], changed
    stance : float [8]
    foot : float [4]
    heading : float32 [frames]
        Turns.
    toe_out : float
        Turns by which this foot points to the left of the heading.
    """
    s_yaw, c_yaw = sin_turns(stance[PRINT_YAW]), cos_turns(stance[PRINT_YAW])
    for f in between(int(stance[FIRST]), int(stance[LAST])):
        forward = roll_forward(leg[PITCH, f], foot)
        x, z, yaw = stance[PRINT_X] + forward * s_yaw, stance[PRINT_Z] + forward * c_yaw, stance[PRINT_YAW]
        if leg[PITCH, f] < 0:
            yaw += pivot_turn(leg[PITCH, f], heading[f] + toe_out - yaw)
            behind_ball = foot[FOOT_BALL] - forward
            x = stance[PRINT_X] + foot[FOOT_BALL] * s_yaw - behind_ball * sin_turns(yaw)
            z = stance[PRINT_Z] + foot[FOOT_BALL] * c_yaw - behind_ball * cos_turns(yaw)
        leg[ANKLE_X, f], leg[ANKLE_Y, f], leg[ANKLE_Z, f] = x, rolled_height(leg[PITCH, f], foot), z
        leg[YAW, f] = yaw


@kernel
def flatten_stances(leg: Array, stances: Array, count: int, rate: Array, step: Scalar) -> None:
    """Turn the nominal pitch of a foot into that of a planted one, wherever it is planted; `step` is seconds a frame.

    `rate` is the strides a second over the frames: where it is negative, a foot lands as it otherwise lifts.
    """
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        early, late = stances[i, EARLY], stances[i, LATE]
        whole = last - 1 + late - (first - early)
        heel = max(1.0, min(0.12 / step, 0.25 * whole))
        toe = max(1.0, min(0.42 / step, 0.58 * whole))
        # The heel is fully free well before the toe leaves.
        landed, landing = (0.35 * toe, toe) if rate[first] < 0 else (0.0, heel)
        lifted, lifting = (0.0, heel) if rate[last - 1] < 0 else (0.35 * toe, toe)
        flatten_pitch(leg, first, last, landed - early, landing - early, lifting - late, lifted - late)


@kernel
def drop_brief_contacts(contact: Array) -> None:
    """Let a foot swing on that meets the ground for a single frame, where one way of hopping passes into another.

    `planted` is bool [frames].
    """
    for f in range(1, len(contact) - 1):
        if contact[f] and not contact[f - 1] and not contact[f + 1]:
            contact[f] = False


@kernel
def shorten_stances(root: Array, leg: Array, foot: Array, length: Scalar, contact: Array, stances: Array, count: int) -> None:
    """End stances of a gait before the leg would have to be longer than it is; else the pelvis would come down to it.

    Parameters
    ----------
    root, leg : float32 [rows, frames]
    foot : float [4]
    length : float
        Of the leg, metres.
    planted : bool [frames], changed
    stances : float [stances, 8], changed
        Only where they end; their prints are planned already.
    count : int
    """
    for i in range(count):
        first, last = int(stances[i, FIRST]), int(stances[i, LAST])
        while last - first > SHORTEST_STANCE and last < len(contact) and root[GAIT_WEIGHT, last - 1] > 0:
            x, z = root[ROOT_X, last - 1] - stances[i, PRINT_X], root[ROOT_Z, last - 1] - stances[i, PRINT_Z]
            farthest = (FARTHEST_BEHIND - RUNNING_NEARER * root[RUN_WEIGHT, last - 1]) * length
            if np.sqrt(x * x + z * z) - roll_forward(leg[PITCH, last - 1], foot) <= farthest:
                break
            last -= 1
            contact[last] = False
            stances[i, LAST], stances[i, LATE] = last, 0.0


@kernel
def separate_footprints(root: Array, stances: Array, counts: Array, least: Scalar) -> None:
    """Move prints of sideways steps outwards until the left one lies `least` metres to the left of the right one.

    Where side steps end, the foot that closes up for good is set down where standing wants it, beside a foot that still has to
    step out; that one's print moves.

    Parameters
    ----------
    root : float32 [rows, frames]
    stances : float [2, stances, 6], changed
    counts : int [2]
        How many stances each foot has.
    least : float
    """
    for i in range(counts[0]):
        for j in range(counts[1]):
            left, right = stances[0, i], stances[1, j]
            begin, end = max(left[FIRST], right[FIRST]), min(left[LAST], right[LAST])
            if begin >= end or root[ASIDE_SPEED, int(begin)] == 0:
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
    """Pitch of a placed foot: what its channel says, planted or not.

    `pitched` is float32 [frames] in turns, toes up; planted feet have been flattened already.
    """
    for f in range(root.shape[1]):
        if root[GUIDED, f] == PLACED:
            leg[PITCH, f] = pitched[f]


@kernel
def guided_from(root: Array, stance: Array) -> int:
    """First frame of a stance in which an action guides the foot: there the print is where path and channels have it."""
    f, last = int(stance[FIRST]), int(stance[LAST]) - 1
    while f < last and root[GUIDED, f] == 0:
        f += 1
    return f


@kernel
def guide_footprints(
    root: Array, foot: Array, ahead: Array, side: int, leg: Scalar, home: Scalar, stances: Array, count: int
) -> bool:
    """Move the prints that a guided foot comes down on: from the one before, by what path and channels have changed meanwhile.

    Where its channel has it above the floor at the landing it stands on something, such as a rung.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
        The foot's channels, in leg lengths.
    ahead : float32 [frames]
        How far ahead of the hip the angles of the leg have the ankle, in metres.
    side : int
    leg, home : float
        Length of the legs, and `ahead` in quiet standing, in metres.
    stances : float [stances, 6], changed
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
        if root[GUIDED, land] == 0:
            continue
        s, c = root[HEADING_SIN, land], root[HEADING_COS, land]
        # The first one is where the path has it, of which nobody has seen where the foot came from.
        x, z = stances[i, PRINT_X], stances[i, PRINT_Z]
        forward, aside = leg * foot[FOOT_FORWARD, land] + home - ahead[land], leg * out * foot[FOOT_ASIDE, land]
        if i > 0:
            before = guided_from(root, stances[i - 1])
            x = stances[i - 1, PRINT_X] + root[PATH_X, land] - root[PATH_X, before]
            z = stances[i - 1, PRINT_Z] + root[PATH_Z, land] - root[PATH_Z, before]
            forward = leg * (foot[FOOT_FORWARD, land] - foot[FOOT_FORWARD, before])
            aside = leg * out * (foot[FOOT_ASIDE, land] - foot[FOOT_ASIDE, before])
        stances[i, PRINT_X] = x + forward * s + aside * c
        stances[i, PRINT_Z] = z + forward * c - aside * s
        stances[i, PRINT_HEIGHT] = max(0.0, leg * foot[FOOT_UP, land])
        raised |= stances[i, PRINT_HEIGHT] > 0
    return raised
