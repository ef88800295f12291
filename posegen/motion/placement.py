"""Start positions of several actors in a scene: partners face each other, and the other actors keep clear.

How each actor moves along its path is decided by :mod:`posegen.motion.timeline`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.constants import GRID
from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.motion.arms import SHOULDER_HEIGHT
from posegen.motion.library_tables import ActionTables, library_tables, style_tables
from posegen.motion.scene_arrays import PersonArrays, Roles, person_arrays, person_at, role_arrays, role_at
from posegen.motion.timeline import fill_timeline
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.motion.workspace import (
    FOOT_ANKLE_HEIGHT,
    HEADING,
    MARGIN_SECONDS,
    PATH_X,
    PATH_Z,
    Clock,
    Person,
    Role,
    Workspace,
    empty_workspace,
    to_grid,
)
from posegen.scene import Scenes
from posegen.skeleton import CAPSULES, PROPORTIONS

Array = NDArray[Any]

FOREARM_RADIUS = CAPSULES["left_forearm"][2]
YIELDING, NEAREST, FARTHEST = 0.0185, 0.040, 0.0495
"""Metres by which the flesh of two hands that meet may give way, and the least and most that wrists are then apart."""
LEGS = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
CLEAR = 1.7
"""Metres that people keep between them: more than two arms reach."""
TRIES, GROWTH = 24, 0.12
"""How often the ways are turned, and by what share of their first distances people begin further apart each time."""
GOLDEN = 0.6180339887
"""Turns between one try and the next: no two tries are alike."""
EVERY_SECONDS, LONGER = 0.2, 1.3
"""How often the ways are compared, and over how much more than is shown: faster variants go further along them."""


@kernel
def path_position(
    work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock, margin: int, time: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Where the path of an actor is at a time in seconds: x and z in metres, heading in turns."""
    leg = -float(person.offsets[4, 1] + person.offsets[7, 1])
    fill_timeline(work, role, person, actions, leg + float(person.foot[FOOT_ANKLE_HEIGHT]), clock, margin)
    root = work.root
    f = min(max(0, int(np.ceil((time - clock.first) / clock.step - 1e-6))), root.shape[1] - 1)
    return float(root[PATH_X, f]), float(root[PATH_Z, f]), float(root[HEADING, f])


@kernel
def arm_length(person: Person) -> Scalar:
    """Length of an arm, metres."""
    return -float(person.offsets[18, 1] + person.offsets[20, 1])


@kernel
def stature_from_legs(person: Person) -> Scalar:
    """Stature of somebody of usual proportions with such legs, metres: flesh goes with it."""
    return -float(person.offsets[4, 1] + person.offsets[7, 1]) / LEGS


