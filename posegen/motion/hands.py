"""Hands where they must be: wrists drawn to a place beside chest, head or floor, and elbows bent for it.

The channels of the arms put each wrist somewhere (forward kinematics). An action may say where it should be instead; the wrist
then goes from the one place towards the other by the channel `hand_reach`, and two-bone inverse kinematics finds the elbow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import ANCHORS, HAND_CHANNELS
from posegen.motion.channels import add_own_harmonics, fill_hold
from posegen.motion.contacts import FIRST, LAST, find_stances
from posegen.motion.guided import mark_stretches
from posegen.motion.meeting import meeting_axes
from posegen.motion.rows import GROUND, HEADING_COS, HEADING_SIN, PATH_X, PATH_Z, WORK2, between, copy_row, fill_row
from posegen.motion.state import Clock, Person, Role, Scratch, Slot, slot_of
from posegen.motion.swings import swing_row
from posegen.motion.tables import SUPPORTS, ActionTables
from posegen.motion.tracks import FIRST_HAND, fill_times, fill_track, hold_ends, knots_of_channel
from posegen.motion.trigonometry import eased
from posegen.skeleton import CONTACTS

__all__ = ["anchor_axes", "draw_wrist", "move_hands", "solve_elbow"]

Array = NDArray[Any]

HAND = len(HAND_CHANNELS)
ASIDE, UP, FORWARD, REACH = range(HAND)
SUPPORTED_BY_FLOOR = SUPPORTS["floor"]
HAND_POINTS = (CONTACTS.index("left_hand"), CONTACTS.index("right_hand"))
PASSING_SECONDS = 0.6
"""Longest time that a hand takes from where it leans to its free course."""
HEAD, FLOOR, MEETING, PARTNER = (ANCHORS.index(name) for name in ("head", "floor", "meeting", "partner"))
SPINE3_JOINT, HEAD_JOINT, LEFT_SHOULDER, LEFT_ELBOW, LEFT_WRIST = 9, 15, 16, 18, 20
EASY, LONGEST = 0.97, 0.998
"""Shares of the arm's length: beyond the first a wrist gives way, and it never comes to the second (7 degrees of flexion)."""
COS_FOLDED = -0.8660254
"""Cosine of 150 degrees, the most that an elbow bends."""
ROOMY = 1.1
"""Times the shortest distance between shoulder and wrist from which a folding arm gives way."""
STRAIGHT = 0.05
"""How far off the line from shoulder to wrist, in upper arms, an elbow must be for its side to be known."""


@kernel
def anchor_axes(anchor: int, scratch: Scratch, level: Scalar, axes: Array, origin: Array) -> tuple[Array, Array]:
    """Rotation [9, frames] and origin [3, frames] of an anchor; those of the floor are written to `axes` and `origin`.

    `level` is how high the floor is, in metres.
    """
    if anchor == HEAD:
        return scratch.turns[4], scratch.joints[HEAD_JOINT]
    if anchor != FLOOR:
        return scratch.turns[5], scratch.joints[SPINE3_JOINT]
    root = scratch.root
    for i in range(9):
        fill_row(axes[i], np.float32(1.0 if i == 4 else 0.0))
    fill_row(origin[1], np.float32(level))
    for f in range(root.shape[1]):
        axes[0, f] = axes[8, f] = root[HEADING_COS, f]
        axes[2, f] = root[HEADING_SIN, f]
        axes[6, f] = -root[HEADING_SIN, f]
        origin[0, f], origin[2, f] = root[PATH_X, f], root[PATH_Z, f]
    return axes, origin


@kernel
def fill_hand(
    scratch: Scratch, slot: Slot, actions: ActionTables, draws: Array, first: int, layered: bool, clock: Clock
) -> None:
    """Write the channels of one hand over a slot, from `first` on: its place stands still while it is not followed.

    In a gait the hand holds its place throughout.
    """
    fill_times(slot, actions, draws, scratch.times)
    for c in range(first, first + HAND):
        row = scratch.channels[c]
        fill_row(row, np.float32(actions.pose[slot.kind, c] if slot.gait else 0.0))
        if actions.used[slot.kind, c] and not slot.gait:
            n = knots_of_channel(slot, actions, draws, 1.0, c, 1.0, scratch.times, scratch.knots, scratch.moving)
            if layered or c != first + REACH:
                hold_ends(scratch.knots, scratch.moving, n)
            fill_track(row, scratch.knots, n, clock)
            add_own_harmonics(row, slot, actions, draws, c, clock)


