"""Several people at once: where they begin and which way they look, so that nobody walks into anybody.

The ways of all actors are worked out, each as seen from where it begins. They are turned, and moved further apart, until they
keep clear of one another at all times. Two who meet are turned and moved as one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.motion.actor import walk_the_path
from posegen.motion.cast import Cast, cast_of
from posegen.motion.engine import MARGIN_SECONDS, Roles, person_of, role_of, roles_of
from posegen.motion.facing import meet
from posegen.motion.legs import FOOT_ANKLE_HEIGHT
from posegen.motion.rows import PATH_X, PATH_Z
from posegen.motion.showing import to_grid
from posegen.motion.state import Clock, Scratch, scratch
from posegen.motion.styles import style_tables
from posegen.motion.tables import ActionTables, tables
from posegen.motion.trigonometry import cos_turns, sin_turns
from posegen.scene import Scenes

__all__ = ["spread"]

Array = NDArray[Any]

CLEAR = 1.7
"""Metres that people keep between them: more than two arms reach."""
TRIES, GROWTH = 24, 0.12
"""How often the ways are turned, and by what share of their first distances people begin further apart each time."""
GOLDEN = 0.6180339887
"""Turns between one try and the next: no two tries are alike."""
EVERY_SECONDS, LONGER = 0.2, 1.3
"""How often the ways are compared, and over how much more than is shown: faster variants go further along them."""


@kernel
def fill_ways(
    roles: Roles, cast: Cast, actions: ActionTables, work: Scratch, clock: Clock, margin: int, every: int, i: int, ways: Array
) -> None:
    """Write where the actors of sample `i` are, in metres from where they begin; `ways` is float [actors, points, 2]."""
    if roles.meets[i] >= 0:
        one, other = (role_of(roles, i, 0), person_of(cast, i, 0)), (role_of(roles, i, 1), person_of(cast, i, 1))
        places = (roles.x[i], roles.z[i], roles.heading[i], roles.points[i])
        meet(work, one, other, actions, clock, margin, roles.meets[i], roles.behind[i], roles.apart[i], places)
    for who in range(roles.actors[i]):
        role, person = role_of(roles, i, who), person_of(cast, i, who)
        leg = -float(person.offsets[4, 1] + person.offsets[7, 1])
        walk_the_path(work, role, person, actions, leg + float(person.foot[FOOT_ANKLE_HEIGHT]), clock, margin)
        for p in range(ways.shape[1]):
            ways[who, p, 0] = float(work.root[PATH_X, margin + p * every]) - role.x
            ways[who, p, 1] = float(work.root[PATH_Z, margin + p * every]) - role.z


@kernel
def place_of(roles: Roles, i: int, who: int, number: int, p: int, ways: Array) -> tuple[Scalar, Scalar]:
    """Where an actor is at point `p` of its way in try `number`: x and z in metres."""
    lead = 0 if who == 1 and roles.meets[i] >= 0 else who
    turn = number * GOLDEN * (lead + 1)
    s, c, grown = float(sin_turns(turn)), float(cos_turns(turn)), 1.0 + GROWTH * number
    x = ways[who, p, 0] + roles.x[i, who] - roles.x[i, lead]
    z = ways[who, p, 1] + roles.z[i, who] - roles.z[i, lead]
    return grown * roles.x[i, lead] + x * c + z * s, grown * roles.z[i, lead] + z * c - x * s


@kernel
def nearest(roles: Roles, i: int, number: int, ways: Array) -> Scalar:
    """Shortest distance at any time of any two actors of sample `i` in a try, but of those who meet; metres."""
    least = 1e6
    for one in range(roles.actors[i]):
        for other in range(one + 1, roles.actors[i]):
            if one == 0 and other == 1 and roles.meets[i] >= 0:
                continue
            for p in range(ways.shape[1]):
                x, z = place_of(roles, i, one, number, p, ways)
                other_x, other_z = place_of(roles, i, other, number, p, ways)
                least = min(least, (x - other_x) * (x - other_x) + (z - other_z) * (z - other_z))
    return np.sqrt(least)


@kernel
def spread_all(
    roles: Roles,
    cast: Cast,
    actions: ActionTables,
    work: Scratch,
    clock: Clock,
    margin: int,
    every: int,
    ways: Array,
    out: Array,
) -> None:
    """Write the first try in which all keep clear, or the best: x, z in metres and turns; `out` is float [n, actors, 3]."""
    for i in range(len(out)):
        best, widest = 0, -1.0
        if roles.actors[i] > 1:
            fill_ways(roles, cast, actions, work, clock, margin, every, i, ways)
            number = 0
            while number < TRIES and widest < CLEAR:
                gap = nearest(roles, i, number, ways)
                if gap > widest:
                    best, widest = number, gap
                number += 1
        for who in range(out.shape[1]):
            out[i, who, 0] = to_grid((1.0 + GROWTH * best) * roles.x[i, who])
            out[i, who, 1] = to_grid((1.0 + GROWTH * best) * roles.z[i, who])
            out[i, who, 2] = best * GOLDEN * (who + 1)


def spread(scenes: Scenes, library: Library, fps: int) -> Scenes:
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
    known = tables(library)
    margin, every = int(np.ceil(MARGIN_SECONDS * fps)), max(1, int(EVERY_SECONDS * fps))
    points = 1 + int(scenes.length.max() * LONGER) // every
    actors = scenes.heading.shape[1]
    work = scratch(2 * margin + points * every, scenes.action.shape[2])
    clock = Clock(-margin / fps, 1.0 / fps)
    roles, cast = roles_of(scenes, known.actions.scalars), cast_of(scenes, style_tables(library))
    out = np.zeros((len(scenes), actors, 3))
    spread_all(roles, cast, known.actions, work, clock, margin, every, np.zeros((actors, points, 2)), out)
    turned = out[..., 2] - np.rint(out[..., 2])
    moved = several[:, None, None] & (out[..., 2:] != 0)
    return replace(
        scenes,
        origin=np.where(moved, out[..., :2], scenes.origin).astype(np.float32),
        heading=np.where(moved[..., 0], scenes.heading + 2 * np.pi * turned, scenes.heading).astype(np.float32),
    )
