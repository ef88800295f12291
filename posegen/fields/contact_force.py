"""The field `contact_force`: ground reaction of each foot and centre of pressure, by Newton's law and the stored contacts.

Forces are per body mass, N/kg: 9.81 is one body weight. The feet together carry a - g, with the acceleration a of the centre
of mass c of :mod:`posegen.fields.momentum`: second differences of the stored frames. While seat, knee or a hand on the floor is
in contact, or no foot is, the force of the feet is 0 and all of a - g is in `residual_force`: what others carry, or what the
motion lacks. It is 0 in a free flight that is physical.

The zero moment point is where the line through c along a - g meets the ground; the angular momentum about c is not regarded.
The centre of pressure of a foot is the point between heel and toe next to it, or the one of both that touches. With both feet
in contact, each has the share that puts the common centre next to the zero moment point (the lever), times a smooth rise after
its foot strike and a smooth fall before its toe-off. These last as long as the double support, at most :data:`LONGEST` seconds.
This is the smooth transition assumption of Ren, Jones and Howard (2008, Whole body inverse dynamics over a complete gait cycle
based only on measured kinematics, J. Biomech. 41) with a minimum jerk curve instead of their fitted ones.
"""

from __future__ import annotations

import numpy as np

from posegen.fields.field import AXES, DerivedField, FieldArray, Sequences, minimum_jerk
from posegen.fields.momentum import mass_centre
from posegen.fields.vectors import Vector, stacked, vector
from posegen.fields.velocity import second_differences
from posegen.foundations.arrays import Array
from posegen.foundations.constants import GRAVITY
from posegen.foundations.skeleton import CONTACTS, JOINTS, sole_points

FEET = ("left", "right")
LONGEST = 0.3
"""Seconds in which a foot takes or gives its load."""
LEAST_SHARE = 0.02
"""Share of a foot that touches while all weight is above the other."""
LEAST_FORCE = 1.0
"""N/kg. The line along a smaller vertical force meets the ground anywhere."""
HAND_HEIGHT = 0.2
"""Metres below which a hand in contact is on the floor."""

_SOLES = 4
_TINY = 1e-12
_HANDS = tuple((CONTACTS.index(f"{side}_hand"), JOINTS.index(f"{side}_wrist")) for side in FEET)
_OTHERS = [CONTACTS.index(name) for name in ("left_knee", "right_knee", "seat")]


def double_support_shares(down: Array, lifted: Array, lever: Array, fps: float) -> Array:
    """Return the share of the right foot in the force.

    Parameters
    ----------
    down, lifted : bool [..., frame, 2]
        Whether each foot is in contact, and whether it is in the air. Neither is the case where absent.
    lever : float64 [..., frame]
        Share of the right foot by the zero moment point, between 0 and 1 exclusive.
    fps : float
        Frames per second.

    Returns
    -------
    float64 [..., frame]

    Examples
    --------
    >>> down = np.array([[1, 0], [1, 1], [1, 1], [0, 1]], bool)
    >>> double_support_shares(down, ~down, np.full(4, 0.5), 25.0).round(3)
    array([0.   , 0.104, 0.896, 1.   ])
    """
    both, frames = np.asarray(down.all(-1)), np.arange(down.shape[-2])
    edge = np.zeros((*both.shape[:-1], 1), bool)
    begins = both & ~np.concatenate([edge, both[..., :-1]], axis=-1)
    ends = both & ~np.concatenate([both[..., 1:], edge], axis=-1)
    first = np.maximum.accumulate(np.where(begins, frames, 0), axis=-1)
    last = np.minimum.accumulate(np.where(ends, frames, frames[-1])[..., ::-1], axis=-1)[..., ::-1]
    ramp = np.minimum(last - first + 1.0, LONGEST * fps)
    loads = []
    for foot, share in enumerate((1.0 - lever, lever)):
        around = np.concatenate([edge, lifted[..., foot], edge], axis=-1)
        strikes, leaves = (np.take_along_axis(around, at, axis=-1) for at in (first, last + 2))
        rise = np.where(strikes, minimum_jerk((frames - first + 0.5) / ramp), 1.0)
        fall = np.where(leaves, minimum_jerk((last - frames + 0.5) / ramp), 1.0)
        loads.append(np.where(both, rise * fall * share, down[..., foot]))
    return np.asarray(loads[1] / np.maximum(loads[0] + loads[1], _TINY))


def _pressure_point(target: Vector, heel: Vector, toe: Vector, touching: Array) -> Vector:
    """Return the point between heel and toe next to the target on the ground, or the one of both that is in contact."""
    along = _position_between(target, heel, toe)
    along = np.where(touching[..., 0] & touching[..., 1], np.clip(along, 0.0, 1.0), touching[..., 1])
    return np.asarray(heel + (toe - heel) * along)


def _position_between(target: Vector, start: Vector, end: Vector) -> Array:
    """Return how far from start (0) to end (1) the point of their line next to the target is, seen from above."""
    x, _, z = end - start
    ahead = (target[0] - start[0]) * x + (target[2] - start[2]) * z
    return np.asarray(ahead / np.maximum(x * x + z * z, _TINY))


def _is_held_elsewhere(joints: Array, contact: Array) -> Array:
    """Return whether seat, knee or a hand on the floor is in contact: bool [..., frame]."""
    held = (contact[..., _OTHERS] == 1).any(-1)
    for point, wrist in _HANDS:
        held |= (contact[..., point] == 1) & (joints[..., wrist, 1] < HAND_HEIGHT)
    return np.asarray(held)


def _compute(sequences: Sequences) -> dict[str, Array]:
    joints, fps = sequences.joints.astype(np.float64), float(sequences.config.fps)
    touching = (sequences.contact[..., :_SOLES] == 1).reshape(*sequences.shape, 2, 2)
    down = touching.any(-1)
    lifted = (sequences.contact[..., :_SOLES] == 0).reshape(touching.shape).all(-1)
    centre, soles = mass_centre(joints), vector(sole_points(joints))
    total = np.stack([second_differences(part, fps, 3) for part in centre])
    total[1] += GRAVITY
    target = centre - total * ((centre[1] - soles[1].min(-1)) / np.maximum(total[1], LEAST_FORCE))
    left, right = (_pressure_point(target, soles[..., k], soles[..., k + 1], touching[..., k // 2, :]) for k in (0, 2))
    lever = np.clip(_position_between(target, left, right), LEAST_SHARE, 1.0 - LEAST_SHARE)
    share = double_support_shares(down, lifted, lever, fps)
    carried = down.any(-1) & ~_is_held_elsewhere(joints, sequences.contact)
    forces = [np.where(carried, total * own, 0.0) for own in (1.0 - share, share)]
    points = [np.where(carried & down[..., foot], at, np.nan) for foot, at in enumerate((left, right))]
    points.append(np.where(carried, left * (1.0 - share) + right * share, np.nan))
    return {
        "contact_force": np.stack([stacked(force) for force in forces], axis=-2),
        "residual_force": stacked(np.where(carried, 0.0, total)),
        "pressure_centre": np.stack([stacked(point) for point in points], axis=-2),
    }


_UNITS = {"units": "N/kg"}
FIELD = DerivedField(
    "contact_force",
    1,
    "ground reaction of each foot, and centre of pressure",
    (
        FieldArray("contact_force", {"foot": FEET, "axis": AXES}, attributes=_UNITS),
        FieldArray("residual_force", {"axis": AXES}, attributes=_UNITS),
        FieldArray("pressure_centre", {"support": (*FEET, "both"), "axis": AXES}, attributes={"units": "m"}),
    ),
    _compute,
    sources=("joints", "contact"),
)
