"""Flat arrays of planned scenes, as kernels read them: what each actor does, and the body and posture of each actor.

Planning decides the scenes; see :mod:`posegen.scene`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.kernels import kernel
from posegen.library.channels import CHANNELS
from posegen.motion.library_tables import PLAIN, StyleTables
from posegen.motion.workspace import POINT_SIZE, Person, Role
from posegen.scene import LEFT, RIGHT, Persons, Scenes
from posegen.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, PROPORTIONS, body_offsets

Array = NDArray[Any]

NEUTRAL = {
    "pelvis_tilt": 9.0,
    "trunk_flexion": -8.0,
    "neck_flexion": -2.0,
    "hip_flexion": 10.5,
    "knee_flexion": 4.5,
    "ankle_dorsiflexion": 3.0,
    "shoulder_flexion": -3.0,
    "shoulder_abduction": 9.0,
    "shoulder_rotation": -6.0,
    "elbow_flexion": 15.0,
}
"""Quiet standing, degrees. The foot lies flat: pelvis tilt, hip, knee and ankle cancel."""
SWAY = {
    "root_forward": 0.007,
    "root_lateral": 0.009,
    "trunk_flexion": 0.7,
    "trunk_lateral": 0.6,
    "trunk_rotation": 1.0,
    "neck_flexion": 1.6,
    "neck_lateral": 1.0,
    "neck_rotation": 4.0,
    "shoulder_flexion": 1.6,
    "shoulder_abduction": 1.0,
    "elbow_flexion": 2.0,
    "collar_elevation": 0.7,
}
"""How far each channel wanders in standing: leg lengths for the root, degrees for the rest."""


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


def _channel_vector(values: dict[str, float]) -> Array:
    row = np.zeros(len(CHANNELS))
    for name, value in values.items():
        for c, channel in enumerate(CHANNELS):
            if channel in (name, f"left_{name}", f"right_{name}"):
                row[c] = value / (1 if name.startswith("root_") else 360)
    return row


_NEUTRAL_ROW, _SWAY_ROW = _channel_vector(NEUTRAL), _channel_vector(SWAY)


class PersonArrays(NamedTuple):
    """The actors' bodies and postures, arrays [n, actors, ...]; see :class:`posegen.motion.state.Person`."""

    offsets: Array
    foot: Array
    widths: Array
    neutral: Array
    sway: Array
    stature: Array
    energy: Array
    draws: Array
    posture: Array
    style: Array


def _postures(persons: Persons, draws: Array, styles: StyleTables) -> tuple[Array, Array]:
    """Neutral posture and sway of each person: nobody stands quite like another."""
    neutral = np.broadcast_to(_NEUTRAL_ROW, (*persons.stature.shape, len(CHANNELS))).astype(np.float32)
    habits = {"trunk_flexion": (8.0, 0), "neck_flexion": (8.0, 1), "shoulder_abduction": (6.0, 2), "elbow_flexion": (16.0, 3)}
    for name, (width, draw) in habits.items():
        spread = (draws[..., draw] - 0.5) * width / 360
        for c, channel in enumerate(CHANNELS):
            if channel in (name, f"left_{name}", f"right_{name}"):
                neutral[..., c] += spread
    # Older people stand more bent (after 60, up to 8 degrees) and sway more.
    old = np.clip((persons.age - 60) / 20, 0, 1)
    neutral[..., CHANNELS.index("trunk_flexion")] += (old * 8 / 360).astype(np.float32)
    sway = _SWAY_ROW * (0.8 + 0.4 * draws[..., 4:5] + 0.5 * old[..., None])
    neutral = (neutral + styles.posture[persons.style]).astype(np.float32)
    return neutral, (sway * styles.sway[persons.style][..., None]).astype(np.float64)


def person_arrays(scenes: Scenes, styles: StyleTables = PLAIN) -> PersonArrays:
    """Bodies and postures of all actors of planned scenes, whose persons have these styles."""
    persons = scenes.persons
    stature = persons.stature.astype(np.float64)
    leg = PROPORTIONS["hip_height"] * stature
    foot = np.stack(
        [p * stature for p in (HEEL_BEHIND_ANKLE, BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, PROPORTIONS["ankle_height"])], -1
    )
    # Step width .12 to .13 of the leg (Donelan 2001); the feet stand about as far apart as the hips; 7 degrees of toe-out.
    toe_out = (4 + 6 * scenes.draws[..., 5]) / 360
    widths = np.stack([0.0625 * leg, 0.055 * stature * (0.9 + 0.3 * scenes.draws[..., 6]), toe_out], -1)
    neutral, sway = _postures(persons, scenes.draws, styles)
    cast = PersonArrays(
        body_offsets(persons),
        foot,
        widths,
        neutral,
        sway,
        stature,
        persons.energy.astype(np.float64),
        scenes.draws.astype(np.float64),
        styles.posture[persons.style],
        styles.steps[persons.style],
    )
    # One layout, whatever the number of samples: another one is another compilation.
    return PersonArrays(*(np.ascontiguousarray(a) for a in cast))


@kernel
def role_at(roles: Roles, i: int, who: int) -> Role:
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
def person_at(cast: PersonArrays, i: int, who: int) -> Person:
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


def role_arrays(scenes: Scenes, scalars: Array) -> Roles:
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
        points=np.zeros((*scenes.heading.shape, POINT_SIZE)),
    )
    # One layout, whatever the number of samples: another one is another compilation.
    return Roles(*(np.ascontiguousarray(a) for a in roles))


def _left_leads(scenes: Scenes) -> Array:
    """Whether the left foot takes the first step: the side of the first slot with a speed or a turn."""
    steps = (scenes.speed > 0) | (scenes.turn != 0)
    first = np.argmax(steps, -1)
    leads: Array = np.take_along_axis(scenes.side, first[..., None], -1)[..., 0] == LEFT
    return leads
