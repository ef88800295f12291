"""Arms whose hands have a target or come too near a thigh: wrist targets and two-bone inverse kinematics of the elbow.

Forward kinematics (:mod:`posegen.motion.trunk`) positions each wrist by the arm channels. An action may define a target for a
hand instead; the channel `hand_reach` moves the wrist from the one position towards the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.kernels import Array, Scalar, inline_kernel, kernel
from posegen.foundations.skeleton import ANATOMICAL, CONTACTS, PROPORTIONS
from posegen.library.channels import ANCHORS, HAND_CHANNELS
from posegen.motion import rows
from posegen.motion.channels import add_cycle_harmonics, fill_layer_weight
from posegen.motion.feet.footsteps import fill_swing
from posegen.motion.feet.stances import find_stances
from posegen.motion.key_poses import (
    FIRST_HAND,
    fill_times,
    fill_track,
    flatten_ends,
    knots_of_channel,
    mark_intervals,
    pose_tables,
)
from posegen.motion.library_tables import SUPPORTS, ActionTables
from posegen.motion.trigonometry import ease_towards
from posegen.motion.workspace import Clock, Person, Role, Segment, Workspace, between, copy_row, fill_row

SHOULDER_HEIGHT = PROPORTIONS["shoulder_height"]
ALONE_AHEAD = 0.72
"""Distance of the meeting point ahead of an actor without a partner, in arm lengths."""
HAND = len(HAND_CHANNELS)
HAND_ASIDE, HAND_UP, HAND_FORWARD, HAND_REACH = range(HAND)
SUPPORTED_BY_FLOOR = SUPPORTS["floor"]
HAND_POINTS = (CONTACTS.index("left_hand"), CONTACTS.index("right_hand"))
PASSING_SECONDS = 0.6
"""Longest time in which a hand passes from its support to its free course."""
HEAD_ANCHOR, FLOOR_ANCHOR, MEETING_ANCHOR, PARTNER_ANCHOR = map(ANCHORS.index, ("head", "floor", "meeting", "partner"))
SPINE3_JOINT, NECK, COLLAR, HEAD_JOINT, LEFT_SHOULDER, LEFT_ELBOW, LEFT_WRIST = 9, 12, 13, 15, 16, 18, 20
CHEST_BELOW, CHEST_BEFORE, HEAD_ABOVE = (
    float(ANATOMICAL[COLLAR, 1] + ANATOMICAL[LEFT_SHOULDER, 1]),
    -float(ANATOMICAL[COLLAR, 2] + ANATOMICAL[LEFT_SHOULDER, 2]),
    float(ANATOMICAL[NECK, 1] + ANATOMICAL[HEAD_JOINT, 1] - ANATOMICAL[COLLAR, 1] - ANATOMICAL[LEFT_SHOULDER, 1]),
)
"""Place of the chest and of the head relative to the shoulders of a body that stands straight, as fractions of stature."""
EASY, LONGEST = 0.97, 0.998
"""Fractions of the arm length: above the first a wrist gives way, and it never reaches the second (7 degrees of flexion)."""
COS_FOLDED = -0.8660254
"""Cosine of 150 degrees, the largest flexion of an elbow."""
ROOMY = 1.1
"""Multiple of the shortest distance between shoulder and wrist from which a folding arm gives way."""
STRAIGHT = 0.05
"""Distance of the elbow from the line from shoulder to wrist, in upper arms, from which its side is well defined."""
FLESH_RADII = 0.106
"""Radii of a slim thigh and forearm together, in leg lengths: .034 and .018 of stature."""
FLESH_GIVES, WRIST_EASE = 0.006, 0.014
"""Metres by which flesh is compressed, and distance in metres at which a wrist begins to give way."""
TILTED = 0.02
"""Metres towards the front of the thigh by which the direction out is tilted; an arm through its middle has no direction of its
own.
"""
EASY_WRIST, LOWEST_WRIST = 0.03, 0.005
"""Metres between wrist and floor, for bodies on the floor: the wrist gives way below the first and stays above the second."""
PUSH_PASSES = 5
"""Number of passes: as the wrist moves out, the elbow follows, so that one pass is not enough."""


class Arm(NamedTuple):
    """One arm over the frames.

    Attributes
    ----------
    upper, fore : float
        Lengths of upper arm and forearm, metres.
    sign : float
        1 on the left, -1 on the right.
    chest : float32 [9, frames]
        Rotation of the uppermost spine joint.
    shoulder, elbow, wrist : float32 [3, frames]
        Positions, metres.
    """

    upper: Scalar
    fore: Scalar
    sign: Scalar
    chest: Array
    shoulder: Array
    elbow: Array
    wrist: Array


@kernel
def arm_of(work: Workspace, person: Person, side: int) -> Arm:
    """Return the arm of one side: 0 left, 1 right."""
    shoulder, elbow, wrist = LEFT_SHOULDER + side, LEFT_ELBOW + side, LEFT_WRIST + side
    upper, fore, joints = -person.offsets[elbow, 1], -person.offsets[wrist, 1], work.joints
    return Arm(upper, fore, np.float32(1.0 - 2.0 * side), work.turns[5], joints[shoulder], joints[elbow], joints[wrist])


@kernel
def body_anchor(turned: Array, joint: Array, up: Scalar, ahead: Scalar, origin: Array) -> None:
    """Write the origin of an anchor `up` and `ahead` of a joint, metres, in the axes of the joint; float32 [3, frames]."""
    y, z = np.float32(up), np.float32(ahead)
    for k in range(3):
        row, place, above, before = origin[k], joint[k], turned[3 * k + 1], turned[3 * k + 2]
        for f in range(len(row)):
            row[f] = place[f] + (y * above[f] + z * before[f])


@kernel
def anchor_axes(anchor: int, work: Workspace, person: Person, level: Scalar, axes: Array, origin: Array) -> tuple[Array, Array]:
    """Return rotation [9, frames] and origin [3, frames] of an anchor; what is not a joint's is written to `axes` and `origin`.

    `level` is the height of the floor in metres. Skeletons place the joints of the chest and the head differently; the anchors
    are as far from the shoulders as in the anatomical one.
    """
    offsets, stature = person.offsets, person.stature
    shoulder = offsets[COLLAR, 1] + offsets[LEFT_SHOULDER, 1]
    if anchor == HEAD_ANCHOR:
        up = HEAD_ABOVE * stature - (offsets[NECK, 1] + offsets[HEAD_JOINT, 1] - shoulder)
        body_anchor(work.turns[4], work.joints[HEAD_JOINT], up, 0.0, origin)
        return work.turns[4], origin
    if anchor != FLOOR_ANCHOR:
        ahead = offsets[COLLAR, 2] + offsets[LEFT_SHOULDER, 2] + CHEST_BEFORE * stature
        body_anchor(work.turns[5], work.joints[SPINE3_JOINT], shoulder - CHEST_BELOW * stature, ahead, origin)
        return work.turns[5], origin
    root = work.root
    for i in range(9):
        fill_row(axes[i], np.float32(1.0 if i == 4 else 0.0))
    fill_row(origin[1], np.float32(level))
    for f in range(root.shape[1]):
        axes[0, f] = axes[8, f] = root[rows.HEADING_COS, f]
        axes[2, f] = root[rows.HEADING_SIN, f]
        axes[6, f] = -root[rows.HEADING_SIN, f]
        origin[0, f], origin[2, f] = root[rows.PATH_X, f], root[rows.PATH_Z, f]
    return axes, origin


@kernel
def fill_hand_channels(
    work: Workspace, segment: Segment, actions: ActionTables, draws: Array, first: int, layered: bool, clock: Clock
) -> None:
    """Write the channels of one hand over a segment, from `first` on; the target is constant outside the key poses.

    In a gait the target is constant.
    """
    fill_times(work.curve, segment, actions, draws)
    for c in range(first, first + HAND):
        row = work.channels[c]
        fill_row(row, np.float32(actions.pose[segment.kind, c] if segment.gait else 0.0))
        if actions.used[segment.kind, c] and not segment.gait:
            n = knots_of_channel(work.curve, segment, pose_tables(actions), draws, draws[:0], 1.0, c, 1.0)
            if layered or c != first + HAND_REACH:
                flatten_ends(work.curve, n)
            fill_track(row, work.curve.knots, n, clock)
            series = actions.series_channel, actions.series
            add_cycle_harmonics(row, segment, series, draws, draws[:0], c, clock, work.root[rows.WORK])


@kernel
def pull_wrist(arm: Arm, hand: Array, axes: Array, origin: Array, weight: Array, first: int, last: int, goal: Array) -> None:
    """Write the goal of a wrist: between its own position and the target, within the reach of the arm.

    Parameters
    ----------
    arm : Arm
        By forward kinematics.
    hand : float32 [4, frames]
        Channels of the hand: aside, up, forward in arm lengths, and reach.
    axes, origin : float32 [9, frames], [3, frames]
        Rotation and origin of the anchor; metres.
    weight : float32 [frames]
        Weight of the segment over the segments below it.
    first, last : int
        Frames of the segment.
    goal : float32 [3, frames], changed
        Goal of the wrist, metres.
    """
    length, mirror, one = np.float32(arm.upper + arm.fore), np.float32(arm.sign), np.float32(1.0)
    shoulder, wrist = arm.shoulder, arm.wrist
    easy, longest = np.float32(EASY) * length, np.float32(LONGEST) * length
    for f in between(first, last):
        a, u, w = mirror * length * hand[HAND_ASIDE, f], length * hand[HAND_UP, f], length * hand[HAND_FORWARD, f]
        x = origin[0, f] + axes[0, f] * a + axes[1, f] * u + axes[2, f] * w - shoulder[0, f]
        y = origin[1, f] + axes[3, f] * a + axes[4, f] * u + axes[5, f] * w - shoulder[1, f]
        z = origin[2, f] + axes[6, f] * a + axes[7, f] * u + axes[8, f] * w - shoulder[2, f]
        distance = np.sqrt(x * x + y * y + z * z)
        fit = ease_towards(distance, easy, longest) / distance if distance > easy else one
        reach = min(max(hand[HAND_REACH, f], np.float32(0.0)), one)
        here = wrist[0, f], wrist[1, f], wrist[2, f]
        there = shoulder[0, f] + fit * x, shoulder[1, f] + fit * y, shoulder[2, f] + fit * z
        for i in range(3):
            goal[i, f] += weight[f] * (here[i] + reach * (there[i] - here[i]) - goal[i, f])


@kernel
def perpendicular_part(x: Scalar, y: Scalar, z: Scalar, ux: Scalar, uy: Scalar, uz: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return the part of a vector that is perpendicular to the direction (ux, uy, uz)."""
    along = x * ux + y * uy + z * uz
    return x - along * ux, y - along * uy, z - along * uz


