"""Forearms are kept out of trunk, head, thighs and each other, whatever postures and neighbouring actions add up to.

Hands that rest on thighs are moved out of them first; what passes through a thigh too deep for that then goes around it.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import CAPSULES, JOINTS, PROPORTIONS
from posegen.foundations.trigonometry import ease_towards
from posegen.foundations.vectors import Vector, difference_at, dot, length, minus, plus, put_vector, scaled, vector_at
from posegen.motion import rows
from posegen.motion.arms import Arm, arm_of, solve_elbow
from posegen.motion.workspace import Clock, Person, Workspace, between, leg_length

FLESH_RADII = 0.106
"""Radii of a slim thigh and forearm together, in leg lengths: .034 and .018 of stature."""
FLESH_GIVES, WRIST_EASE = 0.006, 0.014
"""Metres by which flesh is compressed, and distance in metres at which a wrist begins to give way."""
TILTED = 0.02
"""Metres towards the front of the thigh by which the direction out is tilted; an arm through its middle has no direction of its
own.
"""
PUSH_PASSES = 5
"""Number of passes: as the wrist moves out, the elbow follows, so that one pass is not enough."""
OBSTACLES = ("left_thigh", "right_thigh", "trunk", "head")
THIGHS = 2
ENDS = np.array([[JOINTS.index(joint) for joint in CAPSULES[name][:2]] for name in OBSTACLES])
_LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
RADII = np.array([(CAPSULES[name][2] + CAPSULES["left_forearm"][2]) / _LEG for name in OBSTACLES])
"""Radii of a forearm and of each obstacle together, in leg lengths."""
BODY_GIVES, EASE, AGAIN = 0.012, 0.02, 0.005
"""Metres by which flesh is compressed; by which a forearm is further away when it begins to give way; and by which it may stay
closer after the first pass, since what is already out is not moved again.
"""
BOTH_FOREARMS = 2.0 * CAPSULES["left_forearm"][2] / _LEG
DEEP_FLESH, HARD = 0.016, 0.003
"""Metres by which two forearms are compressed, and by which they are further apart when they begin to part."""
PASSES = 5
"""Number of passes: the forearm turns as it moves out, so that one pass is not enough."""
AROUND = 0.06
"""Metres of the direction to the own side that is mixed into the direction out: an arm passes around the body."""


@kernel
def forearm_gap(elbow: Array, wrist: Array, hip: Array, knee: Array, f: int) -> tuple[Vector, Scalar, Scalar]:
    """Return the shortest vector from the line of a thigh to that of a forearm (Ericson, Real-Time Collision Detection, 5.1.9).

    The results are the vector in metres, its length, and the fraction of the forearm at which it meets it.
    """
    none, one = np.float32(0.0), np.float32(1.0)
    forearm, thigh, between_starts = difference_at(wrist, elbow, f), difference_at(knee, hip, f), difference_at(elbow, hip, f)
    a, b, e = dot(forearm, forearm), dot(forearm, thigh), dot(thigh, thigh)
    c, d = dot(forearm, between_starts), dot(thigh, between_starts)
    # Almost parallel lines have no unique nearest points; any of them is used. A head is a line without length.
    along = min(max((b * d - c * e) / max(a * e - b * b, np.float32(1e-8)), none), one)
    beside = min(max((b * along + d) / max(e, np.float32(1e-8)), none), one)
    along = min(max((b * beside - c) / a, none), one)
    gap = minus(plus(between_starts, scaled(forearm, along)), scaled(thigh, beside))
    return gap, length(gap), along


@kernel
def is_near_thigh(
    elbow: Array, wrist: Array, hip: Array, knee: Array, share: Scalar, reach: Scalar, first: int, last: int, work: Array
) -> bool:
    """Return whether the point at the fraction `share` of a forearm comes within `reach` metres of a thigh in any frame."""
    none, one, part = np.float32(0.0), np.float32(1.0), np.float32(share)
    for f in between(first, last):
        thigh, place = difference_at(knee, hip, f), plus(vector_at(elbow, f), scaled(difference_at(wrist, elbow, f), part))
        away = minus(place, vector_at(hip, f))
        beside = min(max(dot(away, thigh) / dot(thigh, thigh), none), one)
        away = minus(away, scaled(thigh, beside))
        work[f] = dot(away, away)
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
    distances = root[rows.GAP]
    for f in between(first, last):
        put_vector(goal, f, vector_at(wrist, f))
        distances[f] = forearm_gap(elbow, wrist, hip, knee, f)[1]
    for f in range(first, last):
        if distances[f] >= easy:
            continue
        (x, y, z), distance, along = forearm_gap(elbow, wrist, hip, knee, f)
        moved = True
        # For a contact near the elbow, the wrist has to move further.
        push = (-ease_towards(-distance, -easy, -closest) - distance) / (np.float32(0.4) + np.float32(0.6) * along)
        # The front of the thigh: ahead on a hanging thigh, up on one that points forward.
        thigh = difference_at(knee, hip, f)
        size = np.float32(1.0) / length(thigh)
        s, c = root[rows.HEADING_SIN, f], root[rows.HEADING_COS, f]
        ahead = -size * thigh[1]
        out = x + tilted * s * ahead, y + tilted * size * (thigh[0] * s + thigh[2] * c), z + tilted * c * ahead
        push /= max(length(out), np.float32(1e-4))
        put_vector(goal, f, plus(vector_at(goal, f), scaled(out, push)))
    return moved


@kernel
def clear_thighs(work: Workspace, person: Person, clock: Clock) -> None:
    """Keep both forearms out of both thighs in the stored frames; elbows and wrists in `joints` are changed."""
    offsets, goal, first, last = person.offsets, work.turns[rows.GOAL], clock.margin, clock.margin + clock.frames
    least, distances = FLESH_RADII * float(-offsets[4, 1] - offsets[7, 1]) - FLESH_GIVES, work.root[rows.GAP]
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
def push_forearm_out(
    arm: Arm, low: Array, high: Array, least: Scalar, easy: Scalar, first: int, last: int, distances: Array, goal: Array
) -> tuple[int, int]:
    """Move an elbow out of an obstacle, and write goals that move the wrist out, so that the lines keep their distance, softly.

    Elbow and wrist share the way by their distances from the nearest point of the forearm.

    Parameters
    ----------
    arm : Arm
        Elbow and wrist are changed; the wrist moves with the elbow.
    low, high : float32 [3, frames]
        Ends of the obstacle, metres.
    least, easy : float
        Distance that the lines keep, and at which the forearm begins to give way, metres.
    first, last : int
    distances : float32 [frames], written
    goal : float32 [3, frames], written
        Goal of the wrist; where nothing is near, the wrist itself.

    Returns
    -------
    tuple of int, int
        The first frame in which anything is near, and the one behind the last; equal if there is none.
    """
    upper, chest, shoulder, elbow, wrist = np.float32(arm.upper), arm.chest, arm.shoulder, arm.elbow, arm.wrist
    closest, soft, one = np.float32(least), np.float32(easy), np.float32(1.0)
    begin, end = last, last
    for f in between(first, last):
        put_vector(goal, f, vector_at(wrist, f))
        distances[f] = forearm_gap(elbow, wrist, low, high, f)[1]
    for f in range(first, last):
        if distances[f] >= soft:
            continue
        out, distance, along = forearm_gap(elbow, wrist, low, high, f)
        begin, end = min(begin, f), f + 1
        push = -ease_towards(-distance, -soft, -closest) - distance
        aside = np.float32(AROUND) * np.float32(arm.sign) * max(one - distance / closest, np.float32(0.0))
        out = plus(out, scaled((chest[0, f], chest[3, f], chest[6, f]), aside))
        out = scaled(out, push / max(length(out), np.float32(1e-4)))
        start, old = vector_at(shoulder, f), vector_at(elbow, f)
        bone = minus(plus(old, scaled(out, one - along)), start)
        place = plus(start, scaled(bone, upper / max(length(bone), np.float32(1e-4))))
        moved = plus(vector_at(wrist, f), minus(place, old))
        put_vector(elbow, f, place)
        put_vector(wrist, f, moved)
        put_vector(goal, f, plus(moved, scaled(out, along)))
    return begin, end


@kernel
def part_forearms(
    left: Arm, right: Arm, in_front: Scalar, least: Scalar, first: int, last: int, goals: tuple[Array, Array, Array]
) -> tuple[int, int]:
    """Write goals that move both wrists apart, so that the lines of the forearms keep their distance, softly.

    Parameters
    ----------
    left, right : Arm
    in_front : float
        1 where the left forearm passes in front of the other, -1 where it passes behind it.
    least : float
        Distance that the lines keep, metres.
    first, last : int
    goals : float32 [3, frames], float32 [3, frames], float32 [frames], written
        Goals of the left and of the right wrist, and scratch.

    Returns
    -------
    tuple of int, int
        The first frame in which the forearms are near each other, and the one behind the last; equal if there is none.
    """
    left_goal, right_goal, distances = goals
    closest, soft, half, begin, end = np.float32(least), np.float32(least + HARD), np.float32(0.5), last, last
    one, none, chest = np.float32(1.0), np.float32(0.0), left.chest
    for f in between(first, last):
        put_vector(left_goal, f, vector_at(left.wrist, f))
        put_vector(right_goal, f, vector_at(right.wrist, f))
        distances[f] = forearm_gap(left.elbow, left.wrist, right.elbow, right.wrist, f)[1]
    for f in range(first, last):
        if distances[f] >= soft:
            continue
        # Both orders, so that the result of mirrored arms is mirrored bit by bit.
        out, distance, on_left = forearm_gap(left.elbow, left.wrist, right.elbow, right.wrist, f)
        back, again, on_right = forearm_gap(right.elbow, right.wrist, left.elbow, left.wrist, f)
        out, distance = scaled(minus(out, back), half), half * (distance + again)
        begin, end = min(begin, f), f + 1
        push = half * (-ease_towards(-distance, -soft, -closest) - distance)
        ahead = np.float32(AROUND) * np.float32(in_front) * max(one - distance / closest, none)
        out = plus(out, scaled((chest[2, f], chest[5, f], chest[8, f]), ahead))
        push /= max(length(out), np.float32(1e-4))
        # For a contact near the elbow, the wrist has to move further.
        more = push / (np.float32(0.4) + np.float32(0.6) * on_left)
        less = push / (np.float32(0.4) + np.float32(0.6) * on_right)
        put_vector(left_goal, f, plus(vector_at(left_goal, f), scaled(out, more)))
        put_vector(right_goal, f, minus(vector_at(right_goal, f), scaled(out, less)))
    return begin, end


@kernel
def clear_forearms(work: Workspace, person: Person, clock: Clock) -> None:
    """Keep the forearms out of each other in the stored frames; elbows and wrists in `joints` are changed.

    Which one passes in front is that of the foot ahead: it is the other one in a mirrored person.
    """
    first, last, stagger = clock.margin, clock.margin + clock.frames, person.widths[3]
    goals = work.turns[rows.GOAL], work.turns[rows.OTHER_GOAL], work.root[rows.GAP]
    in_front = 1.0 if stagger > 0 else (-1.0 if stagger < 0 else 0.0)
    least = BOTH_FOREARMS * leg_length(person.offsets) - DEEP_FLESH
    left, right = arm_of(work, person, 0), arm_of(work, person, 1)
    for _ in range(PASSES):
        # Frames that are not near stay as they are, so that the next pass leaves them out.
        first, last = part_forearms(left, right, in_front, least, first, last, goals)
        if first == last:
            break
        solve_elbow(left, goals[0], first, last)
        solve_elbow(right, goals[1], first, last)


@kernel
def clear_body(work: Workspace, person: Person, clock: Clock) -> None:
    """Keep both forearms out of thighs, trunk and head in the stored frames; elbows and wrists in `joints` are changed."""
    goal, distances = work.turns[rows.GOAL], work.root[rows.GAP]
    stored = clock.margin, clock.margin + clock.frames
    for side in range(2):
        arm = arm_of(work, person, side)
        for i in range(len(ENDS)):
            if i < THIGHS:
                low, high = work.legs[i, rows.HIP_X : rows.HIP_X + 3], work.legs[i, rows.KNEE_X : rows.KNEE_X + 3]
            else:
                low, high = work.joints[ENDS[i, 0]], work.joints[ENDS[i, 1]]
            least = RADII[i] * leg_length(person.offsets) - BODY_GIVES
            # Hands that rest on thighs stay there.
            soft = least if i < THIGHS else least + EASE
            closest = least - (AGAIN if i < THIGHS else 0.0)
            first, last = push_forearm_out(arm, low, high, closest, soft, stored[0], stored[1], distances, goal)
            for _ in range(PASSES):
                if first == last:
                    break
                solve_elbow(arm, goal, first, last)
                # Frames that are not near stay as they are, so that the next pass leaves them out.
                first, last = push_forearm_out(arm, low, high, least - AGAIN, least, first, last, distances, goal)
            solve_elbow(arm, goal, first, last)
