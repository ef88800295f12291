"""Motion of planned scenes: the public function, and the kernel that runs over samples and actors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.constants import ABSENT_ACTION, ABSENT_CONTACT
from posegen.kernels import Scalar, kernel
from posegen.library import Library
from posegen.motion.actor import actor_motion
from posegen.motion.cast import Cast, cast_of
from posegen.motion.facing import meet
from posegen.motion.gait import Gaits
from posegen.motion.meeting import POINT
from posegen.motion.showing import LEG_JOINTS, write_contacts, write_joints, write_slots
from posegen.motion.state import Clock, Person, Role, Scratch, scratch
from posegen.motion.styles import style_tables
from posegen.motion.tables import SCALARS, ActionTables, tables
from posegen.scene import LEFT, RIGHT, Scenes
from posegen.skeleton import (
    CONTACTS,
    JOINTS,
    PARTS,
)

__all__ = [
    "MARGIN_SECONDS",
    "Motion",
    "Roles",
    "animate",
    "animate_into",
    "empty_motion",
    "person_of",
    "role_of",
    "roles_of",
]

Array = NDArray[Any]

MARGIN_SECONDS = 1.4
"""How much more than is shown is worked out at either end: a foot's print depends on its whole stance."""


@dataclass(frozen=True)
class Motion:
    """What the actors do in each variant of a scene, frame by frame.

    Attributes
    ----------
    joints : float32 [n, variants, actors, frames, 22, 3]
        Metres, on the grid; NaN where absent.
    action : uint16 [n, variants, actors, frames, parts]
        Index into the library's actions; ABSENT_ACTION where absent.
    contact : uint8 [n, variants, actors, frames, contacts]
        1 while the point touches; ABSENT_CONTACT where absent.
    """

    joints: Array
    action: Array
    contact: Array


class Roles(NamedTuple):
    """What all actors do and where they begin, arrays [n, actors, ...]; see :class:`posegen.motion.state.Role`."""

    actors: Array
    length: Array
    kinds: Array
    layered: Array
    numbers: Array
    turn: Array
    left_leads: Array
    phase: Array
    heading: Array
    x: Array
    z: Array
    seat_height: Array
    steps: Array
    meets: Array
    behind: Array
    apart: Array
    shared: Array
    points: Array


@kernel
def role_of(roles: Roles, i: int, who: int) -> Role:
    """What one actor does; its slots end at the first unused one."""
    used, base, count = 0, 0, roles.kinds.shape[2]
    while used < count and roles.kinds[i, who, used] >= 0:
        used += 1
    while base < used and not roles.layered[i, who, base]:
        base += 1
    return Role(
        base,
        roles.kinds[i, who, :used],
        roles.numbers[i, who, :used],
        roles.turn[i, who],
        roles.left_leads[i, who],
        roles.phase[i, who],
        roles.heading[i, who],
        roles.x[i, who],
        roles.z[i, who],
        roles.seat_height[i, who],
        roles.steps[i],
        roles.points[i, who],
        roles.shared[i],
    )


@kernel
def person_of(cast: Cast, i: int, who: int) -> Person:
    """Who one actor is."""
    return Person(
        cast.offsets[i, who],
        cast.foot[i, who],
        cast.widths[i, who],
        cast.neutral[i, who],
        cast.sway[i, who],
        cast.stature[i, who],
        cast.energy[i, who],
        cast.draws[i, who],
        cast.posture[i, who],
        cast.style[i, who],
    )


@kernel
def animate_scenes(
    roles: Roles,
    cast: Cast,
    actions: ActionTables,
    gaits: Gaits,
    leg_joints: Array,
    work: Scratch,
    step: Scalar,
    margin: int,
    variant: int,
    joints: Array,
    action: Array,
    contact: Array,
) -> None:
    """Run over samples and actors with one set of scratch arrays."""
    n, actors, frames = joints.shape[0], joints.shape[2], joints.shape[3]
    clock = Clock(-margin * step, step)
    for i in range(n):
        if roles.meets[i] >= 0:
            one, other = (role_of(roles, i, 0), person_of(cast, i, 0)), (role_of(roles, i, 1), person_of(cast, i, 1))
            places = (roles.x[i], roles.z[i], roles.heading[i], roles.points[i])
            meet(work, one, other, actions, clock, margin, roles.meets[i], roles.behind[i], roles.apart[i], places)
        for who in range(actors):
            length = roles.length[i] if who < roles.actors[i] else 0
            if length > 0:
                role = role_of(roles, i, who)
                actor_motion(work, role, person_of(cast, i, who), actions, gaits, clock, margin, frames)
                write_joints(work.joints, work.legs, leg_joints, margin, joints[i, variant, who, :length])
                write_contacts(work.legs, work.planted, margin, contact[i, variant, who, :length])
                shown = (action[i, variant, who, :length], contact[i, variant, who, :length])
                write_slots(role, actions, cast.draws[i, who], step, shown[0], shown[1])
            joints[i, variant, who, length:] = np.nan
            action[i, variant, who, length:] = ABSENT_ACTION
            contact[i, variant, who, length:] = ABSENT_CONTACT