@kernel
def face_partners(
    work: Workspace,
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
    here_x, here_z, here = path_position(work, one[0], one[1], actions, clock, margin, time)
    there_x, there_z, there = path_position(work, other[0], other[1], actions, clock, margin, time)
    arm, other_arm = arm_length(one[1]), arm_length(other[1])
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
    half = 0.5 * hands_apart(stature_from_legs(one[1]) + stature_from_legs(other[1]))
    high = 0.5 * SHOULDER_HEIGHT * (one[1].stature + other[1].stature)
    for who in range(2):
        sense = 1.0 - 2.0 * who
        ahead = share * far - sense * half
        points[who, 0] = here_x + ahead * s + 0.5 * aside * c
        points[who, 1] = high
        points[who, 2] = here_z + ahead * c - 0.5 * aside * s
        points[who, 3], points[who, 4] = sense * s, sense * c
        points[who, 5] = 0.5 * (arm + other_arm)
        held = other[1] if who == 0 else one[1]
        points[who, 6], points[who, 7] = SHOULDER_HEIGHT * held.stature, arm_length(held)


@kernel
def fill_paths(
    roles: Roles,
    cast: PersonArrays,
    actions: ActionTables,
    work: Workspace,
    clock: Clock,
    margin: int,
    every: int,
    i: int,
    paths: Array,
) -> None:
    """Write where the actors of sample `i` are, in metres from where they begin; `ways` is float [actors, points, 2]."""
    if roles.meets[i] >= 0:
        one, other = (role_at(roles, i, 0), person_at(cast, i, 0)), (role_at(roles, i, 1), person_at(cast, i, 1))
        places = (roles.x[i], roles.z[i], roles.heading[i], roles.points[i])
        face_partners(work, one, other, actions, clock, margin, roles.meets[i], roles.behind[i], roles.apart[i], places)
    for who in range(roles.actors[i]):
        role, person = role_at(roles, i, who), person_at(cast, i, who)
        leg = -float(person.offsets[4, 1] + person.offsets[7, 1])
        fill_timeline(work, role, person, actions, leg + float(person.foot[FOOT_ANKLE_HEIGHT]), clock, margin)
        for p in range(paths.shape[1]):
            paths[who, p, 0] = float(work.root[PATH_X, margin + p * every]) - role.x
            paths[who, p, 1] = float(work.root[PATH_Z, margin + p * every]) - role.z


@kernel
def candidate_position(roles: Roles, i: int, who: int, number: int, p: int, paths: Array) -> tuple[Scalar, Scalar]:
    """Where an actor is at point `p` of its way in try `number`: x and z in metres."""
    lead = 0 if who == 1 and roles.meets[i] >= 0 else who
    turn = number * GOLDEN * (lead + 1)
    s, c, grown = float(sin_turns(turn)), float(cos_turns(turn)), 1.0 + GROWTH * number
    x = paths[who, p, 0] + roles.x[i, who] - roles.x[i, lead]
    z = paths[who, p, 1] + roles.z[i, who] - roles.z[i, lead]
    return grown * roles.x[i, lead] + x * c + z * s, grown * roles.z[i, lead] + z * c - x * s


@kernel
def smallest_distance(roles: Roles, i: int, number: int, paths: Array) -> Scalar:
    """Shortest distance at any time of any two actors of sample `i` in a try, but of those who meet; metres."""
    least = 1e6
    for one in range(roles.actors[i]):
        for other in range(one + 1, roles.actors[i]):
            if one == 0 and other == 1 and roles.meets[i] >= 0:
                continue
            for p in range(paths.shape[1]):
                x, z = candidate_position(roles, i, one, number, p, paths)
                other_x, other_z = candidate_position(roles, i, other, number, p, paths)
                least = min(least, (x - other_x) * (x - other_x) + (z - other_z) * (z - other_z))
    return np.sqrt(least)


@kernel
def choose_starts(
    roles: Roles,
    cast: PersonArrays,
    actions: ActionTables,
    work: Workspace,
    clock: Clock,
    margin: int,
    every: int,
    paths: Array,
    out: Array,
) -> None:
    """Write the first try in which all keep clear, or the best: x, z in metres and turns; `out` is float [n, actors, 3]."""
    for i in range(len(out)):
        best, widest = 0, -1.0
        if roles.actors[i] > 1:
            fill_paths(roles, cast, actions, work, clock, margin, every, i, paths)
            number = 0
            while number < TRIES and widest < CLEAR:
                gap = smallest_distance(roles, i, number, paths)
                if gap > widest:
                    best, widest = number, gap
                number += 1
        for who in range(out.shape[1]):
            out[i, who, 0] = to_grid((1.0 + GROWTH * best) * roles.x[i, who])
            out[i, who, 1] = to_grid((1.0 + GROWTH * best) * roles.z[i, who])
            out[i, who, 2] = best * GOLDEN * (who + 1)


def separate_actors(scenes: Scenes, library: Library, fps: int) -> Scenes:
    """Turn and move the actors of planned scenes so that they keep clear of one another.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Of the actions that the scenes index.
    fps : int
        Frames a second.

    Returns
    -------
    Scenes
        Of samples with one actor, the same.
    """
    several = scenes.actors > 1
    if not several.any():
        return scenes
    tables = library_tables(library)
    margin, every = int(np.ceil(MARGIN_SECONDS * fps)), max(1, int(EVERY_SECONDS * fps))
    points = 1 + int(scenes.length.max() * LONGER) // every
    actors = scenes.heading.shape[1]
    work = empty_workspace(2 * margin + points * every, scenes.action.shape[2])
    clock = Clock(-margin / fps, 1.0 / fps)
    roles, cast = role_arrays(scenes, tables.actions.scalars), person_arrays(scenes, style_tables(library))
    out = np.zeros((len(scenes), actors, 3))
    choose_starts(roles, cast, tables.actions, work, clock, margin, every, np.zeros((actors, points, 2)), out)
    turned = out[..., 2] - np.rint(out[..., 2])
    moved = several[:, None, None] & (out[..., 2:] != 0)
    return replace(
        scenes,
        origin=np.where(moved, out[..., :2], scenes.origin).astype(np.float32),
        heading=np.where(moved[..., 0], scenes.heading + 2 * np.pi * turned, scenes.heading).astype(np.float32),
    )


@kernel
def hands_apart(statures: Scalar) -> Scalar:
    """How far apart the wrists of hands that meet are, for the sum of both statures; metres."""
    return min(max(FOREARM_RADIUS * statures - YIELDING, NEAREST), FARTHEST)