@kernel
def draw_wrist(
    hand: Array,
    axes: Array,
    origin: Array,
    arm: Scalar,
    sign: Scalar,
    weight: Array,
    shoulder: Array,
    wrist: Array,
    first: int,
    last: int,
    goal: Array,
) -> None:
    """Draw the wrist to its place, no further than the arm reaches.

    Parameters
    ----------
    hand : float32 [4, frames]
        The hand's channels: aside, up, forward in arm lengths, and reach.
    axes, origin : float32 [9, frames], [3, frames]
        Of the anchor; metres.
    arm : float
        Length of the arm, metres.
    sign : float
        1 on the left, -1 on the right.
    weight : float32 [frames]
        How far the slot has taken over from what lies below it.
    shoulder, wrist : float32 [3, frames]
        As forward kinematics put them, metres.
    first, last : int
        Frames of the slot.
    goal : float32 [3, frames], changed
        Where the wrist is to be, metres.
    """
    length, mirror, one = np.float32(arm), np.float32(sign), np.float32(1.0)
    easy, longest = np.float32(EASY) * length, np.float32(LONGEST) * length
    for f in between(first, last):
        a, u, w = mirror * length * hand[ASIDE, f], length * hand[UP, f], length * hand[FORWARD, f]
        x = origin[0, f] + axes[0, f] * a + axes[1, f] * u + axes[2, f] * w - shoulder[0, f]
        y = origin[1, f] + axes[3, f] * a + axes[4, f] * u + axes[5, f] * w - shoulder[1, f]
        z = origin[2, f] + axes[6, f] * a + axes[7, f] * u + axes[8, f] * w - shoulder[2, f]
        distance = np.sqrt(x * x + y * y + z * z)
        fit = eased(distance, easy, longest) / distance if distance > easy else one
        reach = min(max(hand[REACH, f], np.float32(0.0)), one)
        here = wrist[0, f], wrist[1, f], wrist[2, f]
        there = shoulder[0, f] + fit * x, shoulder[1, f] + fit * y, shoulder[2, f] + fit * z
        for i in range(3):
            goal[i, f] += weight[f] * (here[i] + reach * (there[i] - here[i]) - goal[i, f])