@kernel
def elbow_direction(arm: Arm, f: int, bx: Scalar, by: Scalar, bz: Scalar, least: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return the direction of the elbow from the line along (bx, by, bz), after turning the arm there as a whole.

    If the elbow was nearer than `least` metres to the line to the wrist, downwards and outwards is mixed in. A direction
    relative to the new line alone would change sides from frame to frame for an elbow near that line.
    """
    shoulder, elbow, wrist, chest = arm.shoulder, arm.elbow, arm.wrist, arm.chest
    ax, ay, az = wrist[0, f] - shoulder[0, f], wrist[1, f] - shoulder[1, f], wrist[2, f] - shoulder[2, f]
    size = np.float32(1.0) / np.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = size * ax, size * ay, size * az
    x, y, z = elbow[0, f] - shoulder[0, f], elbow[1, f] - shoulder[1, f], elbow[2, f] - shoulder[2, f]
    x, y, z = perpendicular_part(x, y, z, ax, ay, az)
    lack = least - np.sqrt(x * x + y * y + z * z)
    if lack > 0:
        out = np.float32(0.5) * np.float32(arm.sign)
        dx, dy, dz = out * chest[0, f] - chest[1, f], out * chest[3, f] - chest[4, f], out * chest[6, f] - chest[7, f]
        dx, dy, dz = perpendicular_part(dx, dy, dz, ax, ay, az)
        x, y, z = x + lack * dx, y + lack * dy, z + lack * dz
    # The shortest turn from the old line to the new one. It is undefined for opposite lines and bounded near them.
    turned = (x * bx + y * by + z * bz) / max(np.float32(1.0) + ax * bx + ay * by + az * bz, np.float32(1e-3))
    x, y, z = perpendicular_part(x - turned * (ax + bx), y - turned * (ay + by), z - turned * (az + bz), bx, by, bz)
    # A straight arm along the chosen direction has no side; the result must not be NaN.
    size = np.float32(1.0) / np.sqrt(max(x * x + y * y + z * z, np.float32(1e-20)))
    return size * x, size * y, size * z


@kernel
def solve_elbow(arm: Arm, goal: Array, first: int, last: int) -> None:
    """Write wrist and elbow for a goal of the wrist; the elbow stays on its side of the arm (two-bone inverse kinematics).

    Parameters
    ----------
    arm : Arm
        By forward kinematics; elbow and wrist are changed.
    goal : float32 [3, frames]
        Metres.
    first, last : int
        Frames to solve; frames whose goal is the wrist itself are unchanged.
    """
    upper, fore, half = np.float32(arm.upper), np.float32(arm.fore), np.float32(0.5)
    chest, shoulder, elbow, wrist = arm.chest, arm.shoulder, arm.elbow, arm.wrist
    longest, least = np.float32(LONGEST) * (upper + fore), np.float32(STRAIGHT) * upper
    shortest = np.sqrt(upper * upper + fore * fore + np.float32(2.0 * COS_FOLDED) * upper * fore)
    for f in between(first, last):
        if goal[0, f] == wrist[0, f] and goal[1, f] == wrist[1, f] and goal[2, f] == wrist[2, f]:
            continue
        x, y, z = goal[0, f] - shoulder[0, f], goal[1, f] - shoulder[1, f], goal[2, f] - shoulder[2, f]
        distance = np.sqrt(x * x + y * y + z * z)
        if distance < np.float32(1e-4):
            # A goal in the shoulder has no direction; ahead is used.
            x, y, z, distance = chest[2, f], chest[5, f], chest[8, f], np.float32(1.0)
            distance_kept = shortest
        else:
            # A folding arm gives way as a stretched arm does, with the sign reversed.
            # An arm that is straighter by itself stays so; else it would jump in the first frame in which it has a goal.
            ox, oy, oz = wrist[0, f] - shoulder[0, f], wrist[1, f] - shoulder[1, f], wrist[2, f] - shoulder[2, f]
            most = max(longest, np.sqrt(ox * ox + oy * oy + oz * oz))
            distance_kept = min(-ease_towards(-distance, np.float32(-ROOMY) * shortest, -shortest), most)
        x, y, z = x / distance, y / distance, z / distance
        along = (upper * upper - fore * fore + distance_kept * distance_kept) * half / distance_kept
        out = np.sqrt(max(upper * upper - along * along, np.float32(0.0)))
        # Near its own position the elbow stays where it is.
        gx, gy, gz = goal[0, f] - wrist[0, f], goal[1, f] - wrist[1, f], goal[2, f] - wrist[2, f]
        px, py, pz = elbow_direction(arm, f, x, y, z, min(least, np.sqrt(gx * gx + gy * gy + gz * gz)))
        elbow[0, f] = shoulder[0, f] + along * x + out * px
        elbow[1, f] = shoulder[1, f] + along * y + out * py
        elbow[2, f] = shoulder[2, f] + along * z + out * pz
        wrist[0, f] = shoulder[0, f] + distance_kept * x
        wrist[1, f] = shoulder[1, f] + distance_kept * y
        wrist[2, f] = shoulder[2, f] + distance_kept * z


@kernel
def fix_floor_anchor(
    work: Workspace, segment: Segment, actions: ActionTables, draws: Array, clock: Clock, side: int, origin: Array
) -> None:
    """Hold the anchor of a hand on the floor while the hand has contact.

    During a contact the anchor keeps its position of half way through it. Between contacts it passes from one position to the
    next as a foot does.

    Parameters
    ----------
    work, segment, actions, clock
        Working arrays, segment, tables of its action, time of the frames.
    draws : float [DRAWS]
    side : int
    origin : float32 [3, frames], changed
        Origin of the anchor on the floor, metres.
    """
    leaning, stances = work.lifted[side], work.stances[side]
    fill_row(leaning, False)
    mark_intervals(segment, actions, draws, clock, HAND_POINTS[side], leaning)
    count = find_stances(leaning, stances)
    longest = PASSING_SECONDS / clock.step
    for axis, path in ((0, rows.PATH_X), (2, rows.PATH_Z)):
        row, going = origin[axis], work.root[path]
        for i in range(count):
            first, last = int(stances[i, rows.FIRST]), int(stances[i, rows.LAST])
            row[first:last] = going[(first + last) // 2]
        for i in range(count - 1):
            fill_swing(row, going, int(stances[i, rows.LAST]) - 1, int(stances[i + 1, rows.FIRST]), 0.0, 0.0, longest, longest)


@kernel
def ground_level(work: Workspace, segment: Segment, clock: Clock) -> Scalar:
    """Return the height of the ground under the feet at the begin of a segment, in metres."""
    at = min(max(0, int(np.ceil((segment.start - clock.first) / clock.step))), work.legs.shape[2] - 1)
    return 0.5 * (work.legs[0, rows.GROUND, at] + work.legs[1, rows.GROUND, at])


@kernel
def place_hand(work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock, side: int) -> None:
    """Move one hand (0 left, 1 right) to the targets of the segments, layers after base segments.

    Without targets nothing is computed. `work` is as :func:`posegen.motion.trunk.place_upper_body` leaves it; elbow and wrist
    are changed.
    """
    arm, channel, first, last = arm_of(work, person, side), FIRST_HAND + HAND * side, clock.margin, clock.margin + clock.frames
    goal, weight, hand = work.turns[2], work.root[rows.WORK2], work.channels[channel : channel + HAND]
    drawn = False
    for k in range(len(role.segments)):
        segment, layered = role.segments[k], k >= role.base
        follows = actions.used[segment.kind, channel + HAND_REACH]
        # A layer without a target for the hand replaces the target of the base segment.
        if not (follows or (drawn and layered and actions.owned[segment.kind, channel + HAND_REACH])):
            continue
        f0, f1 = first, last
        if not segment.gait:
            f0 = max(f0, int(np.ceil((segment.start - clock.first) / clock.step)))
            f1 = min(f1, int(np.ceil((segment.end - clock.first) / clock.step)))
        if f1 <= f0:
            continue
        if not drawn:
            for axis in range(3):
                copy_row(arm.wrist[axis], first, last, goal[axis])
            drawn = True
        # A gait fades into its neighbours; other base segments begin and end with a reach of 0.
        if segment.gait:
            copy_row(work.weights[k], 0, len(weight), weight)
        elif layered:
            fill_layer_weight(weight, segment, f0, f1, clock)
        else:
            fill_row(weight, np.float32(1.0))
        anchor = actions.anchors[segment.kind, side]
        meets = anchor in (MEETING_ANCHOR, PARTNER_ANCHOR)
        fill_hand_channels(work, segment, actions, role.shared if meets else person.draws, channel, layered, clock)
        level = ground_level(work, segment, clock)
        axes, origin = anchor_axes(anchor, work, person, level, work.turns[0], work.turns[1])
        if meets:
            axes, origin = work.turns[0], work.turns[1]
            meeting_axes(
                role.point, work.root, f0, person.stature, arm.upper + arm.fore, anchor == PARTNER_ANCHOR, axes, origin
            )
        if segment.support == SUPPORTED_BY_FLOOR and segment.speed > 0:
            fix_floor_anchor(work, segment, actions, person.draws, clock, side, origin)
        pull_wrist(arm, hand, axes, origin, weight, f0, f1, goal)
    if drawn:
        solve_elbow(arm, goal, first, last)


@inline_kernel
def forearm_gap(
    elbow: Array, wrist: Array, hip: Array, knee: Array, f: int
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Return the shortest vector from the line of a thigh to that of a forearm (Ericson, Real-Time Collision Detection, 5.1.9).

    The results are x, y, z in metres, its length, and the fractions of forearm and thigh at which it meets them.
    """
    none, one = np.float32(0.0), np.float32(1.0)
    ax, ay, az = wrist[0, f] - elbow[0, f], wrist[1, f] - elbow[1, f], wrist[2, f] - elbow[2, f]
    bx, by, bz = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
    rx, ry, rz = elbow[0, f] - hip[0, f], elbow[1, f] - hip[1, f], elbow[2, f] - hip[2, f]
    a, b, e = ax * ax + ay * ay + az * az, ax * bx + ay * by + az * bz, bx * bx + by * by + bz * bz
    c, d = ax * rx + ay * ry + az * rz, bx * rx + by * ry + bz * rz
    # Almost parallel lines have no unique nearest points; any of them is used. A head is a line without length.
    along = min(max((b * d - c * e) / max(a * e - b * b, np.float32(1e-8)), none), one)
    beside = min(max((b * along + d) / max(e, np.float32(1e-8)), none), one)
    along = min(max((b * beside - c) / a, none), one)
    x, y, z = rx + along * ax - beside * bx, ry + along * ay - beside * by, rz + along * az - beside * bz
    return x, y, z, np.sqrt(x * x + y * y + z * z), along, beside


@kernel
def is_near_thigh(
    elbow: Array, wrist: Array, hip: Array, knee: Array, share: Scalar, reach: Scalar, first: int, last: int, work: Array
) -> bool:
    """Return whether the point at the fraction `share` of a forearm comes within `reach` metres of a thigh in any frame."""
    none, one, part = np.float32(0.0), np.float32(1.0), np.float32(share)
    for f in between(first, last):
        bx, by, bz = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
        x = elbow[0, f] + part * (wrist[0, f] - elbow[0, f]) - hip[0, f]
        y = elbow[1, f] + part * (wrist[1, f] - elbow[1, f]) - hip[1, f]
        z = elbow[2, f] + part * (wrist[2, f] - elbow[2, f]) - hip[2, f]
        beside = min(max((x * bx + y * by + z * bz) / (bx * bx + by * by + bz * bz), none), one)
        x, y, z = x - beside * bx, y - beside * by, z - beside * bz
        work[f] = x * x + y * y + z * z
    # The compiler counts several frames at once; it does not search the least value so.
    near, most = 0, np.float32(reach * reach)
    for f in between(first, last):
        near += work[f] < most
    return near > 0


@kernel
def push_wrist_out(
    root: Array, elbow: Array, wrist: Array, hip: Array, knee: Array, least: Scalar, first: int, last: int, goal: Array
) -> bool:
    """Write goals that move a wrist out of a thigh, so that the lines of forearm and thigh keep `least` metres, softly.

    Parameters
    ----------
    root : float32 [rows, frames]
        One row is scratch.
    elbow, wrist, hip, knee : float32 [3, frames]
        Metres.
    least : float
        Metres.
    first, last : int
    goal : float32 [3, frames], written
        Goal of the wrist; where nothing is near, the wrist itself.

    Returns
    -------
    bool
        Whether anything has to move.
    """
    closest, easy, tilted, moved = np.float32(least), np.float32(least + WRIST_EASE), np.float32(TILTED), False
    distances = root[rows.WORK]
    for f in between(first, last):
        goal[0, f], goal[1, f], goal[2, f] = wrist[0, f], wrist[1, f], wrist[2, f]
        distances[f] = forearm_gap(elbow, wrist, hip, knee, f)[3]
    for f in range(first, last):
        if distances[f] >= easy:
            continue
        x, y, z, distance, along, _ = forearm_gap(elbow, wrist, hip, knee, f)
        moved = True
        # For a contact near the elbow, the wrist has to move further.
        push = (-ease_towards(-distance, -easy, -closest) - distance) / (np.float32(0.4) + np.float32(0.6) * along)
        # The front of the thigh: ahead on a hanging thigh, up on one that points forward.
        bx, by, bz = knee[0, f] - hip[0, f], knee[1, f] - hip[1, f], knee[2, f] - hip[2, f]
        size = np.float32(1.0) / np.sqrt(bx * bx + by * by + bz * bz)
        s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
        ahead = -size * by
        x, y, z = x + tilted * s * ahead, y + tilted * size * (bx * s + bz * c), z + tilted * c * ahead
        push /= max(np.sqrt(x * x + y * y + z * z), np.float32(1e-4))
        goal[0, f] += push * x
        goal[1, f] += push * y
        goal[2, f] += push * z
    return moved


@kernel
def clear_thighs(work: Workspace, person: Person, clock: Clock) -> None:
    """Keep both forearms out of both thighs in the stored frames; elbows and wrists in `joints` are changed."""
    offsets, goal, first, last = person.offsets, work.turns[2], clock.margin, clock.margin + clock.frames
    least, distances = FLESH_RADII * float(-offsets[4, 1] - offsets[7, 1]) - FLESH_GIVES, work.root[rows.WORK]
    reach = least + 2.0 * WRIST_EASE
    for side in range(2):
        arm = arm_of(work, person, side)
        elbow, wrist = arm.elbow, arm.wrist
        for other in range(2):
            leg = work.legs[side if other == 0 else 1 - side]
            hip, knee = leg[rows.HIP_X : rows.HIP_X + 3], leg[rows.KNEE_X : rows.KNEE_X + 3]
            near = is_near_thigh(elbow, wrist, hip, knee, 1.0, reach, first, last, distances)
            near = near or is_near_thigh(elbow, wrist, hip, knee, 0.6, reach, first, last, distances)
            for again in range(PUSH_PASSES if near else 0):
                deep = least - 0.5 * WRIST_EASE if again else least
                if push_wrist_out(work.root, elbow, wrist, hip, knee, deep, first, last, goal):
                    solve_elbow(arm, goal, first, last)


@kernel
def raise_wrists(work: Workspace, role: Role, person: Person, clock: Clock) -> None:
    """Keep the wrists above the floor in segments on the floor; elbows and wrists in `joints` are changed.

    The angles of arms vary between persons, so that key poses alone do not keep every hand above the floor.
    """
    goal, easy, lowest = work.turns[2], np.float32(EASY_WRIST), np.float32(LOWEST_WRIST)
    for k in range(role.base):
        segment = role.segments[k]
        if segment.support != SUPPORTED_BY_FLOOR:
            continue
        first = max(clock.margin, int(np.ceil((segment.start - clock.first) / clock.step)))
        last = min(clock.margin + clock.frames, int(np.ceil((segment.end - clock.first) / clock.step)))
        level = np.float32(ground_level(work, segment, clock))
        for side in range(2):
            arm = arm_of(work, person, side)
            low = False
            for f in between(first, last):
                height = arm.wrist[1, f] - level
                goal[0, f], goal[2, f] = arm.wrist[0, f], arm.wrist[2, f]
                goal[1, f] = arm.wrist[1, f]
                if height < easy:
                    goal[1, f] = level - ease_towards(-height, -easy, -lowest)
                    low = True
            if low:
                solve_elbow(arm, goal, first, last)


@kernel
def meeting_axes(
    point: Array, root: Array, first: int, stature: Scalar, arm: Scalar, holds: bool, axes: Array, origin: Array
) -> None:
    """Write rotation and origin of a meeting point, or of the partner there, which are constant over the frames.

    Hands that meet hands have their targets relative to the mean shoulder height of both partners. Hands that hold the partner
    have them relative to the shoulder height and arm length of the partner, so that tall and small partners are held in the
    same places.

    Parameters
    ----------
    point : float [POINT_SIZE]
    root : float32 [rows, frames]
    first : int
        First frame of the segment: without a partner, the point is ahead of the path there.
    stature, arm : float
        Stature and arm length of this actor, metres.
    holds : bool
        Whether the hand holds the partner.
    axes : float32 [9, frames], written
        Rotation times the unit of the target in lengths of this actor's arm.
    origin : float32 [3 or more, frames], written
        Metres.
    """
    x, y, z = point[rows.POINT_X], point[rows.POINT_Y], point[rows.POINT_Z]
    s, c, unit = point[rows.POINT_SIN], point[rows.POINT_COS], point[rows.POINT_UNIT]
    if holds:
        y, unit = point[rows.PARTNER_Y], point[rows.PARTNER_UNIT]
    if unit == 0:
        f = min(first, root.shape[1] - 1)
        s, c, unit = float(root[rows.HEADING_SIN, f]), float(root[rows.HEADING_COS, f]), float(arm)
        ahead = ALONE_AHEAD * unit
        x, y, z = root[rows.PATH_X, f] + ahead * s, SHOULDER_HEIGHT * stature, root[rows.PATH_Z, f] + ahead * c
    stretch = unit / arm
    for i in range(9):
        fill_row(axes[i], np.float32(0.0))
    fill_row(axes[0], np.float32(stretch * c))
    fill_row(axes[8], np.float32(stretch * c))
    fill_row(axes[2], np.float32(stretch * s))
    fill_row(axes[6], np.float32(-stretch * s))
    fill_row(axes[4], np.float32(stretch))
    fill_row(origin[0], np.float32(x))
    fill_row(origin[1], np.float32(y))
    fill_row(origin[2], np.float32(z))
