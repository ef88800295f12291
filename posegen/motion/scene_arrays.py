"""Flat arrays of planned scenes, as kernels read them: what each actor does, and the body and posture of each actor.

Planning decides the scenes; see :mod:`posegen.scene`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posegen.kernels import Array, kernel
from posegen.library.channels import CHANNELS
from posegen.motion import rows
from posegen.motion.library_tables import StyleTables, channel_row, channels_named
from posegen.motion.workspace import SEGMENT, Person, Role
from posegen.scene import LEFT, RIGHT, Persons, Scenes
from posegen.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, PROPORTIONS, body_offsets

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
"""Neutral posture in quiet standing, degrees. The foot lies flat: pelvis tilt, hip, knee and ankle add up to 0."""
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
"""Amplitude of postural sway of each channel: leg lengths for the root, degrees for the others."""


class Roles(NamedTuple):
    """What all actors do and where they start: arrays [n, ...]; see :class:`posegen.motion.workspace.Role`."""

    actors: Array
    length: Array
    segments: Any
    layered: Array
    turn: Array
    left_leads: Array
    start: Array
    steps: Array
    meets: Array
    behind: Array
    apart: Array
    shared: Array
    points: Array


_NEUTRAL_ROW, _SWAY_ROW = channel_row(NEUTRAL), channel_row(SWAY)


def _postures(persons: Persons, draws: Array, styles: StyleTables) -> tuple[Array, Array]:
    """Return the neutral posture and the sway of each person, with individual differences."""
    neutral = np.broadcast_to(_NEUTRAL_ROW, (*persons.stature.shape, len(CHANNELS))).astype(np.float32)
    habits = {"trunk_flexion": (8.0, 0), "neck_flexion": (8.0, 1), "shoulder_abduction": (6.0, 2), "elbow_flexion": (16.0, 3)}
    for name, (width, draw) in habits.items():
        spread = (draws[..., draw] - 0.5) * width / 360
        for c in channels_named(name):
            neutral[..., c] += spread
    # Older people stand more bent (from 60 on, up to 8 degrees) and sway more.
    old = np.clip((persons.age - 60) / 20, 0, 1)
    neutral[..., CHANNELS.index("trunk_flexion")] += (old * 8 / 360).astype(np.float32)
    sway = _SWAY_ROW * (0.8 + 0.4 * draws[..., 4:5] + 0.5 * old[..., None])
    neutral = (neutral + styles.posture[persons.style]).astype(np.float32)
    return neutral, (sway * styles.sway[persons.style][..., None]).astype(np.float64)


def person_arrays(scenes: Scenes, styles: StyleTables) -> Person:
    """Return body, posture and habits of all actors: a :class:`Person` of arrays [n, actors, ...]."""
    persons = scenes.persons
    stature = persons.stature.astype(np.float64)
    leg = PROPORTIONS["hip_height"] * stature
    foot = (HEEL_BEHIND_ANKLE, BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, PROPORTIONS["ankle_height"])
    # Step width is .12 to .13 of the leg (Donelan 2001), the standing feet are about a hip width apart, toe-out is 7 degrees.
    toe_out = (4 + 6 * scenes.draws[..., 5]) / 360
    neutral, sway = _postures(persons, scenes.draws, styles)
    arrays = Person(
        offsets=body_offsets(persons),
        foot=np.stack([p * stature for p in foot], -1),
        widths=np.stack([0.0625 * leg, 0.055 * stature * (0.9 + 0.3 * scenes.draws[..., 6]), toe_out], -1),
        neutral=neutral,
        sway=sway,
        stature=stature,
        energy=persons.energy.astype(np.float64),
        draws=scenes.draws.astype(np.float64),
        posture=styles.posture[persons.style],
        style=styles.steps[persons.style],
    )
    # Kernels are compiled for C order; another memory layout would compile them again.
    return Person(*(np.ascontiguousarray(a) for a in arrays))


@kernel
def person_at(persons: Person, i: int, who: int) -> Person:
    """Return actor `who` of sample `i`."""
    return Person(
        persons.offsets[i, who],
        persons.foot[i, who],
        persons.widths[i, who],
        persons.neutral[i, who],
        persons.sway[i, who],
        persons.stature[i, who],
        persons.energy[i, who],
        persons.draws[i, who],
        persons.posture[i, who],
        persons.style[i, who],
    )


@kernel
def role_at(roles: Roles, i: int, who: int) -> Role:
    """Return the role of actor `who` in sample `i`, with the used segments alone."""
    segments = roles.segments[i, who]
    used, base = 0, 0
    while used < len(segments) and segments[used].kind >= 0:
        used += 1
    while base < used and not roles.layered[i, who, base]:
        base += 1
    return Role(
        base,
        segments[:used],
        roles.turn[i, who],
        roles.left_leads[i, who],
        roles.start[i, who],
        roles.steps[i],
        roles.points[i, who],
        roles.shared[i],
    )


def segment_records(scenes: Scenes, numbers: Array) -> Array:
    """Return the segments of all actors, SEGMENT [n, actors, segments]; `numbers` belongs to the action tables.

    The kind of an unused segment is -1.
    """
    action = scenes.action.astype(np.int64)
    records = np.zeros(action.shape, SEGMENT)
    records["kind"] = np.where(action >= 0, 2 * action + (scenes.side == RIGHT), -1)
    for name in ("start", "end", "tempo", "amplitude", "repetitions", "speed"):
        records[name] = getattr(scenes, name)
    for name in numbers.dtype.names or ():
        records[name] = numbers[name][records["kind"]]
    return records


def role_arrays(scenes: Scenes, numbers: Array) -> Roles:
    """Return what all actors of planned scenes do; `numbers` belongs to the action tables."""
    segments = segment_records(scenes, numbers)
    # Kernels read up to the first unused segment.
    order = np.argsort(segments["kind"] < 0, axis=-1, kind="stable")
    segments, layered, turn = (np.take_along_axis(a, order, -1) for a in (segments, scenes.layered, scenes.turn))
    whole_turn = 2 * np.pi
    start = np.zeros((*scenes.heading.shape, 5))
    start[..., rows.START_PHASE], start[..., rows.SEAT_HEIGHT] = scenes.phase, scenes.seat_height
    start[..., rows.START_HEADING] = scenes.heading.astype(np.float64) / whole_turn
    start[..., rows.START_X : rows.START_Z + 1] = scenes.origin
    roles = Roles(
        actors=scenes.actors.astype(np.int64),
        length=scenes.length.astype(np.int64),
        segments=segments,
        layered=layered,
        turn=turn.astype(np.float64) / whole_turn,
        left_leads=_left_leads(scenes),
        start=start,
        steps=scenes.steps.astype(np.float64) / np.array([1, 1, whole_turn, 1, 1, 1]),
        meets=scenes.meets.astype(np.float64),
        behind=scenes.behind,
        apart=scenes.apart.astype(np.float64),
        shared=scenes.shared.astype(np.float64),
        points=np.zeros((*scenes.heading.shape, rows.POINT_SIZE)),
    )
    # Kernels are compiled for C order; another memory layout would compile them again.
    return Roles(*(np.ascontiguousarray(a) for a in roles))


def _left_leads(scenes: Scenes) -> Array:
    """Return whether the left foot takes the first step: the side of the first segment with a speed or a turn."""
    steps = (scenes.speed > 0) | (scenes.turn != 0)
    first = np.argmax(steps, -1)
    leads: Array = np.take_along_axis(scenes.side, first[..., None], -1)[..., 0] == LEFT
    return leads
