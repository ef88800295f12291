"""The cast: each actor's body, posture and habits, as arrays that kernels read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posegen.library.channels import CHANNELS
from posegen.motion.styles import PLAIN, StyleTables
from posegen.scene import Persons, Scenes
from posegen.skeleton import BALL_BEFORE_ANKLE, BALL_JOINT_HEIGHT, HEEL_BEHIND_ANKLE, PROPORTIONS, body_offsets

__all__ = ["Cast", "cast_of"]

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


def _channel_vector(values: dict[str, float]) -> Array:
    row = np.zeros(len(CHANNELS))
    for name, value in values.items():
        for c, channel in enumerate(CHANNELS):
            if channel in (name, f"left_{name}", f"right_{name}"):
                row[c] = value / (1 if name.startswith("root_") else 360)
    return row


_NEUTRAL_ROW, _SWAY_ROW = _channel_vector(NEUTRAL), _channel_vector(SWAY)


class Cast(NamedTuple):
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


def cast_of(scenes: Scenes, styles: StyleTables = PLAIN) -> Cast:
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
    cast = Cast(
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
    return Cast(*(np.ascontiguousarray(a) for a in cast))