def roles_of(scenes: Scenes, scalars: Array) -> Roles:
    """What all actors of planned scenes do; `scalars` are those of the action tables."""
    action = scenes.action.astype(np.int64)
    kinds = np.where(action >= 0, 2 * action + (scenes.side == RIGHT), -1)
    columns = (scenes.start, scenes.end, scenes.tempo, scenes.amplitude, scenes.repetitions, scenes.speed)
    numbers = np.concatenate([np.stack([c.astype(np.float64) for c in columns], -1), scalars[kinds]], -1)
    # Kernels read up to the first unused slot.
    order = np.argsort(kinds < 0, axis=-1, kind="stable")
    kinds, layered, turn = (np.take_along_axis(a, order, -1) for a in (kinds, scenes.layered, scenes.turn))
    whole_turn = 2 * np.pi
    roles = Roles(
        actors=scenes.actors.astype(np.int64),
        length=scenes.length.astype(np.int64),
        kinds=kinds,
        layered=layered,
        numbers=np.take_along_axis(numbers, order[..., None], -2),
        turn=turn.astype(np.float64) / whole_turn,
        left_leads=_left_leads(scenes),
        phase=scenes.phase.astype(np.float64),
        heading=scenes.heading.astype(np.float64) / whole_turn,
        x=scenes.origin[..., 0].astype(np.float64),
        z=scenes.origin[..., 1].astype(np.float64),
        seat_height=scenes.seat_height.astype(np.float64),
        steps=scenes.steps.astype(np.float64) / np.array([1, 1, whole_turn, 1, 1, 1]),
        meets=scenes.meets.astype(np.float64),
        behind=scenes.behind,
        apart=scenes.apart.astype(np.float64),
        shared=scenes.shared.astype(np.float64),
        points=np.zeros((*scenes.heading.shape, POINT)),
    )
    # One layout, whatever the number of samples: another one is another compilation.
    return Roles(*(np.ascontiguousarray(a) for a in roles))


def _left_leads(scenes: Scenes) -> Array:
    """Whether the left foot takes the first step: the side of the first slot with a speed or a turn."""
    steps = (scenes.speed > 0) | (scenes.turn != 0)
    first = np.argmax(steps, -1)
    leads: Array = np.take_along_axis(scenes.side, first[..., None], -1)[..., 0] == LEFT
    return leads


def empty_motion(n: int, variants: int, actors: int, frames: int) -> Motion:
    """Room for motion, not yet written."""
    shape = (n, variants, actors, frames)
    return Motion(
        np.empty((*shape, len(JOINTS), 3), np.float32),
        np.empty((*shape, len(PARTS)), np.uint16),
        np.empty((*shape, len(CONTACTS)), np.uint8),
    )


def animate(scenes: Scenes, library: Library, frames: int, fps: int) -> Motion:
    """Carry out planned scenes.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Of the actions that the scenes index.
    frames : int
        Of the arrays; a sample whose length is smaller is absent behind it.
    fps : int
        Frames a second.

    Returns
    -------
    Motion
        Arrays without an axis for variants.

    Raises
    ------
    ValueError
        If a scene is longer than `frames`.
    """
    motion = empty_motion(len(scenes), 1, scenes.heading.shape[1], frames)
    animate_into(scenes, library, fps, motion, 0)
    return Motion(motion.joints[:, 0], motion.action[:, 0], motion.contact[:, 0])


def animate_into(scenes: Scenes, library: Library, fps: int, motion: Motion, variant: int) -> None:
    """Carry out planned scenes as one variant of `motion`.

    Parameters
    ----------
    scenes : Scenes
        n samples.
    library : Library
        Of the actions that the scenes index.
    fps : int
        Frames a second.
    motion : Motion
        Its variant `variant` is written; behind a sample's length it is absent.

    Raises
    ------
    ValueError
        If a scene is longer than `motion`.
    """
    frames = motion.joints.shape[3]
    if len(scenes) and int(scenes.length.max()) > frames:
        msg = f"a scene of {int(scenes.length.max())} frames does not fit into {frames}; ask for more frames or plan it shorter"
        raise ValueError(msg)
    known = tables(library)
    margin = int(np.ceil(MARGIN_SECONDS * fps))
    # Start, end of the first stage and begin of the last, end, and all keys once for each repetition.
    scalars = known.actions.scalars
    keys = int((scalars[:, SCALARS.index("last_key")] - scalars[:, SCALARS.index("first_key")]).max(initial=0))
    knots = 4 + keys * max(1, int(scenes.repetitions.max(initial=0)))
    work = scratch(frames + 2 * margin, scenes.action.shape[2], knots)
    arrays = (motion.joints, motion.action, motion.contact)
    roles, cast = roles_of(scenes, scalars), cast_of(scenes, style_tables(library))
    animate_scenes(roles, cast, known.actions, known.gaits, LEG_JOINTS, work, 1.0 / fps, margin, variant, *arrays)
