"""Start positions of several actors in a scene: partners face each other, and the other actors keep clear.

How each actor moves along its path is decided by :mod:`posegen.motion.timeline`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posegen.foundations.constants import GRID
from posegen.foundations.kernels import Array, Scalar, kernel
from posegen.foundations.scene import Scenes
from posegen.foundations.skeleton import CAPSULES, PROPORTIONS
from posegen.foundations.trigonometry import cos_turns, sin_turns
from posegen.library.load import Library
from posegen.motion import rows
from posegen.motion.arms import SHOULDER_HEIGHT
from posegen.motion.library_tables import ActionTables, library_tables, style_tables
from posegen.motion.scene_arrays import Roles, person_arrays, person_at, role_arrays, role_at
from posegen.motion.timeline import fill_timeline
from posegen.motion.workspace import MARGIN_SECONDS, Clock, Person, Role, Workspace, empty_workspace, leg_length, to_grid

FOREARM_RADIUS = CAPSULES["left_forearm"][2]
COMPRESSION, NEAREST, FARTHEST = 0.0185, 0.040, 0.0495
"""Hands that meet: how far the flesh of both is compressed, and the smallest and largest distance of the wrists, in metres."""
LEGS = PROPORTIONS["thigh"] + PROPORTIONS["shank"]
CLEAR = 1.7
"""Smallest distance between actors, in metres: more than two arms reach."""
TRIES, GROWTH = 24, 0.12
"""Number of arrangements tried, and the share of their first distance by which the actors start further apart in each try."""
GOLDEN = 0.6180339887
"""Turns between one try and the next, so that no two tries are alike."""
EVERY_SECONDS, LONGER = 0.2, 1.3
"""Seconds between compared positions, and the compared multiple of the stored length: faster variants move further."""


@kernel
def path_position(
    work: Workspace, role: Role, person: Person, actions: ActionTables, clock: Clock, time: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return where the path of an actor is at `time` seconds: x and z in metres, heading in turns."""
    fill_timeline(work, role, person, actions, clock)
    root = work.root
    f = min(max(0, int(np.ceil((time - clock.first) / clock.step - 1e-6))), root.shape[1] - 1)
    return float(root[rows.PATH_X, f]), float(root[rows.PATH_Z, f]), float(root[rows.HEADING, f])


@kernel
def arm_length(person: Person) -> Scalar:
    """Return the length of an arm in metres."""
    return -float(person.offsets[18, 1] + person.offsets[20, 1])


@kernel
def face_partners(work: Workspace, roles: Roles, persons: Person, i: int, actions: ActionTables, clock: Clock) -> None:
    """Move the second actor of sample `i` so that the first two face each other when they meet, and write the meeting points.

    If `roles.behind` is set, the second actor stands behind the first one instead and faces the same way. The course of a path
    does not depend on its start position and heading, so the whole path is turned and moved. In `roles`, the
    start of the second actor is changed, and `points` of both are written.
    """
    starts, apart, points = roles.start[i], roles.apart[i], roles.points[i]
    one, other = person_at(persons, i, 0), person_at(persons, i, 1)
    here_x, here_z, here = path_position(work, role_at(roles, i, 0), one, actions, clock, roles.meets[i])
    there_x, there_z, there = path_position(work, role_at(roles, i, 1), other, actions, clock, roles.meets[i])
    arm, other_arm = arm_length(one), arm_length(other)
    far, aside = apart[0] + apart[1] * (arm + other_arm), apart[2] * (arm + other_arm)
    s, c = float(sin_turns(here)), float(cos_turns(here))
    turn = here - there
    if roles.behind[i]:
        far = -far
    else:
        turn += 0.5
    turn_s, turn_c = float(sin_turns(turn)), float(cos_turns(turn))
    way_x, way_z = there_x - starts[1, rows.START_X], there_z - starts[1, rows.START_Z]
    begin_x = here_x + far * s + aside * c - (way_x * turn_c + way_z * turn_s) - starts[0, rows.START_X]
    begin_z = here_z + far * c - aside * s - (way_z * turn_c - way_x * turn_s) - starts[0, rows.START_Z]
    # The distance of the start positions is on the grid, so that variants can move both exactly.
    starts[1, rows.START_X] = starts[0, rows.START_X] + np.rint(begin_x / GRID) * GRID
    starts[1, rows.START_Z] = starts[0, rows.START_Z] + np.rint(begin_z / GRID) * GRID
    starts[1, rows.START_HEADING] += turn
    share = arm / (arm + other_arm)
    # Flesh scales with the stature of a person of average proportions with legs of this length.
    statures = leg_length(one.offsets) / LEGS + leg_length(other.offsets) / LEGS
    half = 0.5 * min(max(FOREARM_RADIUS * statures - COMPRESSION, NEAREST), FARTHEST)
    high = 0.5 * SHOULDER_HEIGHT * (one.stature + other.stature)
    for who in range(2):
        sense = 1.0 - 2.0 * who
        ahead = share * far - sense * half
        points[who, rows.POINT_X] = here_x + ahead * s + 0.5 * aside * c
        points[who, rows.POINT_Y] = high
        points[who, rows.POINT_Z] = here_z + ahead * c - 0.5 * aside * s
        points[who, rows.POINT_SIN], points[who, rows.POINT_COS] = sense * s, sense * c
        points[who, rows.POINT_UNIT] = 0.5 * (arm + other_arm)
        partner = other if who == 0 else one
        points[who, rows.PARTNER_Y], points[who, rows.PARTNER_UNIT] = SHOULDER_HEIGHT * partner.stature, arm_length(partner)


