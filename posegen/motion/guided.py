"""Feet that an action places itself: which frames it lifts them in, and where it sets them down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library.channels import CHANNELS
from posegen.motion.contacts import FIRST, LAST, PRINT_HEIGHT, PRINT_X, PRINT_Z
from posegen.motion.rows import GUIDED, HEADING_COS, HEADING_SIN, PATH_X, PATH_Z, PITCH, between
from posegen.motion.state import Clock, Slot
from posegen.motion.tables import CYCLE, ENTER, PLACED, ActionTables
from posegen.motion.tracks import repetition, slot_stages
from posegen.motion.trigonometry import smooth_step

__all__ = ["glide", "guide_pitch", "guide_prints", "guide_swings", "mark_guided", "mark_stretches", "stretch_seconds"]

Array = NDArray[Any]

FOOT = CHANNELS.index("left_foot_forward"), CHANNELS.index("right_foot_forward")
"""First of a foot's channels: forward, aside, up, pitch."""
GLIDE_SECONDS = 0.8
"""In which somebody who swims or crawls comes to speed, and to rest."""
FORWARD, ASIDE, UP, PITCHED = range(4)


@kernel
def stretch_seconds(slot: Slot, stage: int, at: Scalar, number: int, draws: Array) -> Scalar:
    """Second at which a share of a stage has passed; `number` is the repetition, where the stage is the cycle."""
    entered, leaving = slot_stages(slot)
    if stage == ENTER:
        return slot.start + at * (entered - slot.start)
    if stage != CYCLE:
        return leaving + at * (slot.end - leaving)
    if slot.repetitions == 0:
        return entered + at * (leaving - entered)
    begin, length = repetition(slot, draws, number)
    return begin + at * length


@kernel
def mark_stretches(slot: Slot, actions: ActionTables, draws: Array, clock: Clock, point: int, marks: Array) -> None:
    """Mark the frames that lie within a slot's stretches of one point.

    Parameters
    ----------
    slot, actions, clock : see there
    draws : float [DRAWS]
    point : int
        See :attr:`posegen.motion.tables.ActionTables.stretches`.
    marks : [frames], set to 1 there
    """
    for i in range(slot.first_stretch, slot.last_stretch):
        if int(actions.stretches[i, 0]) != point:
            continue
        stage = int(actions.stretches[i, 1])
        for number in range(max(slot.repetitions, 1) if stage == CYCLE else 1):
            begin = stretch_seconds(slot, stage, actions.stretches[i, 2], number, draws)
            end = stretch_seconds(slot, stage, actions.stretches[i, 3], number, draws)
            f0 = max(0, int(np.ceil((begin - clock.first) / clock.step)))
            f1 = min(len(marks), int(np.ceil((end - clock.first) / clock.step)))
            for f in between(f0, f1):
                marks[f] = 1


@kernel
def mark_guided(slot: Slot, clock: Clock, guided: Array) -> None:
    """Write how a slot guides its feet into its frames; `guided` is float32 [frames]."""
    f0 = max(0, int(np.ceil((slot.start - clock.first) / clock.step)))
    f1 = min(len(guided), int(np.ceil((slot.end - clock.first) / clock.step)))
    guided[f0:f1] = np.float32(slot.guided)


@kernel
def glide(slot: Slot, clock: Clock, speed: Array) -> None:
    """Add the speed of a slot that travels without steps, from the end of its first stage to the begin of its last.

    `speed` is float32 [frames], m/s.
    """
    entered, leaving = slot_stages(slot)
    ramp = min(GLIDE_SECONDS, 0.4 * (leaving - entered))
    for f in range(len(speed)):
        t = clock.first + f * clock.step
        if entered < t < leaving:
            speed[f] += np.float32(slot.speed) * smooth_step((t - entered) / ramp) * smooth_step((leaving - t) / ramp)


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
def guide_prints(
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
        forward, aside = leg * foot[FORWARD, land] + home - ahead[land], leg * out * foot[ASIDE, land]
        if i > 0:
            before = guided_from(root, stances[i - 1])
            x = stances[i - 1, PRINT_X] + root[PATH_X, land] - root[PATH_X, before]
            z = stances[i - 1, PRINT_Z] + root[PATH_Z, land] - root[PATH_Z, before]
            forward = leg * (foot[FORWARD, land] - foot[FORWARD, before])
            aside = leg * out * (foot[ASIDE, land] - foot[ASIDE, before])
        stances[i, PRINT_X] = x + forward * s + aside * c
        stances[i, PRINT_Z] = z + forward * c - aside * s
        stances[i, PRINT_HEIGHT] = max(0.0, leg * foot[UP, land])
        raised |= stances[i, PRINT_HEIGHT] > 0
    return raised


@kernel
def guide_swings(
    root: Array,
    foot: Array,
    side: int,
    leg: Scalar,
    ankle_height: Scalar,
    airborne: Array,
    stances: Array,
    count: int,
    nominal: Array,
) -> None:
    """Have the nominal course of a guided foot lead from print to print, as high as its channel says.

    In the air after a jump, where the body carries the feet, its height is left to the angles of the leg.

    Parameters
    ----------
    root : float32 [rows, frames]
    foot : float32 [4, frames]
    side : int
    leg, ankle_height : float
        Metres.
    airborne : bool [frames]
    stances : float [stances, 6]
    count : int
    nominal : float32 [4, frames], changed
        Ankle x, y, z in metres and yaw in turns.
    """
    out = np.float32(leg if side == 0 else -leg)
    ahead, high = np.float32(leg), np.float32(ankle_height)
    for i in range(count + 1):
        # Frames from the last stance's first to the next one's last but one: the rates at lift and landing count, too.
        known = i - 1 if i > 0 else 0
        if count == 0:
            return
        begin = int(stances[i - 1, FIRST]) if i > 0 else 0
        end = int(stances[i, FIRST]) + 1 if i < count else root.shape[1]
        still = guided_from(root, stances[known])
        x, z = np.float32(stances[known, PRINT_X]), np.float32(stances[known, PRINT_Z])
        for f in range(begin, min(end + 1, root.shape[1])):
            if root[GUIDED, f] != PLACED:
                continue
            forward = ahead * (foot[FORWARD, f] - foot[FORWARD, still])
            aside = out * (foot[ASIDE, f] - foot[ASIDE, still])
            s, c = root[HEADING_SIN, f], root[HEADING_COS, f]
            nominal[0, f] = x + (root[PATH_X, f] - root[PATH_X, still]) + forward * s + aside * c
            nominal[2, f] = z + (root[PATH_Z, f] - root[PATH_Z, still]) + forward * c - aside * s
            if not airborne[f]:
                nominal[1, f] = high + ahead * foot[UP, f]
