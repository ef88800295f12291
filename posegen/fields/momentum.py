"""The field `momentum`: centre of mass, and linear and angular momentum of each body.

Mass fractions, centres and radii of gyration of the segments are Winter's (Biomechanics and Motor Control of Human Movement,
table 4.1, after Dempster): fractions of body mass and of the segment's length from its proximal end. The trunk, for which the
table has no radius, is a uniform rod. Hands, which SMPL's 22 joints lack, are points at the wrists. Body mass is 21.7 kg per
square metre of stature, the middle of the range that the WHO calls normal.

Linear momentum is M v of the centre of mass c; angular momentum about it is the sum over segments of
m (r - c) x (v - v_c) + m k^2 (d x d'), with r the segment's centre, k its radius of gyration and d its direction.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from posegen.fields.field import AXES, DerivedField, FieldArray, Sequences
from posegen.fields.rotation import actor_identities
from posegen.fields.vectors import Vector, cross, length, stacked, unit, vector
from posegen.fields.velocity import differences
from posegen.foundations.arrays import Array
from posegen.foundations.skeleton import JOINTS
from posegen.foundations.yaml_files import read_yaml

BODY_MASS_INDEX = 21.7
"""Kilograms per square metre."""


class Segment(NamedTuple):
    """A body segment: its ends, its fraction of body mass, centre of mass and gyration radius as fractions of its length."""

    near: str
    far: str
    mass: float
    centre: float
    gyration: float


_TABLE = read_yaml(Path(__file__).with_name("segments.yaml"))
_LIMBS = tuple(Segment(*row) for row in _TABLE["limbs"])
SEGMENTS = (
    *(Segment(*row) for row in _TABLE["trunk"]),
    *(limb._replace(near=f"{side}_{limb.near}", far=f"{side}_{limb.far}") for side in ("left", "right") for limb in _LIMBS),
)
"""All segments of a body; their mass fractions add up to 1."""


def _ends(joints: Array) -> dict[str, Vector]:
    points = {name: vector(joints[..., i, :]) for i, name in enumerate(JOINTS)}
    for name in ("hip", "shoulder"):
        points[f"{name}s"] = (points[f"left_{name}"] + points[f"right_{name}"]) * 0.5
    return points


def _centres(ends: dict[str, Vector]) -> tuple[Vector, list[Vector]]:
    """Return the centre of mass, and the centre of each segment."""
    centres = [ends[part.near] + (ends[part.far] - ends[part.near]) * part.centre for part in SEGMENTS]
    whole = centres[0] * SEGMENTS[0].mass
    for part, centre in zip(SEGMENTS[1:], centres[1:], strict=True):
        whole = whole + centre * part.mass
    return whole, centres


def mass_centre(joints: Array) -> Vector:
    """Return the centre of mass of bodies, float64 [3, ...], of joints [..., 22, 3] in metres."""
    return _centres(_ends(joints))[0]


def _compute(sequences: Sequences) -> dict[str, Array]:
    fps, ends = float(sequences.config.fps), _ends(sequences.joints)
    stature = actor_identities(sequences).stature.astype(np.float64) * sequences.parameter("scale")[..., None]
    mass = BODY_MASS_INDEX * stature * stature
    whole, centres = _centres(ends)
    angular = whole * 0.0
    for part, centre in zip(SEGMENTS, centres, strict=True):
        arm = centre - whole
        angular = angular + cross(arm, differences(arm, fps, 4)) * part.mass
        if part.gyration:
            bone = ends[part.far] - ends[part.near]
            along, size = unit(bone), length(bone) * part.gyration
            angular = angular + cross(along, differences(along, fps, 4)) * (part.mass * size * size)
    return {
        "mass": mass,
        "mass_centre": stacked(whole),
        "linear_momentum": stacked(differences(whole, fps, 4) * mass[..., None]),
        "angular_momentum": stacked(angular * mass[..., None]),
    }


FIELD = DerivedField(
    "momentum",
    1,
    "centre of mass, and linear and angular momentum of each body",
    (
        FieldArray("mass", {}, attributes={"units": "kg"}, per=("actor",)),
        FieldArray("mass_centre", {"axis": AXES}, attributes={"units": "m"}),
        FieldArray("linear_momentum", {"axis": AXES}, attributes={"units": "kg m/s"}),
        FieldArray("angular_momentum", {"axis": AXES}, attributes={"units": "kg m^2/s", "about": "the centre of mass"}),
    ),
    _compute,
    sources=("joints", "rows"),
)
