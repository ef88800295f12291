"""Two who meet: the second one's way is turned and moved as a whole, so that it leads to the first one.

Where a path leads, seen from where it begins, depends neither on where that is nor on the heading there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRID
from posegen.kernels import Scalar, kernel
from posegen.motion.actor import walk_the_path
from posegen.motion.legs import FOOT_ANKLE_HEIGHT
from posegen.motion.meeting import SHOULDER, hands_apart
from posegen.motion.rows import HEADING, PATH_X, PATH_Z
from posegen.motion.state import Clock, Person, Role, Scratch
from posegen.motion.tables import ActionTables
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.skeleton import PROPORTIONS

__all__ = ["meet"]

Array = NDArray[Any]

LEGS = PROPORTIONS["thigh"] + PROPORTIONS["shank"]


@kernel
def place_at(
    scratch: Scratch, role: Role, person: Person, actions: ActionTables, clock: Clock, margin: int, time: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Where the path of an actor is at a time in seconds: x and z in metres, heading in turns."""
    leg = -float(person.offsets[4, 1] + person.offsets[7, 1])
    walk_the_path(scratch, role, person, actions, leg + float(person.foot[FOOT_ANKLE_HEIGHT]), clock, margin)
    root = scratch.root
    f = min(max(0, int(np.ceil((time - clock.first) / clock.step - 1e-6))), root.shape[1] - 1)
    return float(root[PATH_X, f]), float(root[PATH_Z, f]), float(root[HEADING, f])


@kernel
def arm_of(person: Person) -> Scalar:
    """Length of an arm, metres."""
    return -float(person.offsets[18, 1] + person.offsets[20, 1])


@kernel
def stature_of(person: Person) -> Scalar:
    """Stature of somebody of usual proportions with such legs, metres: flesh goes with it."""
    return -float(person.offsets[4, 1] + person.offsets[7, 1]) / LEGS


@kernel
def meet(
    scratch: Scratch,
    one: tuple[Role, Person],
    other: tuple[Role, Person],
    actions: ActionTables,
    clock: Clock,
    margin: int,
    time: Scalar,
    behind: bool,
    apart: Array,
    places: tuple[Array, Array, Array, Array],
) -> None:
    """Move the second of two actors so that the two face each other at a time, and write the point between them.

    Parameters
    ----------
    scratch, actions, clock : see there
    one, other : (Role, Person)
    margin : int
        Scratch frame that holds the first frame shown.
    time : float
        Seconds.
    behind : bool
        Whether the second one is to stand behind the first one instead, facing the same way.
    apart : float [3]
        See :attr:`posegen.scene.Scenes.apart`.
    places : float [actors], float [actors], float [actors], float [actors, POINT]
        Where the actors begin, x and z in metres, and their heading there in turns, of which the second one's are changed; the
        meeting points, of which both are written.
    """
    x, z, heading, points = places
    here_x, here_z, here = place_at(scratch, one[0], one[1], actions, clock, margin, time)
    there_x, there_z, there = place_at(scratch, other[0], other[1], actions, clock, margin, time)
    arm, other_arm = arm_of(one[1]), arm_of(other[1])
    far, aside = apart[0] + apart[1] * (arm + other_arm), apart[2] * (arm + other_arm)
    s, c = float(sin_turns(here)), float(cos_turns(here))
    turn = here - there
    if behind:
        far = -far
    else:
        turn += 0.5
    turn_s, turn_c = float(sin_turns(turn)), float(cos_turns(turn))
    gone_x, gone_z = there_x - x[1], there_z - z[1]
    begin_x = here_x + far * s + aside * c - (gone_x * turn_c + gone_z * turn_s) - x[0]
    begin_z = here_z + far * c - aside * s - (gone_z * turn_c - gone_x * turn_s) - z[0]
    x[1], z[1] = x[0] + np.rint(begin_x / GRID) * GRID, z[0] + np.rint(begin_z / GRID) * GRID
    heading[1] += turn
    share = arm / (arm + other_arm)
    half = 0.5 * hands_apart(stature_of(one[1]) + stature_of(other[1]))
    high = 0.5 * SHOULDER * (one[1].stature + other[1].stature)
    for who in range(2):
        sense = 1.0 - 2.0 * who
        ahead = share * far - sense * half
        points[who, 0] = here_x + ahead * s + 0.5 * aside * c
        points[who, 1] = high
        points[who, 2] = here_z + ahead * c - 0.5 * aside * s
        points[who, 3], points[who, 4] = sense * s, sense * c
        points[who, 5] = 0.5 * (arm + other_arm)
        held = other[1] if who == 0 else one[1]
        points[who, 6], points[who, 7] = SHOULDER * held.stature, arm_of(held)
