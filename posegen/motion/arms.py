"""Arms whose hands have a target or come too near a thigh: wrist targets and two-bone inverse kinematics of the elbow.

Forward kinematics (:mod:`posegen.motion.trunk`) positions each wrist by the arm channels. An action may define a target for a
hand instead; the channel `hand_reach` moves the wrist from the one position towards the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import ANATOMICAL, CONTACTS, PROPORTIONS
from posegen.foundations.trigonometry import ease_towards
from posegen.foundations.vectors import (
    Vector,
    across,
    along_times_span,
    difference_at,
    dot,
    length,
    middle_joint,
    minus,
    plus,
    put_vector,
    scaled,
    vector_at,
)
from posegen.library.channels import ANCHORS, HAND_CHANNELS
from posegen.motion import key_poses, rows
from posegen.motion.channels import add_harmonics, fill_layer_weight
from posegen.motion.footsteps import fill_swing
from posegen.motion.key_poses import mark_intervals
from posegen.motion.library_tables import SUPPORTS, ActionTables
from posegen.motion.stances import find_stances
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
EASY_WRIST, LOWEST_WRIST = 0.03, 0.005
"""Metres between wrist and floor, for bodies on the floor: the wrist gives way below the first and stays above the second."""


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
    return Arm(
        upper, fore, np.float32(1.0 - 2.0 * side), work.turns[rows.CHEST], joints[shoulder], joints[elbow], joints[wrist]
    )


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
        body_anchor(work.turns[rows.HEAD], work.joints[HEAD_JOINT], up, 0.0, origin)
        return work.turns[rows.HEAD], origin
    if anchor != FLOOR_ANCHOR:
        ahead = offsets[COLLAR, 2] + offsets[LEFT_SHOULDER, 2] + CHEST_BEFORE * stature
        body_anchor(work.turns[rows.CHEST], work.joints[SPINE3_JOINT], shoulder - CHEST_BELOW * stature, ahead, origin)
        return work.turns[rows.CHEST], origin
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
    work: Workspace, segment: Segment, actions: ActionTables, first: int, layered: bool, clock: Clock
) -> None:
    """Write the channels of one hand over a segment, from `first` on; the target is constant outside the key poses.

    In a gait the target is constant.
    """
    key_poses.fill_times(work.curve, segment, actions.poses)
    for c in range(first, first + HAND):
        row = work.channels[c]
        fill_row(row, np.float32(actions.poses.pose[segment.kind, c] if segment.gait else 0.0))
        if actions.poses.used[segment.kind, c] and not segment.gait:
            n = key_poses.knots_of_channel(work.curve, segment, actions.poses, 1.0, c, 1.0)
            if layered or c != first + HAND_REACH:
                key_poses.flatten_ends(work.curve, n)
            key_poses.fill_track(row, work.curve.knots, n, clock)
            series = actions.series_channel, actions.series
            add_harmonics(row, segment, series, c, clock, work.root[rows.SUMS])


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
    whole, mirror, one = np.float32(arm.upper + arm.fore), np.float32(arm.sign), np.float32(1.0)
    shoulder, wrist = arm.shoulder, arm.wrist
    easy, longest = np.float32(EASY) * whole, np.float32(LONGEST) * whole
    for f in between(first, last):
        a, u, w = mirror * whole * hand[HAND_ASIDE, f], whole * hand[HAND_UP, f], whole * hand[HAND_FORWARD, f]
        x = origin[0, f] + axes[0, f] * a + axes[1, f] * u + axes[2, f] * w - shoulder[0, f]
        y = origin[1, f] + axes[3, f] * a + axes[4, f] * u + axes[5, f] * w - shoulder[1, f]
        z = origin[2, f] + axes[6, f] * a + axes[7, f] * u + axes[8, f] * w - shoulder[2, f]
        distance = length((x, y, z))
        fit = ease_towards(distance, easy, longest) / distance if distance > easy else one
        reach = min(max(hand[HAND_REACH, f], np.float32(0.0)), one)
        here, there = vector_at(wrist, f), plus(vector_at(shoulder, f), scaled((x, y, z), fit))
        for i in range(3):
            goal[i, f] += weight[f] * (here[i] + reach * (there[i] - here[i]) - goal[i, f])


@kernel
def elbow_direction(arm: Arm, f: int, line: Vector, least: Scalar) -> Vector:
    """Return the direction of the elbow from the new line, a unit vector, after turning the arm there as a whole.

    If the elbow was nearer than `least` metres to the line to the wrist, downwards and outwards is mixed in. A direction
    relative to the new line alone would change sides from frame to frame for an elbow near that line.
    """
    chest, one, old = arm.chest, np.float32(1.0), difference_at(arm.wrist, arm.shoulder, f)
    old = scaled(old, one / length(old))
    side = across(difference_at(arm.elbow, arm.shoulder, f), old)
    lack = least - length(side)
    if lack > 0:
        out = np.float32(0.5) * np.float32(arm.sign)
        outwards = out * chest[0, f] - chest[1, f], out * chest[3, f] - chest[4, f], out * chest[6, f] - chest[7, f]
        side = plus(side, scaled(across(outwards, old), lack))
    # The shortest turn from the old line to the new one. It is undefined for opposite lines and bounded near them.
    turned = dot(side, line) / max(one + old[0] * line[0] + old[1] * line[1] + old[2] * line[2], np.float32(1e-3))
    side = across(minus(side, scaled(plus(old, line), turned)), line)
    # A straight arm along the chosen direction has no side; the result must not be NaN.
    return scaled(side, one / np.sqrt(max(dot(side, side), np.float32(1e-20))))


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
    upper, fore, one = np.float32(arm.upper), np.float32(arm.fore), np.float32(1.0)
    chest, shoulder, elbow, wrist = arm.chest, arm.shoulder, arm.elbow, arm.wrist
    longest, least = np.float32(LONGEST) * (upper + fore), np.float32(STRAIGHT) * upper
    shortest = np.sqrt(upper * upper + fore * fore + np.float32(2.0 * COS_FOLDED) * upper * fore)
    for f in between(first, last):
        if goal[0, f] == wrist[0, f] and goal[1, f] == wrist[1, f] and goal[2, f] == wrist[2, f]:
            continue
        start, line = vector_at(shoulder, f), difference_at(goal, shoulder, f)
        distance = length(line)
        if distance < np.float32(1e-4):
            # A goal in the shoulder has no direction; ahead is used.
            line, distance = (chest[2, f], chest[5, f], chest[8, f]), one
            span = shortest
        else:
            # A folding arm gives way as a stretched arm does, with the sign reversed.
            # An arm that is straighter by itself stays so; else it would jump in the first frame in which it has a goal.
            most = max(longest, length(difference_at(wrist, shoulder, f)))
            span = min(-ease_towards(-distance, np.float32(-ROOMY) * shortest, -shortest), most)
        line = line[0] / distance, line[1] / distance, line[2] / distance
        along = along_times_span(upper, fore, span) / span
        # Near its own position the elbow stays where it is.
        side = elbow_direction(arm, f, line, min(least, length(difference_at(goal, wrist, f))))
        put_vector(elbow, f, middle_joint(start, line, side, upper, along, one))
        put_vector(wrist, f, plus(start, scaled(line, span)))


@kernel
def fix_floor_anchor(work: Workspace, segment: Segment, actions: ActionTables, clock: Clock, side: int, origin: Array) -> None:
    """Hold the anchor of a hand on the floor while the hand has contact.

    During a contact the anchor keeps its position of half way through it. Between contacts it passes from one position to the
    next as a foot does.

    Parameters
    ----------
    work, segment, actions, clock
        Working arrays, segment, tables of its action, time of the frames.
    side : int
    origin : float32 [3, frames], changed
        Origin of the anchor on the floor, metres.
    """
    leaning, stances = work.lifted[side], work.stances[side]
    fill_row(leaning, False)
    mark_intervals(segment, actions, clock, HAND_POINTS[side], leaning)
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
    arm, channel, first, last = (
        arm_of(work, person, side),
        rows.FIRST_HAND + HAND * side,
        clock.margin,
        clock.margin + clock.frames,
    )
    goal, weight, hand = work.turns[rows.GOAL], work.root[rows.LAYER_WEIGHT], work.channels[channel : channel + HAND]
    drawn = False
    for k in range(len(role.segments)):
        segment, layered = role.segments[k], k >= role.base
        follows = actions.poses.used[segment.kind, channel + HAND_REACH]
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
        fill_hand_channels(work, segment, actions, channel, layered, clock)
        level = ground_level(work, segment, clock)
        axes, origin = anchor_axes(anchor, work, person, level, work.turns[rows.ANCHOR_AXES], work.turns[rows.ANCHOR_ORIGIN])
        if meets:
            axes, origin = work.turns[rows.ANCHOR_AXES], work.turns[rows.ANCHOR_ORIGIN]
            meeting_axes(
                role.point, work.root, f0, person.stature, arm.upper + arm.fore, anchor == PARTNER_ANCHOR, axes, origin
            )
        if segment.support == SUPPORTED_BY_FLOOR and segment.speed > 0:
            fix_floor_anchor(work, segment, actions, clock, side, origin)
        pull_wrist(arm, hand, axes, origin, weight, f0, f1, goal)
    if drawn:
        solve_elbow(arm, goal, first, last)


@kernel
def raise_wrists(work: Workspace, role: Role, person: Person, clock: Clock) -> None:
    """Keep the wrists above the floor in segments on the floor; elbows and wrists in `joints` are changed.

    The angles of arms vary between persons, so that key poses alone do not keep every hand above the floor.
    """
    goal, easy, lowest = work.turns[rows.GOAL], np.float32(EASY_WRIST), np.float32(LOWEST_WRIST)
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