@kernel
def off_line(x: Scalar, y: Scalar, z: Scalar, ux: Scalar, uy: Scalar, uz: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Part of a vector that is square to the direction (ux, uy, uz)."""
    along = x * ux + y * uy + z * uz
    return x - along * ux, y - along * uy, z - along * uz


@kernel
def elbow_side(
    shoulder: Array,
    elbow: Array,
    wrist: Array,
    f: int,
    bx: Scalar,
    by: Scalar,
    bz: Scalar,
    sign: Scalar,
    least: Scalar,
    chest: Array,
) -> tuple[Scalar, Scalar, Scalar]:
    """Which way the elbow goes from the line along (bx, by, bz): as the arm would bring it that is turned there as a whole.

    Where the elbow was off the line to the wrist by less than `least` metres, downwards and outwards comes in the more the
    nearer it was. Seen from the new line instead, an elbow that was near that line would change its side from frame to frame.
    """
    ax, ay, az = wrist[0, f] - shoulder[0, f], wrist[1, f] - shoulder[1, f], wrist[2, f] - shoulder[2, f]
    size = np.float32(1.0) / np.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = size * ax, size * ay, size * az
    x, y, z = off_line(elbow[0, f] - shoulder[0, f], elbow[1, f] - shoulder[1, f], elbow[2, f] - shoulder[2, f], ax, ay, az)
    lack = least - np.sqrt(x * x + y * y + z * z)
    if lack > 0:
        out = np.float32(0.5) * sign
        dx, dy, dz = out * chest[0, f] - chest[1, f], out * chest[3, f] - chest[4, f], out * chest[6, f] - chest[7, f]
        dx, dy, dz = off_line(dx, dy, dz, ax, ay, az)
        x, y, z = x + lack * dx, y + lack * dy, z + lack * dz
    # The shortest turn from the old line to the new one; to the opposite there is none, so there it is bounded.
    turned = (x * bx + y * by + z * bz) / max(np.float32(1.0) + ax * bx + ay * by + az * bz, np.float32(1e-3))
    x, y, z = off_line(x - turned * (ax + bx), y - turned * (ay + by), z - turned * (az + bz), bx, by, bz)
    # An arm that is straight just along the chosen way has no side at all, but must not become NaN.
    size = np.float32(1.0) / np.sqrt(max(x * x + y * y + z * z, np.float32(1e-20)))
    return size * x, size * y, size * z


@kernel
def solve_elbow(
    upper_length: Scalar,
    fore_length: Scalar,
    sign: Scalar,
    chest: Array,
    shoulder: Array,
    goal: Array,
    first: int,
    last: int,
    elbow: Array,
    wrist: Array,
) -> None:
    """Two-bone inverse kinematics: wrist at its goal, elbow on the side of the arm where it was.

    Parameters
    ----------
    upper_length, fore_length : float
        Metres.
    sign : float
        1 on the left, -1 on the right.
    chest : float32 [9, frames]
        Rotation of the uppermost spine joint.
    shoulder, goal : float32 [3, frames]
        Metres.
    first, last : int
        Frames to solve; those in which the goal is where the wrist is stay as they are.
    elbow, wrist : float32 [3, frames], changed
        As forward kinematics put them, metres.
    """
    upper, fore, mirror, half = np.float32(upper_length), np.float32(fore_length), np.float32(sign), np.float32(0.5)
    longest, least = np.float32(LONGEST) * (upper + fore), np.float32(STRAIGHT) * upper
    shortest = np.sqrt(upper * upper + fore * fore + np.float32(2.0 * COS_FOLDED) * upper * fore)
    for f in between(first, last):
        if goal[0, f] == wrist[0, f] and goal[1, f] == wrist[1, f] and goal[2, f] == wrist[2, f]:
            continue
        x, y, z = goal[0, f] - shoulder[0, f], goal[1, f] - shoulder[1, f], goal[2, f] - shoulder[2, f]
        distance = np.sqrt(x * x + y * y + z * z)
        if distance < np.float32(1e-4):
            # In the shoulder itself there is no direction: ahead will do.
            x, y, z, distance = chest[2, f], chest[5, f], chest[8, f], np.float32(1.0)
            wanted = shortest
        else:
            # A folding arm gives way like a stretched one does: the same, seen from behind.
            wanted = min(-eased(-distance, np.float32(-ROOMY) * shortest, -shortest), longest)
        x, y, z = x / distance, y / distance, z / distance
        along = (upper * upper - fore * fore + wanted * wanted) * half / wanted
        out = np.sqrt(max(upper * upper - along * along, np.float32(0.0)))
        px, py, pz = elbow_side(shoulder, elbow, wrist, f, x, y, z, mirror, least, chest)
        elbow[0, f] = shoulder[0, f] + along * x + out * px
        elbow[1, f] = shoulder[1, f] + along * y + out * py
        elbow[2, f] = shoulder[2, f] + along * z + out * pz
        wrist[0, f] = shoulder[0, f] + wanted * x
        wrist[1, f] = shoulder[1, f] + wanted * y
        wrist[2, f] = shoulder[2, f] + wanted * z


@kernel
def lean_on_floor(
    scratch: Scratch, slot: Slot, actions: ActionTables, draws: Array, clock: Clock, side: int, origin: Array
) -> None:
    """Keep the anchor of a hand from going along with the body while the hand leans on the floor.

    Where it leans it stays where it is half way through; in between it passes from the one place to the next like a foot does.

    Parameters
    ----------
    scratch, slot, actions, clock : see there
    draws : float [DRAWS]
    side : int
    origin : float32 [3, frames], changed
        Of the anchor on the floor, metres.
    """
    leaning, stances = scratch.lifted[side], scratch.stances[side]
    fill_row(leaning, False)
    mark_stretches(slot, actions, draws, clock, HAND_POINTS[side], leaning)
    count = find_stances(leaning, stances)
    longest = PASSING_SECONDS / clock.step
    for axis, path in ((0, PATH_X), (2, PATH_Z)):
        row, going = origin[axis], scratch.root[path]
        for i in range(count):
            first, last = int(stances[i, FIRST]), int(stances[i, LAST])
            row[first:last] = going[(first + last) // 2]
        for i in range(count - 1):
            swing_row(row, going, int(stances[i, LAST]) - 1, int(stances[i + 1, FIRST]), 0.0, 0.0, longest, longest)


@kernel
def level_of(scratch: Scratch, slot: Slot, clock: Clock) -> Scalar:
    """Height of what the feet stand on as a slot begins, metres: behind stairs the floor is another one."""
    at = min(max(0, int(np.ceil((slot.start - clock.first) / clock.step))), scratch.legs.shape[2] - 1)
    return 0.5 * (scratch.legs[0, GROUND, at] + scratch.legs[1, GROUND, at])


@kernel
def move_hand(
    scratch: Scratch, role: Role, person: Person, actions: ActionTables, clock: Clock, side: int, first: int, last: int
) -> None:
    """Put one hand (0 left, 1 right) where the slots want it, in the order in which they lie over one another."""
    joints, offsets, channel = scratch.joints, person.offsets, FIRST_HAND + HAND * side
    shoulder, elbow, wrist = joints[LEFT_SHOULDER + side], joints[LEFT_ELBOW + side], joints[LEFT_WRIST + side]
    upper, fore = -offsets[LEFT_ELBOW + side, 1], -offsets[LEFT_WRIST + side, 1]
    sign = np.float32(1.0 - 2.0 * side)
    goal, weight, hand = scratch.turns[2], scratch.root[WORK2], scratch.channels[channel : channel + HAND]
    drawn = False
    for k in range(len(role.kinds)):
        slot, layered = slot_of(role, k), k >= role.base
        follows = actions.used[slot.kind, channel + REACH]
        # A layer without a place for the hand takes it away from the place that the base slot gave it.
        if not (follows or (drawn and layered and actions.owned[slot.kind, channel + REACH])):
            continue
        f0, f1 = first, last
        if not slot.gait:
            f0 = max(f0, int(np.ceil((slot.start - clock.first) / clock.step)))
            f1 = min(f1, int(np.ceil((slot.end - clock.first) / clock.step)))
        if f1 <= f0:
            continue
        if not drawn:
            for axis in range(3):
                copy_row(wrist[axis], first, last, goal[axis])
            drawn = True
        # A gait passes smoothly into its neighbours, other base slots begin and end with a reach of 0.
        if slot.gait:
            copy_row(scratch.weights[k], 0, len(weight), weight)
        elif layered:
            fill_hold(weight, slot, f0, f1, clock)
        else:
            fill_row(weight, np.float32(1.0))
        anchor = actions.anchors[slot.kind, side]
        meets = anchor in (MEETING, PARTNER)
        fill_hand(scratch, slot, actions, role.shared if meets else person.draws, channel, layered, clock)
        level = level_of(scratch, slot, clock)
        axes, origin = anchor_axes(anchor, scratch, level, scratch.turns[0], scratch.turns[1])
        if meets:
            axes, origin = scratch.turns[0], scratch.turns[1]
            meeting_axes(role.point, scratch.root, f0, person.stature, upper + fore, anchor == PARTNER, axes, origin)
        if slot.support == SUPPORTED_BY_FLOOR and slot.speed > 0:
            lean_on_floor(scratch, slot, actions, person.draws, clock, side, origin)
        draw_wrist(hand, axes, origin, upper + fore, sign, weight, shoulder, wrist, f0, f1, goal)
    if drawn:
        solve_elbow(upper, fore, sign, scratch.turns[5], shoulder, goal, first, last, elbow, wrist)


@kernel
def move_hands(
    scratch: Scratch, role: Role, person: Person, actions: ActionTables, clock: Clock, first: int, last: int
) -> None:
    """Put both hands where the slots want them, in scratch frames `first` to `last`; bodies without such slots cost nothing.

    Parameters
    ----------
    scratch : Scratch
        As :func:`posegen.motion.trunk.upper_body` leaves it; elbows and wrists are changed.
    role, person, actions, clock : see there
    first, last : int
    """
    for side in range(2):
        move_hand(scratch, role, person, actions, clock, side, first, last)
