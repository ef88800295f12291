"""Forearms are kept out of trunk, head, thighs and each other, whatever postures and neighbouring actions add up to.

Hands that rest on thighs are in :mod:`posegen.motion.arms`; what passes through a thigh too deep for that goes around it here.
"""

from __future__ import annotations

import numpy as np

from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.skeleton import CAPSULES, JOINTS, PROPORTIONS
from posegen.motion import rows
from posegen.motion.arms import Arm, arm_of, forearm_gap, solve_elbow
from posegen.motion.trigonometry import ease_towards
from posegen.motion.workspace import Clock, Person, Workspace, between, leg_length

OBSTACLES = ("left_thigh", "right_thigh", "trunk", "head")
THIGHS = 2
ENDS = np.array([[JOINTS.index(joint) for joint in CAPSULES[name][:2]] for name in OBSTACLES])
_LEG = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
RADII = np.array([(CAPSULES[name][2] + CAPSULES["left_forearm"][2]) / _LEG for name in OBSTACLES])
"""Radii of a forearm and of each obstacle together, in leg lengths."""
FLESH_GIVES, EASE, AGAIN = 0.012, 0.02, 0.005
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
        goal[0, f], goal[1, f], goal[2, f] = wrist[0, f], wrist[1, f], wrist[2, f]
        distances[f] = forearm_gap(elbow, wrist, low, high, f)[3]
    for f in range(first, last):
        if distances[f] >= soft:
            continue
        x, y, z, distance, along, _ = forearm_gap(elbow, wrist, low, high, f)
        begin, end = min(begin, f), f + 1
        push = -ease_towards(-distance, -soft, -closest) - distance
        aside = np.float32(AROUND) * np.float32(arm.sign) * max(one - distance / closest, np.float32(0.0))
        x, y, z = x + aside * chest[0, f], y + aside * chest[3, f], z + aside * chest[6, f]
        push /= max(np.sqrt(x * x + y * y + z * z), np.float32(1e-4))
        x, y, z = push * x, push * y, push * z
        near = one - along
        a, b, c = elbow[0, f] + near * x, elbow[1, f] + near * y, elbow[2, f] + near * z
        a, b, c = a - shoulder[0, f], b - shoulder[1, f], c - shoulder[2, f]
        fit = upper / max(np.sqrt(a * a + b * b + c * c), np.float32(1e-4))
        a, b, c = shoulder[0, f] + fit * a, shoulder[1, f] + fit * b, shoulder[2, f] + fit * c
        wrist[0, f] += a - elbow[0, f]
        wrist[1, f] += b - elbow[1, f]
        wrist[2, f] += c - elbow[2, f]
        elbow[0, f], elbow[1, f], elbow[2, f] = a, b, c
        goal[0, f] = wrist[0, f] + along * x
        goal[1, f] = wrist[1, f] + along * y
        goal[2, f] = wrist[2, f] + along * z
    return begin, end


@kernel
def part_forearms(
    left: Arm,
    right: Arm,
    in_front: Scalar,
    least: Scalar,
    easy: Scalar,
    first: int,
    last: int,
    goals: tuple[Array, Array, Array],
) -> tuple[int, int]:
    """Write goals that move both wrists apart, so that the lines of the forearms keep their distance, softly.

    Parameters
    ----------
    left, right : Arm
    in_front : float
        1 where the left forearm passes in front of the other, -1 where it passes behind it.
    least, easy : float
        Distance that the lines keep, and at which they begin to part, metres.
    first, last : int
    goals : float32 [3, frames], float32 [3, frames], float32 [frames], written
        Goals of the left and of the right wrist, and scratch.

    Returns
    -------
    tuple of int, int
        The first frame in which the forearms are near each other, and the one behind the last; equal if there is none.
    """
    left_goal, right_goal, distances = goals
    closest, soft, half, begin, end = np.float32(least), np.float32(easy), np.float32(0.5), last, last
    one, none, chest = np.float32(1.0), np.float32(0.0), left.chest
    for f in between(first, last):
        for k in range(3):
            left_goal[k, f], right_goal[k, f] = left.wrist[k, f], right.wrist[k, f]
        distances[f] = forearm_gap(left.elbow, left.wrist, right.elbow, right.wrist, f)[3]
    for f in range(first, last):
        if distances[f] >= soft:
            continue
        # Both orders, so that the result of mirrored arms is mirrored bit by bit.
        x, y, z, distance, on_left, _ = forearm_gap(left.elbow, left.wrist, right.elbow, right.wrist, f)
        u, v, w, again, on_right, _ = forearm_gap(right.elbow, right.wrist, left.elbow, left.wrist, f)
        x, y, z, distance = half * (x - u), half * (y - v), half * (z - w), half * (distance + again)
        begin, end = min(begin, f), f + 1
        push = half * (-ease_towards(-distance, -soft, -closest) - distance)
        ahead = np.float32(AROUND) * np.float32(in_front) * max(one - distance / closest, none)
        x, y, z = x + ahead * chest[2, f], y + ahead * chest[5, f], z + ahead * chest[8, f]
        push /= max(np.sqrt(x * x + y * y + z * z), np.float32(1e-4))
        # For a contact near the elbow, the wrist has to move further.
        more = push / (np.float32(0.4) + np.float32(0.6) * on_left)
        less = push / (np.float32(0.4) + np.float32(0.6) * on_right)
        left_goal[0, f] += more * x
        left_goal[1, f] += more * y
        left_goal[2, f] += more * z
        right_goal[0, f] -= less * x
        right_goal[1, f] -= less * y
        right_goal[2, f] -= less * z
    return begin, end


@kernel
def clear_forearms(work: Workspace, person: Person, clock: Clock) -> None:
    """Keep the forearms out of each other in the stored frames; elbows and wrists in `joints` are changed.

    Which one passes in front is that of the foot ahead: it is the other one in a mirrored person.
    """
    first, last, stagger = clock.margin, clock.margin + clock.frames, person.widths[3]
    goals = work.turns[2], work.turns[1], work.turns[0, 0]
    in_front = 1.0 if stagger > 0 else (-1.0 if stagger < 0 else 0.0)
    least = BOTH_FOREARMS * leg_length(person.offsets) - DEEP_FLESH
    left, right = arm_of(work, person, 0), arm_of(work, person, 1)
    for _ in range(PASSES):
        # Frames that are not near stay as they are, so that the next pass leaves them out.
        first, last = part_forearms(left, right, in_front, least, least + HARD, first, last, goals)
        if first == last:
            break
        solve_elbow(left, goals[0], first, last)
        solve_elbow(right, goals[1], first, last)


@kernel
def clear_body(work: Workspace, person: Person, clock: Clock) -> None:
    """Keep both forearms out of thighs, trunk and head in the stored frames; elbows and wrists in `joints` are changed."""
    goal, distances, stored = work.turns[2], work.turns[0, 0], (clock.margin, clock.margin + clock.frames)
    for side in range(2):
        arm = arm_of(work, person, side)
        for i in range(len(ENDS)):
            if i < THIGHS:
                low, high = work.legs[i, rows.HIP_X : rows.HIP_X + 3], work.legs[i, rows.KNEE_X : rows.KNEE_X + 3]
            else:
                low, high = work.joints[ENDS[i, 0]], work.joints[ENDS[i, 1]]
            least = RADII[i] * leg_length(person.offsets) - FLESH_GIVES
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