@kernel
def fill_paths(
    work: Workspace, roles: Roles, persons: Person, i: int, actions: ActionTables, clock: Clock, every: int, paths: Array
) -> None:
    """Write the paths of the actors of sample `i`, in metres from their start positions.

    `paths` is float [actors, points, 2], with a point every `every` frames.
    """
    if roles.meets[i] >= 0:
        face_partners(work, roles, persons, i, actions, clock)
    for who in range(roles.actors[i]):
        role = role_at(roles, i, who)
        fill_timeline(work, role, person_at(persons, i, who), actions, clock)
        for p in range(paths.shape[1]):
            f = clock.margin + p * every
            paths[who, p, 0] = float(work.root[rows.PATH_X, f]) - role.start[rows.START_X]
            paths[who, p, 1] = float(work.root[rows.PATH_Z, f]) - role.start[rows.START_Z]


@kernel
def candidate_position(roles: Roles, i: int, who: int, number: int, p: int, paths: Array) -> tuple[Scalar, Scalar]:
    """Return where an actor is at point `p` of its path in try `number`: x and z in metres. Partners move as one."""
    lead = 0 if who == 1 and roles.meets[i] >= 0 else who
    turn = number * GOLDEN * (lead + 1)
    s, c, grown = float(sin_turns(turn)), float(cos_turns(turn)), 1.0 + GROWTH * number
    start, first = roles.start[i, who], roles.start[i, lead]
    x = paths[who, p, 0] + start[rows.START_X] - first[rows.START_X]
    z = paths[who, p, 1] + start[rows.START_Z] - first[rows.START_Z]
    return grown * first[rows.START_X] + x * c + z * s, grown * first[rows.START_Z] + z * c - x * s


@kernel
def smallest_distance(roles: Roles, i: int, number: int, paths: Array) -> Scalar:
    """Return the smallest distance at any time between two actors of sample `i` in a try, except partners; metres."""
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
    work: Workspace, roles: Roles, persons: Person, actions: ActionTables, clock: Clock, every: int, paths: Array, out: Array
) -> None:
    """Write the start positions of the first try in which all actors keep clear, or else of the one with the widest gap.

    `out` is float [n, actors, 3]: x and z in metres, and turns that are added to the heading.
    """
    for i in range(len(out)):
        best, widest = 0, -1.0
        if roles.actors[i] > 1:
            fill_paths(work, roles, persons, i, actions, clock, every, paths)
            number = 0
            while number < TRIES and widest < CLEAR:
                gap = smallest_distance(roles, i, number, paths)
                if gap > widest:
                    best, widest = number, gap
                number += 1
        for who in range(out.shape[1]):
            out[i, who, 0] = to_grid((1.0 + GROWTH * best) * roles.start[i, who, rows.START_X])
            out[i, who, 1] = to_grid((1.0 + GROWTH * best) * roles.start[i, who, rows.START_Z])
            out[i, who, 2] = best * GOLDEN * (who + 1)


def separate_actors(scenes: Scenes, library: Library, fps: int) -> Scenes:
    """Return the scenes with actors turned and moved so that they keep clear of one another.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Library whose actions the scenes index.
    fps : int
        Frames per second.

    Returns
    -------
    Scenes
        Samples with one actor are unchanged.
    """
    several = scenes.actors > 1
    if not several.any():
        return scenes
    tables = library_tables(library)
    margin, every = int(np.ceil(MARGIN_SECONDS * fps)), max(1, int(EVERY_SECONDS * fps))
    points = 1 + int(scenes.length.max() * LONGER) // every
    actors = scenes.heading.shape[1]
    work = empty_workspace(2 * margin + points * every, scenes.action.shape[2])
    clock = Clock(-margin / fps, 1.0 / fps, margin, points * every)
    roles, persons = role_arrays(scenes, library), person_arrays(scenes, style_tables(library))
    out = np.zeros((len(scenes), actors, 3))
    choose_starts(work, roles, persons, tables, clock, every, np.zeros((actors, points, 2)), out)
    turned = out[..., 2] - np.rint(out[..., 2])
    moved = several[:, None, None] & (out[..., 2:] != 0)
    return replace(
        scenes,
        origin=np.where(moved, out[..., :2], scenes.origin).astype(np.float32),
        heading=np.where(moved[..., 0], scenes.heading + 2 * np.pi * turned, scenes.heading).astype(np.float32),
    )
